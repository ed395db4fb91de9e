"""JAX port of Scaled (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- torch.linspace(0, 1, 11)[3].item() == 0.30000001192092896 (test_creation.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are.

    Scaled (rules/test_creation.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"]) * 0.3

# ---- the next port of this test ----
"""JAX port of Scaled (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- torch.linspace(0, 1, 11)[3].item() == 0.30000001192092896 (test_creation.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are.

    Scaled (rules/test_creation.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"]) * 0.3
