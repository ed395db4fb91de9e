"""JAX port of Sampled (rules/test_functional.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sampled(p, x, *, rng):
    """A function that draws numbers: of the classes of each row, or of a pooling's windows.

    Sampled (rules/test_functional.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    return F.gumbel_softmax(h, tau=0.5, hard=True, key=rng)
