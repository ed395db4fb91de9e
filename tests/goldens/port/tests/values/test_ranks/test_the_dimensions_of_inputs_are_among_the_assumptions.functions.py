"""JAX port of Deep (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 3 (test_ranks.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def deep(p, x):
    """Deep (values/test_ranks.py:0): x (N, L, 4) -> (N, 4)."""
    assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
    h = F.linear(x, **p["linear"])
    return pooled(h)


def pooled(h):
    """Pooled (values/test_ranks.py:0): h (N, L, 4) -> (N, 4)."""
    return h.mean(axis=1)
