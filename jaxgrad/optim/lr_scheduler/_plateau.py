"""A learning rate that falls when a metric does not improve: state and update."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core import compat
from jaxgrad.optim.lr_scheduler._schedule import as_float64


class ReduceLROnPlateauState(NamedTuple):
    """What changes from metric to metric; of shape (), but for a list of parameter groups."""

    lr: jax.Array
    best: jax.Array
    num_bad_epochs: jax.Array  # int32
    cooldown_counter: jax.Array  # int32
    last_epoch: jax.Array  # int32
    reductions: jax.Array  # int32: of `lr`, which with x64 off would not remember its last bits


class ReduceLROnPlateau:
    """What `reduce_lr_on_plateau` returns: `init` and `update`."""

    def __init__(
        self,
        lr: Any,
        mode: str,
        factor: float,
        patience: int,
        threshold: float,
        threshold_mode: str,
        cooldown: int,
        min_lr: Any,
        eps: float,
    ) -> None:
        self.lr, self.min_lr = as_float64(lr), as_float64(min_lr)
        self.mode, self.threshold_mode = mode, threshold_mode
        self.factor, self.threshold, self.eps = factor, threshold, eps
        self.patience, self.cooldown = patience, cooldown

    def init(self) -> ReduceLROnPlateauState:
        """The state before the first metric."""
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
        """torch's `step(metric)`; pure, for `jit` and `scan`.

        Args:
          state: The state before.
          metric: The number that should improve, of shape ().

        Returns:
          The state after; the learning rate is its `.lr`.
        """
        with compat.enable_x64():
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


def reduce_lr_on_plateau(
    lr: Any,
    mode: Literal["min", "max"] = "min",
    factor: float = 0.1,
    patience: int = 10,
    threshold: float = 1e-4,
    threshold_mode: Literal["rel", "abs"] = "rel",
    cooldown: int = 0,
    min_lr: Any = 0,
    eps: float = 1e-8,
) -> ReduceLROnPlateau:
    """The learning rate is multiplied by `factor` after a metric has not improved for a while.

    Args:
      lr: The initial learning rate, or a list with one for each parameter group.
      mode: Whether a smaller metric is better ("min"), or a larger one ("max").
      factor: Below 1.
      patience: How many bad epochs in a row are let pass.
      threshold: How much better counts.
      threshold_mode: Whether that is a part of the best metric ("rel"), or a number ("abs").
      cooldown: How many epochs after a reduction no bad ones are counted.
      min_lr: The smallest learning rate, or a list.
      eps: A smaller change is left out.

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
        lr, mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, eps
    )
