"""Averaged stochastic gradient descent, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_number, is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class ASGDState(NamedTuple):
    """Trees like the parameters; `ax` is their average, `eta` and `mu` are of shape ()."""

    step: Any
    eta: Any
    mu: Any
    ax: Any
    count: Any = None


def _one(param: Any) -> jax.Array:
    del param
    return jnp.ones((), np.float32)


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: ASGDState) -> tuple[Any, ASGDState]:
    step = state.step + 1
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    # torch makes the state at the first step, by the learning rate of then
    lr = ops.double(h.lr) if is_number(h.lr) else h.lr
    eta = ops.double(jnp.where(state.step == 0, lr.astype(state.eta.dtype), state.eta))
    param = ops.decay(param, h.lambd * eta)
    param = ops.add(param, grad, -eta)
    mean = ops.add(state.ax, ops.mul(ops.sub(param, state.ax), ops.double(state.mu)))
    ax = jnp.where(state.mu == 1, ops.value(param), mean)

    t = ops.double(step)
    new_eta = h.lr / (1 + h.lambd * h.lr * t) ** h.alpha
    new_mu = 1 / (t - h.t0).maximum(1.0)
    dtype = state.eta.dtype
    return param, ASGDState(step, new_eta.astype(dtype), new_mu.astype(dtype), ax)


def asgd(
    lr: Any = 1e-2,
    lambd: Any = 1e-4,
    alpha: Any = 0.75,
    t0: Any = 1e6,
    weight_decay: Any = 0.0,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """Gradient descent with a falling rate, and the average of its parameters.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      lambd: What the parameters lose at each step, times the rate.
      alpha: The power by which the rate falls.
      t0: The step at which averaging starts.
      weight_decay: The factor of the parameters that is added to their gradients.
      foreach, differentiable, capturable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `eta`, `mu` and the average `ax`, trees like
      the parameters. `step`, `eta` and `mu` are float32, as in torch unless its default dtype is
      float64: for that, cast them in the first state; the rule keeps their dtype.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.asgd(lr=0.5, lambd=0.0), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([1.0, -1.0]), tx.init(w), w)
      >>> print(w, state.ax)
      [0.5 2.5] [0.5 2.5]

    Torch: `torch.optim.ASGD` (torch/optim/asgd.py).

    Differs from optax in:
      1. optax has no averaged gradient descent with this schedule.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("weight_decay", weight_decay)
    del foreach, differentiable, capturable
    hyperparameters = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay)
    initial = ASGDState(counter, counter, _one, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
