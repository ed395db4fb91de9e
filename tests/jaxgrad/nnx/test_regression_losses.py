"""`jaxgrad.nnx` losses of regression and distributions match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


PAIR = [draw(5, 4), draw(5, 4) % 1]
CASES = {
    "L1Loss": plain_case("L1Loss", PAIR),
    "MSELoss": plain_case("MSELoss", PAIR),
    "SmoothL1Loss": plain_case("SmoothL1Loss", PAIR),
    "HuberLoss": plain_case("HuberLoss", PAIR),
    "KLDivLoss": plain_case("KLDivLoss", PAIR, reduction="sum"),
    "PoissonNLLLoss": plain_case("PoissonNLLLoss", PAIR),
    "MSELoss/sum": plain_case("MSELoss", PAIR, reduction="sum"),
    "SmoothL1Loss/beta": plain_case("SmoothL1Loss", PAIR, beta=0.3, reduction="none"),
    "HuberLoss/delta": plain_case("HuberLoss", PAIR, "sum", 0.4),
    "KLDivLoss/log": plain_case("KLDivLoss", PAIR, reduction="batchmean", log_target=True),
    "PoissonNLLLoss/full": plain_case(
        "PoissonNLLLoss", [draw(5, 4) ** 2, draw(5, 4) ** 2 + 2], False, True, eps=1e-3
    ),
    "GaussianNLLLoss": plain_case(
        "GaussianNLLLoss", [*PAIR, draw(5, 4) ** 2 + 0.1], full=True, eps=0.2
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_regression_losses_match_torch(name):
    """Losses of regression and distributions have torch's values and gradients."""
    check_call(CASES[name])
