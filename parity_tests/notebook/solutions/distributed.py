"""Exercises of the notebook distributed."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch
from jax import lax
from jax.sharding import PartitionSpec as P


def only_real_rows():
    """Two devices hold two rows each, but the last row is padding: `real` is 1 for a row of data
    and 0 for padding. Write the loss for `shard_map`: the mean of `(w * x)**2` over the real rows
    of all devices."""
    jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes anything

    def loss(w, x, real):
        total = lax.psum(jnp.sum(real * (w * x) ** 2), "ranks")
        return total / lax.psum(jnp.sum(real), "ranks")

    w = torch.tensor(1.0, requires_grad=True)
    (w * torch.tensor([1.0, 2.0, 6.0])).square().mean().backward()
    mesh = jax.sharding.Mesh(jax.devices("cpu")[:2], ("ranks",))
    specs = (P(), P("ranks"), P("ranks"))
    gradient = jax.shard_map(jax.grad(loss), mesh=mesh, in_specs=specs, out_specs=P())
    x, real = jnp.array([1.0, 2.0, 6.0, 9.0]), jnp.array([1.0, 1.0, 1.0, 0.0])
    grad = gradient(jnp.array(1.0), x, real)
    print(w.grad, grad)
    assert jnp.allclose(grad, w.grad.item())


def norm_of_a_sharded_gradient():
    """Two devices hold one half each of the gradient [3, 0, 0, 4]. Write the norm of the whole
    gradient for `shard_map`. What are the norms of the halves?"""
    jax.config.update("jax_num_cpu_devices", 8)  # before JAX first computes anything

    def norm(half):
        return jnp.sqrt(lax.psum(jnp.sum(half**2), "ranks"))

    mesh = jax.sharding.Mesh(jax.devices("cpu")[:2], ("ranks",))
    on_ranks = jax.shard_map(norm, mesh=mesh, in_specs=P("ranks"), out_specs=P())
    total = on_ranks(jnp.array([3.0, 0.0, 0.0, 4.0]))
    whole = torch.linalg.vector_norm(torch.tensor([3.0, 0.0, 0.0, 4.0]))
    print(whole, total)
    assert total == whole.item() == 5  # the norms of the halves are 3 and 4
