"""The operators of `jaxgrad/functional/loss` agree with torch, including complex weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("loss")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["l1_loss", "mse_loss"])
@pytest.mark.parametrize("weight", [np.array([1.0, 2.0]), np.array([1.0 - 1j, 2.0])])
def test_weighted_losses_of_complex_numbers(name, weight):
    """As in torch, losses accept complex inputs if weights are passed."""
    x, y = np.array([1.0 + 2j, 3j]), np.array([0.0, 1.0])
    tensors = to_torch([x, y, weight])
    tensors[0].requires_grad_()
    expected = getattr(torch.nn.functional, name)(tensors[0], tensors[1], weight=tensors[2])
    expected.real.backward()

    loss, gradient = jax.value_and_grad(
        lambda x: getattr(functional, name)(x, y, weight=weight).real, holomorphic=False
    )(jnp.asarray(x))

    assert loss == pytest.approx(expected.real.item(), rel=1e-14)
    np.testing.assert_allclose(np.conj(gradient), tensors[0].grad.numpy(), rtol=1e-14)


@pytest.mark.skipif(
    not hasattr(torch.nn, "LinearCrossEntropyOptions"), reason="torch 2.13 introduced the options"
)
def test_linear_cross_entropy_ignores_options_that_only_save_memory():
    """torch's chunking options change neither the loss nor its gradient, and are accepted."""
    x, w, y = np.eye(3), np.ones((2, 3)), np.array([0, 1, 1])
    tensor = torch.from_numpy(x).requires_grad_()
    options = torch.nn.LinearCrossEntropyOptions()
    theirs = torch.nn.functional.linear_cross_entropy(
        tensor, torch.from_numpy(w), torch.from_numpy(y), options=options
    )

    loss, gradient = jax.value_and_grad(functional.linear_cross_entropy)(x, w, y, options=options)

    np.testing.assert_allclose(loss, theirs.item(), rtol=1e-12)
    np.testing.assert_allclose(
        gradient, torch.autograd.grad(theirs, tensor)[0], rtol=1e-12, atol=1e-15
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        ("float64", "float32"),
        ("float32", "float64"),
        ("bfloat16", "float32"),
        ("float32", "float16"),
    ],
)
def test_bce_with_logits_of_two_dtypes_returns_the_dtype_of_the_target(logits, labels):
    x, y = jnp.array([0.3, -1.2], logits), jnp.array([1.0, 0.0], labels)
    loss, gradient = jax.value_and_grad(functional.binary_cross_entropy_with_logits)(x, y)
    leaf, target = to_torch([np.asarray(x), np.asarray(y)])
    leaf.requires_grad_()
    want = torch.nn.functional.binary_cross_entropy_with_logits(leaf, target)
    want.backward()
    assert (str(loss.dtype), str(gradient.dtype)) == (labels, logits)
    assert (want.dtype, leaf.grad.dtype) == (getattr(torch, labels), getattr(torch, logits))
    rtol = float(max(jnp.finfo(logits).eps, jnp.finfo(labels).eps))  # torch rounds in between
    np.testing.assert_allclose(float(loss), want.item(), rtol=rtol)
    np.testing.assert_allclose(gradient.astype(float), leaf.grad.double(), rtol=rtol)
