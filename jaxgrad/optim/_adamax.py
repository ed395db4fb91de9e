"""Adamax."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, zeros
from jaxgrad.optim._core.scalars import is_zero


class AdamaxState(NamedTuple):
    """State of `adamax`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    exp_avg: PyTree
    exp_inf: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamaxState) -> tuple[Any, AdamaxState]:
    step, t = ops.next(state.step)
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - h.beta1)
    exp_inf = jnp.maximum(ops.mul(state.exp_inf, h.beta2), ops.add(jnp.abs(grad), h.eps))

    clr = h.lr / (1 - h.beta1**t)
    param = ops.addcdiv(param, exp_avg, exp_inf, -clr)
    return param, AdamaxState(step, exp_avg, exp_inf)


@argument_names.checked
def adamax(
    lr: ScalarOrSchedule = 2e-3,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 0.0,
    foreach: bool | None = None,
    *,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adamax: Adam with a decaying maximum of the gradients in place of their mean square.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the gradient's running average and running maximum, numbers or
            schedules.
        eps: Added to the magnitude of each gradient, for numerical stability.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        foreach, differentiable, capturable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `exp_avg` and `exp_inf`.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adamax(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w)
        [0.5 2.5]

    Torch: `torch.optim.Adamax` (torch/optim/adamax.py).

    Differs from optax in:
        1. It supports weight decay, which is added to the gradient.
        2. Steps are counted per parameter: a None gradient leaves its state and count unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("epsilon", eps)
    checks.betas(betas)
    checks.not_negative("weight_decay", weight_decay)
    del foreach, differentiable, capturable
    beta1, beta2 = betas
    hyperparameters = dict(lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay)
    initial = AdamaxState(counter, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
