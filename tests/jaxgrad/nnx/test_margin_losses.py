"""`jaxgrad.nnx` losses with a margin between classes match torch's."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    index,
    plain_case,
)


SCORES = [draw(5, 4), index(5, high=4)]
WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])
LABELS = np.array([[1, 2, -1, 0], [0, -1, 3, 2]])
SIGNS = np.where(draw(5, 4) > 0.2, 1.0, -1.0)
CASES = {
    "MultiMarginLoss": plain_case("MultiMarginLoss", SCORES),
    "MultiMarginLoss/options": plain_case(
        "MultiMarginLoss",
        SCORES,
        2,
        0.7,
        np.array([0.5, 1.0, 2.0, 0.25]),
        reduction="sum",
    ),
    "MultiLabelMarginLoss": plain_case("MultiLabelMarginLoss", [draw(2, 4), LABELS]),
    "MultiLabelSoftMarginLoss": plain_case(
        "MultiLabelSoftMarginLoss", [draw(5, 4), draw(5, 4) % 1], WEIGHTS
    ),
    "SoftMarginLoss": plain_case("SoftMarginLoss", draw(5, 4), call={"target": SIGNS}),
    "HingeEmbeddingLoss": plain_case(
        "HingeEmbeddingLoss", [draw(5, 4), SIGNS], 0.5, reduction="none"
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_margin_losses_match_torch(name):
    """Margin losses have torch's values, gradients and state dicts."""
    check_call(CASES[name])


def test_multi_margin_loss_needs_a_known_exponent_and_a_vector_of_weights():
    """`MultiMarginLoss` raises torch's messages for `p=3` and for a matrix of weights."""
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        layers.MultiMarginLoss(3)
    with pytest.raises(ValueError, match="expected weight to be None or 1D tensor, got 2D instead"):
        layers.MultiMarginLoss(weight=jnp.ones((2, 2)))
