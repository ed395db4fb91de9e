"""JAX port of Stages (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stages(p, x):
    """Stages (merging/test_branch_tests.py:0): x (N, 4) -> (N, 8)."""
    x = stage(p["stages"][0], x)
    x = stage(p["stages"][1], x)
    return stage_2(p["stages"][2], x)


def stage(p, x):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0): x (N, 4) -> (N, D').
    """
    if p.get("down"):
        x = F.layer_norm(x, x.shape[-1:], **p["down"][0])
        x = F.linear(x, **p["down"][1])
    return jnp.tanh(F.linear(x, **p["body"]))


def stage_2(p, x):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0): x (N, 6) -> (N, 8).
    """
    x = F.layer_norm(x, x.shape[-1:], **p["down"][0])
    x = F.linear(x, **p["down"][1])
    return jnp.tanh(F.linear(x, **p["body"]))

# ---- the next port of this test ----
"""JAX port of Stages (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stages(p, x):
    """Stages (merging/test_branch_tests.py:0): x (N, 4) -> (N, 8)."""
    x = stage(p["stages"][0], x)
    x = stage(p["stages"][1], x)
    return stage_2(p["stages"][2], x)


def stage(p, x):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0): x (N, 4) -> (N, D').
    """
    if p.get("down"):
        x = F.layer_norm(x, x.shape[-1:], **p["down"][0])
        x = F.linear(x, **p["down"][1])
    return jnp.tanh(F.linear(x, **p["body"]))


def stage_2(p, x):
    """A stage without a layer for its input has an empty list, as in ConvNext.

    Stage (merging/test_branch_tests.py:0): x (N, 6) -> (N, 8).
    """
    x = F.layer_norm(x, x.shape[-1:], **p["down"][0])
    x = F.linear(x, **p["down"][1])
    return jnp.tanh(F.linear(x, **p["body"]))
