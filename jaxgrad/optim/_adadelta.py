"""Adadelta, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class AdadeltaState(NamedTuple):
    """Trees like the parameters."""

    step: Any
    square_avg: Any
    acc_delta: Any
    count: Any = None


def _rule(
    ops: Any, h: Any, grad: Any, param: Any, state: AdadeltaState
) -> tuple[Any, AdadeltaState]:
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    square_avg = ops.addcmul(ops.mul(state.square_avg, h.rho), grad, grad, 1 - h.rho)
    std = ops.sqrt(ops.add(square_avg, h.eps))
    delta = ops.mul(ops.div(ops.sqrt(ops.add(state.acc_delta, h.eps)), std), grad)
    acc_delta = ops.addcmul(ops.mul(state.acc_delta, h.rho), delta, delta, 1 - h.rho)
    param = ops.add(param, delta, -h.lr)
    return param, AdadeltaState(state.step + 1, square_avg, acc_delta)


def adadelta(
    lr: Any = 1.0,
    rho: Any = 0.9,
    eps: Any = 1e-6,
    weight_decay: Any = 0.0,
    foreach: bool | None = None,
    *,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Steps as large as the last ones were, relative to the gradients.

    Args:
      lr: The factor of the step: a number, an array of one element, or a schedule `step -> lr`.
      rho: How much of the averages of the squares stays.
      eps: Added to both averages, inside their roots.
      weight_decay: The factor of the parameters that is added to their gradients.
      foreach, capturable, differentiable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `square_avg` and `acc_delta`, trees like the
      parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adadelta(), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print((w - jnp.array([1.0, 2.0])).round(4))
      [-0.0032  0.0032]

    Torch: `torch.optim.Adadelta` (torch/optim/adadelta.py).

    Differs from optax in:
      1. The weight decay is added to the gradient before the averages; `optax.adadelta` adds it to
         the update.
      2. A None gradient leaves the parameter and its state alone.
    """
    _checks.learning_rate(lr)
    _checks.check("rho", rho, lambda x: 0.0 <= x <= 1.0, "in [0.0, 1.0]")
    _checks.not_negative("epsilon", eps)
    _checks.not_negative("weight_decay", weight_decay)
    del foreach, capturable, differentiable
    hyperparameters = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
    initial = AdadeltaState(counter, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
