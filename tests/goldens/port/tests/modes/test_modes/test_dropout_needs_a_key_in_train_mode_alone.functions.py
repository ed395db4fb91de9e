"""JAX port of Dropped (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: norm/running_mean, norm/running_var,
  norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def dropped(p, x, *, rng=None, training=False):
    """Dropped (modes/test_modes.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["fc"]), training=training)
    return F.dropout(x, p=0.5, training=training, key=rng), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
