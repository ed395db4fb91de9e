"""Which public functions no program calls, measured while the programs are traced."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any

import jaxgrad
from jaxgrad import distributed, functional, nnx, optim
from jaxgrad.nnx import init
from jaxgrad.optim import lr_scheduler, swa_utils
from parity_tests.devices.layers import plain


NAMESPACES: Mapping[str, ModuleType] = {
    "": jaxgrad,
    "distributed.": distributed,
    **{f"functional.{n}.": getattr(functional, n) for n in ("distributions", "fft", "linalg")},
    "functional.special.": functional.special,
    "functional.": functional,
    "nnx.": nnx,
    "nnx.init.": init,
    "optim.": optim,
    "optim.lr_scheduler.": lr_scheduler,
    "optim.swa_utils.": swa_utils,
}
# Functions that run on the host, with the reason. `graph` and `parity` do so as a whole.
ON_THE_HOST: Mapping[str, str] = {
    "depends_on": "reads a traced program",
    "port": "writes Python",
    "saved_bytes": "reads a traced program",
    "distributed.Collective": "describes a compiled program",
    "distributed.collectives": "reads a compiled program",
    "distributed.read_collectives": "reads a compiled program",
    "nnx.init.calculate_gain": "returns a Python number",
    "nnx.load_state_dict": "copies arrays from torch",
    "nnx.state_dict": "copies arrays to torch",
    "optim.add_param_group": "changes the tree of a state",
    "optim.state_from_torch": "copies arrays from torch",
    "optim.state_to_torch": "copies arrays to torch",
    "optim.swa_utils.update_bn": "loops over the batches of a loader",
}


def public() -> dict[str, Any]:
    """Return the public functions and classes of each namespace by their dotted names."""
    return {
        f"{prefix}{name}": value
        for prefix, namespace in NAMESPACES.items()
        for name in dir(namespace)
        if not name.startswith("_")
        and callable(value := getattr(namespace, name))
        and getattr(value, "__module__", "").startswith("jaxgrad")
    }


@contextlib.contextmanager
def calls() -> Iterator[set[CodeType]]:
    """Yield the set to which every Python function that is called meanwhile adds its code."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(before)


def not_called(codes: set[CodeType]) -> list[str]:
    """Return the public functions that were not called and do not run on the host.

    Layers that only call another function are left out.
    """
    left_out = {*ON_THE_HOST, *(f"nnx.{name}" for name in plain())}
    return [
        name
        for name, value in public().items()
        if name not in left_out and codes.isdisjoint(_codes(value)) and _codes(value)
    ]


def _codes(value: Callable[..., Any]) -> set[CodeType]:
    """Return the code of a function, or of the methods that a class or its bases define."""
    if not inspect.isclass(value):
        fun = inspect.unwrap(value)
        return {fun.__code__} if inspect.isfunction(fun) else set()
    methods = [x for base in value.__mro__ for x in vars(base).values() if base is not object]
    own = {inspect.unwrap(x).__code__ for x in methods if inspect.isfunction(x)}
    return {code for code in own if "jaxgrad" in code.co_filename or code.co_filename == "<string>"}
