"""What a case's inputs are made of: descriptors, drawn once in numpy from a seed.

inputs=dict(net={"l1": linear(10, 5), "l2": linear(5, 1)}, x=normal(3, 10), y=normal(3, 1))
inputs=dict(a=document(2.0), b=document(3.0))       # seed 0: the document's own numbers
"""

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


Sampler = Callable[[np.random.Generator], Any]


@dataclasses.dataclass(frozen=True)
class Draw:
    """One input array: how to sample it, and the document's own value where it gives one."""

    sample: Sampler
    document: np.ndarray | None = None
    continuous: bool = True  # may be moved by one ULP to measure torch's own rounding error


def normal(*shape: int, scale: float = 1.0) -> Draw:
    """Gaussian values, float."""
    return Draw(lambda rng: scale * rng.standard_normal(shape))


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Draw:
    """Uniform values in [low, high), float."""
    return Draw(lambda rng: rng.uniform(low, high, shape))


def integers(*shape: int, low: int = 0, high: int) -> Draw:
    """Integers in [low, high), int64: labels, indices."""
    return Draw(lambda rng: rng.integers(low, high, shape), continuous=False)


def bernoulli(*shape: int, p: float) -> Draw:
    """Zeros and ones, float: a dropout mask that keeps with probability p."""
    return Draw(lambda rng: (rng.random(shape) < p).astype(np.float64), continuous=False)


def complex_normal(*shape: int) -> Draw:
    """Gaussian real and imaginary parts."""
    return Draw(lambda rng: rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def document(value: Any, otherwise: Draw | None = None) -> Draw:
    """The document's own value for seed 0; other seeds draw, Gaussian unless told.

    An integer or boolean value is the same for every seed unless `otherwise` says how to draw.
    """
    value = np.asarray(value)
    if value.dtype.kind == "f":
        otherwise = otherwise or normal(*value.shape)
    if otherwise is None:
        return fixed(value)
    return dataclasses.replace(otherwise, document=value)


def fixed(value: Any) -> Draw:
    """The same array for every seed, never moved by an ULP: a claim about this very point."""
    value = np.asarray(value)
    return Draw(lambda rng: value.copy(), continuous=False)


def linear(n_in: int, n_out: int) -> dict[str, Draw]:
    """The parameters of `nn.Linear(n_in, n_out)` in torch's layout and with its initialiser."""
    bound = n_in**-0.5
    return {
        "weight": uniform(n_out, n_in, low=-bound, high=bound),
        "bias": uniform(n_out, low=-bound, high=bound),
    }


def draw(spec: Any, case_id: str, seed: int = 0, attempt: int = 0) -> Any:
    """The inputs of one run, in float64 (int64, bool as they are).

    Args:
      spec: A tree of `Draw`, numpy arrays and static values.
      case_id: Seeds the generator, so that adding a case moves no other case's inputs.
      seed: 0 uses the document's values where there are any.
      attempt: Counts redraws.
    """
    rng = np.random.default_rng([zlib.crc32(case_id.encode()), seed, attempt])

    def leaf(x: Any) -> Any:
        if not isinstance(x, Draw):
            return x
        value = np.asarray(x.sample(rng))  # drawn even where unused: the others must not move
        if x.document is not None and seed == 0:
            value = x.document.astype(value.dtype)
        return value.astype(np.float64) if value.dtype.kind == "f" else value

    return _map(leaf, spec)


def nudge(spec: Any, inputs: Any, salt: int) -> Any:
    """The same inputs with every continuous value moved by one ULP of its own dtype."""
    rng = np.random.default_rng(salt)

    def leaf(x: Any, value: Any) -> Any:
        if not (isinstance(x, Draw) and x.continuous and value.dtype.kind in "fV"):
            return value
        away = np.where(rng.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
        return np.nextafter(value, away)

    return _map(leaf, spec, inputs)


def perturbations(spec: Any, inputs: Any) -> Iterator[Any]:
    """The inputs with one floating array scaled by about 1.001, a variant for each such array."""
    for target in range(len(_paths(spec))):
        yield _map(_Scaled(target), spec, inputs)


class _Scaled:
    """Scales the n-th floating array it sees and leaves the others alone."""

    def __init__(self, target: int):
        self.left = target

    def __call__(self, x: Any, value: Any) -> Any:
        if not _is_floating(x):
            return value
        self.left -= 1
        if self.left != -1:
            return value
        # bfloat16 has 8 bits: a smaller factor would round away.
        factor = 1.001 if value.dtype.itemsize > 2 else 1.0625
        return (value * np.asarray(factor, value.dtype)).astype(value.dtype)


def _is_floating(x: Any) -> bool:
    if not isinstance(x, Draw):
        return False
    return np.asarray(x.sample(np.random.default_rng(0))).dtype.kind in "fc"


def _paths(spec: Any) -> list[Draw]:
    found: list[Draw] = []
    _map(lambda x: found.append(x) if _is_floating(x) else None, spec)
    return found


def _map(fun: Callable[..., Any], spec: Any, *rest: Any) -> Any:
    if isinstance(spec, Mapping):
        return {key: _map(fun, spec[key], *(tree[key] for tree in rest)) for key in spec}
    if isinstance(spec, list | tuple):
        return type(spec)(_map(fun, *items) for items in zip(spec, *rest, strict=True))
    return fun(spec, *rest)
