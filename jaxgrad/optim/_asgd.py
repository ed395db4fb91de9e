"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, one, zeros
from jaxgrad.optim._core.scalars import is_number, is_zero


class ASGDState(NamedTuple):
    """State of `asgd`: `ax` averages the parameters; `step`, `eta`, `mu` are trees of scalars."""

    step: PyTree
    eta: PyTree
    mu: PyTree
    ax: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: ASGDState) -> tuple[Any, ASGDState]:
    step, t = ops.next(state.step)
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    # torch creates the state at the first step, from that step's learning rate
    lr = ops.double(h.lr) if is_number(h.lr) else h.lr
    eta = ops.double(jnp.where(state.step == 0, lr.astype(state.eta.dtype), state.eta))
    param = ops.decay(param, h.lambd * eta)
    param = ops.add(param, grad, -eta)
    mean = ops.add(state.ax, ops.mul(ops.sub(param, state.ax), ops.double(state.mu)))
    ax = jnp.where(state.mu == 1, ops.value(param), mean)

    new_eta = h.lr / (1 + h.lambd * h.lr * t) ** h.alpha
    new_mu = 1 / (t - h.t0).maximum(1.0)
    dtype = state.eta.dtype
    return param, ASGDState(step, new_eta.astype(dtype), new_mu.astype(dtype), ax)


@argument_names.checked
def asgd(
    lr: ScalarOrSchedule = 1e-2,
    lambd: ArrayLike = 1e-4,
    alpha: ArrayLike = 0.75,
    t0: ArrayLike = 1e6,
    weight_decay: ArrayLike = 0.0,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """Averaged SGD: a decreasing learning rate, and a running average of the parameters.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        lambd: Decay term: each step multiplies the parameters by `1 - lambd * eta`.
        alpha: Exponent of the decay of the learning rate `eta`.
        t0: Step at which averaging starts.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        foreach, differentiable, capturable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `eta`, `mu` and the average `ax`. `step`,
        `eta` and `mu` are float32, as under torch's default dtype. To match a default dtype of
        float64, cast them in the initial state.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.asgd(lr=0.5, lambd=0.0), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([1.0, -1.0]), tx.init(w), w)
        >>> print(w, state.ax)
        [0.5 2.5] [0.5 2.5]

    Torch: `torch.optim.ASGD` (torch/optim/asgd.py).

    Differs from optax in:
        1. optax has no averaged SGD with this schedule.
    """
    checks.learning_rate(lr)
    checks.not_negative("weight_decay", weight_decay)
    del foreach, differentiable, capturable
    hyperparameters = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay)
    initial = ASGDState(counter, counter, one, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
