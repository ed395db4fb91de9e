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
    """`h = 2 * x` is used as `3 * h - 5 * h`, and a hook clamps a gradient to [-1, 1]. Predict the
    gradient of x if the hook is applied to `h` once, and if it is applied at each use."""

    def clamped(h):
        return jaxgrad.hook(h, lambda grad: jnp.clip(grad, -1, 1))

    def once(x):
        h = clamped(2 * x)
        return 3 * h - 5 * h

    def per_use(x):
        h = 2 * x
        return 3 * clamped(h) - 5 * clamped(h)

    print(jax.grad(once)(1.0), jax.grad(per_use)(1.0))
    assert jax.grad(once)(1.0) == -2  # the sum -2 is clamped to -1, then multiplied by 2
    assert jax.grad(per_use)(1.0) == 0  # 3 and -5 are clamped to 1 and -1, and cancel
