"""Torch values are aligned with the JAX values that match them."""

import numpy as np

from jaxgrad.parity.prove.align.align import Alignment, align
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.jax_side.program import Spot


X, Y = np.random.default_rng(0).standard_normal((2, 3, 4))


def aligned(torch: list[np.ndarray], jax: list[np.ndarray], noise: float = 0.0) -> Alignment:
    """Align torch's arrays with JAX's, all from a single random draw."""
    spots = [Spot((i,), 0) for i in range(len(jax))]
    prints = np.stack([fingerprint(x) for x in jax])
    return align([[fingerprint(x) for x in torch]], [prints], spots, np.full(len(torch), noise))


def test_values_of_equal_size_are_distinguished():
    """Two values of one size are matched with the JAX values that equal them."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 4, 5))
    prints = np.stack([fingerprint(x) for x in (b.T, a, c)])
    spots = [Spot((i,), 0) for i in range(3)]
    alignment = align([[fingerprint(a), fingerprint(b)]], [prints], spots, np.zeros(2))
    assert alignment.candidates == ((1,), (0,))


def test_copies_are_listed_in_program_order():
    """All JAX copies of a torch value are listed, and the first one represents it."""
    alignment = aligned([X], [Y, X.T, X])

    assert alignment.candidates == ((1, 2),)
    assert alignment.spot(0) == Spot((1,), 0)
    assert alignment.known == {((1,), 0), ((2,), 0)}


def test_a_constant_is_visible_without_a_match():
    """A constant torch value needs no JAX counterpart."""
    alignment = aligned([np.ones(4), X], [Y])

    assert alignment.trivial == (True, False)
    assert alignment.visible(0) and not alignment.visible(1)


def test_a_repeated_value_matches_the_value():
    """A JAX value that repeats a torch value is matched, although it is not equal."""
    alignment = aligned([X], [np.stack([X, X])])

    assert alignment.candidates == ((),) and alignment.repeats == ((0,),)
    assert alignment.matches(0) == (0,)


def test_a_reshape_refers_to_its_input():
    """Several torch values with equal elements are represented by the first of them."""
    assert aligned([X, Y, X.reshape(12)], [X]).first == (0, 1, 0)


def test_rounding_noise_widens_the_match():
    """A value that rounding perturbs is matched within the size of the perturbation."""
    assert not aligned([X], [X * (1 + 1e-9)]).matches(0)
    assert aligned([X], [X * (1 + 1e-9)], noise=1e-9).matches(0)


def test_a_noisy_value_is_not_matched():
    """A value that rounding perturbs too much is not matched at all."""
    assert not aligned([X], [X], noise=1e-3).matches(0)


def test_a_scalar_that_changes_with_the_draw_is_matched():
    """A scalar identifies a value if it changes between the draws."""
    spots = [Spot((0,), 0), Spot((1,), 0)]
    torch = [[fingerprint(np.float64(a))] for a in (1.5, 2.5)]
    jax = [np.stack([fingerprint(np.float64(a)), fingerprint(np.float64(3.0))]) for a in (1.5, 2.5)]
    alignment = align(torch, jax, spots, np.zeros(1))

    assert alignment.trivial == (False,) and alignment.candidates == ((0,),)
