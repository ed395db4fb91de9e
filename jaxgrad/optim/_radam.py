"""RAdam."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, zeros
from jaxgrad.optim._core.scalars import is_zero


class RAdamState(NamedTuple):
    """State of `radam`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    exp_avg: PyTree
    exp_avg_sq: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: RAdamState) -> tuple[Any, RAdamState]:
    step, t = ops.next(state.step)
    if not is_zero(h.weight_decay):
        if h.decoupled_weight_decay:
            param = ops.decay(param, h.lr * h.weight_decay)
        else:
            grad = ops.add(grad, param, h.weight_decay)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - h.beta1)
    exp_avg_sq = ops.addcmul(ops.mul(state.exp_avg_sq, h.beta2), grad, grad, 1 - h.beta2)
    bias_correction1 = 1 - h.beta1**t
    bias_correction2 = 1 - h.beta2**t
    update = ops.times(ops.div(exp_avg, bias_correction1), -h.lr)

    # maximum and current length of the approximated simple moving average
    rho_inf = 2 / (1 - h.beta2) - 1
    rho_t = rho_inf - 2 * t * h.beta2**t / bias_correction2
    ratio = (rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)
    rectified = rho_t > 5.0
    adaptive = ops.rdiv(ops.add(ops.sqrt(exp_avg_sq), h.eps), bias_correction2**0.5)
    adapted = ops.mul(ops.mul(update, adaptive), ratio**0.5)
    param = ops.add(param, jnp.where(rectified, adapted, update))
    return param, RAdamState(step, exp_avg, exp_avg_sq)


@argument_names.checked
def radam(
    lr: ScalarOrSchedule = 1e-3,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 0.0,
    decoupled_weight_decay: bool = False,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    capturable: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """RAdam: Adam with a rectified adaptive learning rate; the first steps are momentum SGD.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the first- and second-moment averages, numbers or schedules.
        eps: Added to the root of the second moment before bias correction.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it. With
            `decoupled_weight_decay`, each step subtracts `lr * weight_decay * param` instead.
        decoupled_weight_decay: Decay the parameters instead of the gradients, as in AdamW.
        foreach, capturable, differentiable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `exp_avg` and `exp_avg_sq`.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.radam(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w)
        [-0.5  2.5]

    Torch: `torch.optim.RAdam` (torch/optim/radam.py).

    Differs from optax in:
        1. `eps` is added before the bias correction; `optax.radam` adds it afterwards.
        2. Steps are counted per parameter: a None gradient leaves its state and count unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("epsilon", eps)
    checks.betas(betas)
    checks.not_negative("weight_decay", weight_decay)
    del foreach, capturable, differentiable
    hyperparameters = dict(
        lr=lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay,
        decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip
    initial = RAdamState(counter, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
