"""`jaxgrad.nnx` distances and `LocalResponseNorm` match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


CASES = {
    "CosineSimilarity": plain_case("CosineSimilarity", [draw(4, 6), draw(4, 6) ** 2]),
    "CosineSimilarity/dim": plain_case("CosineSimilarity", [draw(4, 6), draw(4, 6) ** 2], 0, 1e-3),
    "PairwiseDistance": plain_case("PairwiseDistance", [draw(4, 6), draw(4, 6) ** 2]),
    "PairwiseDistance/options": plain_case(
        "PairwiseDistance", [draw(4, 6), draw(4, 6) ** 2], 1.5, 1e-3, True
    ),
    "LocalResponseNorm": plain_case("LocalResponseNorm", draw(2, 5, 3), 3, 0.1, 0.6, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_distances_match_torch(name):
    """Distances and `LocalResponseNorm` have torch's outputs and gradients."""
    check_call(CASES[name])
