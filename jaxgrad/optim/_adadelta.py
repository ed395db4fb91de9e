"""Adadelta."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, zeros
from jaxgrad.optim._core.scalars import is_zero


class AdadeltaState(NamedTuple):
    """State of `adadelta`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    square_avg: PyTree
    acc_delta: PyTree
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


@argument_names.checked
def adadelta(
    lr: ScalarOrSchedule = 1.0,
    rho: ArrayLike = 0.9,
    eps: ArrayLike = 1e-6,
    weight_decay: ArrayLike = 0.0,
    foreach: bool | None = None,
    *,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adadelta: scales each gradient by the RMS of past steps over the RMS of past gradients.

    Args:
        lr: Factor of the step: a number, a 1-element array, or a schedule `step -> lr`.
        rho: Decay rate of the averages of squared gradients and squared steps.
        eps: Added to both averages inside their roots, for numerical stability.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        foreach, capturable, differentiable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `square_avg` and `acc_delta`.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adadelta(), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print((w - jnp.array([1.0, 2.0])).round(4))
        [-0.0032  0.0032]

    Torch: `torch.optim.Adadelta` (torch/optim/adadelta.py).

    Differs from optax in:
        1. Weight decay is added to the gradient before averaging; `optax.adadelta` adds it to the
           update.
        2. A None gradient leaves the parameter and its state unchanged.
    """
    checks.learning_rate(lr)
    checks.check("rho", rho, lambda x: 0.0 <= x <= 1.0, "in [0.0, 1.0]")
    checks.not_negative("epsilon", eps)
    checks.not_negative("weight_decay", weight_decay)
    del foreach, capturable, differentiable
    hyperparameters = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
    initial = AdadeltaState(counter, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
