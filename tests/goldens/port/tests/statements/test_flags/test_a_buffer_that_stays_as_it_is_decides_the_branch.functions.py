"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: done.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def initialized(p, x):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: done.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def initialized(p, x):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: done.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def initialized(p, x):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"])
