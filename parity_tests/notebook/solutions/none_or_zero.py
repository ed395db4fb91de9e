"""Exercises of the notebook none_or_zero."""

# pyright: reportOptionalMemberAccess=false
# torch types `.grad` as a tensor or None.

import jax
import jax.numpy as jnp
import torch

import jaxgrad


def transposed():
    """Let f(x) be [x0·x1, 3·x0, x1²] at x = [2, 5]. Predict two lists of numbers without running
    code: `forward`, what the linear part of f returns for the tangent [1, 0] of x; and `backward`,
    what its transpose returns for the gradient [1, 1, 0] of f(x). Then write `pull_back(f, x, g)`,
    which returns the gradient of x for the gradient g of f(x), with `jax.linearize` and
    `jax.linear_transpose` and without `jax.vjp`."""

    def f(x):
        return jnp.stack([x[0] * x[1], 3 * x[0], x[1] ** 2])

    forward = [5, 3, 0]  # the first column of the Jacobian [[5, 2], [3, 0], [0, 10]]
    backward = [8, 2]  # its first two rows, added: x0 is used twice, 5 + 3

    def pull_back(f, x, g):
        _, linear = jax.linearize(f, x)
        (grad,) = jax.linear_transpose(linear, x)(g)
        return grad

    x, t, g = jnp.array([2.0, 5.0]), jnp.array([1.0, 0.0]), jnp.array([1.0, 1.0, 0.0])
    print(jax.jvp(f, (x,), (t,))[1], pull_back(f, x, g), jax.vjp(f, x)[1](g)[0])

    leaf = torch.tensor([2.0, 5.0], requires_grad=True)
    torch.stack([leaf[0] * leaf[1], 3 * leaf[0], leaf[1] ** 2]).backward(torch.tensor([1.0, 1, 0]))
    print(leaf.grad)
    assert jax.jvp(f, (x,), (t,))[1].tolist() == forward
    assert pull_back(f, x, g).tolist() == leaf.grad.tolist() == backward


def decay_that_skips_none():
    """Write a step of SGD with weight decay that leaves a parameter unchanged if its gradient is
    `None`, as torch does, but decays it if its gradient is zero."""

    def step(p, g):
        return p if g is None else p - 0.1 * (g + 0.5 * p)

    params = {"used": jnp.array(1.0), "zero": jnp.array(1.0), "unused": jnp.array(1.0)}
    grads = jaxgrad.grad(lambda p: p["used"] + 0 * p["zero"])(params)
    # `params` comes first: `tree.map` calls `step` for each leaf of its first tree, and passes what
    # `grads` has there, even `None`. With `grads` first it raises, as a `None` is not a leaf.
    after = jax.tree.map(step, params, grads)

    used, zero, unused = tensors = [torch.tensor(1.0, requires_grad=True) for _ in range(3)]
    (used + 0 * zero).backward()
    torch.optim.SGD(tensors, lr=0.1, weight_decay=0.5).step()
    print([p.item() for p in tensors], after)
    assert unused.item() == after["unused"] == 1
    assert jnp.allclose(after["zero"], zero.item()) and after["zero"] < 1


def one_of_each():
    """Write a loss of `a`, `b` and `c`, for torch and JAX alike, for which torch's `.grad` is a
    number, zero and `None`. Predict what `jax.grad` and `jaxgrad.grad` return for it."""

    def loss(params):
        return params["a"] ** 2 + params["b"] - params["b"]

    a, b, c = (torch.tensor(2.0, requires_grad=True) for _ in range(3))
    loss({"a": a, "b": b, "c": c}).backward()
    print(a.grad, b.grad, c.grad)

    params = {"a": 2.0, "b": 2.0, "c": 2.0}
    print(jax.grad(loss)(params))
    print(jaxgrad.grad(loss)(params))
    assert (a.grad, b.grad, c.grad) == (4, 0, None)
    assert jax.grad(loss)(params) == {"a": 4, "b": 0, "c": 0}
    assert jaxgrad.grad(loss)(params) == {"a": 4, "b": 0, "c": None}
