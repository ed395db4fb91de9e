"""JAX port of Experts (rules/test_functional.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def experts_forward(p, x, *, number=3):
    """Each row goes to two of three experts, whose rows are multiplied as groups.

    Experts (rules/test_functional.py:0): x (N, 4) -> (N, 8).
    """
    weights, chosen = F.topk(jax.nn.softmax(F.linear(x, **p["gate"]), axis=-1), 2)
    experts, order = F.sort(chosen.reshape(-1))
    counts = jnp.histogram(experts.astype(jnp.float32), number, range=(0, number - 1))
    counts = counts[0].astype(jnp.float32)
    ends = F.cumsum(counts, 0, dtype=jnp.int32)
    rows = F.grouped_mm(x[order // 2], p["weight"], offs=ends)
    rows = rows * jnp.expand_dims(weights.reshape(-1)[order], -1)
    return F.index_add(jnp.zeros((x.shape[0], 8), dtype=x.dtype), 0, order // 2, rows)
