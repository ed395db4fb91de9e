"""Adagrad, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, full


class AdagradState(NamedTuple):
    """Trees like the parameters."""

    step: Any
    sum: Any
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdagradState) -> tuple[Any, AdagradState]:
    step = state.step + 1
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    clr = h.lr / (1 + (ops.double(step) - 1) * h.lr_decay)
    total = ops.addcmul(state.sum, grad, grad)
    param = ops.addcdiv(param, grad, ops.add(ops.sqrt(total), h.eps), -clr)
    return param, AdagradState(step, total)


def adagrad(
    lr: Any = 1e-2,
    lr_decay: Any = 0.0,
    weight_decay: Any = 0.0,
    initial_accumulator_value: Any = 0.0,
    eps: Any = 1e-10,
    foreach: bool | None = None,
    *,
    maximize: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """The gradient over the root of the sum of all its squares.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      lr_decay: The learning rate is divided by 1 + this times the steps before.
      weight_decay: The factor of the parameters that is added to their gradients.
      initial_accumulator_value: Where the sum starts.
      eps: Added to the root.
      foreach, differentiable, fused: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step` and `sum`, trees like the parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.
      RuntimeError: `fused` together with `foreach` or `differentiable`.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adagrad(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w, state.sum)
      [0.5 2.5] [9. 1.]

    Torch: `torch.optim.Adagrad` (torch/optim/adagrad.py).

    Differs from optax in:
      1. The sum starts at 0, in `optax.adagrad` at 0.1, and `eps` is outside of the root.
      2. It has `lr_decay` and `weight_decay`.
      3. A None gradient leaves the parameter and its state alone.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("lr_decay", lr_decay)
    _checks.not_negative("weight_decay", weight_decay)
    _checks.not_negative("initial_accumulator_value", initial_accumulator_value)
    _checks.not_negative("epsilon", eps)
    _checks.implementation(foreach, fused, differentiable)
    hyperparameters = dict(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
    initial = AdagradState(counter, full(initial_accumulator_value))
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
