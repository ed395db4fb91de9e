"""Records of the operators in `jaxgrad/functional/distributions/positive_chi2_pareto.py`."""

import numpy as np
import torch
import torch.distributions as td

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators.distributions._shared import (
    ANY,
    GAMMAS,
    POSITIVE,
    QUOTIENT,
    WIDE,
    log_prob,
    values_and_parameters,
)


inf, nan = np.inf, np.nan


class _GeneralizedPareto(td.GeneralizedPareto):
    """torch's distribution; its `log_prob` needs the concentration's dtype as the default dtype."""

    def log_prob(self, value):
        usual = torch.get_default_dtype()
        torch.set_default_dtype(self.concentration.dtype)
        try:
            return super().log_prob(value)
        finally:
            torch.set_default_dtype(usual)


operator(
    "distributions.weibull_log_prob",
    torch=log_prob(td.Weibull),
    elementwise=True,
    points=[call([0.0, 1.0, 0.0, inf], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 2.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE] * 3))


operator(
    "distributions.pareto_log_prob",
    torch=log_prob(td.Pareto),
    elementwise=True,
    points=[call([0.0, 1.0, inf], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([(3.0, 6.0), POSITIVE, POSITIVE]))


operator(
    "distributions.generalized_pareto_log_prob",
    torch=log_prob(_GeneralizedPareto),
    elementwise=True,
    points=[call([1.0, 1.0, 2.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, -1.0])],
    differences=[
        PinnedDifference(call([1.0], [2.0], [0.0], [0.0]), {"tangent/0": (-inf, nan)}, QUOTIENT)
    ],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, (-2.0, 0.0), POSITIVE, POSITIVE]))


operator(
    "distributions.inverse_gamma_log_prob",
    torch=log_prob(td.InverseGamma),
    elementwise=True,
    points=[call([0.0, inf, 1.0], [1.0, 2.0, 0.0], [1.0, 1.0, 1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE] * 3))


operator(
    "distributions.chi2_log_prob",
    torch=log_prob(td.Chi2),
    elementwise=True,
    points=[call([0.0, 0.0, 1.0], [2.0, 1.0, 0.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE]))


operator(
    "distributions.fisher_snedecor_log_prob",
    torch=log_prob(td.FisherSnedecor),
    elementwise=True,
    points=[call([0.0, 1.0, inf], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE] * 3))


operator(
    "distributions.log_normal_log_prob",
    torch=log_prob(td.LogNormal),
    elementwise=True,
    points=[call([1.0, 0.0], [0.0, 0.0], [1.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, ANY, POSITIVE]))


operator(
    "distributions.half_normal_log_prob",
    torch=log_prob(td.HalfNormal),
    elementwise=True,
    points=[call([0.0, -1.0, 1.0], [1.0, 1.0, 0.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE]))


operator(
    "distributions.half_cauchy_log_prob",
    torch=log_prob(td.HalfCauchy),
    elementwise=True,
    points=[call([0.0, -1.0, 1.0], [1.0, 1.0, 0.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE]))
