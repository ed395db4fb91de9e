"""Exercises of the notebook distributed."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax
from jax.sharding import PartitionSpec as P


def average_the_loss():
    """Two devices hold two rows each of x = [1, 2, 3, 4], and the loss is the mean of `(w * x)**2`.
    Compute the gradient in `shard_map`, equal to that of one device with all rows."""
    jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes anything
    rows = [1.0, 2.0, 3.0, 4.0]
    w = torch.tensor(1.0, requires_grad=True)
    (w * torch.tensor(rows)).square().mean().backward()

    def gradient(w, x):  # JAX sums the gradients of w, which is the same on all devices
        return jax.grad(lambda w: lax.pmean(jnp.mean((w * x) ** 2), "ranks"))(w)

    mesh = jax.sharding.Mesh(jax.devices("cpu")[:2], ("ranks",))
    on_ranks = jax.shard_map(gradient, mesh=mesh, in_specs=(P(), P("ranks")), out_specs=P())
    grad = on_ranks(jnp.array(1.0), jnp.array(rows))
    print(w.grad, grad)
    assert grad == w.grad.item() == 15


def norm_of_a_sharded_gradient():
    """Two devices hold one half each of the gradient [3, 0, 0, 4]. Compute the norm of the whole
    gradient in `shard_map`. What are the norms of the halves?"""
    jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes anything
    whole = torch.linalg.vector_norm(torch.tensor([3.0, 0.0, 0.0, 4.0]))

    def norms(half):
        squares = jnp.sum(half**2)
        return jnp.sqrt(lax.psum(squares, "ranks")), jnp.sqrt(squares)[None]

    mesh = jax.sharding.Mesh(jax.devices("cpu")[:2], ("ranks",))
    on_ranks = jax.shard_map(norms, mesh=mesh, in_specs=P("ranks"), out_specs=(P(), P("ranks")))
    total, halves = on_ranks(jnp.array([3.0, 0.0, 0.0, 4.0]))
    print(whole, total, halves)
    assert total == whole.item() == 5
    assert halves.tolist() == [3, 4]
