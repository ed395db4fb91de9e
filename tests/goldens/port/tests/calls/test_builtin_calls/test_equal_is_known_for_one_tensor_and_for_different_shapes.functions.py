"""JAX port of Compared (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def compared(p, x):
    """Compared (calls/test_builtin_calls.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
"""JAX port of Compared (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def compared(p, x):
    """Compared (calls/test_builtin_calls.py:0): x (N, L) -> (N, L)."""
    return x

# ---- the next port of this test ----
# PortError: test_builtin_calls.py:0 `return self.fc(x) if torch.equal(x, self.other(x)) else x`: torch.equal depends on the values of tensors; pass the answer as an argument; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
