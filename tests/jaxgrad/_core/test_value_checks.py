"""Checks of values are reported by `checkify`, and give a program no effect."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from jaxgrad import functional
from jaxgrad._core import value_checks
from jaxgrad._core.value_checks import check_under_checkify


W, RIGHT, WRONG = jnp.ones((3, 2)), jnp.array([0, 2]), jnp.array([0, 3])


def loss(w, index):
    return (functional.embedding(index, w) ** 2).sum()


def summed(w, index):
    """Sum a loss over two turns of a scan."""
    total, _ = jax.lax.scan(lambda c, i: (c + loss(w, i), None), 0.0, jnp.stack([RIGHT, index]))
    return total


PROGRAMS = {
    "plain": loss,
    "jit": jax.jit(loss),
    "gradient": jax.grad(loss),
    "gradient of jit": jax.grad(jax.jit(loss)),
    "jit of gradient": jax.jit(jax.value_and_grad(loss)),
    "second derivative": jax.hessian(lambda w, i: (jax.jit(loss)(w, i)) ** 2),
    "forward mode": lambda w, i: jax.jvp(lambda w: loss(w, i), (w,), (w,)),
    "vmap": lambda w, i: jax.vmap(loss, (None, 0))(w, jnp.stack([RIGHT, i])),
    "scan": summed,
    "checkpoint": jax.grad(jax.checkpoint(loss)),
    "cond": lambda w, i: jax.lax.cond(w.sum() > 0, loss, lambda w, i: 0.0, w, i),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_checkify_reports_a_wrong_value_through_each_transformation(name):
    """The error has torch's text, and a right value gives none."""
    program = jax.jit(checkify.checkify(PROGRAMS[name]))
    program(W, RIGHT)[0].throw()
    with pytest.raises(checkify.JaxRuntimeError, match="index out of range in self: the table"):
        program(W, WRONG)[0].throw()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_check_gives_a_program_no_effect(name):
    """JAX calls a compiled program without effects on its fast path."""
    jaxpr = jax.make_jaxpr(jax.jit(PROGRAMS[name]))(W, RIGHT)
    assert not jaxpr.effects and "check_value" in str(jaxpr)


def test_braces_in_a_message_stay(monkeypatch):
    """The error has the braces of its message, also where JAX's own check makes it."""
    for has_rule in (True, False):
        monkeypatch.setattr(value_checks, "_HAS_RULE", has_rule)

        def program(x):
            check_under_checkify(x > 0, "{x} is not positive")
            return x

        error, out = checkify.checkify(jax.jit(program))(jnp.array([1.0, -1.0]))
        with pytest.raises(checkify.JaxRuntimeError, match=r"\{x\} is not positive"):
            error.throw()
        np.testing.assert_array_equal(out, [1.0, -1.0])


def test_the_rule_that_keeps_a_check_has_the_arguments_of_each_version_of_jax():
    """JAX passes the used outputs and the equation, and since 0.12 the live inputs between them."""
    (equation,) = [
        e
        for e in jax.make_jaxpr(lambda x: check_under_checkify(x, "text"))(jnp.array(True)).eqns
        if e.primitive.name == "check_value"
    ]

    for live in ((), ([True],)):
        assert value_checks._kept([], *live, equation) == ([True], equation)
