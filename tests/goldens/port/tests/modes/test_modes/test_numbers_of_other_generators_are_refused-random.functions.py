# PortError: test_modes.py:0 `if self.training and self.draw() < 0.5:`: Random.random draws from the generator of Python or numpy, and the port would have this one number for ever; draw with torch

# ---- the next port of this test ----
"""JAX port of DropsLayers (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

It is for eval mode only. The train mode of the module cannot be ported: test_modes.py:0 `if
  self.training and self.draw() < 0.5:`: Random.random draws from the generator of Python or numpy,
  and the port would have this one number for ever; draw with torch
"""

from jaxgrad import functional

F = functional.at("2.13")


def drops_layers(p, x):
    """DropsLayers (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(x, **p["fc"])
