"""JAX port of WithAuxiliary (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: inner/norm/running_mean, inner/norm/running_var,
  inner/norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def with_auxiliary(p, x, *, training=False):
    """WithAuxiliary (modes/test_modes.py:0): x (N, 3) -> (N, 2), updated p."""
    p = dict(p)
    x, p["inner"] = auxiliary(p["inner"], x, training=training)
    if training:
        y, loss = x
        return (F.linear(y, **p["out"]), loss), p
    return F.linear(x, **p["out"]), p


def auxiliary(p, x, *, training):
    """Auxiliary (modes/test_modes.py:0): x (N, 3) -> (N, 2), updated p."""
    p = dict(p)
    h, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["a"]), training=training)
    h = h * (0.5 if training else 1.0)
    if training:
        h = F.clamp(h, max=1.0)
        return (F.linear(h, **p["b"]), h.mean()), p
    return F.linear(h, **p["b"]), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
