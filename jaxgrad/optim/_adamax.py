"""Adamax: Adam by the infinity norm, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class AdamaxState(NamedTuple):
    """Trees like the parameters."""

    step: Any
    exp_avg: Any
    exp_inf: Any
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamaxState) -> tuple[Any, AdamaxState]:
    step = state.step + 1
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - h.beta1)
    exp_inf = jnp.maximum(ops.mul(state.exp_inf, h.beta2), ops.add(jnp.abs(grad), h.eps))

    clr = h.lr / (1 - h.beta1 ** ops.double(step))
    param = ops.addcdiv(param, exp_avg, exp_inf, -clr)
    return param, AdamaxState(step, exp_avg, exp_inf)


def adamax(
    lr: Any = 2e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    foreach: bool | None = None,
    *,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adam with the decaying maximum of the gradient in place of its mean square.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      betas: How much of the average of the gradient and of its maximum stays, two numbers.
      eps: Added to the size of each gradient.
      weight_decay: The factor of the parameters that is added to their gradients.
      foreach, differentiable, capturable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `exp_avg` and `exp_inf`, trees like the
      parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adamax(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w)
      [0.5 2.5]

    Torch: `torch.optim.Adamax` (torch/optim/adamax.py).

    Differs from optax in:
      1. It has a weight decay, added to the gradient.
      2. Steps are counted for each parameter: a None gradient leaves its state and count alone.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("epsilon", eps)
    _checks.betas(betas)
    _checks.not_negative("weight_decay", weight_decay)
    del foreach, differentiable, capturable
    beta1, beta2 = betas
    hyperparameters = dict(lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay)
    initial = AdamaxState(counter, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
