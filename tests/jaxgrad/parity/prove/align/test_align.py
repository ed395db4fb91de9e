"""Torch values are aligned with the JAX values that match them."""

import numpy as np
import pytest

from jaxgrad.parity.prove.align.align import Alignment, align
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.jax_side.program import Spot


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


@pytest.mark.parametrize(
    ("values", "trivial"),
    [((1.5, 1.5), True), ((1.5, 2.5), False), ((0.0, 0.0), True), ((1.5, 0.0), True),
     ((0.0, 1.5), False), ((1.5, 1.5 + 1e-7), True), ((1.5, 1.51), False),
     ((1.0, 1 + 1.9e-6), False), ((1.0, 1 + 0.9e-6), True)],
)  # fmt: skip
def test_a_constant_that_differs_by_draw_is_not_trivial(values, trivial):
    """A constant is trivial if it is equal on both draws, or zero on the second one."""
    rows = [[fingerprint(np.full(4, x))] for x in values]
    jax = [np.stack(row) for row in rows]
    alignment = align(rows, jax, [Spot((0,), 0)], np.zeros(1))
    assert alignment.trivial == (trivial,) and alignment.candidates == ((() if trivial else (0,)),)


@pytest.mark.parametrize(("factor", "matches"), [(19, True), (21, False)])
def test_twenty_times_the_noise_is_allowed(factor, matches):
    """A value may differ by up to twenty times the change that rounding causes."""
    size = 1e-9
    assert bool(aligned([X], [X * (1 + factor * size)], noise=size).matches(0)) is matches


@pytest.mark.parametrize("times", [2, 3])
def test_a_value_may_repeat_another_one_in_either_framework(times):
    """Either framework may hold the copies; a value of another size is not a repetition."""
    many = np.concatenate([X] * times)
    assert aligned([many], [Y, X]).repeats == ((1,),)
    assert aligned([X], [many, Y]).repeats == ((0,),)
    assert aligned([np.concatenate([X] * 3)], [np.concatenate([X] * 2)]).repeats == ((),)
    assert aligned([X], [np.zeros((0, 4)), Y]).repeats == ((),)


def test_a_repetition_must_hold_on_every_draw():
    """A value that repeats another one on the first draw alone is not matched."""
    spots = [Spot((0,), 0)]
    torch = [[fingerprint(x)] for x in (X, Y)]
    jax = [fingerprint(np.stack([x, x]))[None] for x in (X, X)]
    assert align(torch, jax, spots, np.zeros(1)).repeats == ((),)
