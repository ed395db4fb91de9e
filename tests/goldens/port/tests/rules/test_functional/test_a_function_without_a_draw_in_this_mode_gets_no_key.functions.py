"""JAX port of Pooled (rules/test_functional.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def pooled(p, x, *, rng):
    """Pooled (rules/test_functional.py:0): x (1, C, H, 4) -> (1, C, L', 2)."""
    x = F.linear(x, **p["fc"])
    return F.rrelu(F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5), key=rng))
