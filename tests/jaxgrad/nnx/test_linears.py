"""`jaxgrad.nnx` linear layers and embeddings match torch's, and so do their initial values."""

import numpy as np
import pytest

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_constructor_error,
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    index,
    layer_case,
    rngs,
    runs,
)


CASES = {
    "Linear": layer_case("Linear", draw(5, 3), 3, 4),
    "Linear/no bias": layer_case("Linear", draw(5, 3), 3, 4, bias=False),
    "Bilinear": layer_case("Bilinear", [draw(5, 3), draw(5, 2)], 3, 2, 4),
    "Embedding": layer_case("Embedding", index(3, 4), 5, 2),
    "Embedding/padding": layer_case("Embedding", index(3, 4), 5, 2, padding_idx=-2),
    "Embedding/freq": layer_case("Embedding", index(3, 4), 5, 2, scale_grad_by_freq=True),
    "EmbeddingBag": layer_case("EmbeddingBag", index(3, 4), 5, 2, padding_idx=1),
    "EmbeddingBag/sum": layer_case("EmbeddingBag", [index(6), np.array([0, 2])], 5, 2, mode="sum"),
    "EmbeddingBag/max": layer_case("EmbeddingBag", index(3, 4), 5, 2, mode="max"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES, ("Linear", "Embedding")))
def test_linear_layers_and_embeddings_train_as_in_torch(name, jit):
    """With torch's weights, linear layers and embeddings have torch's outputs and gradients."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_linear_layers_and_embeddings_round_trip(name):
    """A state dict of a linear layer or embedding goes to JAX and back bit for bit."""
    check_round_trip(CASES[name])


@pytest.mark.parametrize(
    "name, sizes",
    [("Linear", (200, 300)), ("Bilinear", (40, 30, 20)), ("Embedding", (300, 100))],
)
def test_fresh_linear_layers_and_embeddings_are_distributed_as_in_torch(name, sizes):
    """Fresh parameters match torch's in mean, spread and bounds (P106, P117)."""
    check_initial_distribution(name, *sizes, bounded=name != "Embedding")


def test_a_padding_row_outside_the_table_is_rejected():
    """`Embedding` rejects a `padding_idx` that is not a row of the table."""
    check_constructor_error(
        lambda nn: nn.Embedding(3, 2, padding_idx=3), "must be within num_embeddings"
    )


def test_max_norm_and_missing_keys_are_rejected():
    """`max_norm` is not supported and a layer cannot draw its parameters without `rngs=`."""
    with pytest.raises(ValueError, match="max_norm=1.0: torch's forward pass writes"):
        layers.Embedding(3, 2, max_norm=1.0, rngs=rngs())
    with pytest.raises(TypeError, match="Linear draws its parameters; pass rngs="):
        layers.Linear(3, 2)
