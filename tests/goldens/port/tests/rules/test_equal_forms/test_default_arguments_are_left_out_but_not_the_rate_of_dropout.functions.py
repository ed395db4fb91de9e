"""JAX port of Options (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def options(p, x, *, rng=None, training=False):
    """Options (rules/test_equal_forms.py:0): x (N, 1, H, W) -> (N, 1, 2*H, W')."""
    x = F.interpolate(F.conv2d(x, **p["conv"]), scale_factor=2)
    return F.dropout(F.pad(x, (1, 1)), p=0.5, training=training, key=rng)
