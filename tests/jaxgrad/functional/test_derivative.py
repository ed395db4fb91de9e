"""`derivative` gives a function torch's derivative, which JAX can differentiate further."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.functional._core.derivative import derivative, not_differentiable


@derivative(lambda t, _, x: t * jnp.where(x > 0, 1, 7) * x)
def _sine_with_other_slope(x):
    return jnp.sin(x)


@derivative(lambda t, out, _, scale: t * out * scale, None)
def _product(x, scale):
    return x * scale


def test_the_second_derivative_is_that_of_the_formula():
    """A second derivative differentiates the formula, even inside a scan and in forward mode."""
    twice = jax.grad(jax.grad(_sine_with_other_slope))

    def scanned(x):
        return jax.lax.scan(lambda c, _: (_sine_with_other_slope(c), None), x, None, length=1)[0]

    assert jax.grad(_sine_with_other_slope)(-2.0) == -14.0
    assert twice(-2.0) == jax.jit(twice)(-2.0) == jax.grad(jax.grad(scanned))(-2.0) == 7.0
    assert jax.jvp(jax.grad(_sine_with_other_slope), (-2.0,), (1.0,))[1] == 7.0
    assert jax.vmap(twice)(jnp.array([-2.0, 3.0])).tolist() == [7.0, 1.0]


def test_an_argument_without_a_formula_has_no_gradient():
    """An argument whose formula is None has gradient zero; the other arguments keep theirs."""
    assert jax.grad(_product, (0, 1))(2.0, 3.0) == (18.0, 0.0)


def test_a_function_without_a_derivative_raises():
    """A function without a derivative in torch raises only when it is differentiated."""
    step = derivative(not_differentiable("step"))(lambda x: jnp.where(x > 0, 1.0, 0.0))

    assert step(2.0) == 1.0
    with pytest.raises(RuntimeError, match="derivative for step is not implemented"):
        jax.grad(step)(2.0)


@derivative(lambda t, _, w, index: t[index])
def _rows(w, *, index):
    return w[index]


@derivative(lambda t, _, w, indices: t[indices[0]])
def _first_rows(w, *, indices):
    return w[indices[0]]


def test_a_traced_option_does_not_leak():
    """A traced keyword argument does not leak its tracer, and the gradient sums over the rows."""
    with jax.checking_leaks():
        jax.make_jaxpr(lambda w, i: _rows(w, index=i))(jnp.ones((3, 2)), jnp.array([1]))
    grads = jax.jit(jax.grad(lambda w, i: _rows(w, index=i).sum()))(jnp.ones(3), jnp.array([1, 1]))
    assert grads.tolist() == [0.0, 2.0, 0.0]


def test_a_list_of_traced_options_does_not_leak():
    """The arrays in a list do not leak either: the lengths of `ctc_loss` are one."""
    with jax.checking_leaks():
        jax.make_jaxpr(lambda w, i: _first_rows(w, indices=[i, i]))(jnp.ones(3), jnp.array([1]))


def test_an_index_of_traced_and_constant_positions_does_not_leak():
    """A tuple option may hold traced arrays and numpy arrays, as the positions of `scatter`."""
    with jax.checking_leaks():
        jax.make_jaxpr(lambda w, i: _first_rows(w, indices=(i, np.arange(2))))(
            jnp.ones(3), jnp.array([1])
        )
