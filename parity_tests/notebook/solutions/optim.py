"""Exercises of the notebook optim."""

import jax
import jax.numpy as jnp
import optax
import torch


def momentum_by_hand():
    """Write SGD with momentum 0.9 as a function that takes and returns its state, without a
    library, and take three steps on the loss `w**2`. torch gives the same weight."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        (w**2).backward()
        optimizer.step()

    def step(param, momentum):
        momentum = 0.9 * momentum + jax.grad(lambda w: w**2)(param)
        return param - 0.1 * momentum, momentum

    param, momentum = 1.0, 0.0
    for _ in range(3):
        param, momentum = step(param, momentum)
    print(w.item(), param)
    assert jnp.allclose(param, w.item())


def skip_a_step():
    """Adam gets the gradient 1 and then the gradient 0, and the second step still moves the
    weight. Write a step in JAX that keeps the weight and the state if the gradient is 0."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer, moved = torch.optim.Adam([w], lr=0.1), []
    for grad in (1.0, 0.0):
        w.grad = torch.tensor(grad)
        optimizer.step()
        moved.append(w.item())

    tx = optax.adam(0.1)

    def step(param, state, grad):
        updates, after = tx.update(grad, state)
        new = (optax.apply_updates(param, updates), after)
        return jax.tree.map(lambda a, b: jnp.where(grad == 0, a, b), (param, state), new)

    param = jnp.array(1.0)
    first, state = step(param, tx.init(param), jnp.array(1.0))
    second, _ = jax.jit(step)(first, state, jnp.array(0.0))
    print("torch:", moved, "JAX:", first, second)
    assert moved[1] < moved[0]  # the average of the first gradient is not zero
    assert jnp.allclose(first, moved[0]) and second == first
