"""Run both programs in their own dtypes, and compare what rounding changes in their outputs.

Two programs that round the same values have equal outputs, up to the last bits of float32. With
another rounding, the outputs differ about as much as rounding changes them at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.record.jax_side import native as jax_native
from jaxgrad.parity.prove.record.jax_side.native import NativeValues
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.torch_side.values import Native
from jaxgrad.parity.prove.users import first_line
from jaxgrad.parity.ulp import scale_of


_SHARE = 0.25  # of what rounding changes; equal roundings differ by far less, others by more
_FLOOR = 64 * float(np.finfo(np.float32).eps)  # relative to an output's scale


class Difference(NamedTuple):
    """How much an output differs between torch and JAX, both in their own dtypes."""

    name: str  # of the output
    share: float  # the difference, relative to what rounding changes
    differing: int  # elements that differ by more than the last bits of float32
    size: int

    @property
    def agrees(self) -> bool:
        """Whether the same values are rounded."""
        return self.share <= _SHARE

    def __str__(self) -> str:
        part = f"{self.differing} of {self.size} elements of {self.name} differ"
        what = part if self.size > 1 else f"{self.name} differs"
        return f"in their own dtypes, {what}, by {self.share:.2g} times what rounding changes"


def largest(
    torch: Native, jax: NativeValues, draws: Sequence[Draw], called: str = "the port"
) -> Difference | str:
    """Return the output that differs most, relative to what rounding changes; or why none does.

    Args:
        torch: torch's run in the dtypes of the module.
        jax: The values of the port, whose program is traced in its own dtypes.
        draws: The weights and inputs.
        called: What a sentence calls the JAX program.
    """
    if not torch.outputs:
        return "torch's outputs in its own dtypes are not known"
    try:
        rounded = jax_native.outputs(jax.port, torch, draws)
    except Exception as error:
        return f"{called} does not run in its own dtypes: {first_line(error)}"
    differences = [
        _difference(name or "the output", x, y, exact)
        for expected, actual, exacts in zip(torch.outputs, rounded, jax.exact, strict=True)
        for (name, x), y, exact in zip(expected.items(), actual, exacts, strict=False)
        if exact.dtype.kind in "fc" and exact.size
    ]
    return max(differences, key=lambda x: (x.share, x.differing), default="no output is a float")


def _difference(name: str, x: np.ndarray, y: np.ndarray, exact: np.ndarray) -> Difference:
    x, y = (np.reshape(z, exact.shape).astype(exact.dtype) for z in (x, y))
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(exact)
    other = ~finite & (x != y) & ~(np.isnan(x) & np.isnan(y))
    x, y, exact = (np.where(finite, z, 0.0) for z in (x, y, exact))
    off = np.abs(x - y)
    floor = _FLOOR * (scale_of(exact) or 1.0)
    count = int(np.sum(other) + np.sum(off > floor))
    if other.any():
        return Difference(name, np.inf, count, exact.size)
    changed = max(_rms(z - exact) for z in (x, y))
    share = _rms(off) / changed if count else 0.0
    return Difference(name, share, count, exact.size)


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.abs(x) ** 2)))
