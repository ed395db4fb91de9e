"""JAX port of Scaled (loops/test_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """The params of the inner lists are dicts, which a loop cannot unpack.

    Scaled (loops/test_loops.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p["layers"][0]) * p["scales"][0]["0"] + p["scales"][0]["1"]
    return F.linear(x, **p["layers"][1]) * p["scales"][1]["0"] + p["scales"][1]["1"]
