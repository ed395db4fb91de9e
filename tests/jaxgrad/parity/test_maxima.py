"""The derivative of a maximum is right in programs that are compiled without optimization."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad import functional
from jaxgrad.parity import maxima
from jaxgrad.parity.compiling import quick_jit


MAXIMA = {
    "max": (lambda x: x.max(1), (True, False)),
    "min in a loop": (
        lambda x: jax.lax.scan(lambda c, a: (c + a.min(), a), 0.0, x)[0],
        (True, False),
    ),
    "functional.amax": (lambda x: functional.amax(x, 1), (False, True)),
    "a stopped max": (lambda x: jnp.sum(x - jax.lax.stop_gradient(x.max())), (False, False)),
    "softmax": (jax.nn.softmax, (False, False)),
    "logsumexp": (jax.nn.logsumexp, (False, False)),
    "functional.softmax": (lambda x: functional.softmax(x, 1), (False, False)),
    "relu": (jax.nn.relu, (False, False)),
}


@pytest.mark.parametrize("name", MAXIMA)
def test_a_differentiated_maximum_is_found(name: str) -> None:
    """A softmax subtracts a maximum through which no derivative passes."""
    program, expected = MAXIMA[name]
    assert maxima.differentiated(jax.make_jaxpr(program)(jnp.ones((3, 4)))) == expected


def normed(x: jax.Array) -> jax.Array:
    """Return values that fusion computes twice, rounded in two ways, so that none is largest."""
    h = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return h * jnp.linspace(0.5, 1.5, 5)


def amax(x: jax.Array) -> jax.Array:
    return functional.amax(normed(x), 1).sum()


def in_a_loop(x: jax.Array) -> Any:
    return jax.lax.scan(lambda c, a: (c + normed(a[None]).max(), None), 0.0, x)[0]


PINNED = {
    "max": lambda x: normed(x).max(1).sum(),
    "jit": jax.jit(lambda x: normed(x).max(1).sum()),
    "max in a loop": in_a_loop,
}


@pytest.mark.parametrize("name", PINNED)
def test_the_gradient_of_a_pinned_maximum_is_finite(name: str) -> None:
    """XLA computes a pinned operand once."""
    loss = PINNED[name]
    with jax.enable_x64():
        grad = quick_jit(jax.grad(maxima.with_pinned_maxima(loss)), differentiates=True)
        for seed in range(20):
            x = jnp.array(np.random.default_rng(seed).normal(size=(21, 5)))
            with jax.disable_jit():
                expected = jax.grad(loss)(x)
            np.testing.assert_allclose(grad(x), expected, atol=1e-12)


def test_the_gradient_of_a_maximum_in_a_rule_is_finite() -> None:
    """The operand of a maximum in a rule is not pinned; the program is compiled without fusion."""
    with jax.enable_x64():
        grad = quick_jit(jax.grad(amax), differentiates=True, compares=True)
        for seed in range(20):
            x = jnp.array(np.random.default_rng(seed).normal(size=(21, 5)))
            np.testing.assert_allclose(grad(x), jax.grad(amax)(x), atol=1e-12)


def test_maxima_without_elements_and_of_integers_are_not_pinned() -> None:
    """An empty array has no first element, and integers have no derivative."""
    empty = maxima.with_pinned_maxima(lambda x: x.max(0, initial=1.0))(jnp.zeros((0, 3)))
    np.testing.assert_array_equal(empty, jnp.ones(3))
    assert maxima.with_pinned_maxima(lambda x: x.max())(jnp.arange(4)) == 3


def test_an_infinite_first_element_is_pinned_too() -> None:
    """The conditional compares the first element with infinity."""
    x = jnp.array([[jnp.inf, 1.0], [jnp.nan, 2.0]])
    np.testing.assert_array_equal(maxima.pinned(x), x)
