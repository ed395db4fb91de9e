"""Records of the operators in `jaxgrad/functional/distributions/discrete.py`."""

import numpy as np
import torch.distributions as td

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import integers
from parity_tests.operators.distributions._shared import (
    GAMMAS,
    POSITIVE,
    UNIT,
    WIDE,
    ZERO,
    log_prob,
    probs_or_logits,
    values_and_parameters,
)


inf = np.inf


operator(
    "distributions.poisson_log_prob",
    torch=log_prob(td.Poisson),
    elementwise=True,
    points=[call([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([4, POSITIVE]))


operator(
    "distributions.geometric_log_prob",
    torch=log_prob(td.Geometric),
    elementwise=True,
    points=[call([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]), call([-inf], logits=np.array([-0.25]))],
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([4, UNIT], logits=True))


operator(
    "distributions.bernoulli_log_prob",
    torch=log_prob(td.Bernoulli),
    elementwise=True,
    points=[call([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0])],
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([2, UNIT], logits=True))


operator(
    "distributions.binomial_log_prob",
    torch=log_prob(td.Binomial),
    elementwise=True,
    points=[call([0.0, 2.0, 3.0], [2.0, 2.0, 2.0], [0.0, 1.0, 0.5])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([4, (4.0, 6.0), UNIT], logits=True))


operator(
    "distributions.negative_binomial_log_prob",
    torch=log_prob(td.NegativeBinomial),
    elementwise=True,
    points=[call([0.0, 1.0], [0.0, 1.0], [0.5, 0.0]), call([2.0], [-inf], logits=np.array([0.5]))],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=4,
)(values_and_parameters([4, POSITIVE, UNIT], logits=True))


@operator(
    "distributions.categorical_log_prob",
    max_programs=3,
    torch=log_prob(td.Categorical),
    points=[call(np.array([0, 1]), ZERO), call(np.array([0, 1]), logits=[[-inf, 0.0], [0.0, 1.0]])],
    dtypes=WIDE,
)
def categorical(draw):
    more = probs_or_logits(draw)
    (x,) = more.values()
    return call(draw(integers(x.shape[:-1], 0, x.shape[-1])), **more)


def _multinomial(value, probs=None, logits=None):
    distribution = td.Multinomial(1, probs, logits, validate_args=False)
    return distribution.log_prob(value)


@operator(
    "distributions.multinomial_log_prob",
    max_programs=3,
    torch=_multinomial,
    points=[call([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]], ZERO)],
    dtypes=WIDE,
)
def multinomial(draw):
    more = probs_or_logits(draw)
    (x,) = more.values()
    return call(draw(integers(x.shape, 0, 3)).astype(float), **more)
