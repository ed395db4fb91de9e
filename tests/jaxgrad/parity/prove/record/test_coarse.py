"""Rounding to one bit less, and moving numbers by a unit, are functions of the number."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.adapters import float64_on_cpu
from jaxgrad.parity.prove.record.jax_side import evaluation
from jaxgrad.parity.prove.record.torch_side.lifting import Lifting


X = np.random.default_rng(0).standard_normal(1000)
SHORT = np.array([0.0, 1.0, -0.75, 255.0, 8192.0, 2.0**-30, np.inf, -np.inf, np.nan])


def test_numbers_are_rounded_to_the_nearest_with_one_bit_less():
    """No number moves by more than an ULP, short ones do not move, and rounding again is idle."""
    near = coarse.nearest(X)

    off = np.abs(near - X) / np.spacing(np.abs(X))
    assert set(np.unique(off)) == {0.0, 1.0}
    np.testing.assert_array_equal(coarse.nearest(near), near)
    np.testing.assert_array_equal(coarse.nearest(SHORT), SHORT)
    assert coarse.nearest(np.array(0.1)).shape == ()
    assert coarse.number(1 / 3) == coarse.nearest(np.array([1 / 3]))[0]


def test_the_largest_numbers_stay_finite():
    """A mask may contain them, in torch and in JAX."""
    x = np.finfo(np.float64).min * np.array([1.0, -1.0, 0.9999])
    with float64_on_cpu():
        assert np.isfinite(evaluation._coarse(jnp.asarray(x))).all()
    with Lifting(None, torch.float64, None, rounds=0):
        assert torch.isfinite(torch.tensor(x) * torch.tensor(1.0, dtype=torch.float64)).all()
        out = torch.zeros(2).double().masked_fill(torch.tensor([True, False]), x[0].item())
    assert np.isfinite([coarse.nearest(x), coarse.nudged(x, 0), coarse.nudged(x, 1)]).all()
    assert torch.isfinite(out).all() and out[0] == coarse.number(x[0]) < -1.7e308


def test_rounding_keeps_the_order_and_the_sign():
    x = np.sort(X)
    assert (np.diff(coarse.nearest(x)) >= 0).all()
    np.testing.assert_array_equal(coarse.nearest(-X), -coarse.nearest(X))


def test_torch_jax_and_numpy_round_alike():
    """torch rounds in place, and JAX with an operator."""
    with float64_on_cpu():
        in_jax = lax.reduce_precision(X, coarse.EXPONENT, coarse.MANTISSA)
        with Lifting(None, torch.float64, None, rounds=0):
            in_torch = torch.tensor(X) * torch.tensor(1.0, dtype=torch.float64)

        np.testing.assert_array_equal(in_jax, coarse.nearest(X))
        np.testing.assert_array_equal(in_torch, coarse.nearest(X))


@pytest.mark.parametrize("salt", [0, 1])
def test_equal_numbers_are_nudged_equally(salt):
    """The step depends on neither the place, the sign nor the power of two of a number."""
    near = coarse.nudged(X, salt)

    np.testing.assert_array_equal(coarse.nudged(X[::-1], salt), near[::-1])
    np.testing.assert_array_equal(coarse.nudged(-4 * X, salt), -4 * near)
    np.testing.assert_array_equal(coarse.nearest(near), near)
    assert (near != coarse.nearest(X)).all() and np.max(np.abs(near / X - 1)) < 7e-16
    assert 0.4 < np.mean(near > X) < 0.6


def test_short_and_fixed_numbers_are_not_nudged():
    """They may lie on a bound of the program."""
    np.testing.assert_array_equal(coarse.nudged(SHORT, 0), SHORT)
    x = np.array([0.1, 0.3, 0.7])
    assert (coarse.nudged(x, 0, [0.3, 7.0]) == coarse.nearest(x)).tolist() == [False, True, False]


def test_both_perturbations_differ():
    assert np.any(coarse.nudged(X, 0) != coarse.nudged(X, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_other_dtypes_become_float64(dtype):
    """The real and the imaginary part of a complex number are nudged."""
    x = (X[:6] + (1j * X[6:12] if np.issubdtype(dtype, np.complexfloating) else 0)).astype(dtype)
    near = coarse.nudged(x.reshape(2, 3), 0)

    assert near.dtype == np.result_type(dtype, np.float64) and near.shape == (2, 3)
    assert (np.real(near) != np.real(x.reshape(2, 3))).all()
    if np.iscomplexobj(x):
        assert (np.imag(near) != np.imag(x.reshape(2, 3))).all()
    np.testing.assert_allclose(near.ravel(), x, rtol=1e-15)
