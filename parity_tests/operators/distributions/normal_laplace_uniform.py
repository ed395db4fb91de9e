"""Records of the operators in `jaxgrad/functional/distributions/normal_laplace_uniform.py`."""

import numpy as np
import torch.distributions as td

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators.distributions._shared import (
    ANY,
    GAMMAS,
    POSITIVE,
    QUOTIENT,
    UNIT,
    WIDE,
    log_prob,
    values_and_parameters,
)


inf, nan = np.inf, np.nan


operator(
    "distributions.normal_log_prob",
    torch=log_prob(td.Normal),
    elementwise=True,
    points=[call([1.0, inf], [1.0, 0.0], [1.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, ANY, POSITIVE]))


operator(
    "distributions.laplace_log_prob",
    torch=log_prob(td.Laplace),
    elementwise=True,
    points=[call([1.0, inf], [1.0, 0.0], [1.0, 1.0])],
    differences=[PinnedDifference(call([1.0], [2.0], [-0.0]), {"tangent/0": (inf, nan)}, QUOTIENT)],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, ANY, POSITIVE]))


operator(
    "distributions.cauchy_log_prob",
    torch=log_prob(td.Cauchy),
    elementwise=True,
    points=[call([1.0, 0.0], [1.0, 0.0], [1.0, 0.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, ANY, POSITIVE]))


operator(
    "distributions.student_t_log_prob",
    torch=log_prob(td.StudentT),
    elementwise=True,
    points=[call([1.0], [2.0], [1.0], [1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, POSITIVE, ANY, POSITIVE]))


operator(
    "distributions.gumbel_log_prob",
    torch=log_prob(td.Gumbel),
    elementwise=True,
    points=[call([0.0, inf], [0.0, 0.0], [1.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, ANY, POSITIVE]))


operator(
    "distributions.uniform_log_prob",
    torch=log_prob(td.Uniform),
    elementwise=True,
    points=[call([0.0, 1.0, -1.0, 0.5], [0.0, 0.0, 0.0, 0.5], [1.0, 1.0, 1.0, 0.5])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([UNIT, (-1.0, 0.1), (0.9, 2.0)]))
