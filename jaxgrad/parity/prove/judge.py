"""Two arrays, and how far rounding alone could have driven them apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.ulp import distance, scale_of


RTOL = 1e-12  # of the leaf's scale, in float64
NOISE = 10.0  # times what the same numbers moved by 1 ULP make of it
HOPELESS = 1e-4  # of the scale: where rounding does more, nothing can be said
PLANT = 1e-9  # of the value: what a control moves, and the proof must find
NOTHING = 1e-13  # of the tree's scale: a structural zero (a bias before a norm)


@dataclasses.dataclass(frozen=True)
class Judged:
    """One leaf on both sides."""

    name: str
    verdict: str  # pass | fail | inconclusive | zero
    difference: float
    allowed: float
    scale: float
    index: tuple[int, ...] = ()
    torch: Any = None
    jax: Any = None

    @property
    def share(self) -> float:
        """The difference as a share of the scale."""
        return self.difference / self.scale if self.scale else self.difference

    def row(self) -> dict[str, Any]:
        """For a table."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "difference": self.share,
            "allowed": self.allowed / self.scale if self.scale else self.allowed,
            "index": list(self.index),
            "torch": self.torch,
            "jax": self.jax,
        }


def judge(
    name: str,
    torch: np.ndarray,
    jax: np.ndarray,
    reruns: Sequence[np.ndarray | float] = (),
    *,
    tree_scale: float = 0.0,
    scale: float | None = None,
) -> Judged:
    """Compare two arrays of the same shape.

    Args:
      name: Of the leaf.
      torch: torch's value.
      jax: JAX's.
      reruns: torch's value with the inputs moved by an ULP, or how far that moves it: what
        rounding does.
      tree_scale: The largest magnitude of the leaves beside it; 0 if zeros mean something.
      scale: What differences are measured against; the leaf's own magnitude if not given.
    """
    torch, jax = np.asarray(torch), np.asarray(jax)
    if not np.issubdtype(torch.dtype, np.inexact):
        wrong = np.argwhere(torch != jax)
        if not len(wrong):
            return Judged(name, "pass", 0.0, 0.0, 1.0)
        at = tuple(int(i) for i in wrong[0])
        return Judged(name, "fail", 1.0, 0.0, 1.0, at, torch[at].item(), jax[at].item())
    own = scale_of(torch)
    if scale is None:
        scale = own
    moves = [noise(torch, x) if isinstance(x, np.ndarray) else x for x in reruns]
    moved = max(moves, default=0.0)
    if (
        tree_scale
        and own <= max(NOTHING * tree_scale, 0.0)
        and scale_of(jax) <= max(NOTHING * tree_scale, NOISE * moved)
    ):
        return Judged(name, "zero", 0.0, NOTHING * tree_scale, tree_scale)
    allowed = max(RTOL * scale, NOISE * moved)
    apart = distance(jax, torch)
    difference = float(np.max(apart, initial=0.0))
    flat = int(np.argmax(apart)) if apart.size else 0
    at = tuple(int(i) for i in np.unravel_index(flat, apart.shape)) if apart.size else ()
    values = (torch[at].item(), jax[at].item()) if apart.size else (None, None)
    verdict = "pass" if difference <= allowed else "fail"
    if verdict == "pass" and scale and allowed > HOPELESS * scale:
        verdict = "inconclusive"
    return Judged(name, verdict, difference, allowed, scale, at, *values)


def noise(torch: np.ndarray, again: np.ndarray) -> float:
    """How far the second array is from the first, where both are finite."""
    apart = distance(np.asarray(again), torch)
    return float(np.max(apart, where=np.isfinite(apart), initial=0.0))


def rounded(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The array with every number moved by what float32 may have rounded away.

    Of the largest element: the sine of a rounded angle is as far off where it is small.
    """
    size = float(np.max(np.abs(x), where=np.isfinite(x), initial=0.0))
    eps = float(np.finfo(np.float32).eps) * (size if size < 1e4 else np.abs(x))
    return x + eps * rng.integers(-1, 2, x.shape, np.int8)
