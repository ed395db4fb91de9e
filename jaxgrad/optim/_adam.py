"""Adam and AdamW, with optional AMSGrad."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, zeros
from jaxgrad.optim._core.scalars import as_tensor, is_zero


class AdamState(NamedTuple):
    """State of `adam`: trees like the parameters; `max_exp_avg_sq` is None without AMSGrad."""

    step: PyTree
    exp_avg: PyTree
    exp_avg_sq: PyTree
    max_exp_avg_sq: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamState) -> tuple[Any, AdamState]:
    step, t = ops.next(state.step)
    if not is_zero(h.weight_decay):
        if h.decoupled_weight_decay:
            param = ops.decay(param, h.lr * h.weight_decay, finite=True)
        else:
            grad = ops.add(grad, param, h.weight_decay)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - as_tensor(h.beta1, grad.dtype))
    exp_avg_sq = ops.addcmul(ops.mul(state.exp_avg_sq, h.beta2), grad, grad, 1 - h.beta2)
    largest = state.max_exp_avg_sq
    if largest is not None:  # the maximum is taken before bias correction
        largest = jnp.maximum(largest, exp_avg_sq)

    bias_correction1 = 1 - h.beta1**t
    bias_correction2 = 1 - h.beta2**t
    step_size = h.lr / bias_correction1
    second = exp_avg_sq if largest is None else largest
    root = bias_correction2**0.5
    param = ops.adaptive(param, exp_avg, second, root, h.eps, -step_size)
    return param, AdamState(step, exp_avg, exp_avg_sq, largest)


@argument_names.checked
def adam(
    lr: ScalarOrSchedule = 1e-3,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 0.0,
    amsgrad: bool = False,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    decoupled_weight_decay: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adam: divides the mean gradient by the root of the mean squared gradient.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the first- and second-moment averages, numbers or schedules.
        eps: Added to the root of the bias-corrected second moment, for numerical stability.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it. With
            `decoupled_weight_decay`, each step subtracts `lr * weight_decay * param` instead.
        amsgrad: Divide by the running maximum of the second moment (AMSGrad).
        foreach, capturable, differentiable, fused: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        decoupled_weight_decay: Decay the parameters instead of the gradients, as in AdamW.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` whose state has torch's `step`, `exp_avg`, `exp_avg_sq` and, with
        `amsgrad`, `max_exp_avg_sq`.

    Raises:
        ValueError: A hyperparameter is out of range.
        RuntimeError: `fused` is combined with `foreach` or `differentiable`.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adam(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w.round(4), state.step)
        [0.5 2.5] 1.0

    Torch: `torch.optim.Adam` (torch/optim/adam.py).

    Differs from optax in:
        1. `amsgrad` takes the maximum of second moments before bias correction, `optax.amsgrad`
           after it.
        2. `weight_decay` is added to the gradient; `optax.adamw` decays the parameters.
        3. Steps are counted per parameter: a None gradient leaves its moments and count unchanged.
    """
    checks.learning_rate(lr)
    checks.not_negative("epsilon", eps)
    checks.betas(betas)
    checks.not_negative("weight_decay", weight_decay)
    checks.implementation(foreach, fused, differentiable)
    del capturable
    hyperparameters = dict(
        lr=lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay,
        decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip
    initial = AdamState(counter, zeros, zeros, zeros if amsgrad else None)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)


@argument_names.checked
def adamw(
    lr: ScalarOrSchedule = 1e-3,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 1e-2,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """AdamW: Adam with decoupled weight decay, which acts on the parameters.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the first- and second-moment averages, numbers or schedules.
        eps: Added to the root of the bias-corrected second moment, for numerical stability.
        weight_decay: Decoupled weight decay: each step subtracts `lr * weight_decay * param`.
        amsgrad: Divide by the running maximum of the second moment (AMSGrad).
        maximize: Maximize the objective instead of minimizing it.
        foreach, capturable, differentiable, fused: Accepted as in torch; no effect.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation` with the state of `adam`.

    Raises:
        ValueError: A hyperparameter is out of range.
        RuntimeError: `fused` is combined with `foreach` or `differentiable`.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.adamw(lr=0.5, weight_decay=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w.round(4))
        [0.25 2.  ]

    Torch: `torch.optim.AdamW` (torch/optim/adamw.py).

    Differs from optax in:
        1. `weight_decay` defaults to 1e-2; in `optax.adamw` to 1e-4.
        2. The parameters are decayed and rounded before the step is added; `optax.adamw` adds both
           terms at once.
        3. For an infinite parameter `update` returns NaN; `step` leaves it infinite, as in torch.
    """
    return adam(
        lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
        capturable=capturable, differentiable=differentiable, fused=fused,
        decoupled_weight_decay=True, exact=exact,
    )  # fmt: skip
