"""NAdam."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad._core import argument_names
from jaxgrad._core.typing import ArrayLike, PyTree, ScalarOrSchedule
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.elementwise import Transformation, counter, elementwise, one, zeros
from jaxgrad.optim._core.fusion_barrier import as_bits
from jaxgrad.optim._core.scalars import Scalar, is_zero


class NAdamState(NamedTuple):
    """State of `nadam`: trees like the parameters, and the schedule's step `count`."""

    step: PyTree
    mu_product: PyTree
    exp_avg: PyTree
    exp_avg_sq: PyTree
    count: Any = None


def _rule(ops: Any, h: Any, grad: Any, param: Any, state: NAdamState) -> tuple[Any, NAdamState]:
    step, t = ops.next(state.step)
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
    """Multiply two scalars without flushing subnormal float32 products to 0, as XLA on CPU does."""
    dtype = mu_product.dtype
    product = (ops.scalar(mu_product) * mu).astype(dtype)
    if dtype != np.float32:  # the state was created in torch with float64 as the default dtype
        return product
    first, unit = (
        np.finfo(np.float32).tiny,
        np.float64(2**149),
    )  # subnormals are the multiples of 1 / unit
    mu = mu if mu.tensor else mu.as_tensor(np.float32)
    with jax.enable_x64(True):
        bits = as_bits(mu_product)
        before = jnp.where(bits < as_bits(first), bits / unit, mu_product.astype(np.float64))
        wide = before * mu.item().value
        small = lax.bitcast_convert_type(jnp.round(wide * unit).astype(np.uint32), np.float32)
        return jnp.where((wide >= 0) & (wide < first), small, product)


@argument_names.checked
def nadam(
    lr: ScalarOrSchedule = 2e-3,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ArrayLike = 1e-8,
    weight_decay: ArrayLike = 0.0,
    momentum_decay: ArrayLike = 4e-3,
    decoupled_weight_decay: bool = False,
    *,
    foreach: bool | None = None,
    maximize: bool = False,
    capturable: bool = False,
    differentiable: bool = False,
    exact: bool = False,
) -> Transformation:
    """NAdam: Adam with Nesterov momentum, whose momentum factor follows a schedule.

    Args:
        lr: Learning rate: a number, a 1-element array, or a schedule `step -> lr`.
        betas: Decay rates of the first- and second-moment averages, numbers or schedules.
        eps: Added to the root of the bias-corrected second moment, for numerical stability.
        weight_decay: L2 penalty: each gradient gets `weight_decay * param` added to it. With
            `decoupled_weight_decay`, each step subtracts `lr * weight_decay * param` instead.
        momentum_decay: Rate at which the momentum grows from half of `betas[0]` to `betas[0]`.
        decoupled_weight_decay: Decay the parameters instead of the gradients, as in AdamW.
        foreach, capturable, differentiable: Accepted as in torch; no effect.
        maximize: Maximize the objective instead of minimizing it.
        exact: Reproduce torch's bits instead of using XLA's fastest order of operations.

    Returns:
        A `Transformation`; its state has torch's `step`, `mu_product`, `exp_avg` and `exp_avg_sq`,
        trees like the parameters. `step` and `mu_product` are float32, as under torch's default
        dtype. To match a default dtype of float64, cast them in the initial state.

    Raises:
        ValueError: A hyperparameter is out of range.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> tx, w = jaxgrad.optim.nadam(lr=0.5), jnp.array([1.0, 2.0])
        >>> w, state = tx.step(jnp.array([3.0, -1.0]), tx.init(w), w)
        >>> print(w.round(4))
        [0.4718 2.5282]

    Torch: `torch.optim.NAdam` (torch/optim/nadam.py).

    Differs from optax in:
        1. The momentum is mu_t = beta1 * (1 - 0.96**(t * momentum_decay) / 2), and the product of
           these factors corrects the bias; `optax.nadam` uses beta1 throughout.
        2. Steps are counted per parameter: a None gradient leaves its state and count unchanged.
        3. For an infinite parameter `update` returns NaN; `step` leaves it infinite, as in torch.
    """
    checks.learning_rate(lr)
    checks.not_negative("epsilon", eps)
    checks.betas(betas)
    checks.not_negative("weight_decay", weight_decay)
    checks.not_negative("momentum_decay", momentum_decay)
    del foreach, capturable, differentiable
    hyperparameters = dict(
        lr=lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay,
        momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
    )  # fmt: skip
    initial = NAdamState(counter, one, zeros, zeros)
    return elementwise(_rule, initial, hyperparameters, maximize=maximize, exact=exact)
