"""JAX port of Halves (proof/test_ported.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] > 2 (test_ported.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def halves(p, x, *, rng=None, training=False):
    """Its branch depends on a size, and its dropout on the mode.

    Halves (proof/test_ported.py:0): x (N, 4) -> (N, 4).
    """
    assert x.shape[1] > 2, (
        "this port holds for x.shape[1] > 2: torch takes another branch otherwise "
        "(test_ported.py:0)"
    )
    return F.dropout(F.linear(x, **p["fc"]), p=0.5, training=training, key=rng)
