"""`jaxgrad.nnx` recurrent cells match torch's, including their two biases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    rngs,
    runs,
)


CASES = {
    "RNNCell": layer_case("RNNCell", [draw(2, 3), draw(2, 4)], 3, 4, nonlinearity="relu"),
    "GRUCell": layer_case("GRUCell", draw(2, 3), 3, 4),
    "LSTMCell": layer_case("LSTMCell", [draw(2, 3), (draw(2, 4), draw(2, 4) + 1)], 3, 4, False),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES, ("GRUCell",)))
def test_recurrent_cells_train_as_in_torch(name, jit):
    """With torch's weights, recurrent cells have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_recurrent_cells_round_trip(name):
    """The state dict of a recurrent cell goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


def test_fresh_recurrent_cells_are_distributed_as_in_torch():
    """Fresh weights and biases of an LSTM cell match torch's in mean, spread and bounds."""
    check_initial_distribution("LSTMCell", 100, 80)


def test_both_biases_of_a_cell_receive_the_same_gradient():
    """The redundant biases of a GRU's reset and update gates receive equal gradients (P116)."""
    gru = layers.GRUCell(3, 4, dtype=jnp.float64, rngs=rngs())
    graph, params, rest = nnx.split(gru, nnx.Param, ...)
    grads = jax.grad(lambda p: nnx.merge(graph, p, rest)(jnp.ones((2, 3))).sum())(params)
    both = layers.state_dict(nnx.merge(graph, grads, rest))
    rows = 2 * 4  # the reset gate multiplies the second bias of the new gate
    np.testing.assert_array_equal(both["bias_ih"][:rows], both["bias_hh"][:rows])
    assert (both["bias_ih"][rows:] != both["bias_hh"][rows:]).all()
