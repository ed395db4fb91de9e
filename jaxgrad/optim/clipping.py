"""Gradient clipping as optax transformations, to be chained before an optimizer."""

from __future__ import annotations

import jax
import optax

from jaxgrad import clipping
from jaxgrad._core import argument_names


@argument_names.checked
def clip_grad_norm(
    max_norm: float | jax.Array, norm_type: float | str = 2.0
) -> optax.GradientTransformation:
    """Clip all gradients by their joint norm, as `jaxgrad.clip_grad_norm` does.

    Inside `optax.partition`, it clips each group by its own norm, as when torch's `clip_grad_norm_`
    is called once per group; chained before `optax.partition`, it uses the joint norm of all
    groups. The norm is not stored: to log it, call `jaxgrad.clip_grad_norm` and pass the clipped
    gradients to the optimizer.

    Args:
        max_norm: Maximum norm of the gradients.
        norm_type: The p of the p-norm: any number, including 0, `inf`, `-inf` and `"inf"`.

    Returns:
        A stateless transformation.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> tx = optax.chain(clip_grad_norm(1.0), optax.sgd(0.5))
        >>> updates, _ = tx.update({"w": jnp.array([3.0, 4.0])}, tx.init({"w": jnp.zeros(2)}))
        >>> print(jnp.linalg.norm(updates["w"]).round(5))
        0.5

    Torch: `torch.nn.utils.clip_grad_norm_` before `optimizer.step()`.

    Differs from optax in:
        1. `optax.clip_by_global_norm` adds no epsilon to the norm, and supports only the 2-norm.
    """

    return optax.stateless(
        lambda grads, _: clipping.clip_grad_norm(grads, max_norm, norm_type)[0],
    )


@argument_names.checked
def clip_grad_value(clip_value: float | jax.Array) -> optax.GradientTransformation:
    """Clip every element to `[-clip_value, clip_value]`, as `jaxgrad.clip_grad_value` does.

    Args:
        clip_value: Maximum magnitude of an element.

    Returns:
        A stateless transformation.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> tx = optax.chain(clip_grad_value(1.0), optax.sgd(0.5))
        >>> updates, _ = tx.update({"w": jnp.array([-3.0, 0.5])}, tx.init({"w": jnp.zeros(2)}))
        >>> print(updates["w"])
        [ 0.5  -0.25]

    Torch: `torch.nn.utils.clip_grad_value_` before `optimizer.step()`.

    Differs from optax in:
        1. `optax.clip` casts a bound that the dtype cannot represent to infinity; here it raises.
    """

    return optax.stateless(lambda grads, _: clipping.clip_grad_value(grads, clip_value))
