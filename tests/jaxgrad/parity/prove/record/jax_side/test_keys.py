"""The keys of a program are computed without the rest of it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.prove.record.jax_side import keys as keys_module
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.keys import Keys
from jaxgrad.parity.prove.record.jax_side.sites import sites


X = np.ones((2, 3))
KEY = jax.random.key(7)


def used(fn: Any, *inputs: Any) -> list[tuple[bytes, ...]]:
    """Return the keys of every draw of a program, in program order."""
    program = jax_program.program(fn, {"w": np.ones(3)}, (X, *inputs))
    keys = Keys(program, program.leaves)
    return [
        keys.of(site.path, at)
        for site in sites(program, set(program.equations))
        for at in np.ndindex(site.lengths)
    ]


def numbers(*keys: Any) -> list[tuple[bytes, ...]]:
    """Return what `used` returns for draws with these keys."""
    return [(str(k.dtype).encode() + np.asarray(jax.random.key_data(k)).tobytes(),) for k in keys]


def drop(key: Any, x: Any) -> Any:
    return x * jax.random.bernoulli(key, 0.5, x.shape)


def carried(x: Any, *, reverse: bool) -> Any:
    """Split a carried key in each iteration, and draw once more with the last one."""

    def step(carry: Any, _: Any) -> Any:
        x, key = carry
        key, now = jax.random.split(key)
        return (drop(now, x), key), now

    (x, key), keys = lax.scan(step, (x, KEY), length=3, reverse=reverse)
    return drop(keys[0], drop(key, x))


def chain(count: int) -> tuple[list[Any], Any]:
    """Return the keys of `count` iterations of `carried`, and the key that is left."""
    drawn, key = [], KEY
    for _ in range(count):
        key, now = jax.random.split(key)
        drawn.append(now)
    return drawn, key


@pytest.mark.parametrize("reverse", [False, True])
def test_a_carried_key_is_followed_through_the_iterations(reverse):
    """A scan in reverse starts with its last row."""
    drawn, left = chain(3)
    rows = drawn[::-1] if reverse else drawn
    got = used(lambda p, x: carried(x, reverse=reverse))
    assert got == numbers(*rows, left, rows[0])


@jax.jit
def compiled(key: Any, x: Any) -> Any:
    return drop(jax.random.fold_in(key, 3), x)


def test_keys_are_followed_through_calls_and_branches():
    """A branch whose index is a constant is known."""

    def fn(p: Any, x: Any) -> Any:
        x = jax.checkpoint(compiled)(KEY, compiled(jax.random.key(1), x))
        key = lax.cond(jnp.arange(3)[1] == 1, lambda: jax.random.key(5), lambda: KEY)
        return drop(key, x)

    three = [jax.random.fold_in(k, 3) for k in (jax.random.key(1), KEY)]
    assert used(fn) == numbers(*three, jax.random.key(5))


def test_a_key_may_be_an_input_of_integers():
    """A key of uint32 and a counter are leaves like others, and have the values of the draw."""
    old, count = jax.random.PRNGKey(2), np.asarray(4, np.uint32)

    def fn(p: Any, x: Any, key: Any, count: Any) -> Any:
        return drop(jax.random.fold_in(key, count), x)

    assert used(fn, old, count) == numbers(jax.random.fold_in(jax.random.key(2), 4))


def test_a_key_that_is_not_known_alone_is_left_out():
    """A key that depends on a floating number, or on a loop of unknown length, is unknown."""

    def of_a_float(p: Any, x: Any) -> Any:
        return drop(jax.random.fold_in(KEY, x.sum().astype(jnp.int32)), x)

    def of_a_while(p: Any, x: Any) -> Any:
        key = lax.while_loop(lambda key: False, lambda key: jax.random.split(key)[0], KEY)
        return drop(key, x)

    assert used(of_a_float) == [()]
    assert used(of_a_while) == [()]


def test_the_work_is_limited(monkeypatch):
    """Above a number of equations, or for a large array, keys are unknown."""

    def fn(p: Any, x: Any) -> Any:
        return drop(jax.random.split(KEY, 9)[3], x)

    assert used(fn) == numbers(jax.random.split(KEY, 9)[3])
    monkeypatch.setattr(keys_module, "_MOST_EQUATIONS", 1)
    assert used(fn) == [()]
    monkeypatch.setattr(keys_module, "_MOST_EQUATIONS", 100)
    monkeypatch.setattr(keys_module, "_MOST_NUMBERS", 8)
    assert used(fn) == [()]


def test_a_vmapped_draw_has_a_key_for_each_row():
    """They are listed in the order of the rows."""
    keys = jax.random.split(KEY, 2)
    (got,) = used(lambda p, x: jax.vmap(drop)(keys, x))
    assert list(got) == [x for (x,) in numbers(*keys)]
