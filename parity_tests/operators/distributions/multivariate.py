"""Records of the operators in `jaxgrad/functional/distributions/multivariate.py`."""

import numpy as np
import torch.distributions as td
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.distributions._shared import (
    GAMMAS,
    POSITIVE,
    WIDE,
    cholesky_factor,
    log_prob,
)


@operator(
    "distributions.low_rank_multivariate_normal_log_prob",
    max_programs=3,
    torch=log_prob(td.LowRankMultivariateNormal),
    dtypes=WIDE,
)
def low_rank_multivariate_normal(draw):
    n, k = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    x = draw(floats((draw(st.integers(1, 2)), n)))
    factor, diagonal = draw(floats((n, k))), draw(floats((n,), *POSITIVE))
    return call(x, draw(floats((n,))), factor, diagonal)


@operator(
    "distributions.wishart_log_prob",
    max_programs=3,
    torch=log_prob(td.Wishart),
    torch_gradient=True,
    differences=[
        PinnedDifference(
            call([[3.0, 1.0], [np.inf, 2.0]], np.array(4.0), [[3.0, 0.5], [0.5, 5.0]]),
            {
                "gradient/0": (
                    [[np.nan, np.nan], [1 / 59, -6 / 59]],
                    [[-10 / 59, 30.5 / 59], [1 / 59, -6 / 59]],
                )
            },
            "for an infinite matrix, the solve in torch's gradient of the determinant gives more "
            "NaN",
        )
    ],
    forward_mode="torch's forward mode of cholesky does not symmetrize the tangent",
    dtypes=WIDE,
    tolerance=GAMMAS,
)
def wishart(draw):
    n = draw(st.integers(1, 3))
    x, factor = cholesky_factor(draw, n), cholesky_factor(draw, n)
    df = draw(floats((), 3.0, 5.0))
    if draw(st.booleans()):
        return call(x @ x.T, df, scale_tril=factor)
    return call(x @ x.T, df, factor @ factor.T)


def _lkj(value, concentration=1.0):
    distribution = td.LKJCholesky(value.shape[-1], concentration, validate_args=False)
    return distribution.log_prob(value)


@operator(
    "distributions.lkj_cholesky_log_prob",
    max_programs=3,
    torch=_lkj,
    points=[call([[1.0, 0.0], [1.0, 0.0]], np.array(1.0))],
    dtypes=WIDE,
    tolerance=GAMMAS,
)
def lkj_cholesky(draw):
    x = cholesky_factor(draw, draw(st.integers(2, 4)))
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return call(x, draw(floats(draw(st.sampled_from([(), (2,)])), *POSITIVE)))


@operator(
    "distributions.multivariate_normal_log_prob",
    max_programs=3,
    torch=log_prob(td.MultivariateNormal),
    forward_mode="torch's forward mode of cholesky does not symmetrize the tangent",
    dtypes=WIDE,
)
def multivariate_normal(draw):
    n = draw(st.integers(1, 3))
    factor = cholesky_factor(draw, n)
    loc = draw(floats((n,)))
    x = draw(floats((draw(st.integers(1, 2)), n)))
    if draw(st.booleans()):
        return call(x, loc, scale_tril=factor)
    return call(x, loc, factor @ factor.T)
