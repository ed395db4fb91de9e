"""Adagrad."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, filled
from jaxgrad.optim._core.scalars import is_zero


class AdagradState(NamedTuple):
    """State of `adagrad`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    sum: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdagradState) -> tuple[Any, AdagradState]:
    step, t = ops.next(state.step)
    if not is_zero(h.weight_decay):
        grad = ops.add(grad, param, h.weight_decay)

    clr = h.lr / (1 + (t - 1) * h.lr_decay)
    total = ops.addcmul(state.sum, grad, grad)
    param = ops.addcdiv(param, grad, ops.add(ops.sqrt(total), h.eps), -clr)
    return param, AdagradState(step, total)


@argument_names.checked
def adagrad(
    lr: ScalarOrSchedule = 1e-2,
    lr_decay: ArrayLike = 0.0,
    weight_decay: ArrayLike = 0.0,
    initial_accumulator_value: ArrayLike = 0.0,
    eps: ArrayLike = 1e-10,
    foreach: bool | None = None,
    *,
    maximize: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """Adagrad: divides the gradient by the root of its accumulated squares.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        lr_decay: Divides the learning rate by `1 + lr_decay * n` after `n` steps.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        initial_accumulator_value: Initial value of the accumulator.
        eps: Added to the root, for numerical stability.
        foreach, differentiable, fused: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step` and `sum`.

    Raises:
        ValueError: A hyperparameter is out of range.
        RuntimeError: `fused` is combined with `foreach` or `differentiable`.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adagrad(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w, state.sum)
        [0.5 2.5] [9. 1.]

    Torch: `torch.optim.Adagrad` (torch/optim/adagrad.py).

    Differs from optax in:
        1. The accumulator starts at 0 (`optax.adagrad`: 0.1), and `eps` is outside the root.
        2. It supports `lr_decay` and `weight_decay`.
        3. A None gradient leaves the parameter and its state unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("lr_decay", lr_decay)
    checks.not_negative("weight_decay", weight_decay)
    checks.not_negative("initial_accumulator_value", initial_accumulator_value)
    checks.not_negative("epsilon", eps)
    checks.implementation(foreach, fused, differentiable)
    hyperparameters = dict(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
    initial = AdagradState(counter, functools.partial(filled, initial_accumulator_value))
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
