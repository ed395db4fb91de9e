"""JAX port of Counter (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 3 times (test_iteration_calls.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def counter(p, x):
    """Counter (calls/test_iteration_calls.py:0): x (N, 3, 3) -> (N, 3, 3)."""
    assert len(range(x.shape[1])) == 3, (
        "this port holds for a loop that runs 3 times, as in the example"
    )
    x = x + F.linear(x[:, 2], **p["linear"])[:, None]
    x = x + F.linear(x[:, 1], **p["linear"])[:, None]
    return x + F.linear(x[:, 0], **p["linear"])[:, None]

# ---- the next port of this test ----
"""JAX port of Counter (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 3 times (test_iteration_calls.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def counter(p, x):
    """Counter (calls/test_iteration_calls.py:0): x (N, 3, 3) -> (N, 3, 3)."""
    assert len(range(x.shape[1])) == 3, (
        "this port holds for a loop that runs 3 times, as in the example"
    )
    x = x + F.linear(x[:, 2], **p["linear"])[:, None]
    x = x + F.linear(x[:, 1], **p["linear"])[:, None]
    return x + F.linear(x[:, 0], **p["linear"])[:, None]
