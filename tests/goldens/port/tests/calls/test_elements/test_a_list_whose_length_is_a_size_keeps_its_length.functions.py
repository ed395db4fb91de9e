"""JAX port of Counted (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- len(found) == 3 (test_elements.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x):
    """The length of a list is a size, and one of its elements changes.

    Counted (calls/test_elements.py:0): x (3, 4) -> (4,).

    JAX unrolls `for row in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    found = [F.linear(row, **p["first"]) for row in x]
    found_2 = found[0] + 1
    assert len(found) == 3, "this port holds for 3 elements, as in the example"
    return found_2 + found[1] + found[2]

# ---- the next port of this test ----
"""JAX port of Counted (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- len(found) == 3 (test_elements.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x):
    """The length of a list is a size, and one of its elements changes.

    Counted (calls/test_elements.py:0): x (3, 4) -> (4,).

    JAX unrolls `for row in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    found = [F.linear(row, **p["first"]) for row in x]
    found_2 = found[0] + 1
    assert len(found) == 3, "this port holds for 3 elements, as in the example"
    return found_2 + found[1] + found[2]
