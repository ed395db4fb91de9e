"""JAX port of Options (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: second/running_mean, second/running_var,
  second/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def options(p, x, *, rng=None, training=False):
    """Options of layers that differ from their defaults.

    Options (port_collection/operators.py:0): x (N, 3) -> (N, 2), updated p.
    """
    p = dict(p)
    h = F.layer_norm(F.linear(x, **p["inner"]), (4,), **p["first"], eps=0.1)
    h, p["second"] = batch_norm1d(p["second"], h, training=training)
    h = F.leaky_relu(h, negative_slope=0.3)
    y = F.linear(F.dropout(h, p=0.2, training=training, key=rng), **p["outer"])
    return y, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 4) -> (N, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x,
        p["running_mean"],
        p["running_var"],
        p["weight"],
        p["bias"],
        training=training,
        momentum=0.3,
    )
    return x, p
