"""The float64 numbers behind constants rounded to float32 are recovered."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.record.jax_side.rounded import meant


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


@pytest.mark.parametrize(
    "number",
    [math.pi, 2 * math.pi, math.pi / 2, math.sqrt(math.pi), math.sqrt(2 * math.pi), math.e,
     math.log(2 * math.pi), math.log(math.pi), 1.6732632423543772, 1.0507009873554805,
     1 / math.pi, math.e / 2, math.pi / 180, 180 / math.pi,
     7 / 3, 31 / 32, 32 / 31, math.sqrt(7 / 3), math.sqrt(31 / 32), math.sqrt(6),
     math.sqrt(50), 1 / math.sqrt(50), 1 / 99, math.log(99), 1 / math.log(99), math.log(2),
     math.sqrt(4095), 1 / math.sqrt(4095), 1 / 4095, math.log(4095), 1 / math.log(4095),
     2**0.25, 5 ** (1 / 3), 5 ** (1 / 8), 1023 ** (1 / 3), 2**-0.25, 5 ** (-1 / 3), 5 ** (-1 / 8),
     1023 ** (-1 / 3), math.log(10000) / 3, math.log(10000) / 1023, math.log(2) / 7,
     math.log(10) / 20, 1000**0.25, 1000**-0.25, 1001**0.125, 1001**-0.125, 1023**-0.25,
     32 / 27, math.sqrt(27 / 32), 1 / 4096, 1 / math.log(4096), 1024**0.125, 1024 ** (-1 / 3)],
)  # fmt: skip
def test_common_constants_are_recovered(number):
    """Circles, Gaussians, ratios, roots and logarithms are recovered to the last bit."""
    assert meant(np.float32(number)) == number
    assert meant(np.float32(-number)) == -number


@pytest.mark.parametrize("written", [0.83666, 8.3666, 0.68313])
def test_a_short_decimal_is_taken_as_it_is_written(written):
    """A decimal of five digits is not replaced by a root that rounds to the same float32."""
    assert meant(np.float32(written)) == written


@pytest.mark.parametrize("number", [2 / 21, math.sqrt(5 / 16)])
def test_six_digits_may_be_a_computed_number(number):
    """A computed number whose float32 has six digits is recovered."""
    assert meant(np.float32(number)) == number


def test_seven_digits_may_be_a_decimal():
    """An unknown decimal of seven digits is taken as it is written, one of eight is unknown."""
    assert meant(np.float32(0.1234567)) == 0.1234567
    assert meant(np.float32(0.12345678)) is None


@pytest.mark.parametrize(
    "number",
    [0.044715, 1.702, math.sqrt(2 / math.pi), math.sqrt(0.5), math.sqrt(2), math.pi, math.e,
     math.log(2), 1.6732632423543772, 1.0507009873554805, 0.1, 0.12, 3.0, 1 / 3, 0.0],
)  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_half_precision_constants_are_recovered(number, sign):
    """The constants of activations and short decimals are recovered from float16."""
    assert meant(np.float16(sign * number)) == sign * number


@pytest.mark.parametrize(
    "number",
    [33 / 31, 31 / 33, math.sqrt(33 / 31), 1 / 4099, math.sqrt(4098), math.log(4097),
     1 / math.log(4097), 1025 ** (1 / 3), 1025 ** (-1 / 3), 1025**0.125, 1025**-0.125,
     math.log(10000) / 1025, math.log(2) / 1025, math.log(10) / 1027],
)  # fmt: skip
def test_numbers_beyond_the_common_ones_are_unknown(number):
    """A ratio, root or logarithm of larger numbers is not taken for a constant."""
    assert meant(np.float32(number)) != number


@pytest.mark.parametrize("number", [0.1234, 0.12345, 123.45, 1e30, 5e-9])
def test_few_digits_are_taken_as_they_are_written(number):
    """Zeros at the end, signs and exponents are not digits."""
    assert meant(np.float32(number)) == number and meant(np.float32(-number)) == -number


@pytest.mark.parametrize(
    ("written", "number"),
    [(0.7, 0.7), (0.3345, 1 / 3), (0.708, math.sqrt(0.5)), (-0.7071, -math.sqrt(0.5))],
)
def test_common_numbers_precede_decimals_below_float32(written, number):
    """A decimal of two digits precedes a ratio, which precedes a longer decimal."""
    assert meant(np.asarray(written, jnp.bfloat16)) == pytest.approx(number, rel=1e-15)
