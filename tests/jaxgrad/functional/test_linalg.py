"""The operators of `jaxgrad/functional/linalg` agree with torch, even for special matrices."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("linalg")


def test_the_sum_of_the_gradients_of_equal_eigenvalues_is_defined():
    """The gradient of a sum of equal eigenvalues does not depend on the basis LAPACK chooses."""
    ones, equal = np.ones((3, 3)), np.array([1.0, 1.0, 0.0])
    x, cotangent = to_torch([ones, equal])
    (expected,) = torch.autograd.grad(torch.linalg.eigvalsh(x.requires_grad_()), x, cotangent)
    _, pullback = jax.vjp(functional.linalg.eigvalsh, jnp.asarray(ones))

    np.testing.assert_allclose(pullback(jnp.asarray(equal))[0], expected, atol=1e-14)
    np.testing.assert_allclose(expected, np.eye(3) - ones / 3, atol=1e-14)


@pytest.mark.sampled(21)
@pytest.mark.parametrize(
    ("rank", "dtype"), list(itertools.product(range(5), ["float64", "complex128"]))
)
def test_derivatives_of_a_determinant_are_those_of_the_polynomial(rank, dtype):
    """First and second derivatives of `det` are exact even for singular matrices."""

    def by_terms(x):
        swaps = {p: np.linalg.det(np.eye(4)[list(p)]) for p in itertools.permutations(range(4))}
        return sum(sign * jnp.prod(x[jnp.arange(4), jnp.array(p)]) for p, sign in swaps.items())

    holomorphic = dtype == "complex128"
    x = np.random.default_rng(rank).standard_normal((2, 4, 4))
    x[..., rank:] = 0  # exact zeros, so that rounding cannot make the matrix invertible
    x = x[0] + 1j * x[1] if holomorphic else x[0]
    batch = jnp.stack([jnp.asarray(x), jnp.eye(4, dtype=dtype)])

    def derivatives(fun):
        first = jax.jacrev(fun, holomorphic=holomorphic)
        second = jax.jacfwd(first, holomorphic=holomorphic)
        return jax.jit(jax.vmap(lambda x: (first(x), second(x))))(batch)

    for actual, expected in zip(
        derivatives(functional.linalg.det), derivatives(by_terms), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["eigh", "eig"])
def test_eigenvectors_of_equal_eigenvalues_have_gradient_nan(name):
    """For equal eigenvalues, only the gradient through the eigenvectors is NaN, as in torch."""
    jax_function, torch_function = getattr(functional.linalg, name), getattr(torch.linalg, name)
    identity = torch.eye(2, dtype=torch.float64).requires_grad_()

    def gradients(which):
        total = torch_function(identity)[which].abs().pow(2).sum()
        gradient = jax.grad(lambda x: jnp.sum(jnp.abs(jax_function(x)[which]) ** 2))
        return gradient(jnp.eye(2, dtype=float)), torch.autograd.grad(total, identity)[0]

    for which, expected in ((0, 2 * np.eye(2)), (1, np.full((2, 2), np.nan))):
        for gradient in gradients(which):
            np.testing.assert_array_equal(gradient, expected)


def test_the_condition_number_of_an_empty_matrix_is_zero():
    """`cond` of matrices without rows is 0 for every numeric order, as in torch."""
    for shape in ((0, 0), (2, 0, 3)):
        for p in (None, 1, -2):
            expected = torch.linalg.cond(torch.zeros(shape), p).numpy()
            np.testing.assert_array_equal(functional.linalg.cond(jnp.zeros(shape), p), expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gels"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_lstsq_takes_one_right_hand_side(driver, batch):
    """A right-hand side without columns gives solutions without columns, as in torch."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((*batch, 4, 2)), rng.standard_normal((*batch, 4))
    expected = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b), driver=driver)
    ours = functional.linalg.lstsq(jnp.asarray(a), jnp.asarray(b), driver=driver)
    for x, y in zip(ours, expected, strict=True):
        np.testing.assert_allclose(x, y.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ord", [2, -2, 1, -1, float("inf"), -float("inf"), "fro", "nuc"])
def test_norms_of_empty_matrices_are_torchs(ord):
    """Norms of empty matrices are 0, except for the least of nothing, which raises IndexError."""
    for shape in ((0, 3), (3, 0), (2, 0, 0)):
        try:
            expected = torch.linalg.matrix_norm(torch.zeros(shape), ord)
        except IndexError:
            with pytest.raises(IndexError, match="non-zero size"):
                functional.linalg.matrix_norm(jnp.zeros(shape), ord)
        else:
            ours = functional.linalg.matrix_norm(jnp.zeros(shape), ord)
            np.testing.assert_array_equal(ours, expected.numpy())
