"""JAX port of Kept (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def kept(p, x):
    """Kept (calls/test_iteration_calls.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(x, **p["linear"]) * 2.0 + 3.0 + 5.0

# ---- the next port of this test ----
# PortError: test_iteration_calls.py:0 `self.linear = self.linear.to(torch.float32)`: `.to()` on a module while it runs; call it before porting
