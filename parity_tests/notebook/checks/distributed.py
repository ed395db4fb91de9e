"""Checks of the exercises in the notebook distributed."""

import jax
import jax.numpy as jnp
import torch
from jax.sharding import PartitionSpec as P

from parity_tests.notebook.live_torch import leaf


def _two_devices():
    devices = jax.devices("cpu")[:2]
    if len(devices) < 2:
        raise RuntimeError("run the first cell, which gives JAX several devices, before any other")
    return jax.sharding.Mesh(devices, ("ranks",))


def only_real_rows(loss):
    mesh = _two_devices()
    x, specs = jnp.array([1.0, 2.0, 7.0, 9.0]), (P(), P("ranks"), P("ranks"))
    gradient = jax.shard_map(jax.grad(loss), mesh=mesh, in_specs=specs, out_specs=P())
    for rows in (3, 4):  # the rows that are not padding
        w, real = leaf(1.0), jnp.array([1.0, 1.0, 1.0, float(rows == 4)])
        ((w * torch.tensor(x.tolist())[:rows]) ** 2).mean().backward()
        what = f"the gradient of w on both devices with {rows} real rows"
        yield what, gradient(jnp.array(1.0), x, real), w.grad


def norm_of_a_sharded_gradient(norm):
    mesh = _two_devices()

    def on_each(half):  # one number for each device, whether or not JAX knows that they are equal
        return norm(half).reshape(1)

    on_ranks = jax.shard_map(on_each, mesh=mesh, in_specs=P("ranks"), out_specs=P("ranks"))
    for whole in ([3.0, 0.0, 0.0, 4.0], [1.0, -4.0, 2.0, 2.0]):
        wanted = torch.linalg.vector_norm(torch.tensor(whole)).expand(2)
        yield f"the norm of {whole} on each device", on_ranks(jnp.array(whole)), wanted
