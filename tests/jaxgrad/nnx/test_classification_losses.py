"""`jaxgrad.nnx` cross-entropies and CTC match torch's."""

import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    LayerCase,
    check_call,
    draw,
    index,
    plain_case,
)


SCORES = [draw(5, 4), index(5, high=4)]
WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])
CASES = {
    "CrossEntropyLoss": plain_case("CrossEntropyLoss", SCORES),
    "CrossEntropyLoss/options": plain_case(
        "CrossEntropyLoss",
        SCORES,
        WEIGHTS,
        ignore_index=2,
        label_smoothing=0.1,
    ),
    "CrossEntropyLoss/sum": plain_case("CrossEntropyLoss", SCORES, reduction="sum"),
    "NLLLoss": plain_case("NLLLoss", SCORES, WEIGHTS, ignore_index=1, reduction="none"),
    "BCELoss": plain_case("BCELoss", [draw(5, 4) % 1, draw(4, 5).T % 1], WEIGHTS),
    "BCEWithLogitsLoss": plain_case(
        "BCEWithLogitsLoss", [draw(5, 4), draw(5, 4) % 1], WEIGHTS, pos_weight=WEIGHTS + 1
    ),
    "CTCLoss": LayerCase(
        lambda: torch.nn.CTCLoss(zero_infinity=True),
        lambda: layers.CTCLoss(zero_infinity=True, torch_gradient=True),
        [draw(6, 2, 4), index(2, 3, high=3) + 1, np.array([6, 5]), np.array([3, 2])],
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_classification_losses_match_torch(name):
    """Losses of classifiers have torch's values, gradients and state dicts."""
    check_call(CASES[name])
