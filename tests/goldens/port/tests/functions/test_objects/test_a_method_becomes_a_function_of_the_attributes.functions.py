"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (functions/test_objects.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["layer"])
    mean = h.mean(axis=-1, keepdims=True)
    std = F.std(h, dim=-1, keepdim=True) + 1e-5
    h = apply(mean, std, h)
    mean = mean + 1.5
    return apply(mean, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0): mean (N, 1), std (N, 1), h (N, 4) -> (N, 4)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0): mean (N, 1) -> (N, 1)."""
    return lax.stop_gradient(mean)

# ---- the next port of this test ----
"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (functions/test_objects.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["layer"])
    mean = h.mean(axis=-1, keepdims=True)
    std = F.std(h, dim=-1, keepdim=True) + 1e-5
    h = apply(mean, std, h)
    mean = mean + 1.5
    return apply(mean, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0): mean (N, 1), std (N, 1), h (N, 4) -> (N, 4)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0): mean (N, 1) -> (N, 1)."""
    return lax.stop_gradient(mean)

# ---- the next port of this test ----
"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (functions/test_objects.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["layer"])
    mean = h.mean(axis=-1, keepdims=True)
    std = F.std(h, dim=-1, keepdim=True) + 1e-5
    h = apply(mean, std, h)
    mean = mean + 1.5
    return apply(mean, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0): mean (N, 1), std (N, 1), h (N, 4) -> (N, 4)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0): mean (N, 1) -> (N, 1)."""
    return lax.stop_gradient(mean)
