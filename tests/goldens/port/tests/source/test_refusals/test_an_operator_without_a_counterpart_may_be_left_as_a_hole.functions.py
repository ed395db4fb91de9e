# PortError: test_refusals.py:0 `counts = torch.bincount(x.argmax(-1), minlength=4).float()`: the operator bincount has no counterpart in jaxgrad.functional; write it with other operators; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
"""JAX port of Counted (source/test_refusals.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.

To be written by hand: by_hand (test_refusals.py:0)
"""


def counted(p, x):
    """Counted (source/test_refusals.py:0)."""
    counts = by_hand(x)
    return x * counts


def by_hand(x):
    """Write by hand what line 0 of test_refusals.py does: `counts = torch.bincount(x.argmax(-1),
    minlength=4).float()`. It returns counts: float32[4].
    """
    raise NotImplementedError(
        "test_refusals.py:0 `counts = torch.bincount(x.argmax(-1), minlength=4).float()`: the "
        "operator bincount has no counterpart in jaxgrad.functional; write it with other "
        "operators"
    )
