"""Every public function of torch is offered, has a JAX expression or has a reason."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.torch_side import flat
from parity_tests.site.torch_names import page
from parity_tests.site.torch_names.instead import INSTEAD


X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
ARRAYS = {"x": X, "y": X[::-1] * 0.5 + 0.1, "z": X[0] + 3, "m": np.eye(3) * 2 + X[0] * X[1]}
JAX_NAMES = {"jax": jax, "jnp": jnp, "functional": functional}
TORCH_NAMES = {"torch": torch, "F": torch.nn.functional}


def test_every_function_of_torch_is_offered_or_listed():
    """A function that a new torch adds must be offered, or listed with what to write instead."""
    unexplained = [name for name, reasons in page.lacking().items() if not reasons]

    assert not unexplained, (
        f"offer {unexplained} in jaxgrad.functional, or list each in parity_tests/site/torch_names"
    )


def test_nothing_that_is_offered_is_listed_as_lacking():
    """A function that is added to `functional` leaves the list, and every listed name exists."""
    assert not set(INSTEAD) & page.offered()
    assert not set(INSTEAD) - page.names()


def test_every_reason_covers_a_function():
    """A reason whose functions have all been added or removed is stale."""
    used = {reasons[0] for reasons in page.lacking().values() if reasons}

    assert [r.text for r in page.REASONS if r not in used] == []


def test_the_page_is_up_to_date():
    """`docs/torch_names.md` has the text that the lists give for the pinned torch."""
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), (
        "run python -m parity_tests.site.torch_names.page"
    )


@functools.partial(jax.jit, static_argnums=0)
def _by_jax(expression, arrays):
    """Return the values of an expression and the gradients of their weighted sum."""
    out, pull = jax.vjp(lambda a: jax.tree.leaves(eval(expression, JAX_NAMES | a)), arrays)
    return out, pull([_weights(y) for y in out])[0]


def _weights(y):
    return jnp.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch deprecates some of them
@pytest.mark.parametrize("name", INSTEAD)
def test_the_expression_has_the_gradient_of_the_function(name):
    """The JAX expression has the values and the gradients of torch's function."""
    by_torch, by_jax = INSTEAD[name]
    tensors = {key: to_torch([x])[0].requires_grad_() for key, x in ARRAYS.items()}
    expected = flat(eval(by_torch, TORCH_NAMES | tensors))
    weights = to_torch([np.asarray(_weights(y.detach().numpy())) for y in expected])
    gradients = torch.autograd.grad(expected, list(tensors.values()), weights, allow_unused=True)

    actual, by = _by_jax(by_jax, ARRAYS)

    for left, right in zip(expected, actual, strict=True):
        np.testing.assert_allclose(right, left.detach(), rtol=1e-12, atol=1e-13)
    for key, gradient in zip(tensors, gradients, strict=True):
        wanted = np.zeros(ARRAYS[key].shape) if gradient is None else gradient
        np.testing.assert_allclose(by[key], wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in page.lacking() if n.startswith("special.")])
def test_a_special_function_that_is_lacking_has_no_gradient_in_torch(name):
    """torch cuts the gradient of each function of `torch.special` that is not offered."""
    function, z = getattr(torch.special, name.partition(".")[2]), torch.ones(2, requires_grad=True)

    out = function(z, 2) if "polynomial" in name else function(z)

    assert not out.requires_grad
