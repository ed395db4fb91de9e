"""The operators of `jaxgrad/functional/pointwise` agree with torch, including mixed derivatives."""

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from parity_tests.operators import jax_side, load, torch_side
from parity_tests.operators._harness.suite import agreement_test


OPERATORS = load()
test_operator = agreement_test("pointwise")


@pytest.mark.parametrize(("name", "edge"), [("xlogy", 0.0), ("special.xlog1py", -1.0)])
def test_mixed_derivatives_are_summed_element_by_element(name, edge):
    """A mixed derivative sums inf and -inf over a broadcast argument to NaN, as in torch."""
    x, y, c = (torch.tensor(x).requires_grad_() for x in ([1.0, 2.0], [edge], [1.0, -3.0]))
    (by_x,) = torch.autograd.grad(torch_side(OPERATORS[name])(x, y), x, c, create_graph=True)
    (expected,) = torch.autograd.grad(by_x.sum(), y)

    def slope(y):
        function = jax_side(OPERATORS[name])
        _, pullback = jax.vjp(lambda x: function(x, y), jnp.array([1.0, 2.0]))
        return jnp.sum(pullback(jnp.array([1.0, -3.0]))[0])

    assert expected.isnan()
    assert jnp.isnan(jax.grad(slope)(jnp.array([edge])))


def test_the_complex_gradient_of_acosh_follows_the_branch():
    """Left of the imaginary axis torch's gradient of complex `acosh` changes its sign."""
    z = np.array([1 + 2j, -0.5 + 0.25j, -3 + 0.1j, -2 - 1j], np.complex64)
    x = torch.from_numpy(z).requires_grad_()
    (expected,) = torch.autograd.grad(torch.acosh(x).real.sum(), x)
    ours = jax.grad(lambda z: jnp.sum(functional.acosh(z).real))(jnp.asarray(z))
    np.testing.assert_allclose(ours.conj(), expected.numpy(), rtol=1e-5)


def test_integers_are_round_already():
    """`round` returns integers unchanged, as torch does without `decimals`."""
    x = np.array([-2, 7], np.int32)
    ours = functional.round(jnp.asarray(x))
    assert ours.dtype == np.int32 and ours.tolist() == torch.round(torch.from_numpy(x)).tolist()


REAL = "ceil floor trunc frac lgamma digamma erf erfc erfinv i0 hardtanh relu6".split()
REAL += [f"special.{name}" for name in "entr i0e i1 i1e ndtr ndtri log_ndtr".split()]


@pytest.mark.parametrize("name", REAL)
def test_functions_of_real_numbers_reject_complex_numbers(name):
    """torch has no complex kernel for these operators; the error names the operator."""
    module = torch.nn.functional if name in ("hardtanh", "relu6") else torch
    with pytest.raises(RuntimeError):
        operator.attrgetter(name)(module)(torch.ones(1, dtype=torch.complex64))
    label = "hardtanh" if name == "relu6" else name
    with pytest.raises(NotImplementedError, match=f"{label} is not implemented for complex64"):
        operator.attrgetter(name)(functional)(jnp.ones(1, "complex64"))


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor", "trunc"])
def test_integers_cannot_be_divided_by_zero(name):
    """An integer divisor of 0 raises torch's error in eager calls; floats give NaN or infinity."""
    for package in (torch, functional):
        array = torch.tensor if package is torch else jnp.array
        rounding = {"rounding_mode": name} if name in ("floor", "trunc") else {}
        function = package.div if rounding else getattr(package, name)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(array([1, 2]), array([1, 0]), **rounding)


def test_a_complex_factor_needs_a_complex_result():
    """`add` of real arrays rejects a complex `alpha`, and `heaviside` shapes that do not fit."""
    for package, ones in ((torch, torch.ones), (functional, jnp.ones)):
        with pytest.raises(RuntimeError, match="alpha must not be a complex number"):
            package.add(ones(2), ones(2), alpha=1j)
        with pytest.raises(RuntimeError):
            package.heaviside(ones((2, 3)), ones(4))
