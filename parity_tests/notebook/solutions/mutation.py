"""Exercises of the notebook mutation."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch


def which_one_raises():
    """`y = f(x)` is followed by `y += 1` and `y.backward()`. Predict for which of `sin` and `exp`
    torch raises, and compute both gradients in JAX."""
    x = torch.tensor(0.0, requires_grad=True)
    y = torch.sin(x)  # saves x
    y += 1
    y.backward()

    z = torch.exp(x)  # saves its result z
    z += 1
    try:
        z.backward()
        raised = False
    except RuntimeError:
        raised = True

    grads = [jax.grad(lambda x, f=f: f(x) + 1)(0.0).item() for f in (jnp.sin, jnp.exp)]
    print(x.grad, "exp raises:", raised, grads)
    assert raised
    assert grads == [1, 1] and x.grad.item() == 1


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
