"""JAX port of Reversed (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def reversed_forward(p, x):
    """Reversed (values/test_lengths.py:0): x (N, L, 4) -> (N, 4)."""
    steps = list(x.swapaxes(0, 1))
    steps.reverse()
    last = steps.pop()
    steps.insert(0, last)
    return F.linear(steps[1] - 2 * steps[-1], **p["linear"])
