"""JAX port of Scaled (expressions/test_operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (expressions/test_operators.py:0): x (N, L, 4) -> (N, L, L)."""
    q, k = F.linear(x, **p["q"]), F.linear(x, **p["k"])
    scores = q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5
    scale = 6**-0.5
    return (q * q.shape[-1] ** -0.5) @ k.swapaxes(1, 2) + scores / 6**0.5 + scale * scores

# ---- the next port of this test ----
"""JAX port of Scaled (expressions/test_operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (expressions/test_operators.py:0): x (N, L, 4) -> (N, L, L)."""
    q, k = F.linear(x, **p["q"]), F.linear(x, **p["k"])
    scores = q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5
    scale = 6**-0.5
    return (q * q.shape[-1] ** -0.5) @ k.swapaxes(1, 2) + scores / 6**0.5 + scale * scores
