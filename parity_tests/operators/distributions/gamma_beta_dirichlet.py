"""Records of the operators in `jaxgrad/functional/distributions/gamma_beta_dirichlet.py`."""

import numpy as np
import torch.distributions as td
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.distributions._shared import (
    GAMMAS,
    POSITIVE,
    UNIT,
    WIDE,
    log_prob,
    values_and_parameters,
)


inf, nan = np.inf, np.nan


operator(
    "distributions.exponential_log_prob",
    torch=log_prob(td.Exponential),
    elementwise=True,
    points=[call([0.0, -1.0, 1.0], [1.0, 1.0, 0.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE]))


operator(
    "distributions.gamma_log_prob",
    torch=log_prob(td.Gamma),
    elementwise=True,
    points=[call([0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [1.0, 1.0, 1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE, POSITIVE]))


operator(
    "distributions.beta_log_prob",
    torch=log_prob(td.Beta),
    elementwise=True,
    points=[call([0.0, 1.0, 0.5], [1.0, 1.0, 2.0], [1.0, 2.0, 1.0])],
    differences=[
        PinnedDifference(
            call([0.5], [-0.0], [-0.0]),
            {
                "gradient/1": (-inf, nan),
                "gradient/2": (-inf, nan),
                "tangent/0": (-inf, nan),
                "transpose/0": (-inf, nan),
            },
            "XLA drops the 0 that a sum starts with, so the sum stays -0, whose digamma differs",
        )
    ],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([UNIT, POSITIVE, POSITIVE]))


@operator(
    "distributions.dirichlet_log_prob",
    max_programs=3,
    torch=log_prob(td.Dirichlet),
    points=[call([[0.0, 1.0], [0.5, 0.5]], [[1.0, 1.0], [2.0, 1.0]])],
    dtypes=WIDE,
    tolerance=GAMMAS,
)
def dirichlet(draw):
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    return call(draw(floats(shape, *UNIT)), draw(floats(shape, *POSITIVE)))
