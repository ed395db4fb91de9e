"""Draws of weights: redrawn at random, or perturbed by about one ULP."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.prove.judge import with_float32_noise
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.jax_side.port import Draw, is_rounded
from jaxgrad.parity.prove.record.lazy import Lazy, replaced


if TYPE_CHECKING:
    from torch import nn


STATISTICS = ("running_mean", "running_var")  # the ends of the names, for the norms of torch
_LARGE = 1_000_000  # bytes of a tensor


def perturbed(draw: Draw, rough: Sequence[str], salt: int, numbers: Sequence[float] = ()) -> Draw:
    """Perturb every number by about one float64 ULP, and the `rough` tensors by a float32 ULP.

    Equal numbers are perturbed equally, so that a tie stays a tie. Short numbers, which may lie on
    a bound, are not perturbed, and neither are the `numbers` that the program itself contains.
    """
    seed = [draw.number, salt, 1]
    order = {name: i for i, name in enumerate(draw.state)}

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return x
        return coarse.nudged(x, salt, numbers if x.nbytes <= _LARGE else ())

    def read(name: str) -> np.ndarray:
        x = draw.state[name]
        if name in rough:
            return with_float32_noise(x, np.random.default_rng([*seed, order[name]]))
        return leaf(x)

    inputs = map_leaves(leaf, draw.inputs)
    return dataclasses.replace(draw, state=Lazy(draw.state, read), inputs=inputs)


def redrawn(
    state: Mapping[str, np.ndarray],
    names: Sequence[str],
    buffers: Sequence[str],
    rng: np.random.Generator,
) -> Lazy:
    """Return a state with new values for the weights `names`; no tensor is constant.

    Those of them that are `buffers` stay between their least and their largest number, because
    torch may accept no other ones, such as variances below 0 or, in a diffusion process, above 1.
    The zeros of a new running mean become positive. Tables keep their equal numbers, because a
    port may read one of two equal halves, or one of two equal tables. Infinite numbers,
    as in a mask that is added to scores, stay. Large tensors get float32 numbers, which take half
    the memory.
    """
    new = {}
    tables: dict[tuple[Any, ...], np.ndarray] = {}  # the redrawn table, by shape and old numbers
    for name in names:
        x = np.asarray(state[name])
        if x.dtype.kind not in "fc" or not x.size:
            continue
        key = x.shape, x.dtype, x.tobytes() if name in buffers else name
        if key in tables:
            new[name] = tables[key]
            continue
        groups = _groups(x) if name in buffers else None
        if groups is None:
            noise = rng.standard_normal(x.shape)
        else:
            noise = rng.standard_normal(x.size)[groups]
        finite = np.isfinite(x)
        if name in buffers:
            y = _moved_inwards(x, finite, noise)
        else:
            spread = float(np.std(x[finite])) if finite.any() else 0.0
            y = x + 0.2 * (spread or 0.5) * noise
        low = np.complex64 if np.iscomplexobj(y) else np.float32
        new[name] = y.astype(low) if y.nbytes > _LARGE else y
        if groups is not None:
            tables[key] = new[name]
    return replaced(state, new)


def _moved_inwards(x: np.ndarray, finite: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return a buffer with each number moved towards the mean, or a constant one towards 0.

    The zeros of a mask stay, and zeros alone become positive.
    """
    if x.ndim and not x.any():
        return 0.5 * (1 + 0.2 * np.abs(noise))
    given = x[finite & (x != 0)]
    if not given.size:
        return x
    constant = not np.ptp(np.real(given)) and not np.ptp(np.imag(given))
    share = np.minimum(0.2 * np.abs(noise), 0.9)
    towards = 0.0 if constant else given.mean()
    keeps = ~finite | (x == 0) & (constant | (np.real(given).min() >= 0))
    return np.where(keeps, x, x + share * (towards - np.where(finite, x, 0.0)))


def _groups(x: np.ndarray) -> np.ndarray | None:
    """Return the same index for equal numbers of a table; None for a constant or a mask.

    Statistics that were not trained are constant, and a redrawn mask needs different numbers.
    """
    distinct, groups = np.unique(x, return_inverse=True)
    if len(distinct) < 3 or len(distinct) ** 2 < x.size:
        return None
    return groups.reshape(x.shape)


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
