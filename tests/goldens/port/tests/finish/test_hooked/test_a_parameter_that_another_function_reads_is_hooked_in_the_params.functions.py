"""JAX port of Outer (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def outer(p, x):
    """Outer (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    p = jax.tree.map(lambda x: x, p)
    KEPT = jnp.array([[1.0], [0.0], [1.0], [0.0]], dtype=jnp.float32)
    p["inner"]["linear"]["weight"] = jaxgrad.hook(
        p["inner"]["linear"]["weight"], lambda grad: grad * KEPT
    )
    return F.linear(inner(p["inner"], x) + inner(p["inner"], 2 * x), **p["out"])


def inner(p, x):
    """Inner (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    return jax.nn.relu(F.linear(x, **p["linear"])) + jnp.tanh(F.linear(x, **p["linear"]))

# ---- the next port of this test ----
"""JAX port of Outer (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def outer(p, x):
    """Outer (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    p = jax.tree.map(lambda x: x, p)
    KEPT = jnp.array([[1.0], [0.0], [1.0], [0.0]], dtype=jnp.float32)
    p["inner"]["linear"]["weight"] = jaxgrad.hook(
        p["inner"]["linear"]["weight"], lambda grad: grad * KEPT
    )
    return F.linear(inner(p["inner"], x) + inner(p["inner"], 2 * x), **p["out"])


def inner(p, x):
    """Inner (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    return jax.nn.relu(F.linear(x, **p["linear"])) + jnp.tanh(F.linear(x, **p["linear"]))

# ---- the next port of this test ----
"""JAX port of Outer (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def outer(p, x):
    """Outer (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    p = jax.tree.map(lambda x: x, p)
    KEPT = jnp.array([[1.0], [0.0], [1.0], [0.0]], dtype=jnp.float32)
    p["inner"]["linear"]["weight"] = jaxgrad.hook(
        p["inner"]["linear"]["weight"], lambda grad: grad * KEPT
    )
    return F.linear(inner(p["inner"], x) + inner(p["inner"], 2 * x), **p["out"])


def inner(p, x):
    """Inner (finish/test_hooked.py:0): x (N, 4) -> (N, 4)."""
    return jax.nn.relu(F.linear(x, **p["linear"])) + jnp.tanh(F.linear(x, **p["linear"]))
