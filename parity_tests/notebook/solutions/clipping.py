"""Exercises of the notebook clipping."""

import jax
import jax.numpy as jnp
import torch

import jaxgrad


def by_hand():
    """The gradients are [3, 4] and [12], so their common norm is 13. Write a function that clips a
    tree of gradients by their common norm with torch's formula, without a library. Gradients below
    the bound stay as they are."""

    def clip(grads, max_norm):
        norm = jnp.sqrt(sum(jnp.sum(grad**2) for grad in grads.values()))
        factor = jnp.minimum(1.0, max_norm / (norm + 1e-6))
        return {name: factor * grad for name, grad in grads.items()}

    grads = {"a": jnp.array([3.0, 4.0]), "b": jnp.array([12.0])}
    clipped, norm = jaxgrad.clip_grad_norm(grads, 1.0)
    print(norm, clip(grads, 1.0), clipped)
    assert norm == 13
    assert jnp.allclose(clipped["b"], clip(grads, 1.0)["b"], rtol=1e-6)


def each_its_own():
    """Some training code calls `clip_grad_norm_([p], 1.0)` in a loop over the parameters, so that
    each gradient is clipped by its own norm. Write that for a tree of gradients in JAX. Does the
    direction of the whole gradient stay the same?"""

    def clip_each(grads, max_norm):
        return jax.tree.map(lambda grad: jaxgrad.clip_grad_norm(grad, max_norm)[0], grads)

    grads = {"a": [3.0, 4.0], "b": [12.0]}
    in_torch = {}
    for name, grad in grads.items():
        p = torch.nn.Parameter(torch.zeros(len(grad)))
        p.grad = torch.tensor(grad)
        torch.nn.utils.clip_grad_norm_([p], 1.0)
        in_torch[name] = p.grad
    found = clip_each({name: jnp.array(grad) for name, grad in grads.items()}, 1.0)
    print(in_torch, found)
    for name, grad in in_torch.items():
        assert jnp.allclose(found[name], jnp.array(grad.tolist()), rtol=1e-6)
    assert not jnp.isclose(found["b"][0] / found["a"][0], 12 / 3)  # another direction
