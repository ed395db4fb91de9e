"""Adam and AdamW, with AMSGrad, as torch has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.scalars import as_tensor, is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class AdamState(NamedTuple):
    """Trees like the parameters; `max_exp_avg_sq` is None without AMSGrad."""

    step: Any
    exp_avg: Any
    exp_avg_sq: Any
    max_exp_avg_sq: Any
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: AdamState) -> tuple[Any, AdamState]:
    step = state.step + 1
    if not is_zero(h.weight_decay):
        if h.decoupled_weight_decay:
            param = ops.decay(param, h.lr * h.weight_decay, finite=True)
        else:
            grad = ops.add(grad, param, h.weight_decay)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - as_tensor(h.beta1, grad.dtype))
    exp_avg_sq = ops.addcmul(ops.mul(state.exp_avg_sq, h.beta2), grad, grad, 1 - h.beta2)
    largest = state.max_exp_avg_sq
    if largest is not None:  # of the raw second moment, corrected afterwards
        largest = jnp.maximum(largest, exp_avg_sq)

    t = ops.double(step)
    bias_correction1 = 1 - h.beta1**t
    bias_correction2 = 1 - h.beta2**t
    step_size = h.lr / bias_correction1
    second = exp_avg_sq if largest is None else largest
    root = bias_correction2**0.5
    param = ops.adaptive(param, exp_avg, second, root, h.eps, -step_size)
    return param, AdamState(step, exp_avg, exp_avg_sq, largest)


def adam(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
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
    """Adam: steps of about the learning rate, whatever the size of the gradient.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      betas: How much of the averages of the gradient and of its square stays, two numbers.
      eps: Added to the root of the corrected second moment.
      weight_decay: The factor of the parameters that is added to their gradients, or with
        `decoupled_weight_decay` times `lr` what they lose.
      amsgrad: Divide by the largest second moment so far.
      foreach, capturable, differentiable, fused: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      decoupled_weight_decay: Decay the parameters themselves, as AdamW.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `exp_avg`, `exp_avg_sq` and, with
      `amsgrad`, `max_exp_avg_sq`, trees like the parameters.

    Raises:
      ValueError: A hyperparameter is out of bounds.
      RuntimeError: `fused` together with `foreach` or `differentiable`.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adam(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w, state.step)
      [0.5 2.5] 1.0

    Torch: `torch.optim.Adam` (torch/optim/adam.py).

    Differs from optax in:
      1. `amsgrad` keeps the largest raw second moment; `optax.amsgrad` the largest corrected one.
      2. `weight_decay` is added to the gradient; `optax.adamw` decays the parameters.
      3. Steps are counted for each parameter: a None gradient leaves its moments and count alone.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("epsilon", eps)
    _checks.betas(betas)
    _checks.not_negative("weight_decay", weight_decay)
    _checks.implementation(foreach, fused, differentiable)
    del capturable
    beta1, beta2 = betas
    hyperparameters = dict(
        lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay,
        decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip
    initial = AdamState(counter, zeros, zeros, zeros if amsgrad else None)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)


def adamw(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    weight_decay: Any = 1e-2,
    amsgrad: bool = False,
    *,
    maximize: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    exact: bool = False,
) -> Transformation:
    """Adam whose weight decay acts on the parameters, and not on their gradients.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      betas: How much of the averages of the gradient and of its square stays, two numbers.
      eps: Added to the root of the corrected second moment.
      weight_decay: Times `lr`, what the parameters lose at each step.
      amsgrad: Divide by the largest second moment so far.
      maximize: Ascend rather than descend.
      foreach, capturable, differentiable, fused: Accepted as in torch, without effect.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation` with the state of `adam`.

    Raises:
      ValueError: A hyperparameter is out of bounds.
      RuntimeError: `fused` together with `foreach` or `differentiable`.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.adamw(lr=0.5, weight_decay=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w)
      [0.25 2.  ]

    Torch: `torch.optim.AdamW` (torch/optim/adamw.py).

    Differs from optax in:
      1. `optax.adamw` decays by 1e-4 unless told otherwise, torch by 1e-2.
      2. It decays first and steps from there; `optax.adamw` adds up both from the same parameters.
      3. `update` of a parameter that is infinite is NaN; `step` leaves it infinite, as torch does.
    """
    return adam(
        lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
        capturable=capturable, differentiable=differentiable, fused=fused,
        decoupled_weight_decay=True, exact=exact,
    )  # fmt: skip
