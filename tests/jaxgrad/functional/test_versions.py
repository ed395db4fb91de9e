"""`functional.at`: the operators of one version of torch."""

import inspect
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST, SUPPORTED


OLDER, NEWER = functional.at("2.13"), functional.at("2.14")
BOUNDS = jnp.array([-1.0, 0.5, 1.0, 2.0])


def slopes(operators, x=BOUNDS):
    return jax.grad(lambda x: operators.clamp(x, -1.0, 1.0).sum())(x).tolist()


def test_the_version_decides_the_gradient_at_a_bound():
    assert slopes(OLDER) == [1, 1, 1, 0]
    assert slopes(NEWER) == slopes(functional) == [0, 1, 0, 0]


def test_two_versions_in_one_compiled_program_do_not_mix():
    """The version is part of the function, so neither `jit` nor a second derivative mixes them."""

    @jax.jit
    def both(x):
        return OLDER.clamp(x, -1.0, 1.0).sum() + 10 * NEWER.clamp(x, -1.0, 1.0).sum()

    assert jax.grad(both)(BOUNDS).tolist() == [1, 11, 1, 0]
    double = jax.jit(jax.grad(lambda x: jax.grad(both)(x).sum()))
    assert double(BOUNDS).tolist() == [0, 0, 0, 0]


def test_a_jitted_operator_of_each_version_keeps_its_own_gradient():
    """Compiling one version first leaves no stale program for the other."""
    for operators, expected in ((OLDER, 1.0), (NEWER, 0.0), (OLDER, 1.0)):
        step = jax.jit(jax.grad(lambda x, f=operators: f.clamp_min(x, 0.0)))
        assert step(0.0) == expected
    mapped = jax.vmap(jax.grad(lambda x: OLDER.fmax(x, 1.0 * x)))(BOUNDS)
    assert mapped.tolist() == [1, 1, 1, 1]


def test_bounds_stay_numbers_under_jit():
    """A bound that `jit` traces is a number for torch, so its gradient is 0 there as well."""
    traced = jax.jit(jax.grad(functional.clamp_min))
    assert traced(0.0, 0.0) == 0
    assert jax.grad(functional.clamp_min)(0.0, jnp.zeros(1)[0]) == 0.5


def test_an_operator_that_no_version_changed_is_the_same_object():
    assert OLDER.linalg.norm is functional.linalg.norm
    assert OLDER.clamp is functional.at("2.13.0+cpu").clamp is not functional.clamp


def test_composite_operators_follow_the_version():
    """A loss built on `clamp` has the version's gradient at its margin."""
    x, y = jnp.array([1.0]), jnp.array([-1])
    assert jax.grad(OLDER.hinge_embedding_loss)(x, y) == -1
    assert jax.grad(NEWER.hinge_embedding_loss)(x, y) == 0


def test_each_supported_version_can_be_chosen():
    assert [repr(functional.at(v)) for v in SUPPORTED[:1]] == [
        "<jaxgrad.functional as in torch 2.11>"
    ]
    assert slopes(functional.at(NEWEST)) == slopes(functional)


def test_an_unknown_version_or_operator_raises():
    with pytest.raises(ValueError, match=r"not of torch 1\.0; choose one of these"):
        functional.at("1.0")
    with pytest.raises(ValueError, match="not of torch 1"):
        functional.clamp(BOUNDS, 0.0, torch="1.0")
    with pytest.raises(AttributeError, match="jaxgrad.functional has no 'clmap'"):
        OLDER.clmap  # noqa: B018


def test_the_signature_shows_the_bound_version():
    assert inspect.signature(OLDER.clamp).parameters["torch"].default == "2.13"
    assert OLDER.clamp.__name__ == "clamp" and "clamp" in dir(OLDER)


def test_the_operators_of_a_version_can_be_pickled():
    restored = pickle.loads(pickle.dumps((OLDER, OLDER.clamp)))
    assert restored[0] == OLDER and slopes(restored[0]) == [1, 1, 1, 0]
    assert jax.grad(restored[1])(0.0, 0.0) == 1


def test_qr_follows_the_removal_in_torch():
    x = jnp.eye(2)
    np.testing.assert_allclose(jnp.abs(OLDER.qr(x).R), x)
    with pytest.raises(RuntimeError, match=r"removed in torch 2\.14; use linalg\.qr"):
        functional.qr(x)


def test_a_wrong_dtype_class_raises_both_of_torchs_errors():
    """torch raised a RuntimeError before 2.14 and a TypeError since: `except` with either works."""
    for error in (TypeError, RuntimeError):
        with pytest.raises(error, match="expects a real input"):
            functional.fft.rfft(jnp.ones(2) + 1j)
