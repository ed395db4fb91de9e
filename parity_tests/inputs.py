"""Descriptors of a case's inputs, from which numpy arrays are sampled with a seed.

inputs=dict(net={"l1": linear(10, 5), "l2": linear(5, 1)}, x=normal(3, 10), y=normal(3, 1))
inputs=dict(a=document(2.0), b=document(3.0))       # seed 0 uses these numbers
"""

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


Sampler = Callable[[np.random.Generator], Any]


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """One input array: how to sample it, and the value from the source document, if it has one.

    Attributes:
        sample: The function that samples the array from a generator.
        code: The same as an expression of `rng` and `np`; empty for a `fixed` value.
        document: The value for seed 0.
        continuous: Whether the array may be perturbed by one ULP to measure torch's own rounding.
    """

    sample: Sampler
    code: str = ""
    document: np.ndarray | None = None
    continuous: bool = True


def normal(*shape: int, scale: float = 1.0) -> InputSpec:
    """Sample floats from a standard normal distribution times `scale`."""
    factor = "" if scale == 1 else f"{scale} * "
    return InputSpec(
        lambda rng: scale * rng.standard_normal(shape), f"{factor}rng.standard_normal({shape})"
    )


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> InputSpec:
    """Sample floats uniformly from [low, high)."""
    return InputSpec(
        lambda rng: rng.uniform(low, high, shape), f"rng.uniform({low}, {high}, {shape})"
    )


def integers(*shape: int, low: int = 0, high: int) -> InputSpec:
    """Sample int64 values from [low, high), for labels and indices."""
    code = f"rng.integers({low}, {high}, {shape})"
    return InputSpec(lambda rng: rng.integers(low, high, shape), code, continuous=False)


def bernoulli(*shape: int, p: float) -> InputSpec:
    """Sample floats that are 1 with probability `p` and else 0, for dropout masks."""
    code = f"(rng.random({shape}) < {p}).astype(np.float64)"
    return InputSpec(lambda rng: (rng.random(shape) < p).astype(np.float64), code, continuous=False)


def complex_normal(*shape: int) -> InputSpec:
    """Sample complex numbers with standard normal real and imaginary parts."""
    draw = f"rng.standard_normal({shape})"
    return InputSpec(
        lambda rng: rng.standard_normal(shape) + 1j * rng.standard_normal(shape),
        f"{draw} + 1j * {draw}",
    )


def document(value: Any, otherwise: InputSpec | None = None) -> InputSpec:
    """Use a source document's value for seed 0 and sample for other seeds.

    Floats are sampled from a standard normal distribution unless `otherwise` is given. Integers
    and booleans are the same for every seed unless `otherwise` is given.
    """
    value = np.asarray(value)
    if value.dtype.kind == "f":
        otherwise = otherwise or normal(*value.shape)
    if otherwise is None:
        return fixed(value)
    return dataclasses.replace(otherwise, document=value)


def fixed(value: Any) -> InputSpec:
    """Use the same array for every seed and never perturb it, for claims about one exact point."""
    value = np.asarray(value)
    return InputSpec(lambda rng: value.copy(), continuous=False)


def linear(n_in: int, n_out: int) -> dict[str, InputSpec]:
    """Sample the parameters of `nn.Linear(n_in, n_out)` in torch's layout, with its initializer."""
    bound = n_in**-0.5
    return {
        "weight": uniform(n_out, n_in, low=-bound, high=bound),
        "bias": uniform(n_out, low=-bound, high=bound),
    }


def draw(spec: Any, name: str, seed: int = 0, attempt: int = 0) -> Any:
    """Sample the inputs of one run; floats are float64, integers and booleans keep their dtype.

    Args:
        spec: A tree of `InputSpec`, numpy arrays and static values.
        name: Part of the random seed, so that adding a case does not change other cases' inputs.
        seed: With 0, use the source documents' values where the case gives any.
        attempt: Number of times the inputs were redrawn.
    """
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed, attempt])

    def leaf(x: Any) -> Any:
        if not isinstance(x, InputSpec):
            return x
        value = np.asarray(x.sample(rng))  # sampled even if unused, or later arrays would change
        if x.document is not None and seed == 0:
            value = x.document.astype(value.dtype)
        return value.astype(np.float64) if value.dtype.kind == "f" else value

    return _map(leaf, spec)


def nudge(spec: Any, inputs: Any, salt: int) -> Any:
    """Perturb every continuous value of the inputs by one ULP of its own dtype."""
    rng = np.random.default_rng(salt)

    def leaf(x: Any, value: Any) -> Any:
        if not (isinstance(x, InputSpec) and x.continuous and value.dtype.kind in "fV"):
            return value
        away = np.where(rng.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
        return np.nextafter(value, away)

    return _map(leaf, spec, inputs)


def perturbations(spec: Any, inputs: Any) -> Iterator[Any]:
    """Yield the inputs once per floating array, with that array scaled by about 1.001."""
    for target in range(len(_paths(spec))):
        yield _map(_Scaled(target), spec, inputs)


class _Scaled:
    """Scale the n-th floating array and return all other leaves unchanged."""

    def __init__(self, target: int):
        self.left = target

    def __call__(self, x: Any, value: Any) -> Any:
        if not _is_floating(x):
            return value
        self.left -= 1
        if self.left != -1:
            return value
        # bfloat16 has 8 significant bits, so a smaller factor would round to 1.
        factor = 1.001 if value.dtype.itemsize > 2 else 1.0625
        return (value * np.asarray(factor, value.dtype)).astype(value.dtype)


def _is_floating(x: Any) -> bool:
    if not isinstance(x, InputSpec):
        return False
    return np.asarray(x.sample(np.random.default_rng(0))).dtype.kind in "fc"


def _paths(spec: Any) -> list[InputSpec]:
    draws: list[InputSpec] = []
    _map(lambda x: draws.append(x) if _is_floating(x) else None, spec)
    return draws


def _map(fun: Callable[..., Any], spec: Any, *rest: Any) -> Any:
    if isinstance(spec, Mapping):
        return {key: _map(fun, spec[key], *(tree[key] for tree in rest)) for key in spec}
    if isinstance(spec, list | tuple):
        return type(spec)(_map(fun, *items) for items in zip(spec, *rest, strict=True))
    return fun(spec, *rest)
