"""JAX port of Attention (finish/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x):
    """Attention (finish/test_shapes.py:0): x (N, 4) -> (N, 4)."""
    return processor(p, p["to_out"], x) * 2


def processor(attn, out, x):
    """Processor.__call__ (finish/test_shapes.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(jnp.sin(F.linear(x, **attn["to_q"])), **out[0])
