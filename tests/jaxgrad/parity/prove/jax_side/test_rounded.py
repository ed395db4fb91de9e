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


def test_bfloat16_constants_are_recovered():
    """The constants of bfloat16 are recovered like those of float32."""
    assert meant(np.asarray(0.5, jnp.bfloat16)) == 0.5
