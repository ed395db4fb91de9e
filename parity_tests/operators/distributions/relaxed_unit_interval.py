"""Records of the operators in `jaxgrad/functional/distributions/relaxed_unit_interval.py`."""

import numpy as np
import torch.distributions as td
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.distributions._shared import (
    ANY,
    POSITIVE,
    UNIT,
    WIDE,
    log_prob,
    probs_or_logits,
    values_and_parameters,
)


inf, nan = np.inf, np.nan
ALMOST = "near 1/2 the normalizing constant is the log of a quotient that is nearly 0 / 0"
NEAR_HALF = {"float32": Tolerance(2e-3, ALMOST), "float64": Tolerance(1e-9, ALMOST)}


operator(
    "distributions.kumaraswamy_log_prob",
    torch=log_prob(td.Kumaraswamy),
    elementwise=True,
    points=[call([0.0, 1.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([UNIT, POSITIVE, POSITIVE]))


operator(
    "distributions.continuous_bernoulli_log_prob",
    torch=log_prob(td.ContinuousBernoulli),
    elementwise=True,
    points=[
        call([0.0, 1.0, 0.5, 0.5, 0.5], [0.5, 0.0, 1.0, 0.499, 0.501]),
        call([0.5, 0.5], [0.4, 0.8], lims=(0.3, 0.7)),
    ],
    tolerance=NEAR_HALF,
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([UNIT, UNIT], logits=True))


operator(
    "distributions.relaxed_bernoulli_log_prob",
    torch=log_prob(td.RelaxedBernoulli),
    elementwise=True,
    points=[
        call([1.0, 0.5, 0.5], [1.0, 0.0, 1.0], [0.5, 0.5, 1.0]),
        call([0.0], [2.0], logits=np.array([1.0])),
    ],
    differences=[
        PinnedDifference(
            call([0.0], [1.0], logits=np.array([1.0])),
            {
                "second/1": (nan, -1.0),
                "second/logits": (nan, 0.0),
                "tangent/0": (-inf, -708.3964185322641),
                "transpose/0": (-inf, -708.3964185322641),
            },
            "torch's second derivative and forward mode of log1p(exp(708)) overflow",
        )
    ],
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([UNIT, POSITIVE, UNIT], logits=True))


@operator(
    "distributions.relaxed_one_hot_categorical_log_prob",
    max_programs=3,
    torch=log_prob(td.RelaxedOneHotCategorical),
    points=[call([[0.2, 0.8], [0.0, 1.0]], np.array(2.0), [[0.5, 0.5], [0.0, 1.0]])],
    dtypes=WIDE,
)
def relaxed_one_hot_categorical(draw):
    more = probs_or_logits(draw)
    (x,) = more.values()
    return call(draw(floats(x.shape, *UNIT)), draw(floats((), *POSITIVE)), **more)


@operator(
    "distributions.one_hot_categorical_log_prob",
    max_programs=3,
    torch=log_prob(td.OneHotCategorical),
    points=[call([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]])],
    dtypes=WIDE,
)
def one_hot_categorical(draw):
    more = probs_or_logits(draw)
    (x,) = more.values()
    return call(draw(floats(x.shape, *UNIT)), **more)


@operator(
    "distributions.logistic_normal_log_prob",
    max_programs=3,
    torch=log_prob(td.LogisticNormal),
    points=[call([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]], [0.0], [1.0])],
    dtypes=WIDE,
)
def logistic_normal(draw):
    n = draw(st.integers(1, 3))
    batch = draw(broadcast(1))[0]
    value = draw(floats((*batch, n + 1), *UNIT))
    value = value / value.sum(-1, keepdims=True)
    return call(value, draw(floats((n,), *ANY)), draw(floats((n,), *POSITIVE)))
