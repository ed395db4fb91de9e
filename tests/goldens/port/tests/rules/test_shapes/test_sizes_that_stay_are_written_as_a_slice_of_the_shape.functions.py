"""JAX port of Flat (rules/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def flat(p, x):
    """Flat (rules/test_shapes.py:0): x (N, C, H, W) -> ()."""
    a = x * 2
    a = a.reshape(*a.shape[:-2], -1)
    b = a + 1
    c = x * 3
    c = c.reshape(-1, *c.shape[2:])
    c = c.reshape(*c.shape[:-1], 2, -1)
    return a.sum() + b.sum() + c.reshape(c.shape[0], -1, c.shape[3]).sum()
