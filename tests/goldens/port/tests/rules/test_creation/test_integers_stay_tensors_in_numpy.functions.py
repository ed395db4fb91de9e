"""JAX port of Ordered (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def ordered(p, x, at):
    """Integers go through numpy, as the lengths of sequences do.

    Ordered (rules/test_creation.py:0): x (N, 4), at (N,) int -> (N, 4).
    """
    return F.linear(x, **p["fc"])[lax.stop_gradient(at)]

# ---- the next port of this test ----
# PortError: test_creation.py:0 `return self.fc(x)[torch.from_numpy(at.detach().cpu().numpy())]`: numpy() reads the value of a tensor, which is not known when JAX traces; keep it as a tensor, or pass the number as an argument
