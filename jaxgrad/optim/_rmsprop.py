"""RMSprop, plain, centered and with momentum, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_number, is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class RMSpropState(NamedTuple):
    """Trees like the parameters; None where the options need no such state."""

    step: Any
    square_avg: Any
    momentum_buffer: Any
    grad_avg: Any
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: RMSpropState) -> tuple[Any, RMSpropState]:
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    square_avg = ops.addcmul(ops.mul(state.square_avg, h.alpha), grad, grad, 1 - h.alpha)
    grad_avg, variance = state.grad_avg, square_avg
    if grad_avg is not None:
        grad_avg = ops.lerp(grad_avg, grad, 1 - h.alpha)
        variance = ops.addcmul(square_avg, grad_avg, grad_avg, -1)
    denom = ops.add(ops.sqrt(variance), h.eps)

    buffer = state.momentum_buffer
    if buffer is None:
        param = ops.addcdiv(param, grad, denom, -h.lr)
    else:
        buffer = ops.addcdiv(ops.mul(buffer, h.momentum), grad, denom)
        param = ops.add(param, buffer, -h.lr)
    return param, RMSpropState(state.step + 1, square_avg, buffer, grad_avg)


def rmsprop(
    lr: Any = 1e-2,
    alpha: Any = 0.99,
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    momentum: Any = 0.0,
    centered: bool = False,
    capturable: bool = False,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """The gradient over the root of its mean square.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      alpha: How much of the average of the square stays.
      eps: Added to the root.
      weight_decay: The factor of the parameters that is added to their gradients.
      momentum: The factor of the buffer; 0 for none.
      centered: Divide by the root of the variance: subtract the square of the average gradient.
      capturable, foreach, differentiable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `square_avg`, with `momentum` the
      `momentum_buffer` and with `centered` the `grad_avg`, trees like the parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.rmsprop(lr=0.05), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w.round(4))
      [0.5 2.5]

    Torch: `torch.optim.RMSprop` (torch/optim/rmsprop.py).

    Differs from optax in:
      1. `eps` is outside of the root, which in `optax.rmsprop` needs `eps_in_sqrt=False`, and
         `alpha` is 0.99, where `decay` is 0.9.
      2. The momentum does not contain the learning rate: a schedule acts on the whole buffer.
      3. A None gradient leaves the parameter and its state alone.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("epsilon", eps)
    _checks.not_negative("momentum", momentum)
    _checks.not_negative("weight_decay", weight_decay)
    _checks.not_negative("alpha", alpha)
    del capturable, foreach, differentiable
    hyperparameters = dict(
        lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
    )
    plain = is_number(momentum) and momentum <= 0  # below zero a group's is none in torch
    initial = RMSpropState(counter, zeros, None if plain else zeros, zeros if centered else None)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
