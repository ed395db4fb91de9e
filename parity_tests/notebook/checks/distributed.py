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
    w, rows = leaf(1.0), torch.tensor([1.0, 2.0, 6.0])  # the rows that are not padding
    ((w * rows) ** 2).mean().backward()
    mesh = _two_devices()
    x, real = jnp.array([1.0, 2.0, 6.0, 9.0]), jnp.array([1.0, 1.0, 1.0, 0.0])
    specs = (P(), P("ranks"), P("ranks"))
    gradient = jax.shard_map(jax.grad(loss), mesh=mesh, in_specs=specs, out_specs=P())
    yield "the gradient of w on both devices", gradient(jnp.array(1.0), x, real), w.grad


def norm_of_a_sharded_gradient(norm):
    mesh = _two_devices()
    whole = [3.0, 0.0, 0.0, 4.0]
    on_ranks = jax.shard_map(norm, mesh=mesh, in_specs=P("ranks"), out_specs=P())
    wanted = torch.linalg.vector_norm(torch.tensor(whole))
    yield "the norm on both devices", on_ranks(jnp.array(whole)), wanted
