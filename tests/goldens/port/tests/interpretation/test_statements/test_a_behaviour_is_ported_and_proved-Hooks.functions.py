"""JAX port of Hooks (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def hooks(p, x):
    """Hooks on a parameter and on modules.

    Hooks (interpretation/test_statements.py:0): x (N, 4) -> (N, 2).
    """
    a_weight = jaxgrad.hook(p["a"]["weight"], lambda grad: grad * 0.5)
    # a full backward hook of `b`
    b = jaxgrad.backward_hook(
        lambda x: F.linear(x, **p["b"]),
        lambda grad_inputs, grad_outputs: (F.clamp(grad_inputs[0], min=-0.1, max=0.1),),
    )
    y = double(F.linear(x, a_weight, p["a"]["bias"])).sum()
    return b(double(F.linear(x, a_weight, p["a"]["bias"]))) + y


def double(out):
    """double (interpretation/test_statements.py:0): out (N, 4) -> (N, 4)."""
    return out * 2
