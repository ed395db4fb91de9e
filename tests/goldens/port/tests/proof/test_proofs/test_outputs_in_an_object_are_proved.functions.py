"""JAX port of Scored (proof/test_proofs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def scored(p, x):
    """Scored (proof/test_proofs.py:0): x (N, 3) -> {logits (N, 2)}."""
    return {"logits": F.linear(x, **p["fc"])}
