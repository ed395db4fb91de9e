"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: norm/running_mean, norm/running_var,
  norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def a_layer_in_one_arm(p, x, *, training=False):
    """Kind.a_layer_in_one_arm (port/test_leftovers.py:0): x (N, 3) -> (N, 2), updated p."""
    p = dict(p)
    y = F.linear(x, **p["fc"])

    def then(y):
        norm_out, norm = batch_norm1d(p["norm"], y, training=training)
        return norm_out, norm

    y, p["norm"] = lax.cond(y.mean() > -100, then, lambda y: (y, p["norm"]), y)
    return y, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 2) -> (N, 2), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
