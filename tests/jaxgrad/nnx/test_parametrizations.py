"""`jaxgrad.nnx` weight_norm and spectral_norm match torch's parametrizations."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.nn.utils import parametrizations

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    F64,
    LayerCase,
    check_round_trip,
    check_training,
    draw,
    rngs,
    runs,
)


SEQUENCES, IMAGES = draw(4, 3, 5), draw(3, 2, 4, 4)
CASES = {
    "weight_norm": LayerCase(
        lambda: parametrizations.weight_norm(torch.nn.Linear(3, 4, dtype=F64)),
        lambda: layers.weight_norm(layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs())),
        [draw(5, 3)],
    ),
    "weight_norm/dim": LayerCase(
        lambda: parametrizations.weight_norm(torch.nn.Conv1d(3, 4, 2, dtype=F64), dim=1),
        lambda: layers.weight_norm(layers.Conv1d(3, 4, 2, dtype=jnp.float64, rngs=rngs()), dim=1),
        [SEQUENCES],
    ),
    "spectral_norm": LayerCase(
        lambda: parametrizations.spectral_norm(torch.nn.Linear(3, 4, dtype=F64)),
        lambda: layers.spectral_norm(
            layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs()), rngs=rngs()
        ),
        [draw(5, 3)],
    ),
    "spectral_norm/transposed": LayerCase(
        lambda: parametrizations.spectral_norm(
            torch.nn.ConvTranspose2d(2, 3, 2, dtype=F64), n_power_iterations=2
        ),
        lambda: layers.spectral_norm(
            layers.ConvTranspose2d(2, 3, 2, dtype=jnp.float64, rngs=rngs()),
            n_power_iterations=2,
            rngs=rngs(),
        ),
        [IMAGES],
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES, ("spectral_norm",)))
def test_parametrized_layers_train_as_in_torch(name, jit):
    """With torch's weights, parametrized layers have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_parametrized_layers_round_trip(name):
    """The state dict of a parametrized layer goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


def test_a_parametrization_copies_the_module_and_keeps_its_parameter():
    """A parametrization changes neither the original module nor the parameter it reads (P211).

    `spectral_norm` runs 15 power iterations at construction (P212), and `weight_norm` starts with
    the norm of the weight as its scale, so that the layer's function is unchanged (P213).
    """
    plain = layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs())
    before = np.array(plain.weight[...])
    normed = layers.spectral_norm(plain, rngs=rngs())
    normed(jnp.ones((2, 3)))
    saved = layers.state_dict(normed)["parametrizations.weight.original"]
    assert (saved == before).all() and (plain.weight[...] == before).all()
    assert type(normed) is type(layers.spectral_norm(plain, rngs=rngs()))
    largest = np.linalg.norm(layers.spectral_norm(plain, rngs=rngs()).weight, 2)
    assert abs(largest - 1) < 0.01
    x = jnp.ones((2, 3))
    np.testing.assert_allclose(layers.weight_norm(plain)(x), plain(x), rtol=1e-14)
    with pytest.raises(ValueError, match="does not have a parameter with name 'kernel'"):
        layers.weight_norm(plain, "kernel")
