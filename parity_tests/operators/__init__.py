"""Records of the operators of `jaxgrad.functional`: the calls on which each is compared with torch.

    @operator("clamp", elementwise=True, points=[call([-1.0, 1.0, nan], -1.0, 1.0)])
    def clamp(draw):
        "Draw bounds that are numbers or arrays, one of them possibly missing."
        return call(draw(floats()), draw(bounds), draw(bounds))

The name identifies both functions: `torch.nn.functional.clamp` or `torch.clamp`, and
`jaxgrad.functional.clamp`. A dotted name (`linalg.norm`) is looked up in that namespace.

The record of an operator that `jaxgrad/functional/linalg/lu.py` implements is in the file
`parity_tests/operators/linalg/lu.py`. `make operator NAME=linalg.lu` runs it.
"""

import dataclasses
import importlib
import pkgutil
import sys
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core.torch_versions import Change, convention
from jaxgrad.parity.compare import Tolerance


REAL = ("float64", "float32", "bfloat16", "float16")
COMPLEX = ("complex128", "complex64")


class Sample:
    """One call: positional and keyword arguments, with arrays in numpy."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        words = [_short(x) for x in self.args]
        words += [f"{name}={_short(x)}" for name, x in self.kwargs.items()]
        return f"({', '.join(words)})"


def call(*args: Any, **kwargs: Any) -> Sample:
    """Return a call in which every list of floats is converted to a float64 array.

    Other lists and plain numbers stay as they are.
    """
    return Sample(tuple(_array(x) for x in args), {name: _array(x) for name, x in kwargs.items()})


@dataclasses.dataclass(frozen=True)
class RaisesFor:
    """A call for which torch and JAX raise the same exception type, with stable messages."""

    sample: Sample
    type: type[BaseException]
    words: str = ""
    """Words that both messages contain; `torch` and `jax` replace them for one message each."""
    _: dataclasses.KW_ONLY
    torch: str = ""
    jax: str = ""
    when: str = "forward"
    """`"backward"`: the call itself succeeds, and differentiating it raises."""


@dataclasses.dataclass(frozen=True)
class PinnedDifference:
    """A call on which torch and JAX give different values, with both values and the reason.

    All other values must agree. Second derivatives and forward mode are compared only if one of
    their values is pinned.
    """

    sample: Sample
    at: Mapping[str, tuple[Any, Any]]
    """A map from paths to pairs (torch's value, JAX's value) of numbers or arrays.

    Paths are `forward/0` (an output), `gradient/0` and `gradient/weight` (an argument, by position
    or keyword), `second/0`, `tangent/0` (an output), and `transpose/0` (a cotangent).
    """
    why: str

    @property
    def second_order(self) -> bool:
        return any(path.split("/")[0] not in ("forward", "gradient") for path in self.at)


def _no_strategy(_: Any) -> Sample:
    raise NotImplementedError("this record has no strategy: decorate one with it")


@dataclasses.dataclass(frozen=True, eq=False)
class Operator:
    """The record of an operator; as a decorator it registers the strategy `fun(draw) -> Sample`."""

    name: str
    """The name after `torch.` or `torch.nn.functional.`: `clamp`, `linalg.norm`."""
    _: dataclasses.KW_ONLY
    points: Sequence[Sample] = ()
    """Calls at kinks, at the edges of the domain, and with empty arrays.

    The cotangent is ones if `elementwise`, and otherwise 1, 2, 3, ...
    """
    raises: Sequence[RaisesFor] = ()
    """Calls that raise."""
    differences: Sequence[PinnedDifference] = ()
    """Calls on which torch and JAX differ, with both values pinned."""
    jax_idioms: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    """Obvious JAX expressions for the operator: label -> function of the same arguments.

    Their gradients at the points are compared with torch's, for the conventions table.
    """
    dtypes: Sequence[str] = REAL
    """The drawn calls run in the first dtype, with second derivatives and forward mode.

    The largest of them runs in each of the other dtypes.
    """
    elementwise: bool = False
    """Whether the points of one call are independent, so that each element is judged by itself."""
    torch: Callable[..., Any] | None = None
    """torch's function, if the name does not identify it."""
    since: str = ""
    """The first version of torch that has the operator, if an older version is supported."""
    removed: Change | None = None
    """The change that removed the operator from torch."""
    torch_gradient: bool = False
    """Whether JAX's function is called with `torch_gradient=True`, except for `differences`."""
    jit: bool = True
    """False if the function cannot be traced, because a shape depends on values."""
    num_samples: int = 10
    """The number of calls that are drawn, at least ten."""
    max_programs: int | None = None
    """The largest number of distinct combinations of shapes and options among the drawn calls.

    This limits the compilation time.
    """
    invariant: Callable[..., Any] | None = None
    """A function of the outputs that removes their ambiguity (such as a sign) before comparing."""
    tolerance: Mapping[str, Tolerance] = dataclasses.field(default_factory=dict)
    """A bound for a dtype that needs a larger one, with the reason."""
    forward_mode: str = ""
    """Why torch's forward mode contradicts torch's own gradient at some call.

    JAX's tangent is then compared with the gradient's transpose, and torch's must still differ.
    """
    source: str = ""
    """Rows of the catalogue: `P003 P052`."""
    strategy: Callable[..., Sample] = _no_strategy
    place: str = ""
    """The folder and the stem of the record's file: `linalg/lu`."""

    @property
    def too_new(self) -> str:
        """Why this torch cannot run the record, or the empty string."""
        import torch

        if not self.since or torch.__version__ >= self.since:
            return ""
        return f"torch {torch.__version__} has no {self.name}, which torch {self.since} introduced"

    @property
    def is_removed(self) -> bool:
        """Whether the installed torch has removed the operator."""
        return self.removed is not None and here(self.removed)

    @property
    def room(self) -> str:
        return self.place.partition("/")[0]

    def __call__(self, strategy: Callable[..., Sample]) -> Callable[..., Sample]:
        """Register the decorated strategy for this operator, and the file that contains it."""
        if self.name in _RECORDS:
            raise ValueError(f"{self.name} has two records; keep one")
        if self.num_samples < 10:
            raise ValueError(f"{self.name} draws {self.num_samples} calls; draw at least 10")
        module = sys._getframe(1).f_globals["__name__"]
        place = module.removeprefix(f"{__name__}.").replace(".", "/")
        _RECORDS[self.name] = dataclasses.replace(self, strategy=strategy, place=place)
        return strategy


