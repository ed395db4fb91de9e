"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: attn/bias.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 3) -> (N, 3)."""
    return attention(p["attn"], x)


def attention(p, x):
    """Attention (finish/test_conventions.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(x, **p["fc"]) * p["bias"]

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */attn/bias.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 3) -> (N, 3)."""
    for module in p:
        x = attention(module["attn"], x)
    return x


def attention(p, x):
    """Attention (finish/test_conventions.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(x, **p["fc"]) * p["bias"]

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: 0/running_mean, 0/running_var,
  0/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x, *, training=False):
    """torch.nn.Sequential: x (N, 3) -> (N, 3), updated p."""
    p = list(p)
    x, p[0] = batch_norm1d(p[0], x, training=training)
    return F.linear(x, **p[1]), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
