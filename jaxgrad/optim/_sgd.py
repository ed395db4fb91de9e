"""Stochastic gradient descent with momentum, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_zero
from jaxgrad.optim._core.transformation import Transformation, elementwise, zeros


class SGDState(NamedTuple):
    """Trees like the parameters; both are None without momentum."""

    started: Any  # whether there was a step, after which torch has a buffer
    momentum_buffer: Any
    count: Any = None


def _not_started(param: Any) -> jax.Array:
    del param
    return jnp.zeros((), bool)


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: SGDState) -> tuple[Any, SGDState]:
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)
    if state.momentum_buffer is not None:
        first, kept = ~state.started, 1 - h.dampening
        if not is_zero(h.dampening):  # the first buffer is the gradient, undampened
            kept = ops.select(first, 1.0, kept)
        buffer = ops.add(ops.mul(state.momentum_buffer, h.momentum), grad, kept)
        if ops.exact:  # a sign of zero
            buffer = jnp.where(first, grad, buffer)
        state = SGDState(jnp.ones_like(state.started), buffer)
        grad = ops.add(grad, buffer, h.momentum) if h.nesterov else buffer
    return ops.add(param, grad, -h.lr), state


def sgd(
    lr: Any = 1e-3,
    momentum: Any = 0.0,
    dampening: Any = 0.0,
    weight_decay: Any = 0.0,
    nesterov: bool = False,
    *,
    maximize: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """Stochastic gradient descent, with momentum or without.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      momentum: The factor of the buffer; 0 for none.
      dampening: What the gradient loses on its way into the buffer, from the second step on.
      weight_decay: The factor of the parameters that is added to their gradients.
      nesterov: Look ahead along the buffer.
      maximize: Ascend rather than descend.
      foreach, differentiable, fused: Accepted as in torch, without effect.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `momentum_buffer`, a tree like the parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds, or `nesterov` has no momentum or a dampening.
      RuntimeError: `fused` together with `foreach` or `differentiable`.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.sgd(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([1.0, 1.0]), tx.init(w), w)
      >>> print(w)
      [0.5 1.5]

    Torch: `torch.optim.SGD` (torch/optim/sgd.py).

    Differs from optax in:
      1. `optax.sgd` has neither dampening nor weight decay; torch adds the decay to the gradient,
         before the momentum, and dampens from the second step on.
      2. A None gradient leaves the parameter and its buffer alone.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("momentum", momentum)
    _checks.not_negative("weight_decay", weight_decay)
    _checks.nesterov(nesterov, momentum, dampening)
    _checks.implementation(foreach, fused, differentiable)
    hyperparameters = dict(
        lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
    )
    initial = SGDState(None, None) if is_zero(momentum) else SGDState(_not_started, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
