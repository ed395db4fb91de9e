"""`lint` enters transformations, loops and branches, and stays out of custom rules."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxgrad
from jaxgrad.parity import lint


WRAPPED = {
    "jit": jax.jit(jnp.abs),
    "vmap": jax.vmap(jnp.abs),
    "checkpoint": jax.checkpoint(jnp.abs),
    "jit of a user function": jax.jit(lambda x: jnp.abs(x) * 2),
    "map": lambda x: lax.map(jnp.abs, x),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_transformed_functions_are_entered(name):
    """`lint` finds `abs` inside `jit`, `vmap`, `checkpoint` and `lax.map`."""
    (finding,) = lint(WRAPPED[name], jnp.array([0.0, 1.0, 0.0])).findings
    assert (finding.primitive, finding.elements, finding.of) == ("abs", 2, 3)
    assert finding.turns == (2 if name == "map" else 1)


def test_findings_in_loops_count_iterations():
    """A finding in a loop counts the iterations in which the carry has the problematic value."""

    def step(carry, x):
        return carry - 1.0, jnp.abs(carry) * x

    (finding,) = lint(lambda c, xs: lax.scan(step, c, xs)[1], 2.0, jnp.ones(5)).findings
    assert (finding.elements, finding.of, finding.turns) == (1, 5, 1)

    def body(state):
        i, x = state
        return i + 1, jnp.maximum(x, 0.0) - 0.0

    (finding,) = lint(lambda x: lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1], 0.0).findings
    assert (finding.primitive, finding.turns) == ("max", 3)


def test_only_the_branch_that_is_taken_is_checked():
    """`lint` checks the branch of a `cond` that runs for the given values."""
    fn = lambda x: lax.cond(x[0] > 1, jnp.sin, jnp.abs, x)  # noqa: E731
    assert lint(fn, jnp.array([0.0, 0.0])).findings[0].elements == 2
    assert not lint(fn, jnp.array([2.0, 0.0])).findings


def test_a_custom_rule_is_not_entered():
    """`lint` has no finding inside a user's `custom_jvp` function."""

    @jax.custom_jvp
    def mine(x):
        return jnp.abs(x)

    mine.defjvp(lambda p, t: (mine(*p), t[0] * jnp.sign(p[0])))
    assert not lint(mine, jnp.zeros(2)).findings


def test_a_user_function_with_the_name_of_one_of_jax():
    """A user's function named `clip` is not mistaken for `jnp.clip`."""

    @jax.jit
    def clip(x):
        return jnp.abs(x) * 2.0

    (finding,) = lint(clip, jnp.zeros(1)).findings
    assert finding.primitive == "abs"


def test_inlined_functions_have_the_line_of_their_call():
    """Each call of `jnp.abs`, which JAX inlines, is reported at its own line."""

    def model(x):
        y = jnp.abs(x)
        z = jnp.sin(y)
        return jnp.abs(z) + jnp.max(x, axis=0)

    jax.make_jaxpr(jnp.abs)(jnp.zeros(2))  # an earlier trace must not fix the line
    first = model.__code__.co_firstlineno
    lines = [f.line for f in lint(model, jnp.zeros(2)).findings]
    assert lines == [f"test_walking.py:{first + n}" for n in (1, 3, 3)]


def test_an_argument_of_a_helper_is_the_users():
    """`lint` checks an expression passed to `retain_grad`, but not the function given to `hook`."""
    tagged = lint(lambda x: jaxgrad.retain_grad(jnp.abs(x), "y"), jnp.zeros(2))
    assert [f.primitive for f in tagged.findings] == ["abs"]
    hooked = jaxgrad.hook
    assert not lint(lambda x: hooked(x, lambda g: jnp.clip(g, -1, 1)), jnp.zeros(2)).findings
