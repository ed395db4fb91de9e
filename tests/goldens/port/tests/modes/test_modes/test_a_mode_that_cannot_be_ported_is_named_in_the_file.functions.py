"""JAX port of ReadsInTrainMode (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

It is for eval mode only. The train mode of the module cannot be ported: test_modes.py:0 `return y
  * float(x.max()) if self.training else y`: float() of a tensor: its value is not known when JAX
  traces; keep it as a tensor, or pass the number as an argument
"""

from jaxgrad import functional

F = functional.at("2.13")


def reads_in_train_mode(p, x):
    """ReadsInTrainMode (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
# PortError: test_modes.py:0 `return y * float(x.max()) if self.training else y`: float() of a tensor: its value is not known when JAX traces; keep it as a tensor, or pass the number as an argument
