"""Draws of weights: redrawn at random, or perturbed by about one ULP."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.prove.jax_side.port import Draw, is_rounded
from jaxgrad.parity.prove.judge import with_float32_noise
from jaxgrad.parity.prove.lazy import Lazy, replaced


if TYPE_CHECKING:
    from torch import nn


_LARGE = 1_000_000  # bytes of a tensor
_PERIOD = 65521  # perturbations repeat after so many numbers; a prime, so that no row repeats


def perturbed(draw: Draw, rough: Sequence[str], salt: int) -> Draw:
    """Perturb every number by at most one float64 ULP, and the `rough` tensors by a float32 ULP."""
    seed = [draw.number, salt, 1]
    numbers = {name: i for i, name in enumerate(draw.state)}

    def leaf(x: Any, rng: np.random.Generator) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return x
        signs = rng.integers(-1, 2, min(x.size, _PERIOD), np.int8)
        return _multiplied(x, 1 + float(np.finfo(np.float64).eps) * signs)

    def read(name: str) -> np.ndarray:
        x, rng = draw.state[name], np.random.default_rng([*seed, numbers[name]])
        return with_float32_noise(x, rng) if name in rough else leaf(x, rng)

    rng = np.random.default_rng(seed)
    inputs = map_leaves(lambda x: leaf(x, rng), draw.inputs)
    return dataclasses.replace(draw, state=Lazy(draw.state, read), inputs=inputs)


def _multiplied(x: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Multiply the numbers of an array by factors, which start again after `_PERIOD` numbers."""
    y = x.ravel().astype(np.result_type(x, factors))
    for start in range(0, y.size, _PERIOD):
        part = y[start : start + _PERIOD]
        part *= factors[: part.size]
    return y.reshape(x.shape)


def redrawn(
    state: Mapping[str, np.ndarray],
    names: Sequence[str],
    buffers: Sequence[str],
    rng: np.random.Generator,
) -> Lazy:
    """Return a state with new values for the weights `names`; no tensor is constant.

    Those of them that are `buffers` keep their sign, because variances are positive. Large tensors
    get float32 numbers, which take half the memory.
    """
    new = {}
    for name in names:
        x = np.asarray(state[name])
        if x.dtype.kind not in "fc" or not x.size:
            continue
        noise = rng.standard_normal(x.shape)
        if name in buffers and x.min() >= 0:
            y = x * (1 + 0.2 * np.abs(noise))
        else:
            y = x + 0.2 * (float(np.std(x)) or 0.5) * noise
        low = np.complex64 if np.iscomplexobj(y) else np.float32
        new[name] = y.astype(low) if y.nbytes > _LARGE else y
    return replaced(state, new)


def rounded_buffers(module: nn.Module, mapped: Sequence[str]) -> list[str]:
    """Return constants that were rounded to float32 (rotary tables) and exist only in torch."""
    frozen = [(name, x) for name, x in module.named_parameters() if not x.requires_grad]
    return [
        name
        for name, x in [*module.named_buffers(), *frozen]
        if name not in mapped
        and (x.is_floating_point() or x.is_complex())
        and is_rounded(to_numpy(x))
    ]
