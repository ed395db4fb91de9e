"""JAX port of Returns (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.

To be written by hand: by_hand (test_holes.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def returns(p, x, labels):
    """Returns (statements/test_holes.py:0)."""
    pred = F.linear(x, **p["fc"])
    return by_hand(labels, pred)


def by_hand(labels, pred):
    """Write by hand what lines 0 to 0 of test_holes.py do: `keep =
    (labels < 3).nonzero().squeeze(1); return pred[keep]`. It returns result: float32[3, 3] for
    the example inputs; the size depends on values. Inside of it, sizes that depend on values:
    keep: int64[3] in the example.
    """
    raise NotImplementedError(
        "test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size "
        "that depends on values, which JAX cannot trace; compute with a mask and torch.where on "
        "the whole tensor"
    )
