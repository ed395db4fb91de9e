"""JAX port of Padded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def padded(p, x):
    """Padded (statements/test_size_branches.py:0): x (N, L, 4) -> (N, L', 4)."""
    y = F.linear(x, **p["linear"])
    if y.shape[1] % 4:
        pad = 4 - y.shape[1] % 4
        y = F.pad(y, (0, 0, 0, pad))
    else:
        y = y * 2
        pad = 0
    return y.reshape(y.shape[0], -1, 4, 4).sum(axis=2) * (1 + pad)
