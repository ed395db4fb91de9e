"""ReduceLROnPlateau: lower the learning rate when a metric stops improving."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._schedule import Rates, as_float64


class ReduceLROnPlateauState(NamedTuple):
    """State of `reduce_lr_on_plateau`; `lr` and `reductions` have one entry per parameter group."""

    lr: jax.Array
    best: jax.Array
    num_bad_epochs: jax.Array  # int32
    cooldown_counter: jax.Array  # int32
    last_epoch: jax.Array  # int32
    reductions: jax.Array  # int32; recomputing lr from it avoids float32 rounding


@dataclasses.dataclass(frozen=True, eq=False)
class ReduceLROnPlateau:
    """The result of `reduce_lr_on_plateau`, with `init` and `update`."""

    lr: Any  # float64, of shape () or (groups,)
    mode: str
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    min_lr: Any  # like `lr`
    eps: float

    def init(self) -> ReduceLROnPlateauState:
        """Return the state before the first metric."""
        lr = self.lr + 0 * self.min_lr
        worst = jnp.inf if self.mode == "min" else -jnp.inf
        zero = jnp.int32(0)
        return ReduceLROnPlateauState(
            lr=jnp.asarray(lr, jnp.result_type(float)),
            best=jnp.asarray(worst, jnp.result_type(float)),
            num_bad_epochs=zero,
            cooldown_counter=zero,
            last_epoch=zero,
            reductions=jnp.zeros(lr.shape, jnp.int32),
        )

    def update(self, state: ReduceLROnPlateauState, metric: Any) -> ReduceLROnPlateauState:
        """Mirror torch's `step(metric)` as a pure function, for `jit` and `scan`.

        Args:
            state: The previous state.
            metric: The scalar that should improve.

        Returns:
            The new state; the learning rate is its `.lr`.
        """
        with jax.enable_x64(True):
            better = self._better(
                jnp.asarray(metric).astype(jnp.float64), state.best.astype(jnp.float64)
            )
            best = jnp.where(better, metric, state.best).astype(state.best.dtype)
            bad = jnp.where(better, 0, state.num_bad_epochs + 1)
            cooling = state.cooldown_counter > 0
            cooldown = state.cooldown_counter - cooling
            bad = jnp.where(cooling, 0, bad)
            reduce = bad > self.patience
            old, new = (self._reduced(state.reductions + i) for i in (0, 1))
            reductions = state.reductions + (reduce & (old - new > self.eps))
            return ReduceLROnPlateauState(
                lr=self._reduced(reductions).astype(state.lr.dtype),
                best=best,
                num_bad_epochs=jnp.where(reduce, 0, bad).astype(jnp.int32),
                cooldown_counter=jnp.where(reduce, self.cooldown, cooldown).astype(jnp.int32),
                last_epoch=(state.last_epoch + 1).astype(jnp.int32),
                reductions=reductions.astype(jnp.int32),
            )

    def _reduced(self, times: jax.Array) -> jax.Array:
        lr = self.lr * jnp.power(jnp.float64(self.factor), times.astype(jnp.float64))
        return jnp.where(times == 0, self.lr, jnp.maximum(lr, self.min_lr))

    def _better(self, metric: jax.Array, best: jax.Array) -> jax.Array:
        if self.mode == "min":
            relative = self.threshold_mode == "rel"
            return metric < (best * (1.0 - self.threshold) if relative else best - self.threshold)
        relative = self.threshold_mode == "rel"
        return metric > (best * (self.threshold + 1.0) if relative else best + self.threshold)


@argument_names.checked
def reduce_lr_on_plateau(
    lr: Rates,
    mode: Literal["min", "max"] = "min",
    factor: float = 0.1,
    patience: int = 10,
    threshold: float = 1e-4,
    threshold_mode: Literal["rel", "abs"] = "rel",
    cooldown: int = 0,
    min_lr: Rates = 0,
    eps: float = 1e-8,
) -> ReduceLROnPlateau:
    """Multiply the learning rate by `factor` when a metric has stopped improving.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        mode: Whether a smaller ("min") or a larger metric ("max") is better.
        factor: Multiplicative factor, below 1.
        patience: Number of epochs without improvement that are tolerated.
        threshold: Smallest change in the metric that counts as an improvement.
        threshold_mode: Whether `threshold` is relative to the best metric ("rel") or not ("abs").
        cooldown: Number of epochs to wait after a reduction before counting bad epochs again.
        min_lr: Minimum learning rate, or a list.
        eps: Changes of the learning rate that are smaller than this are ignored.

    Returns:
        An object with `init() -> state` and `update(state, metric) -> state`; the learning rate is
        `state.lr`.

    Raises:
        ValueError: `factor` is 1 or more, a mode is unknown, or the lists have different lengths.

    Example:
        >>> plateau = reduce_lr_on_plateau(1.0, factor=0.5, patience=1)
        >>> state = plateau.init()
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     state = plateau.update(state, loss)
        >>> print(state.lr, state.best, state.num_bad_epochs)
        0.5 2.0 0

    Torch: `torch.optim.lr_scheduler.ReduceLROnPlateau`.

    Differs from optax in:
        1. `optax.contrib.reduce_on_plateau` reduces one bad epoch early.
    """
    if factor >= 1.0:
        raise ValueError(f"Factor should be < 1.0. Got factor={factor}")
    if mode not in ("min", "max"):
        raise ValueError(f"mode {mode} is unknown! It may be 'min' or 'max'")
    if threshold_mode not in ("rel", "abs"):
        raise ValueError(f"threshold mode {threshold_mode} is unknown! It may be 'rel' or 'abs'")
    groups, floors = as_float64(lr), as_float64(min_lr)
    if groups.ndim and floors.ndim and len(groups) != len(floors):
        raise ValueError(f"expected {len(groups)} min_lrs, got {len(floors)}")
    return ReduceLROnPlateau(
        groups, mode, factor, patience, threshold, threshold_mode, cooldown, floors, eps
    )
