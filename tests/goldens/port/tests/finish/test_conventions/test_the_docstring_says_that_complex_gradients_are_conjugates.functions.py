"""JAX port of Mixes (finish/test_conventions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def mixes(p, x):
    """Mixes (finish/test_conventions.py:0): x (N, 3) -> (3, N)."""
    return F.abs(p["mix"] @ x.T.astype(p["mix"].dtype)) + F.abs(p["frozen"]).sum()

# ---- the next port of this test ----
"""JAX port of Mixes (finish/test_conventions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def mixes(p, x):
    """Mixes (finish/test_conventions.py:0): x (N, 3) -> (3, N)."""
    return F.abs(p["mix"] @ x.T.astype(p["mix"].dtype)) + F.abs(p["frozen"]).sum()

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def linear(p, x):
    """torch.nn.Linear: x (N, 3) -> (N, 3)."""
    return F.linear(x, **p)
