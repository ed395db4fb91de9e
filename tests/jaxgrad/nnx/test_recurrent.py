"""`jaxgrad.nnx` RNN, GRU and LSTM match torch's."""

import jax.numpy as jnp
import pytest

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call_error,
    check_constructor_error,
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    rngs,
    runs,
)


SEQUENCE = draw(5, 2, 3)
CASES = {
    "RNN": layer_case("RNN", SEQUENCE, 3, 4),
    "RNN/relu": layer_case("RNN", SEQUENCE, 3, 4, 2, "relu", batch_first=True, bidirectional=True),
    "RNN/unbatched": layer_case("RNN", [draw(5, 3), draw(1, 4)], 3, 4),
    "GRU": layer_case("GRU", SEQUENCE, 3, 4, 2, bidirectional=True),
    "GRU/state": layer_case("GRU", [SEQUENCE, draw(1, 2, 4)], 3, 4, bias=False),
    "LSTM": layer_case("LSTM", SEQUENCE, 3, 4, 2, bidirectional=True),
    "LSTM/state": layer_case("LSTM", [SEQUENCE, (draw(1, 2, 4), draw(1, 2, 4) + 1)], 3, 4),
    "LSTM/projected": layer_case("LSTM", SEQUENCE, 3, 4, 2, bidirectional=True, proj_size=2),
    "LSTM/unbatched": layer_case("LSTM", draw(5, 3), 3, 4, batch_first=True),
}
CALL_ERRORS = {
    "dims": ((3,), ValueError, "Expected input to be 2D or 3D, got 1D"),
    "size": ((5, 2, 2), (RuntimeError, ValueError), "Expected 3, got 2"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES))
def test_recurrent_layers_train_as_in_torch(name, jit):
    """With torch's weights, recurrent layers have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_recurrent_layers_round_trip(name):
    """The state dict of a recurrent layer goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


@pytest.mark.parametrize("name", CALL_ERRORS)
def test_unusable_inputs_of_recurrent_layers_raise_as_in_torch(name):
    """A GRU rejects an input with torch's message when its shape does not fit."""
    check_call_error(lambda nn: nn.GRU(3, 4), *CALL_ERRORS[name])


def test_a_projection_as_wide_as_the_hidden_state_is_rejected():
    """`LSTM` requires `proj_size` to be smaller than `hidden_size`."""
    check_constructor_error(lambda nn: nn.LSTM(3, 4, proj_size=4), "proj_size has to be")


def test_fresh_recurrent_layers_are_distributed_as_in_torch():
    """Fresh weights and biases of a GRU match torch's in mean, spread and bounds."""
    check_initial_distribution("GRU", 100, 80)


def test_dropout_acts_between_recurrent_layers_in_training_only():
    """Dropout makes two training calls differ, does nothing in evaluation, and needs two layers."""
    gru = layers.GRU(3, 4, 2, dropout=0.5, rngs=rngs())
    x = jnp.ones((5, 2, 3), jnp.float32)
    assert (gru(x)[0] != gru(x)[0]).any()
    gru.eval()
    assert (gru(x)[0] == gru(x)[0]).all()
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        layers.GRU(3, 4, dropout=0.5, rngs=rngs())
