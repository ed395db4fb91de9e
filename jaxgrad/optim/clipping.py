"""Clipping as a link of an optax chain: what comes after it gets the clipped gradients."""

from __future__ import annotations

import jax
import optax

from jaxgrad import clipping


def clip_grad_norm(
    max_norm: float | jax.Array, norm_type: float | str = 2.0
) -> optax.GradientTransformation:
    """`jaxgrad.clip_grad_norm` as a transformation: all gradients that it is given, together.

    In `optax.partition` each group is clipped by its own norm, as when torch's `clip_grad_norm_` is
    called for each of `optimizer.param_groups`; before it, all of them by the norm of all. The norm
    itself is not kept: to log it, call `jaxgrad.clip_grad_norm` and give the optimizer the result.

    Args:
      max_norm: The largest norm allowed.
      norm_type: The p of the norm: any number, also 0, `inf`, `-inf` or `"inf"`.

    Returns:
      A transformation without state.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> tx = optax.chain(clip_grad_norm(1.0), optax.sgd(0.5))
      >>> updates, _ = tx.update({"w": jnp.array([3.0, 4.0])}, tx.init({"w": jnp.zeros(2)}))
      >>> print(jnp.linalg.norm(updates["w"]).round(5))
      0.5

    Torch: `torch.nn.utils.clip_grad_norm_` before `optimizer.step()`.

    Differs from optax in:
      1. `optax.clip_by_global_norm` has no epsilon, and knows only the 2-norm.
    """

    return optax.stateless(
        lambda grads, _: clipping.clip_grad_norm(grads, max_norm, norm_type)[0],
    )


def clip_grad_value(clip_value: float | jax.Array) -> optax.GradientTransformation:
    """`jaxgrad.clip_grad_value` as a transformation.

    Args:
      clip_value: The largest magnitude of an element.

    Returns:
      A transformation without state.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> tx = optax.chain(clip_grad_value(1.0), optax.sgd(0.5))
      >>> updates, _ = tx.update({"w": jnp.array([-3.0, 0.5])}, tx.init({"w": jnp.zeros(2)}))
      >>> print(updates["w"])
      [ 0.5  -0.25]

    Torch: `torch.nn.utils.clip_grad_value_` before `optimizer.step()`.

    Differs from optax in:
      1. `optax.clip` casts a bound that the dtype cannot hold to infinity; here it is an error.
    """

    return optax.stateless(lambda grads, _: clipping.clip_grad_value(grads, clip_value))
