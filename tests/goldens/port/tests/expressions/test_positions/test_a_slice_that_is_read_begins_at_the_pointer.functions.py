"""JAX port of Reading (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: queue, ptr.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- end <= self.queue.shape[0] (test_positions.py:0)
- end <= self.queue.shape[0] (test_positions.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def reading(p, x):
    """The oldest keys are read, from a place that has a name for its end.

    Reading (expressions/test_positions.py:0): x (2, 4) -> (2, 3), updated p.
    """
    p = dict(p)
    keys = F.linear(x, **p["linear"])
    start = p["ptr"][0]
    old = lax.dynamic_slice_in_dim(p["queue"], start, x.shape[0], axis=0)
    out = keys * old
    p["queue"] = lax.dynamic_update_slice_in_dim(p["queue"], lax.stop_gradient(keys), start, axis=0)
    p["ptr"] = F.remainder(p["ptr"] + 2, 8)
    return out, p

# ---- the next port of this test ----
"""JAX port of Reading (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: queue, ptr.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- end <= self.queue.shape[0] (test_positions.py:0)
- end <= self.queue.shape[0] (test_positions.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def reading(p, x):
    """The oldest keys are read, from a place that has a name for its end.

    Reading (expressions/test_positions.py:0): x (2, 4) -> (2, 3), updated p.
    """
    p = dict(p)
    keys = F.linear(x, **p["linear"])
    start = p["ptr"][0]
    old = lax.dynamic_slice_in_dim(p["queue"], start, x.shape[0], axis=0)
    out = keys * old
    p["queue"] = lax.dynamic_update_slice_in_dim(p["queue"], lax.stop_gradient(keys), start, axis=0)
    p["ptr"] = F.remainder(p["ptr"] + 2, 8)
    return out, p
