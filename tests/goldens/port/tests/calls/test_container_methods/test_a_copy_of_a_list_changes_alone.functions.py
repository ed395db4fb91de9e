"""JAX port of Levels (calls/test_container_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def levels_forward(p, x):
    """Levels (calls/test_container_methods.py:0): x (N, 4) -> (N, 4)."""
    levels = [
        F.linear(x, **p["fc"]) * 1.0, F.linear(x, **p["fc"]) * 2.0, F.linear(x, **p["fc"]) * 4.0
    ]
    back = list(levels)
    back.reverse()
    out = [back[0]]
    for i in range(2):
        out.append(out[-1] * 2 + back[i + 1])
    item = levels[0] * 3
    out, change = out[-1], item - back[-1]
    return out + change + 3

# ---- the next port of this test ----
"""JAX port of Levels (calls/test_container_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def levels_forward(p, x):
    """Levels (calls/test_container_methods.py:0): x (N, 4) -> (N, 4)."""
    levels = [
        F.linear(x, **p["fc"]) * 1.0, F.linear(x, **p["fc"]) * 2.0, F.linear(x, **p["fc"]) * 4.0
    ]
    back = list(levels)
    back.reverse()
    out = [back[0]]
    for i in range(2):
        out.append(out[-1] * 2 + back[i + 1])
    item = levels[0] * 3
    out, change = out[-1], item - back[-1]
    return out + change + 3

# ---- the next port of this test ----
"""JAX port of Levels (calls/test_container_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def levels_forward(p, x):
    """Levels (calls/test_container_methods.py:0): x (N, 4) -> (N, 4)."""
    levels = [
        F.linear(x, **p["fc"]) * 1.0, F.linear(x, **p["fc"]) * 2.0, F.linear(x, **p["fc"]) * 4.0
    ]
    back = list(levels)
    back.reverse()
    out = [back[0]]
    for i in range(2):
        out.append(out[-1] * 2 + back[i + 1])
    item = levels[0] * 3
    out, change = out[-1], item - back[-1]
    return out + change + 3
