"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: norm/running_mean, norm/running_var.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

torch also stores these values on objects; the port leaves them out:
- `training` of norm (test_leftovers.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def the_mode_of_a_layer(p, x):
    """Kind.the_mode_of_a_layer (port/test_leftovers.py:0): x (N, 3) -> (N, 2)."""
    return batch_norm1d(p["norm"], F.linear(x, **p["fc"]))


def batch_norm1d(p, x):
    """torch.nn.BatchNorm1d: x (N, 2) -> (N, 2)."""
    return F.batch_norm(x, p["running_mean"], p["running_var"], p["weight"], p["bias"]).output
