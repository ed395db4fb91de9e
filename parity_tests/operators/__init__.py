"""The operator grid: what each operator of `jaxgrad.functional` is tried on, one record each.

    @operator("clamp", elementwise=True, points=[call([-1.0, 1.0, nan], -1.0, 1.0)])
    def clamp(draw):
        "Scalar and array bounds, either of them missing."
        return call(draw(floats()), draw(bounds), draw(bounds))

The name finds both sides: `torch.nn.functional.clamp` or `torch.clamp`, and
`jaxgrad.functional.clamp`; a dotted one (`linalg.norm`) is in the namespace on both sides.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.compare import Tolerance


REAL = ("float64", "float32", "bfloat16", "float16")
COMPLEX = ("complex128", "complex64")


class Sample:
    """One call: positional and keyword arguments, arrays as numpy."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        words = [_short(x) for x in self.args]
        words += [f"{name}={_short(x)}" for name, x in self.kwargs.items()]
        return f"({', '.join(words)})"


def call(*args: Any, **kwargs: Any) -> Sample:
    """A call. A list that holds floats is an array of float64; other lists and numbers are not."""
    return Sample(tuple(_array(x) for x in args), {name: _array(x) for name, x in kwargs.items()})


@dataclasses.dataclass(frozen=True)
class Raises:
    """Both sides raise for this call: the same built-in type, each with its own stable words.

    `when="backward"`: the call itself is fine, its gradient is not.
    """

    sample: Sample
    type: type[BaseException]
    torch: str
    jax: str
    when: str = "forward"


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A call on which the sides disagree: what each has at these paths, and why that is right.

    `at` maps a path to the pair (torch's value, ours), numbers or arrays. Paths are `forward/0`
    (an output), `gradient/0` and `gradient/weight` (an argument, by position or keyword),
    `second/0`, `tangent/0` (an output), `transpose/0` (a cotangent). All others must agree; second
    derivatives and forward mode are looked at where one of them is pinned.
    """

    sample: Sample
    at: Mapping[str, tuple[Any, Any]]
    why: str

    @property
    def second_order(self) -> bool:
        return any(path.split("/")[0] not in ("forward", "gradient") for path in self.at)


@dataclasses.dataclass(frozen=True)
class Operator:
    """A record: an operator, the calls it is tried on, and what is known of it."""

    name: str
    family: str
    strategy: Callable[..., Sample]
    torch: Callable[..., Any] | None
    points: tuple[Sample, ...]
    raises: tuple[Raises, ...]
    deviations: tuple[Deviation, ...]
    natural: Mapping[str, Callable[..., Any]]
    dtypes: tuple[str, ...]
    elementwise: bool
    torch_gradient: bool
    jit: bool
    drawn: int
    kinds: int | None
    invariant: Callable[..., Any] | None
    tolerance: Mapping[str, Tolerance]
    forward_mode: str
    source: tuple[str, ...]


_FOUND: dict[str, Operator] = {}


def operator(
    name: str,
    *,
    points: Sequence[Sample] = (),
    raises: Sequence[Raises] = (),
    deviations: Sequence[Deviation] = (),
    natural: Mapping[str, Callable[..., Any]] | None = None,
    dtypes: Sequence[str] = REAL,
    elementwise: bool = False,
    torch: Callable[..., Any] | None = None,
    torch_gradient: bool = False,
    jit: bool = True,
    drawn: int = 10,
    kinds: int | None = None,
    invariant: Callable[..., Any] | None = None,
    tolerance: Mapping[str, Tolerance] | None = None,
    forward_mode: str = "",
    source: str = "",
) -> Callable[[Callable[..., Sample]], Callable[..., Sample]]:
    """Register a strategy `fun(draw) -> Sample` as the record of an operator.

    Args:
      name: As after `torch.` or `torch.nn.functional.`: `clamp`, `linalg.norm`.
      points: Calls at kinks, at the edges of the domain, empty. The cotangent is ones where
        `elementwise`, else 1, 2, 3, ...
      raises: Calls that raise.
      deviations: Calls on which the sides disagree, pinned on both.
      natural: What a person would write in JAX, for the conventions table: label -> function of
        the same arguments. Its gradients at the points are compared with torch's.
      dtypes: The drawn calls run in the first of them with second derivatives and forward mode,
        and a few of them in each of the others. Complex ones as they are named.
      elementwise: The points of one call are independent: each element is judged by itself.
      torch: torch's side, where the name does not find it.
      torch_gradient: Ours is called with `torch_gradient=True`, except for `deviations`.
      jit: False for what cannot be traced (a shape that depends on values).
      drawn: How many calls are drawn; at least ten.
      kinds: Of how many shapes and options at most, where a program takes long to compile.
      invariant: What is compared of several outputs, where each is known up to a sign: a function
        of them in operators that both sides have.
      tolerance: A bound of its own for a dtype, with its reason.
      forward_mode: Why torch's forward mode contradicts its own gradient somewhere. Ours is then
        compared with the gradient's transpose, and torch's must still contradict it.
      source: Rows of the catalogue, `P003 P052`.
    """

    def register(fun: Callable[..., Sample]) -> Callable[..., Sample]:
        if name in _FOUND:
            raise ValueError(f"{name} has two records; keep one")
        if drawn < 10:
            raise ValueError(f"{name} draws {drawn} calls; draw at least 10")
        _FOUND[name] = Operator(
            name=name,
            family=fun.__module__.rpartition(".")[2],
            strategy=fun,
            torch=torch,
            points=tuple(points),
            raises=tuple(raises),
            deviations=tuple(deviations),
            natural=dict(natural or {}),
            dtypes=tuple(dtypes),
            elementwise=elementwise,
            torch_gradient=torch_gradient,
            jit=jit,
            drawn=drawn,
            kinds=kinds,
            invariant=invariant,
            tolerance=dict(tolerance or {}),
            forward_mode=forward_mode,
            source=tuple(source.split()),
        )
        return fun

    return register


def load() -> dict[str, Operator]:
    """Every record by name, families in alphabetical order."""
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            importlib.import_module(f"{__name__}.{info.name}")
    return dict(_FOUND)


def torch_side(made: Operator) -> Callable[..., Any]:
    """torch's function of this name; a `dtype=` is torch's of that name."""
    import torch

    fun = _compared(made, _torch_side(made))

    def call(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("dtype"), str):
            kwargs["dtype"] = getattr(torch, kwargs["dtype"])
        return fun(*args, **kwargs)

    return call


def _torch_side(made: Operator) -> Callable[..., Any]:
    import torch

    if made.torch is not None:
        return made.torch
    places = [torch.nn.functional, torch] if "." not in made.name else [torch]
    for place in places:
        try:
            return _follow(place, made.name)
        except AttributeError:
            continue
    raise AttributeError(f"torch has no {made.name}; pass torch= to its record")


def jax_side(made: Operator) -> Callable[..., Any]:
    """Our function of this name."""
    from jaxgrad import functional

    return _compared(made, _follow(functional, made.name))


def _compared(made: Operator, fun: Callable[..., Any]) -> Callable[..., Any]:
    invariant = made.invariant
    if invariant is None:
        return fun
    return lambda *args, **kwargs: invariant(*fun(*args, **kwargs))


def _follow(place: Any, name: str) -> Any:
    for part in name.split("."):
        place = getattr(place, part)
    return place


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
