"""JAX port of Net (ports/hooks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")

BOUND = 0.02


def net(p, x, ids):
    """A network for transfer learning, with hooks: a slow layer and a table with new rows.

    Net (ports/hooks.py:0): x (N, 3), ids (N,) int -> (N,).
    """
    slow_weight = jaxgrad.hook(p["slow"]["weight"], lambda grad: 0.5 * grad)
    rows = jnp.array([[True], [True], [False], [False], [False], [False]])
    table_weight = jaxgrad.hook(p["table"]["weight"], lambda grad: grad * rows)
    shared_weight = jaxgrad.hook(
        p["shared"]["weight"], lambda grad: F.clamp(grad, min=-BOUND, max=BOUND)
    )
    h = jnp.tanh(F.linear(x, slow_weight, p["slow"]["bias"])) + F.embedding(ids, table_weight)
    h = F.linear(jnp.tanh(F.linear(h, shared_weight)), shared_weight)
    # a full backward hook of `out`
    out = jaxgrad.backward_hook(
        lambda x: F.linear(x, **p["out"]), lambda grad_inputs, grad_outputs: (0.1 * grad_inputs[0],)
    )
    return out(h).squeeze(axis=-1)
