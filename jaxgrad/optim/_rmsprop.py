"""RMSprop, optionally centered and with momentum."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, zeros
from jaxgrad.optim._core.scalars import is_number, is_zero


class RMSpropState(NamedTuple):
    """State of `rmsprop`: trees like the parameters, None where the options need no such state."""

    step: PyTree
    square_avg: PyTree
    momentum_buffer: PyTree
    grad_avg: PyTree
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


@argument_names.checked
def rmsprop(
    lr: ScalarOrSchedule = 1e-2,
    alpha: ArrayLike = 0.99,
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 0.0,
    momentum: ScalarOrSchedule = 0.0,
    centered: bool = False,
    capturable: bool = False,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    *,
    exact: bool = False,
) -> Transformation:
    """RMSprop: divides the gradient by the root of its mean square.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        alpha: Decay rate of the average of squared gradients.
        eps: Added to the root, for numerical stability.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it.
        momentum: Momentum factor, or a schedule of it; 0 disables momentum.
        centered: Divide by the root of the gradient's variance instead of its mean square.
        capturable, foreach, differentiable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `square_avg`, with `momentum` the
        `momentum_buffer` and with `centered` the `grad_avg`.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.rmsprop(lr=0.05), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w.round(4))
        [0.5 2.5]

    Torch: `torch.optim.RMSprop` (torch/optim/rmsprop.py).

    Differs from optax in:
        1. `eps` is outside the root (`optax.rmsprop` needs `eps_in_sqrt=False`), and `alpha`
           defaults to 0.99 (optax's `decay`: 0.9).
        2. The momentum buffer excludes the learning rate, so a schedule scales the whole buffer.
        3. A None gradient leaves the parameter and its state unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("epsilon", eps)
    checks.not_negative("momentum", momentum)
    checks.not_negative("weight_decay", weight_decay)
    checks.not_negative("alpha", alpha)
    del capturable, foreach, differentiable
    hyperparameters = dict(
        lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
    )
    plain = is_number(momentum) and momentum <= 0  # torch ignores a group's negative momentum
    initial = RMSpropState(counter, zeros, None if plain else zeros, zeros if centered else None)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
