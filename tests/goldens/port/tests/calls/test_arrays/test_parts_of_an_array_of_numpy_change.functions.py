"""JAX port of Overlapped (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- max(0, size - i) == 3 (test_arrays.py:0)
- max(0, size - i) == 2 (test_arrays.py:0)
- max(0, size - i) == 1 (test_arrays.py:0)
- the loop runs 3 times (test_arrays.py:0)
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def overlapped(p, x):
    """The envelope of overlapping windows, which a loop adds up.

    Overlapped (calls/test_arrays.py:0): x (3, 4) -> (3, 4).
    """
    size = x.shape[0]
    total = np.zeros(size, dtype=np.float32)
    assert len(range(size)) == 3, "this port holds for a loop that runs 3 times, as in the example"
    assert max(0, size - 0) == 3, "this port holds for max(0, size - i) == 3, as in the example"
    total[0 : min(size, 0 + 2)] = total[0 : min(size, 0 + 2)] + np.array([0.5, 1.0])
    assert max(0, size - 1) == 2, "this port holds for max(0, size - i) == 2, as in the example"
    total[1 : min(size, 1 + 2)] = total[1 : min(size, 1 + 2)] + np.array([0.5, 1.0])
    assert max(0, size - 2) == 1, "this port holds for max(0, size - i) == 1, as in the example"
    total[2 : min(size, 2 + 2)] = total[2 : min(size, 2 + 2)] + np.array([0.5])
    return F.linear(x, **p["fc"]) * jnp.array(total)[:, None] / total[0].item()

# ---- the next port of this test ----
"""JAX port of Overlapped (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- max(0, size - i) == 3 (test_arrays.py:0)
- max(0, size - i) == 2 (test_arrays.py:0)
- max(0, size - i) == 1 (test_arrays.py:0)
- the loop runs 3 times (test_arrays.py:0)
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def overlapped(p, x):
    """The envelope of overlapping windows, which a loop adds up.

    Overlapped (calls/test_arrays.py:0): x (3, 4) -> (3, 4).
    """
    size = x.shape[0]
    total = np.zeros(size, dtype=np.float32)
    assert len(range(size)) == 3, "this port holds for a loop that runs 3 times, as in the example"
    assert max(0, size - 0) == 3, "this port holds for max(0, size - i) == 3, as in the example"
    total[0 : min(size, 0 + 2)] = total[0 : min(size, 0 + 2)] + np.array([0.5, 1.0])
    assert max(0, size - 1) == 2, "this port holds for max(0, size - i) == 2, as in the example"
    total[1 : min(size, 1 + 2)] = total[1 : min(size, 1 + 2)] + np.array([0.5, 1.0])
    assert max(0, size - 2) == 1, "this port holds for max(0, size - i) == 1, as in the example"
    total[2 : min(size, 2 + 2)] = total[2 : min(size, 2 + 2)] + np.array([0.5])
    return F.linear(x, **p["fc"]) * jnp.array(total)[:, None] / total[0].item()
