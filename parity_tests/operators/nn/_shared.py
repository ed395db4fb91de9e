"""Calls, arrays and strategies that several records of `nn` share."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators._harness.draw import floats


SIGNAL = np.array([[[1.0, 2.0, 3.0, 4.0]]])
KERNEL = np.array([[[1.0, 10.0, 100.0]]])
TWO = np.ones((1, 2, 5))
WEIGHT = np.ones((3, 2, 3))
DTYPES = ("float64", "float32", "bfloat16", "float16", "complex128")
TABLE = np.array([[3.0, 4.0], [0.3, 0.4], [1.0, -2.0]])
ONES = np.ones((2, 4, 3))


def weight_and_bias(draw, shape):
    """Draw a weight and a bias, only a weight, or neither; torch crashes for a bias alone."""
    count = draw(st.integers(0, 2))
    return [draw(floats(shape)) if i < count else None for i in range(2)]


def flax_layer_norm(x, shape, weight=None, bias=None, eps=1e-6):
    """Normalize as `flax.linen.LayerNorm()` does: eps 1e-6, variance E[x^2] - E[x]^2."""
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.maximum(0.0, jnp.mean(x * x, -1, keepdims=True) - mean**2)
    y = (x - mean) * jax.lax.rsqrt(var + eps)
    return y if weight is None else y * weight + bias


FOLDED = (
    "torch's kernel folds mean, variance and weight into a scale and a shift, which gives "
    "inf - inf; JAX centres first, as torch's layer_norm does"
)
