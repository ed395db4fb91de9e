"""Stochastic gradient descent with optional momentum."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, elementwise, zeros
from jaxgrad.optim._core.scalars import is_zero


class SGDState(NamedTuple):
    """State of `sgd`: trees like the parameters, None without momentum."""

    started: PyTree  # whether a step was taken; torch creates the buffer in the first step
    momentum_buffer: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: SGDState) -> tuple[Any, SGDState]:
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)
    if state.momentum_buffer is not None:
        first, factor = ~state.started, 1 - h.dampening
        if not is_zero(h.dampening):  # torch does not dampen the first gradient
            factor = ops.select(first, 1.0, factor)
        buffer = ops.add(ops.mul(state.momentum_buffer, h.momentum), grad, factor)
        if ops.exact:  # 0 + -0 would be +0
            buffer = jnp.where(first, grad, buffer)
        state = SGDState(jnp.ones_like(state.started), buffer)
        grad = ops.add(grad, buffer, h.momentum) if h.nesterov else buffer
    return ops.add(param, grad, -h.lr), state


@argument_names.checked
def sgd(
    lr: ScalarOrSchedule = 1e-3,
    momentum: ScalarOrSchedule = 0.0,
    dampening: ArrayLike = 0.0,
    weight_decay: ArrayLike = 0.0,
    nesterov: bool = False,
    *,
    maximize: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """Stochastic gradient descent, optionally with momentum and Nesterov acceleration.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        momentum: Momentum factor, or a schedule of it; 0 disables momentum.
        dampening: From the second step on, the gradient is scaled by `1 - dampening`.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        nesterov: Use Nesterov momentum.
        maximize: Maximize the objective instead of minimizing it.
        foreach, differentiable, fused: Accepted as in torch; no effect.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation`; its state has torch's `momentum_buffer`, a tree like the parameters.

    Raises:
        ValueError: A hyperparameter is out of range, or `nesterov` lacks momentum or has dampening.
        RuntimeError: `fused` is combined with `foreach` or `differentiable`.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.sgd(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([1.0, 1.0]), tx.init(w), w)
        >>> print(w)
        [0.5 1.5]

    Torch: `torch.optim.SGD` (torch/optim/sgd.py).

    Differs from optax in:
        1. `optax.sgd` supports neither dampening nor weight decay. Here weight decay is added to
           the gradient before the momentum.
        2. A None gradient leaves the parameter and its buffer unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("momentum", momentum)
    checks.not_negative("weight_decay", weight_decay)
    checks.nesterov(nesterov, momentum, dampening)
    checks.implementation(foreach, fused, differentiable)
    hyperparameters = dict(
        lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
    )
    not_started = functools.partial(jnp.zeros_like, shape=(), dtype=bool)
    initial = SGDState(None, None) if is_zero(momentum) else SGDState(not_started, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
