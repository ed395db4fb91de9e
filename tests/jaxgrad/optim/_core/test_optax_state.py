"""The state of an optax transformation is filled from torch's, or refused."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgrad import optim


PARAMS = {"w": jnp.ones((2, 3)), "b": jnp.ones(2)}
ADAM = {"lr": 1e-2, "betas": (0.9, 0.999)}


def state_dict(**fields: float) -> dict[str, Any]:
    """Return torch's state of a transposed weight and a bias, with constant moments."""
    entries = {
        i: {name: np.full(shape, x) if name != "step" else x for name, x in fields.items()}
        for i, shape in enumerate([(3, 2), (2,)])
    }
    return {"state": entries, "param_groups": [{"params": [0, 1], **ADAM}]}


NAMES = {"w": (0, (1, 0)), "b": 1}


def test_the_moments_of_adam_are_filled():
    """The moments are transposed, and every count is torch's number of steps."""
    tx = optax.adam(optax.constant_schedule(1e-2))
    saved = state_dict(step=4.0, exp_avg=0.5, exp_avg_sq=0.25)
    saved["state"][0]["exp_avg"] = np.arange(6.0).reshape(3, 2)
    adam, schedule = optim.state_from_torch(tx, PARAMS, saved, NAMES)

    np.testing.assert_array_equal(adam.mu["w"], np.arange(6.0).reshape(3, 2).T)
    assert np.all(adam.nu["b"] == 0.25) and adam.count == schedule.count == 4


@pytest.mark.parametrize(
    ("tx", "fields"),
    [
        (optax.rmsprop(1e-2), {"square_avg": 1.0}),
        (optax.adagrad(1e-2), {"sum": 1.0}),
        (optax.adadelta(1e-2), {"square_avg": 1.0, "acc_delta": 1.0}),
        (optax.adamax(1e-2), {"exp_avg": 1.0, "exp_inf": 1.0}),
        (optax.masked(optax.sgd(1e-2, momentum=0.9), {"w": True, "b": False}),
         {"momentum_buffer": 1.0}),
    ],
    ids=["rmsprop", "adagrad", "adadelta", "adamax", "masked"],
)  # fmt: skip
def test_other_moments_are_filled(tx, fields):
    """Every array of the state is torch's."""
    state = optim.state_from_torch(tx, PARAMS, state_dict(step=1.0, **fields), NAMES)
    arrays = [x for x in jax.tree.leaves(state) if np.ndim(x)]

    assert arrays and all(np.all(x == 1) for x in arrays)


@pytest.mark.parametrize(
    ("tx", "fields", "words"),
    [
        (optax.adam(1e-2), {"momentum_buffer": 1.0}, "'mu' of optax's ScaleByAdamState cannot be"),
        (optax.nadam(1e-2), {"exp_avg": 1.0, "exp_avg_sq": 1.0, "mu_product": 1.0}, "'mu' of"),
        (optax.rmsprop(1e-2, momentum=0.9), {"square_avg": 1.0, "momentum_buffer": 1.0}, "'nu' of"),
        (optax.amsgrad(1e-2), {"exp_avg": 1.0, "exp_avg_sq": 1.0, "max_exp_avg_sq": 1.0},
         "the field 'mu' of optax's ScaleByAmsgradState has no counterpart"),
        (optax.MultiSteps(optax.adam(1e-2), 2), {"exp_avg": 1.0, "exp_avg_sq": 1.0},
         "of optax's MultiStepsState has no counterpart in torch's state"),
    ],
    ids=["other", "nadam", "rmsprop", "amsgrad", "multi_steps"],
)  # fmt: skip
def test_a_state_without_a_counterpart_is_refused(tx, fields, words):
    """Moments of another formula are refused, not left at zero."""
    with pytest.raises(ValueError, match=words):
        optim.state_from_torch(tx, PARAMS, state_dict(step=1.0, **fields), NAMES)


def test_a_wrong_shape_is_explained():
    """A moment of another shape needs the permutation of the axes."""
    saved = state_dict(step=1.0, exp_avg=1.0, exp_avg_sq=1.0)
    with pytest.raises(ValueError, match=r"exp_avg of 'w' has shape \(3, 2\), here it has"):
        optim.state_from_torch(optax.adam(1e-2), PARAMS, saved, {"w": 0, "b": 1})


def test_different_decay_rates_are_remarked():
    """The rates of the transformation are compared with torch's, and equal ones give no warning."""
    saved = state_dict(step=1.0, exp_avg=1.0, exp_avg_sq=1.0)
    with pytest.warns(UserWarning, match=r"has b2=0.95, but torch's optimizer has 0.999"):
        optim.state_from_torch(optax.adam(1e-2, b2=0.95), PARAMS, saved, NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optim.state_from_torch(optax.adam(1e-2), PARAMS, saved, NAMES)
    del saved["param_groups"][0]["betas"]
    with pytest.raises(ValueError, match="an optimizer without betas"):
        optim.state_from_torch(optax.adam(1e-2), PARAMS, saved, NAMES)
