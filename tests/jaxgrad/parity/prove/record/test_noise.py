"""torch's random numbers become what JAX's samplers must return."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.record.noise import Noise, arranged, sample, sampled, shared


MASK = np.array([1.0, 0.0, 1.0, 0.0])
EXPONENTIAL = np.array([0.5, 1.0, 3.0])


@pytest.mark.parametrize("reflected", [False, True])
def test_loose_numbers_give_the_mask_for_every_rate(reflected):
    """Numbers for a mask lie so close to 0 and 1 that a threshold anywhere gives the mask."""
    u = sample(Noise("bernoulli", MASK, MASK, 0.7), "uniform", loose=True, reflected=reflected)
    for keep in (0.1, 0.7, 0.9):
        kept = u > 1 - keep if reflected else u < keep
        np.testing.assert_array_equal(kept, MASK)


def test_tight_numbers_give_the_mask_only_for_torchs_rate():
    """Numbers near torch's probability give another mask for another probability."""
    u = sample(Noise("bernoulli", MASK, MASK, 0.7), "uniform", loose=False)
    np.testing.assert_array_equal(u < 0.7, MASK)
    assert (u < 0.71).all() and not (u < 0.69).any()


def test_numbers_are_converted_between_distributions():
    """Gumbel noise is the same, drawn as such, from exponential or from uniform numbers."""
    exponential = Noise("exponential", EXPONENTIAL, EXPONENTIAL)
    uniform = Noise("uniform", np.exp(-EXPONENTIAL), np.exp(-EXPONENTIAL))
    expected = -np.log(EXPONENTIAL)
    np.testing.assert_allclose(sample(exponential, "gumbel", loose=True), expected)
    np.testing.assert_allclose(sample(uniform, "gumbel", loose=True), expected)
    u = sample(exponential, "uniform", loose=True)
    np.testing.assert_allclose(-np.log(-np.log(u)), expected)
    np.testing.assert_allclose(sample(uniform, "exponential", loose=True), EXPONENTIAL)
    assert sample(exponential, "exponential", loose=True) is EXPONENTIAL
    normal = Noise("normal", 2 * EXPONENTIAL, EXPONENTIAL)
    assert sample(normal, "normal", loose=True) is EXPONENTIAL


def test_the_bounds_of_uniform_numbers_are_applied():
    """A uniform sampler scales its numbers to the bounds it is given; other samplers do not."""
    key = jax.random.key(0)
    np.testing.assert_allclose(sampled("_uniform", (key, -1.0, 3.0), jnp.array([0.25])), [0.0])
    np.testing.assert_allclose(sampled("_normal", (key,), jnp.array([0.25])), [0.25])


def test_numbers_are_arranged_in_another_shape():
    """Numbers are reshaped where the order agrees, and transposed where the sizes tell it."""
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(arranged(x, (6, 4)), x.reshape(6, 4))
    np.testing.assert_array_equal(arranged(x, (2, 1, 3, 4)), x[:, None])
    np.testing.assert_array_equal(arranged(x, (2, 4, 3)), x.transpose(0, 2, 1))
    np.testing.assert_array_equal(
        arranged(x[:, :2], (2, 2, 4), swapped=True), x[:, :2].swapaxes(0, 1)
    )
    assert arranged(x, (2, 5)) is None


def test_numbers_are_shared_along_axes():
    """A port that draws fewer numbers gets the first ones, one that draws more gets copies."""
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(arranged(x, (2, 1)), [[0], [3]])
    np.testing.assert_array_equal(arranged(x, (1, 3)), [[0, 1, 2]])
    np.testing.assert_array_equal(arranged(x, (2,)), [0, 3])
    np.testing.assert_array_equal(arranged(x, (3,)), [0, 1, 2])
    np.testing.assert_array_equal(arranged(x[:, :1], (2, 4)), np.repeat([[0.0], [3.0]], 4, 1))
    assert shared(x, (2, 4)) is None and shared(x, (4, 2, 5)) is None


def test_reflected_numbers_keep_the_other_half():
    """Plain uniform numbers are reflected, and so are those of a mask."""
    x = np.array([0.25, 0.75])
    uniform = Noise("uniform", x, x)
    np.testing.assert_array_equal(sample(uniform, "uniform", loose=False), x)
    np.testing.assert_array_equal(
        sample(uniform, "uniform", loose=False, reflected=True), [0.75, 0.25]
    )


@pytest.mark.parametrize("rate", [0.7, 0.2, np.array([0.1, 0.3, 0.5, 0.9])])
def test_a_mask_lies_within_a_thousandth_of_its_rate(rate):
    """The distance from the rate is a thousandth of the rate or of its complement."""
    p = np.broadcast_to(rate, MASK.shape)
    u = sample(Noise("bernoulli", MASK, MASK, rate), "uniform", loose=False)
    np.testing.assert_allclose(p - u, (2 * MASK - 1) * 1e-3 * np.minimum(p, 1 - p), rtol=1e-9)
    loose = sample(Noise("bernoulli", MASK, MASK, rate), "uniform", loose=True)
    np.testing.assert_allclose(loose, np.where(MASK == 1, 1e-6, 1 - 1e-6), rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "count", "expected"),
    [("_uniform", 3, 2.5), ("_uniform", 1, 0.25), ("_gumbel", 3, 0.25)],
)
def test_only_the_bounds_of_a_uniform_sampler_scale(function, count, expected):
    """Numbers are scaled from [0, 1) to [low, high) if the sampler was given bounds."""
    assert sampled(function, (None, 2.0, 4.0)[:count], 0.25) == expected


def test_numbers_are_described_by_shape_kind_and_place():
    """A place that is unknown is the module."""
    x = np.ones((2, 3))
    assert Noise("normal", x, x, where="2 (randn)").name == "[2, 3] normal numbers in 2 (randn)"
    assert Noise("normal", x, x).name == "[2, 3] normal numbers in the module"
    assert (Noise("normal", x, x).rate, Noise("normal", x, x).call) == (0.5, -1)


@pytest.mark.parametrize(
    ("shape", "other", "axes"),
    [
        ((2, 3), (3, 2), (1, 0)),
        ((1, 2, 3), (3, 1, 2), (2, 0, 1)),
        ((2, 2, 3), (3, 2, 2), (2, 0, 1)),  # axes of one size keep their order
        ((2, 3, 2, 4), (4, 3, 2, 2), (3, 1, 0, 2)),
    ],
)
def test_axes_are_permuted_by_their_sizes(shape, other, axes):
    """Axes of size one are ignored; axes of equal sizes stay in order."""
    x = np.arange(float(np.prod(shape))).reshape(shape)
    np.testing.assert_array_equal(arranged(x, other), x.transpose(axes))


def test_only_two_leading_axes_of_one_size_are_swapped():
    """Without equal sizes, or for a vector, `swapped` changes nothing."""
    square, x = np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(arranged(square, (2, 2), swapped=True), square.T)
    np.testing.assert_array_equal(arranged(square, (2, 2)), square)
    np.testing.assert_array_equal(arranged(x, (2, 3), swapped=True), x)
    np.testing.assert_array_equal(arranged(x[0], (3,), swapped=True), x[0])
    np.testing.assert_array_equal(arranged(square, (4,), swapped=True), square.ravel())
    later = np.arange(18.0).reshape(2, 3, 3)
    np.testing.assert_array_equal(arranged(later, (2, 3, 3), swapped=True), later)
