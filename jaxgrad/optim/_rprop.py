"""Rprop: steps by the sign of the gradient alone, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_number, rounded
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, full, zeros


class RpropState(NamedTuple):
    """Trees like the parameters."""

    step: Any
    prev: Any
    step_size: Any
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: RpropState) -> tuple[Any, RpropState]:
    dtype = grad.dtype
    step_size = state.step_size
    if not is_number(h.lr):  # torch makes the state at the first step, by the learning rate of then
        step_size = jnp.where(state.step == 0, rounded(h.lr, dtype), step_size)

    agreement = ops.mul(grad, state.prev)
    turned, minus, plus = agreement < 0, rounded(h.etaminus, dtype), rounded(h.etaplus, dtype)
    low, high = rounded(h.step_size_min, dtype), rounded(h.step_size_max, dtype)
    # XLA on CPU computes a clip by two numbers again for each use, also by a constant array; a
    # select between equals makes it one that is computed once (16 flops for 22).
    low = jnp.where(turned, low, low)
    factor = jnp.where(turned, minus, jnp.where(agreement > 0, plus, 1))
    step_size = jax.lax.clamp(low, ops.mul(step_size, factor), high)

    grad = jnp.where(turned, 0, grad)
    param = ops.add(param, ops.mul(ops.sign(grad), step_size), -1)
    return param, RpropState(state.step + 1, grad, step_size)


def rprop(
    lr: Any = 1e-2,
    etas: tuple[Any, Any] = (0.5, 1.2),
    step_sizes: tuple[Any, Any] = (1e-6, 50),
    *,
    capturable: bool = False,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Steps that grow while the sign of the gradient stays, and shrink when it turns.

    Args:
      lr: The size of the first step: a number, an array of one element, or a schedule.
      etas: The factors by which a step shrinks and grows.
      step_sizes: The smallest and the largest step.
      capturable, foreach, differentiable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `prev` and `step_size`, trees like the
      parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.rprop(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w, state.step_size)
      [0.5 2.5] [0.5 0.5]

    Torch: `torch.optim.Rprop` (torch/optim/rprop.py).

    Differs from optax in:
      1. A step has the size that this gradient gave it; in `optax.rprop` that of the step before.
      2. A None gradient leaves the parameter and its state alone.
    """
    _checks.learning_rate(lr)
    etaminus, etaplus = etas
    _checks.check(
        "etas", etaminus, lambda x: 0.0 < x < 1.0, "0.0 < etaminus < 1.0 < etaplus",
        f"Invalid eta values: {etaminus}, {etaplus}",
    )  # fmt: skip
    _checks.check(
        "etas", etaplus, lambda x: x > 1.0, "0.0 < etaminus < 1.0 < etaplus",
        f"Invalid eta values: {etaminus}, {etaplus}",
    )  # fmt: skip
    del capturable, foreach, differentiable
    step_size_min, step_size_max = step_sizes
    hyperparameters = dict(
        lr=lr, etaminus=etaminus, etaplus=etaplus,
        step_size_min=step_size_min, step_size_max=step_size_max,
    )  # fmt: skip
    initial = RpropState(counter, zeros, full(lr if is_number(lr) else 0.0))
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
