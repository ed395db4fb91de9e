"""JAX port of Initialized (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: initialized.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- self.initialized.item() == 1 (test_creation.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from jaxgrad import functional

F = functional.at("2.13")


def initialized(p, x):
    """It reads a flag as a number, as networks do that choose their scales in the first call.

    Initialized (rules/test_creation.py:0): x (N, 4) -> (N, 4).
    """
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
# PortError: test_creation.py:0 `self.fc.weight.data.copy_(-x.std() * torch.ones(4, 4))`: the parameter 'fc.weight' is changed while the module runs, so the next call starts from another value; compute a changed copy and use it (`self.weight * mask`), or change the parameter after the optimizer's step; if only the first call changes it, run the module once before porting
