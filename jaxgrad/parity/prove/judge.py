"""Compare two arrays, allowing for the difference that rounding alone can cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxgrad.parity.ulp import distance, scale_of


RTOL = 1e-12  # relative to the leaf's scale, in float64
# Times the change that perturbing every number by 1 ULP causes. Why 30, and not 10: with
# 50 layers of BatchNorm in train mode, torch and JAX differed by 14 times that change.
ROUNDING_FACTOR = 30.0
MARGIN = 100.0  # a difference this much smaller than one rerun allows for needs no second rerun
# Relative to the scale. If rounding may cause more, a difference that it explains is
# "inconclusive", because a mistake of this size might not be seen. A module that holds tables
# in float32 is allowed more: rounding them to float32 is an error of 1e-7 already.
MAX_ROUNDING = 1e-6
MAX_TABLE_ROUNDING = 3e-4
CONTROL_SIZE = 1e-9  # relative error that a negative control injects and that must be detected
CONTROL_SIZES = (CONTROL_SIZE, 1e-7, 1e-5, 1e-3)  # tried in turn where rounding hides smaller ones
STRUCTURAL_ZERO = 1e-13  # relative to the tree's scale: the gradient of a bias before a norm


@dataclasses.dataclass(frozen=True)
class Judged:
    """The comparison of one leaf between torch and JAX."""

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
        """The difference relative to the scale."""
        return self.difference / self.scale if self.scale else self.difference

    @property
    def off(self) -> str:
        """How much the leaf is off, or in which program it is not finite."""
        if np.isfinite(self.share):
            return f"is off by {self.share:.2g} (relative to its scale)"
        sides = [side for side in ("torch", "JAX") if not np.isfinite(getattr(self, side.lower()))]
        if len(sides) == 2:
            return "has other elements that are not finite in JAX than in torch"
        return f"has elements that are not finite in {sides[0]} alone"

    @property
    def doubt(self) -> str:
        """How much rounding may change the values of an inconclusive leaf, and how much differs."""
        allowed = self.allowed / self.scale if self.scale else self.allowed
        return f"by up to {allowed:.1g} of its scale, and torch and JAX differ by {self.share:.1g}"

    @property
    def worst(self) -> dict[str, Any]:
        """The worst element's index and its values in torch and JAX, as arguments of `Finding`."""
        return {"index": self.index, "torch_value": self.torch, "jax_value": self.jax}

    def row(self) -> dict[str, Any]:
        """Return the comparison as a row of the report's table."""
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
    reruns: Iterable[np.ndarray | float] = (),
    *,
    tree_scale: float = 0.0,
    scale: float | None = None,
    most: float = MAX_ROUNDING,
    in_jax: Callable[[], float] | None = None,
) -> Judged:
    """Compare two arrays of the same shape.

    Arrays that agree within `RTOL` pass, whatever rounding does to them. Otherwise the effect of
    rounding is measured, as far as the verdict needs it.

    Args:
        name: Name of the leaf.
        torch: Value in torch.
        jax: Value in JAX.
        reruns: Values in torch with every number perturbed by an ULP, or as Python floats the
            largest change that the perturbation causes. They measure the effect of rounding, and
            are read one after the other until one of them allows for `MARGIN` times the
            difference.
        tree_scale: Largest magnitude in the whole tree: a leaf that is tiny relative to it counts
            as zero. If 0, no leaf does.
        scale: Magnitude that differences are relative to; by default the leaf's own.
        most: Largest effect of rounding, relative to the scale, with which arrays can be compared.
        in_jax: Function that returns the largest change that rounding causes in JAX. It is called
            if torch's rounding does not explain a small difference.
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
    zero = STRUCTURAL_ZERO * tree_scale
    finite = bool(np.isfinite(torch).all() and np.isfinite(jax).all())
    if tree_scale and finite and own <= zero:
        size = scale_of(jax)
        own_rounding = in_jax if size <= most * tree_scale else None
        if size <= zero or size <= _rounding(torch, reruns, size, own_rounding):
            return Judged(name, "zero", 0.0, zero, tree_scale)
    off = distance(jax, torch)
    difference = float(np.max(off, initial=0.0))
    flat = int(np.argmax(off)) if off.size else 0
    at = tuple(int(i) for i in np.unravel_index(flat, off.shape)) if off.size else ()
    values = (torch[at].item(), jax[at].item()) if off.size else (None, None)
    bound = RTOL * scale
    if difference <= bound:
        return Judged(name, "pass", difference, bound, scale, at, *values)
    small = difference <= most * scale
    rounding = _rounding(torch, reruns, difference, in_jax if small else None)
    verdict = "pass" if difference <= rounding else "fail"
    if verdict == "pass" and scale and rounding > most * scale:
        verdict = "inconclusive"
    return Judged(name, verdict, difference, max(bound, rounding), scale, at, *values)


def _rounding(
    torch: np.ndarray,
    reruns: Iterable[np.ndarray | float],
    difference: float,
    in_jax: Callable[[], float] | None,
) -> float:
    """Return the largest difference that rounding explains, measured until there is no doubt."""
    rounding, near = 0.0, iter(reruns)
    while difference * MARGIN > rounding:
        x = next(near, None)
        if x is None:
            break
        # Arithmetic turns an array without dimensions into a numpy scalar, which is a value too.
        change = x if type(x) is float else max_difference(torch, np.asarray(x))
        rounding = max(rounding, ROUNDING_FACTOR * change)
    if in_jax is not None and difference > rounding:
        rounding = max(rounding, ROUNDING_FACTOR * in_jax())
    return rounding


def one_sided(
    name: str,
    torch: np.ndarray | None,
    jax: np.ndarray | None,
    reruns: Iterable[np.ndarray | float],
    tree_scale: float,
) -> Judged:
    """Compare the gradient of an input that only one framework computes with zeros.

    The difference is relative to the gradient itself. The structure surface reports a one-sided
    gradient of a parameter.
    """
    given = np.asarray(jax if torch is None else torch)
    x, y = (np.zeros_like(given) if side is None else side for side in (torch, jax))
    judged = judge(name, x, y, reruns, tree_scale=tree_scale, scale=scale_of(given))
    return dataclasses.replace(judged, **({"torch": None} if torch is None else {"jax": None}))


def max_difference(x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest finite difference between the elements of two arrays."""
    off = distance(np.asarray(y), x)
    largest = float(np.max(off, initial=0.0))
    if np.isfinite(largest):
        return largest
    return float(np.max(off, where=np.isfinite(off), initial=0.0))


def with_float32_noise(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Perturb every number by the amount that rounding to float32 may have lost.

    The amount is relative to the largest element, because the sine of a rounded angle has the
    same absolute error where it is small.
    """
    size = float(np.max(np.abs(x), where=np.isfinite(x), initial=0.0))
    eps = float(np.finfo(np.float32).eps) * (size if size < 1e4 else np.abs(x))
    signs = rng.integers(-1, 2, x.shape, np.int8)
    if np.iscomplexobj(x):
        signs = signs + 1j * rng.integers(-1, 2, x.shape, np.int8)
    return np.asarray(x + eps * signs)
