"""`jaxgrad.nnx` losses of pairs and triplets match torch's."""

import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
TRIPLET = [draw(5, 4), draw(5, 4) ** 2, draw(5, 4) - 0.5]
CASES = {
    "MarginRankingLoss": plain_case("MarginRankingLoss", [draw(5), draw(5) ** 2, SIGNS], 0.3),
    "CosineEmbeddingLoss": plain_case(
        "CosineEmbeddingLoss", [draw(5, 4), draw(5, 4) ** 2, SIGNS], 0.1, reduction="sum"
    ),
    "TripletMarginLoss": plain_case("TripletMarginLoss", TRIPLET, 1.5, 2.0, 1e-3, True),
    "TripletMarginWithDistanceLoss": plain_case(
        "TripletMarginWithDistanceLoss", TRIPLET, margin=0.8, swap=True, reduction="none"
    ),
    "TripletMarginWithDistanceLoss/own": plain_case(
        "TripletMarginWithDistanceLoss",
        TRIPLET,
        distance_function=lambda x, y: (abs(x - y)).sum(-1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pair_losses_match_torch(name):
    """Losses of pairs and triplets have torch's values and gradients."""
    check_call(CASES[name])


@pytest.mark.parametrize("name", ["TripletMarginLoss", "TripletMarginWithDistanceLoss"])
def test_a_triplet_loss_needs_a_positive_margin(name):
    """A triplet loss rejects a margin of 0 with torch's message."""
    for package in (torch.nn, layers):
        with pytest.raises(ValueError, match="expected margin to be greater than 0, got 0 instead"):
            getattr(package, name)(margin=0)
