"""A second trace shows whether a function is pure."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.functional import embedding
from jaxgrad.parity.prove.record.jax_side import purity
from jaxgrad.parity.prove.record.jax_side.program import program


X = np.ones(3)
KEPT: list[Any] = []


def notes(fn: Any, x: Any = X) -> list[str]:
    """Trace a function of one input, and return the notes on it."""
    kept = purity.Kept(fn)

    def trace() -> Any:
        return program(kept, {}, (x,))

    first = trace()
    found = list(purity.notes(kept, first, trace))
    assert first.repeatable == (not any("The first" in n or "the first" in n for n in found))
    return found


@pytest.mark.parametrize(
    "fn",
    [
        lambda _, x: jnp.sin(x) * jnp.arange(3.0),
        jax.jit(lambda _, x: jnp.sin(x)),
        lambda _, x: jax.lax.scan(lambda c, y: (c + y, c), 0.0, x)[0] * np.nan,
        lambda _, x: x * jax.random.normal(jax.random.key(0), (3,)),
        lambda _, x: embedding(jnp.array([0, 1]), x[:, None]),  # checks that its index exists
    ],
    ids=["plain", "jit", "scan", "key", "check"],
)
def test_a_pure_function_gets_no_note(fn):
    """A pure function gives the same program twice and keeps no traced value."""
    assert not notes(fn)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inside", [False, True], ids=["input", "intermediate"])
def test_a_kept_value_is_noted(inside):
    """A function that keeps an input or an intermediate value gets a note."""
    (note,) = notes(lambda _, x: KEPT.append(jnp.sin(x) if inside else x) or x * 2)
    assert note.startswith("fn keeps a traced value after it returns")


def test_the_place_where_two_traces_differ_is_noted():
    """A counter in the program, and an array drawn by numpy, give two different programs."""
    count = iter(range(1, 9))
    rng = np.random.default_rng(0)

    (note,) = notes(lambda _, x: jnp.sin(x) * float(next(count)))
    assert "a different program, first at test_purity.py:" in note and "(mul)" in note
    (note,) = notes(lambda _, x: x * jnp.asarray(rng.standard_normal(3)))
    assert "first at a captured array" in note


def test_a_function_that_can_be_traced_once_is_noted():
    """A function whose second trace raises gets a note with the exception."""
    count = iter([1])
    (note,) = notes(lambda _, x: x * next(count))
    assert note.startswith("fn can be traced only once: a second trace raised StopIteration")


def test_the_first_line_of_an_exception_is_cut_short():
    """A second trace may raise a long message of several lines."""
    texts = iter(["", "a" * 300 + "\nsecond line"])

    def once(_: Any, x: Any) -> Any:
        if text := next(texts):
            raise ValueError(text)
        return x

    (note,) = notes(once)
    assert note.endswith(f"ValueError: {'a' * 200} The first trace is compared")


def test_a_program_that_only_becomes_longer_differs_at_its_end():
    """All equations of the first trace occur in the second one."""
    count = iter((1, 2))

    def growing(_: Any, x: Any) -> Any:
        for _ in range(next(count)):
            x = jnp.sin(x)
        return x

    (note,) = notes(growing)
    assert "first at its end" in note


def test_a_captured_array_may_vanish():
    """The programs have the same equations, and another number of captured arrays."""
    outputs = iter((np.arange(3.0), None))
    (note,) = notes(lambda _, x: (x * 2, x if (y := next(outputs)) is None else jnp.asarray(y)))
    assert "first at a captured array" in note


def test_a_captured_array_of_another_dtype_is_another_array():
    """Arrays of equal bytes differ by their dtype."""
    assert purity._equal(np.zeros(2), np.zeros(2))
    assert not purity._equal(np.zeros(2), np.zeros(2, np.int64))
    assert not purity._equal(np.zeros(2), np.ones(2))
    assert purity._equal(jax.random.key(1), jax.random.key(1))
    assert not purity._equal(jax.random.key(1), jax.random.key(2))


def test_values_in_a_reference_cycle_are_not_kept():
    """Only garbage collection frees them."""

    def cyclic(_: Any, x: Any) -> Any:
        cycle: list[Any] = [x]
        cycle.append(cycle)
        return x * 2

    assert not notes(cyclic)
