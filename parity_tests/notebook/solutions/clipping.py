"""Exercises of the notebook clipping."""

import jax.numpy as jnp
import torch

import jaxgrad


def by_hand():
    """The gradients are [3, 4] and [12], so their common norm is 13. Clip them to 1 by hand with
    torch's formula, and compare with `jaxgrad.clip_grad_norm`."""
    grads = {"a": jnp.array([3.0, 4.0]), "b": jnp.array([12.0])}
    clipped, norm = jaxgrad.clip_grad_norm(grads, 1.0)

    factor = min(1.0, 1.0 / (13 + 1e-6))
    print(norm, clipped["b"], factor * 12)
    assert norm == 13
    assert jnp.allclose(clipped["b"], factor * 12, rtol=1e-6)


def norm_or_value():
    """Clip the gradient [0.5, 10] to norm 1 and to value 1. Which of the two changes the direction
    of the gradient? Check it in torch."""
    grad = jnp.array([0.5, 10.0])
    by_norm, _ = jaxgrad.clip_grad_norm(grad, 1.0)
    by_value = jaxgrad.clip_grad_value(grad, 1.0)

    p = torch.nn.Parameter(torch.zeros(2))
    p.grad = torch.tensor([0.5, 10.0])
    torch.nn.utils.clip_grad_value_([p], 1.0)
    print(by_norm, by_value, p.grad)
    assert jnp.allclose(by_norm[1] / by_norm[0], 20)  # the same direction
    assert by_value.tolist() == p.grad.tolist() == [0.5, 1.0]  # a different direction
