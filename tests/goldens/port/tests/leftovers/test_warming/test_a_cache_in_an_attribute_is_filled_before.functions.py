"""JAX port of Cached (leftovers/test_warming.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: mask.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- p['mask'].shape[0] >= x.shape[0] (test_warming.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def cached(p, x):
    """Cached (leftovers/test_warming.py:0): x (3, 4) -> (3, 4)."""
    assert p["mask"].shape[0] >= x.shape[0], (
        "this port holds for p['mask'].shape[0] >= x.shape[0]: torch takes another branch "
        "otherwise (test_warming.py:0)"
    )
    n = x.shape[0]
    return p["mask"][:n, :n] @ F.linear(x, **p["fc"])

# ---- the next port of this test ----
"""JAX port of Cached (leftovers/test_warming.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: mask.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- p['mask'].shape[0] >= x.shape[0] (test_warming.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def cached(p, x):
    """Cached (leftovers/test_warming.py:0): x (3, 4) -> (3, 4)."""
    assert p["mask"].shape[0] >= x.shape[0], (
        "this port holds for p['mask'].shape[0] >= x.shape[0]: torch takes another branch "
        "otherwise (test_warming.py:0)"
    )
    n = x.shape[0]
    return p["mask"][:n, :n] @ F.linear(x, **p["fc"])
