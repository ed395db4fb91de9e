"""Cases: a torch reference's functional twin in JAX, with its inputs and its claim.

    @case(
        source="S0-02",
        inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
        idiom=("h.detach()", "lax.stop_gradient(h)"),
        control=dict(stop_gradient=identity),
    )
    def detach(net, x, y, *, stop_gradient=lax.stop_gradient):
        '''`detach` after L1 leaves L1 without gradients (None, not zero); L2 keeps its own.'''

The reference is `torch_ref/<theme>.py::<behaviour>`: same stem, same name, same inputs.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable, Mapping
from typing import Any

import jaxgrad
from jaxgrad.parity.compare import Raises as Raises
from jaxgrad.parity.compare import Tolerance as Tolerance


DTYPES = ("float64", "float32", "bfloat16", "float16")
MODES = ("eager", "jit")

# What only watches or only differentiates is no tool: taking it out leaves no program.
_NOT_TOOLS = {"accumulate", "depends_on", "grad", "saved_bytes", "value_and_grad"}
_NOT_TOOLS |= {"value_and_retained_grads"}
_HELPERS = {name for name, value in vars(jaxgrad).items() if callable(value)}
_TOOLS = _HELPERS - _NOT_TOOLS | {
    "checkpoint",
    "clip_by_global_norm",
    "custom_jvp",
    "custom_vjp",
    "set_to_zero",
    "stop_gradient",
    "where",
}


class CaseError(Exception):
    """A case that cannot be loaded: what is missing, and where to write it."""


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A documented disagreement, pinned on both sides, so that the suite fails when one moves.

    Each pin is a `Raises` or a function of the case's inputs (numpy) that gives the observation;
    its leaves may be `Raises` too.
    """

    why: str
    torch_is: Raises | Callable[..., Any]
    jax_is: Raises | Callable[..., Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One behaviour: its twin, its inputs, its claim, and how to show that it can fail."""

    fun: Callable[..., Any]
    theme: str
    behaviour: str
    source: tuple[str, ...]
    inputs: Mapping[str, Any]
    idiom: tuple[str, str]
    control: Mapping[str, Any] | None = None
    deviation: Deviation | None = None
    expect: Mapping[str, Any] | None = None
    dtypes: tuple[str, ...] = ("float64", "float32")
    modes: tuple[str, ...] = MODES
    tolerance: Tolerance | None = None
    zeros: bool = False
    heavy: bool = False
    picture: bool = False
    devices: tuple[str, ...] = ("cpu", "gpu", "tpu")

    @property
    def id(self) -> str:
        return f"{self.theme}/{self.behaviour}"

    @property
    def claim(self) -> str:
        return inspect.cleandoc(self.fun.__doc__ or "")

    @property
    def control_kind(self) -> str:
        return "perturbation" if self.control is None else "tool"

    @property
    def reference(self) -> Callable[..., Any]:
        """The torch program of the same name; importing it needs torch."""
        where = f"torch_ref/{self.theme}.py"
        try:
            module = importlib.import_module(f"torch_ref.{self.theme}")
        except ModuleNotFoundError as error:
            if error.name != f"torch_ref.{self.theme}":
                raise
            raise CaseError(f"{self.id} has no reference: there is no {where}") from None
        fun = getattr(module, self.behaviour, None)
        if fun is None:
            raise CaseError(f"{self.id} has no reference: write `def {self.behaviour}` in {where}")
        wanted, got = tuple(self.inputs), tuple(inspect.signature(fun).parameters)
        if wanted != got:
            raise CaseError(
                f"{where}::{self.behaviour} takes {got}, the case's inputs are {wanted}"
            )
        return fun

    def without_tool(self) -> Callable[..., Any]:
        """The same program with its tool taken out."""
        return functools.partial(self.fun, **(self.control or {}))


_registry: dict[str, Case] = {}


def identity(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Stands where a tool was taken out."""
    del args, kwargs
    return x


def case(
    *,
    source: str | tuple[str, ...],
    inputs: Mapping[str, Any],
    idiom: tuple[str, str],
    control: Mapping[str, Any] | None = None,
    deviation: Deviation | None = None,
    expect: Mapping[str, Any] | None = None,
    dtypes: tuple[str, ...] = ("float64", "float32"),
    modes: tuple[str, ...] = MODES,
    tolerance: Tolerance | None = None,
    zeros: bool = False,
    heavy: bool = False,
    picture: bool = False,
    devices: tuple[str, ...] = ("cpu", "gpu", "tpu"),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the functional twin of the torch reference of the same name.

    Args:
      source: The rows it covers: ids of the source documents (`S0-02`) or the catalogue (`P155`).
      inputs: Argument name -> tree of `parity_tests.inputs` descriptors and static values.
      idiom: What a user writes, in torch and in JAX; a cell of the table in the README.
      control: Keyword arguments that take the tool out of the program. Without it the control is
        a perturbation of an input, which is allowed only where the program has no tool.
      deviation: Where the two frameworks disagree by design: what each gives, and why.
      expect: Path -> the document's own number, checked on both sides for seed 0.
      dtypes: Of the floating inputs.
      modes: "eager", "jit" or both.
      tolerance: A bound of its own, with its reason.
      zeros: The observation is nothing but zeros, and that is the point.
      heavy: Takes long; may take 60 s.
      picture: The backward graph says more than numbers.
      devices: Where the behaviour exists.

    Raises:
      CaseError: Something is missing or contradicts itself; says what and where.
    """

    def register(fun: Callable[..., Any]) -> Callable[..., Any]:
        theme = fun.__module__.rsplit(".", 1)[-1]
        made = Case(
            fun=fun,
            theme=theme,
            behaviour=fun.__name__,
            source=(source,) if isinstance(source, str) else tuple(source),
            inputs=inputs,
            idiom=idiom,
            control=control,
            deviation=deviation,
            expect=expect,
            dtypes=dtypes,
            modes=modes,
            tolerance=tolerance,
            zeros=zeros,
            heavy=heavy,
            picture=picture,
            devices=devices,
        )
        _check(made)
        _registry[made.id] = made
        return fun

    return register


def load() -> dict[str, Case]:
    """Every case by id, in the order of their themes; imports all of `parity_tests.cases`."""
    package = importlib.import_module("parity_tests.cases")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"parity_tests.cases.{module}")
    # A test may have imported a theme before the others.
    return dict(sorted(_registry.items(), key=lambda item: item[1].theme))


def _check(made: Case) -> None:
    where = f"parity_tests/cases/{made.theme}.py::{made.behaviour}"
    previous = _registry.get(made.id)
    if previous is not None and previous.fun.__module__ == made.fun.__module__:
        # A module reloaded by hand (a mutant, a notebook) may register its own cases again.
        if previous.fun.__code__.co_firstlineno != made.fun.__code__.co_firstlineno:
            raise CaseError(f"{where} is registered twice; give one of them another name")
    if not made.claim:
        raise CaseError(f"{where} has no docstring: say in a sentence what a torch user will see")
    if not made.source:
        raise CaseError(f"{where} names no source row: source='S0-02' or 'P155'")
    if made.deviation is not None and not made.deviation.why.strip():
        raise CaseError(f"{where} pins a deviation without a reason; fill in why=")
    if made.tolerance is not None and not made.tolerance.why.strip():
        raise CaseError(f"{where} has a tolerance of its own without a reason; fill in why=")
    for name, known in (("dtypes", DTYPES), ("modes", MODES)):
        unknown = set(getattr(made, name)) - set(known)
        if unknown or not getattr(made, name):
            raise CaseError(f"{where} has {name}={getattr(made, name)}; known are {known}")
    parameters = inspect.signature(made.fun).parameters
    positional = tuple(n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY)
    if positional != tuple(made.inputs):
        raise CaseError(f"{where} takes {positional}, but inputs= gives {tuple(made.inputs)}")
    for name in made.control or {}:
        if name not in parameters or parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY:
            raise CaseError(f"{where} has control={name!r}, which is no keyword argument of it")
    if made.control is None:
        used = sorted(_names(made.fun) & _TOOLS)
        if used:
            raise CaseError(
                f"{where} uses {', '.join(used)} but has no control of its own. Make the tool a "
                "keyword argument and take it out: control=dict(stop_gradient=identity)"
            )


def _names(fun: Callable[..., Any]) -> set[str]:
    """Every name that a function, and the functions of its own module that it calls, mentions."""
    seen: set[Any] = set()
    names: set[str] = set()

    def visit(code: types.CodeType) -> None:
        if code in seen:
            return
        seen.add(code)
        names.update(code.co_names, code.co_freevars)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                visit(const)
        for name in code.co_names:
            value = fun.__globals__.get(name)
            if inspect.isfunction(value) and value.__module__ == fun.__module__:
                visit(value.__code__)

    visit(fun.__code__)
    for default in (fun.__kwdefaults__ or {}).values():
        names.add(getattr(default, "__name__", ""))
    return names
