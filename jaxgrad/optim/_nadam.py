"""NAdam: Adam with Nesterov's momentum on a schedule, as torch has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import compat
from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.fusion_barrier import as_bits
from jaxgrad.optim._core.scalars import Scalar, is_zero
from jaxgrad.optim._core.transformation import Transformation, counter, elementwise, zeros


class NAdamState(NamedTuple):
    """Trees like the parameters."""

    step: Any
    mu_product: Any
    exp_avg: Any
    exp_avg_sq: Any
    count: Any = None


def _one(param: Any) -> jax.Array:
    del param
    return jnp.ones((), np.float32)


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: NAdamState) -> tuple[Any, NAdamState]:
    step = state.step + 1
    t = ops.double(step)
    if not is_zero(h.weight_decay):
        if h.decoupled_weight_decay:
            param = ops.decay(param, h.lr * h.weight_decay, finite=True)
        else:
            grad = ops.add(grad, param, h.weight_decay)

    mu = h.beta1 * (1.0 - 0.5 * 0.96 ** (t * h.momentum_decay))
    mu_next = h.beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1) * h.momentum_decay))
    mu_product = _times(ops, state.mu_product, mu)

    exp_avg = ops.lerp(state.exp_avg, grad, 1 - h.beta1)
    exp_avg_sq = ops.addcmul(ops.mul(state.exp_avg_sq, h.beta2), grad, grad, 1 - h.beta2)
    denom = ops.add(ops.sqrt(ops.div(exp_avg_sq, 1 - h.beta2**t)), h.eps)

    product = ops.double(mu_product)
    param = ops.addcdiv(param, grad, denom, -h.lr * (1.0 - mu) / (1.0 - product))
    param = ops.settled(param)
    param = ops.addcdiv(param, exp_avg, denom, -h.lr * mu_next / (1.0 - product * mu_next))
    return param, NAdamState(step, mu_product, exp_avg, exp_avg_sq)


def _times(ops: Any, mu_product: jax.Array, mu: Scalar) -> jax.Array:
    """Their product, also where it is subnormal in float32, which XLA on CPU takes for zero."""
    dtype = mu_product.dtype
    product = (ops.scalar(mu_product) * mu).astype(dtype)
    if dtype != np.float32:  # torch's default dtype, of a state from there
        return product
    first, unit = np.finfo(np.float32).tiny, np.float64(2**149)  # of 1 / unit are the subnormals
    mu = mu if mu.tensor else mu.as_tensor(np.float32)
    with compat.enable_x64():
        bits = as_bits(mu_product)
        before = jnp.where(bits < as_bits(first), bits / unit, mu_product.astype(np.float64))
        wide = before * mu.item().value
        small = lax.bitcast_convert_type(jnp.round(wide * unit).astype(np.uint32), np.float32)
        return jnp.where((wide >= 0) & (wide < first), small, product)


def nadam(
    lr: Any = 2e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    momentum_decay: Any = 4e-3,
    decoupled_weight_decay: bool = False,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    capturable: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """Adam that steps along the gradient and along its average, after Nesterov.

    Args:
      lr: The learning rate: a number, an array of one element, or a schedule `step -> lr`.
      betas: How much of the averages of the gradient and of its square stays, two numbers.
      eps: Added to the root of the corrected second moment.
      weight_decay: The factor of the parameters that is added to their gradients, or with
        `decoupled_weight_decay` times `lr` what they lose.
      momentum_decay: How fast the momentum grows from half of `betas[0]` to all of it.
      decoupled_weight_decay: Decay the parameters themselves, as AdamW.
      foreach, capturable, differentiable: Accepted as in torch, without effect.
      maximize: Ascend rather than descend.
      exact: torch's bits rather than XLA's speed.

    Returns:
      A `Transformation`; its state has torch's `step`, `mu_product`, `exp_avg` and `exp_avg_sq`,
      trees like the parameters. `step` and `mu_product` are float32, as in torch unless its default
      dtype is float64: for that, cast them in the first state; the rule keeps their dtype.

    Raises:
      ValueError: A hyperparameter is out of bounds.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> tx, w = jaxgrad.optim.nadam(lr=0.5), jnp.array([1.0, 2.0])
      >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
      >>> print(w.round(4))
      [0.4718 2.5282]

    Torch: `torch.optim.NAdam` (torch/optim/nadam.py).

    Differs from optax in:
      1. The momentum follows mu_t = beta1 * (1 - 0.96**(t * momentum_decay) / 2), and its product
         corrects the bias; in `optax.nadam` it is beta1 from the start.
      2. Steps are counted for each parameter: a None gradient leaves its state and count alone.
      3. `update` of a parameter that is infinite is NaN; `step` leaves it infinite, as torch does.
    """
    _checks.learning_rate(lr)
    _checks.not_negative("epsilon", eps)
    _checks.betas(betas)
    _checks.not_negative("weight_decay", weight_decay)
    _checks.not_negative("momentum_decay", momentum_decay)
    del foreach, capturable, differentiable
    beta1, beta2 = betas
    hyperparameters = dict(
        lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay,
        momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip
    initial = NAdamState(counter, _one, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
