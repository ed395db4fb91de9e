"""JAX port of Sorted (proof/test_ported.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.

To be written by hand: sorted_forward (test_ported.py:0)
"""


def sorted_forward(p, x):
    """Write by hand what line 0 of test_ported.py does: `return x[x > 0].sum() + x.sum()`. It
    returns result: float32[].
    """
    raise NotImplementedError(
        "test_ported.py:0 `return x[x > 0].sum() + x.sum()`: a mask as an index makes a size "
        "that depends on values; use torch.where"
    )
