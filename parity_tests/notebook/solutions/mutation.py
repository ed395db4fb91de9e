"""Exercises of the notebook mutation."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch


def which_one_raises():
    """`y = f(x)` is followed by `y += 1` and `y.backward()`. Predict for which of `sin`, `exp` and
    `square` torch raises. In JAX none of them does."""

    def raises(f):
        y = f(torch.tensor(0.0, requires_grad=True))
        y += 1
        try:
            y.backward()
        except RuntimeError:
            return True
        return False

    sin_raises = raises(torch.sin)  # saves x
    exp_raises = raises(torch.exp)  # saves its result y
    square_raises = raises(torch.square)  # saves x
    functions = (jnp.sin, jnp.exp, jnp.square)
    grads = [jax.grad(lambda x, f=f: f(x) + 1)(0.0).item() for f in functions]
    print(sin_raises, exp_raises, square_raises, grads)
    assert (sin_raises, exp_raises, square_raises) == (False, True, False)
    assert grads == [1, 1, 0]


def keep_the_activation():
    """This compiled JAX program stores an activation in a list, which fails when you use it. Return
    the activation with `has_aux=True` instead."""
    kept = []

    def leaking(w):
        h = 2 * w
        kept.append(h)
        return jnp.sum(h**2)

    w = jnp.array([1.0, 2.0])
    jax.jit(jax.grad(leaking))(w)
    try:
        print(kept[0] + 1)
    except jax.errors.UnexpectedTracerError as error:
        print(type(error).__name__)

    def loss(w):
        h = 2 * w
        return jnp.sum(h**2), h

    grad, h = jax.jit(jax.grad(loss, has_aux=True))(w)
    print(grad, h)
    assert h.tolist() == [2, 4] and grad.tolist() == [8, 16]
