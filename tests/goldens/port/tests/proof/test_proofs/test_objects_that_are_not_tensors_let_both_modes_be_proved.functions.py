"""JAX port of Named (proof/test_proofs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
"""

from jaxgrad import functional

F = functional.at("2.13")


def named(p, x):
    """Named (proof/test_proofs.py:0)."""
    return {"out": F.linear(x, **p["linear"]), "note": "a"}
