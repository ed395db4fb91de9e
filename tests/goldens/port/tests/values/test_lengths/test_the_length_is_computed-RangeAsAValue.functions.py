"""JAX port of RangeAsAValue (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def range_as_a_value(p, x):
    """RangeAsAValue (values/test_lengths.py:0): x (N, L, 4) -> (N, 4).

    JAX unrolls `for n in places[::-1]`, so compile time grows with the number of iterations;
    use lax.scan for long inputs.
    """
    places = list(range(x.shape[1]))
    return sum([F.linear(x[:, n], **p["linear"]) * n for n in places[::-1]])
