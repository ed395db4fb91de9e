"""JAX port of BatchNorm1d (torch.nn.modules.batchnorm), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class BatchNorm1d(nnx.Module):
    """torch.nn.BatchNorm1d."""

    def __init__(self):
        self.weight = nnx.Param(jnp.ones(3, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(3, jnp.float32))
        self.running_mean = nnx.BatchStat(jnp.zeros(3, jnp.float32))
        self.running_var = nnx.BatchStat(jnp.ones(3, jnp.float32))
        self.num_batches_tracked = nnx.BatchStat(jnp.zeros((), int))
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            self.num_batches_tracked[...] = self.num_batches_tracked[...] + 1
            normed = F.batch_norm(
                x,
                self.running_mean[...],
                self.running_var[...],
                self.weight[...],
                self.bias[...],
                training=True,
            )
            self.running_mean[...] = normed.running_mean
            self.running_var[...] = normed.running_var
            return normed.output
        return F.batch_norm(
            x, self.running_mean[...], self.running_var[...], self.weight[...], self.bias[...]
        ).output
