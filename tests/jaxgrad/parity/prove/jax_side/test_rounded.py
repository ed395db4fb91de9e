"""The float64 numbers behind constants rounded to float32 are recovered."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.jax_side.rounded import meant


@pytest.mark.parametrize(
    "number", [0.1, 1e-5, 0.044715, 1 / 3, math.sqrt(2 / math.pi), 1 / math.sqrt(8), -math.pi, 0.0]
)
def test_a_rounded_constant_is_recovered(number):
    """A short decimal and a common computed constant are recovered from float32."""
    assert meant(np.float32(number)) == pytest.approx(number, rel=1e-15, abs=0)


def test_an_unknown_constant_is_not_recovered():
    """A number with many digits that is not a common constant is not recovered."""
    assert meant(np.float32(0.123456789)) is None


def test_a_number_of_torch_takes_precedence():
    """A number that torch uses is preferred to a decimal that rounds to the same float32."""
    number = 0.1 + 1e-10

    assert meant(np.float32(0.1), [number]) == number
    assert meant(np.float32(0.1), [0.2]) == 0.1


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize(
    "number", [0.5, 0.1, -0.3, 1000.0, 0.044715, 1.702, math.sqrt(2 / math.pi), 1 / math.sqrt(48)]
)
def test_constants_below_float32_are_recovered(dtype, number):
    """The constants of activations and attention are recovered from bfloat16 and float16."""
    assert meant(np.asarray(number, dtype)) == pytest.approx(number, rel=1e-15, abs=0)


def test_an_infinite_constant_below_float32_stays_infinite():
    """Infinity is not replaced by a large number."""
    assert meant(np.asarray(-np.inf, jnp.bfloat16)) == -np.inf
