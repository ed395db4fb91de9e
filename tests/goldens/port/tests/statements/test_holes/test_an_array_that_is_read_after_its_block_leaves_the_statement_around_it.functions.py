"""JAX port of InOneArm (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

To be written by hand: by_hand (test_holes.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def in_one_arm(p, x, labels, *, training=False):
    """InOneArm (statements/test_holes.py:0): x (N, 3), labels (N,) int -> ()."""
    pred = F.linear(x, **p["fc"])
    if training:
        return by_hand(p, labels, pred)
    keep = jnp.arange(2)
    return pred[keep].mean()


def by_hand(p, labels, pred):
    """Write by hand what lines 0 to 0 of test_holes.py do: `if self.training:     keep =
    (labels < 3).nonzero().squeeze(1) else:     keep = torch.arange(2); return
    pred[keep].mean()`. It returns result: float32[]. Inside of it, sizes that depend on values:
    keep: int64[3] in the example.
    """
    raise NotImplementedError(
        "test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size "
        "that depends on values, which JAX cannot trace; compute with a mask and torch.where on "
        "the whole tensor; a function by hand cannot return `keep` either, because its size "
        "depends on values: use a mask instead of an index, such as torch.where(mask, x, 0)"
    )

# ---- the next port of this test ----
# PortError: test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size that depends on values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor; a function by hand cannot return `keep` either, because its size depends on values: use a mask instead of an index, such as torch.where(mask, x, 0)

# ---- the next port of this test ----
# PortError: test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size that depends on values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor
