"""JAX port of PartOfItself (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def part_of_itself(p, x):
    """PartOfItself (calls/test_inplace.py:0): x (N, 4) -> (N, 2)."""
    h = F.linear(x, **p["first"])
    h = h[:, :2]
    h = h * 3
    h += 1
    return h * 2

# ---- the next port of this test ----
# PortError: test_inplace.py:0 `return whole * 2`: 'whole' shares memory with a tensor that line 160 changes in place; copy one of them first; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
