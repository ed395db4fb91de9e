"""Exercises of the notebook freezing."""

import jax
import jax.numpy as jnp

import jaxgrad


def only_biases():
    """Train only the biases of a network (as in BitFit): differentiate with respect to them, so
    that `grads`, a tree like `net`, has no gradient for any weight."""
    net = {
        "l1": {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)},
        "l2": {"weight": jnp.ones((1, 3)), "bias": jnp.zeros(1)},
    }
    trainable, frozen = jaxgrad.partition(net, lambda name, _: name.endswith("bias"))

    def loss(trainable, x):
        net = jaxgrad.combine(trainable, frozen)
        h = x @ net["l1"]["weight"].T + net["l1"]["bias"]
        return jnp.mean((h @ net["l2"]["weight"].T + net["l2"]["bias"]) ** 2)

    grads = jax.grad(loss)(trainable, jnp.array([[1.0, 2.0]]))
    print(grads)
    assert grads["l1"]["weight"] is None
    assert grads["l1"]["bias"].shape == (3,)


def frozen_is_not_stopped():
    """The loss is the sum of `(w * x)**2` with w = [2, 3]. Write it as a function of x in which w
    is frozen, and as one in which the layer's output `w * x` is stopped. Which of the two lets the
    gradient reach the input?"""
    w, x = jnp.array([2.0, 3.0]), jnp.array([1.0, 1.0])

    def frozen(x):  # w is not an argument, so it gets no gradient
        return jnp.sum((w * x) ** 2)

    def stopped(x):
        return jnp.sum(jax.lax.stop_gradient(w * x) ** 2)

    print(jax.grad(frozen)(x), jax.grad(stopped)(x))
    assert jax.grad(frozen)(x).tolist() == [8, 18]
    assert jax.grad(stopped)(x).tolist() == [0, 0]
