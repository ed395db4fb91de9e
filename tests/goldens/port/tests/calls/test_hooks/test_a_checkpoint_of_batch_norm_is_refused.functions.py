# PortError: test_hooks.py:0 `return self.out(checkpoint(double, x, use_reentrant=False))`: checkpoint around buffers that change, which torch changes again in the backward pass; port it without checkpoint

# ---- the next port of this test ----
"""JAX port of Nested (calls/test_hooks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: layers/0/running_mean, layers/0/running_var.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

It is for eval mode only. The train mode of the module cannot be ported: test_hooks.py:0 `return
  self.out(checkpoint(double, x, use_reentrant=False))`: checkpoint around buffers that change,
  which torch changes again in the backward pass; port it without checkpoint
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def nested(p, x):
    """A module that checkpoints a nested function, as torchvision's DenseNet does.

    Nested (calls/test_hooks.py:0): x (N, 3) -> (N, 2).
    """
    scale = jax.nn.sigmoid(x)

    def recomputed(x):
        joined = jnp.concatenate([x, scale], axis=1)
        return layers(p["layers"], joined * jnp.tanh(joined)) * 2

    return F.linear(jax.checkpoint(recomputed)(x), **p["out"])


def layers(p, x):
    """Nested.layers (calls/test_hooks.py:0): x (N, 6) -> (N, 6)."""
    x = F.batch_norm(x, p[0]["running_mean"], p[0]["running_var"], p[0]["weight"], p[0]["bias"])
    return x.output
