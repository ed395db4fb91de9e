"""JAX port of Resized (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def resized(p, x):
    """Resized (calls/test_builtin_calls.py:0): x (1, 1, H, 4) -> (1, 1, 2*H, 8)."""
    wide = F.interpolate(F.linear(x, **p["fc"]), size=(5, 6), mode="bilinear", align_corners=True)
    return wide.sum() + F.interpolate(x, scale_factor=2)
