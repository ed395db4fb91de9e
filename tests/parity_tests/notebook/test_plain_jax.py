"""The plain JAX that a lesson shows for a helper gives the helper's values and gradients."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgrad
from parity_tests.notebook import plain_jax
from parity_tests.notebook.plain_jax import plain


X = jnp.array([-1.2, 0.7, 2.5])
GRADS = {"w": jnp.array([3.0, -4.0]), "b": None}
FUNCTIONS = {  # of the helper: a program whose value and gradient at X are compared
    "no_grad": lambda no_grad: lambda x: jnp.sum(x * no_grad(jnp.tanh)(x)),
    "hook": lambda hook: lambda x: jnp.sum(hook(x**2, lambda g: g.clip(-1, 0.5)) * 3),
    "straight_through": lambda through: lambda x: jnp.sum(through(jnp.round)(x) ** 2),
    "reverse_gradient": lambda reverse: lambda x: jnp.sum(reverse(x) ** 2),
}
TREES = {
    "accumulate": lambda add: add(GRADS, {"w": jnp.ones(2), "b": jnp.ones(1)}),
    "clip_grad_norm": lambda clip: clip(GRADS, 1.0),
    "clip_grad_value": lambda clip: clip({"w": GRADS["w"]}, 3.5),
    "partition": lambda split: split({"w": X, "b": X}, lambda name, x: name == "w"),
}


def close(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrapper_has_the_value_and_the_gradient_of_the_helper(name):
    """Both the value and the gradient are compared."""
    mine, helper = (
        jax.value_and_grad(FUNCTIONS[name](getattr(module, name)))(X)
        for module in (plain_jax, jaxgrad)
    )

    close(mine, helper)


@pytest.mark.parametrize("name", TREES)
def test_a_function_of_trees_returns_what_the_helper_returns(name):
    """The trees have the same structure, with None at the same places."""
    mine, helper = (TREES[name](getattr(module, name)) for module in (plain_jax, jaxgrad))

    close(mine, helper)


def test_a_kept_gradient_is_that_of_the_helper():
    """A zero that is added to a hidden value receives its gradient."""

    def loss(x):
        return jnp.sum(jaxgrad.retain_grad(x**2, "h") * jnp.sin(X))

    kept = jaxgrad.value_and_retained_grads(loss)(X)[2]["h"]
    close(plain_jax.retain_grad(lambda h: jnp.sum(h * jnp.sin(X)), X**2), kept)


def test_what_is_shown_is_short_and_is_what_runs():
    """The displayed lines are the source of the tested functions, at most ten lines of code."""
    for name in (*FUNCTIONS, *TREES, "retain_grad"):
        code = plain(name).code
        assert code == inspect.getsource(getattr(plain_jax, name)).rstrip()
        assert sum(bool(line.strip()) for line in code.splitlines()) <= 10
        assert f"jaxgrad.{name}" in plain(name)._repr_html_()
