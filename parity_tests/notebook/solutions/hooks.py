"""Exercises of the notebook hooks."""

import jax
import jax.numpy as jnp

import jaxgrad


def print_the_norm():
    """Print the norm of the gradient of the hidden layer at every call of a compiled function,
    without changing the gradient."""

    def watch(grad):
        jax.debug.print("norm {norm}", norm=jnp.linalg.norm(grad))

    def loss(w, watched):
        h = 2 * w
        h = jaxgrad.hook(h, watch) if watched else h
        return jnp.sum(h**2)

    w = jnp.array([3.0, 4.0])
    grad = jax.jit(jax.grad(loss), static_argnums=1)(w, True)
    assert jnp.array_equal(grad, jax.grad(loss)(w, False))


def once_or_per_use():
    """`h = 2 * x` is used as `3 * h + 5 * h`, and a hook limits a gradient to at most 1. Predict
    the gradient of x if the hook is applied to `h` once, and if it is applied at each use."""

    def limited(h):
        return jaxgrad.hook(h, lambda grad: jnp.minimum(grad, 1))

    def once(x):
        h = limited(2 * x)
        return 3 * h + 5 * h

    def per_use(x):
        h = 2 * x
        return 3 * limited(h) + 5 * limited(h)

    print(jax.grad(once)(1.0), jax.grad(per_use)(1.0))
    assert jax.grad(once)(1.0) == 2  # the sum 8 is limited to 1, then multiplied by 2
    assert jax.grad(per_use)(1.0) == 4  # 3 and 5 are limited to 1 each
