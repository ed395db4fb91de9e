"""JAX port of Queue (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: queue, ptr.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- ptr + n <= self.queue.shape[1] (test_positions.py:0)
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def queue(p, x):
    """A queue of the last keys, and the place of the next one.

    Queue (expressions/test_positions.py:0): x (2, 4) -> (2, 8), updated p.
    """
    keys = F.linear(x, **p["linear"])
    return keys @ lax.stop_gradient(p["queue"]), queue_enqueue(p, F.normalize(keys))


def queue_enqueue(p, keys):
    """Queue.enqueue (expressions/test_positions.py:0): keys (2, 3) -> updated p."""
    return enqueue(p, keys)


def enqueue(p, keys):
    """enqueue (expressions/test_positions.py:0): keys (2, 3) -> updated p."""
    p = dict(p)
    n, ptr = keys.shape[0], p["ptr"][0]
    p["queue"] = lax.stop_gradient(lax.dynamic_update_slice_in_dim(p["queue"], keys.T, ptr, axis=1))
    p["ptr"] = p["ptr"].at[0].set(F.remainder(ptr + n, p["queue"].shape[1]))
    return p
