"""JAX port of Checkpointed (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

It is for eval mode only. The train mode of the module cannot be ported: test_port.py:0 `x =
  checkpoint(self.norms, x, use_reentrant=False)`: checkpoint around buffers that change, which
  torch changes again in the backward pass; port it without checkpoint
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def checkpointed(p, x):
    """Checkpointed (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    x = jax.checkpoint(norms)(p["norms"], x)
    return jax.checkpoint(unit)(p["unit"], x)


def norms(p, x):
    """Checkpointed.norms (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    x = F.batch_norm(x, p[0]["running_mean"], p[0]["running_var"], p[0]["weight"], p[0]["bias"])
    x = x.output
    return jnp.tanh(x)


def unit(p, x):
    """Unit (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    # half of the residual branch
    return x + 0.5 * jnp.tanh(batch_norm1d(p["norm"], F.linear(x, **p["fc"])))


def batch_norm1d(p, x):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3)."""
    return F.batch_norm(x, p["running_mean"], p["running_var"], p["weight"], p["bias"]).output