operator = Operator
_RECORDS: dict[str, Operator] = {}


def load() -> dict[str, Operator]:
    """Return all records keyed by operator name, in the order of the folders and their files."""
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        if "._" not in info.name:
            importlib.import_module(info.name)
    return dict(sorted(_RECORDS.items(), key=lambda item: item[1].place))


def torch_side(record: Operator) -> Callable[..., Any]:
    """Return torch's function; it accepts the name of a dtype as `dtype=`.

    Raises:
        SkipTest: This torch is older than the operator.
    """
    import torch

    if record.too_new:
        raise unittest.SkipTest(record.too_new)
    fun = _compared(record, _torch_function(record))

    def call(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("dtype"), str):
            kwargs["dtype"] = getattr(torch, kwargs["dtype"])
        return fun(*args, **kwargs)

    return call


def _torch_function(record: Operator) -> Callable[..., Any]:
    import torch

    if record.torch is not None:
        return record.torch
    namespaces = [torch.nn.functional, torch] if "." not in record.name else [torch]
    for namespace in namespaces:
        try:
            return look_up(namespace, record.name)
        except AttributeError:
            continue
    raise AttributeError(f"torch has no {record.name}; pass torch= to its record")


def jax_side(record: Operator) -> Callable[..., Any]:
    """Return the function of `jaxgrad.functional`, for the installed torch."""
    from jaxgrad import functional

    return _compared(record, look_up(functional.at(convention()), record.name))


def here(change: Change) -> bool:
    """Return whether the installed torch has a change."""
    return change.holds(convention())


def _compared(record: Operator, fun: Callable[..., Any]) -> Callable[..., Any]:
    invariant = record.invariant
    if invariant is None:
        return fun
    return lambda *args, **kwargs: invariant(*fun(*args, **kwargs))


def look_up(namespace: Any, name: str) -> Any:
    """Return the attribute that a dotted name refers to."""
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def _array(x: Any) -> Any:
    if isinstance(x, list) and any(isinstance(leaf, float | complex) for leaf in _flat(x)):
        return np.asarray(x)
    return x


def _flat(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in _flat(item)] if isinstance(x, list) else [x]


def _short(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)}" if x.size > 8 else str(x.tolist())
    return repr(x)
