"""Records of the operators in `jaxgrad/functional/distributions/kl_divergence.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch.distributions as td
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.distributions._shared import (
    ANY,
    GAMMAS,
    POSITIVE,
    QUOTIENT,
    UNIT,
    WIDE,
    ZERO,
    cholesky_factor,
    values_and_parameters,
)


inf, nan = np.inf, np.nan


def _divergence(distribution: Any) -> Callable[..., Any]:
    def of(*args: Any) -> Any:
        half = len(args) // 2
        p, q = (distribution(*part, validate_args=False) for part in (args[:half], args[half:]))
        return td.kl_divergence(p, q)

    return of


operator(
    "distributions.normal_kl_divergence",
    torch=_divergence(td.Normal),
    elementwise=True,
    points=[call([1.0], [0.0], [1.0], [1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, POSITIVE, ANY, POSITIVE], same=True))


operator(
    "distributions.laplace_kl_divergence",
    torch=_divergence(td.Laplace),
    elementwise=True,
    points=[call([1.0], [1.0], [1.0], [1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, POSITIVE, ANY, POSITIVE], same=True))


operator(
    "distributions.gumbel_kl_divergence",
    torch=_divergence(td.Gumbel),
    elementwise=True,
    points=[call([1.0], [1.0], [1.0], [1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, POSITIVE, ANY, POSITIVE], same=True))


operator(
    "distributions.cauchy_kl_divergence",
    torch=_divergence(td.Cauchy),
    elementwise=True,
    points=[call([1.0], [1.0], [1.0], [1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, POSITIVE, ANY, POSITIVE], same=True))


operator(
    "distributions.exponential_kl_divergence",
    torch=_divergence(td.Exponential),
    elementwise=True,
    points=[call([0.0], [1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE], same=True))


operator(
    "distributions.poisson_kl_divergence",
    torch=_divergence(td.Poisson),
    elementwise=True,
    points=[call([1.0, 1.0], [0.0, 1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE, POSITIVE], same=True))


operator(
    "distributions.gamma_kl_divergence",
    torch=_divergence(td.Gamma),
    elementwise=True,
    points=[call([1.0], [1.0], [1.0], [1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE] * 4, same=True))


operator(
    "distributions.beta_kl_divergence",
    torch=_divergence(td.Beta),
    elementwise=True,
    points=[call([1.0], [1.0], [1.0], [1.0])],
    tolerance=GAMMAS,
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([POSITIVE] * 4, same=True))


operator(
    "distributions.uniform_kl_divergence",
    torch=_divergence(td.Uniform),
    elementwise=True,
    points=[call([0.0, 0.0], [1.0, 1.0], [0.5, 0.0], [2.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([(0.1, 0.4), (0.5, 1.0), (-1.0, 0.1), (1.0, 2.0)], same=True))


operator(
    "distributions.bernoulli_kl_divergence",
    torch=_divergence(td.Bernoulli),
    elementwise=True,
    points=[call([0.0, 1.0, 0.5, 0.5], [0.5, 0.5, 0.0, 1.0])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([UNIT, UNIT], same=True))


operator(
    "distributions.geometric_kl_divergence",
    torch=_divergence(td.Geometric),
    elementwise=True,
    points=[call([0.5], [0.5])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([UNIT, UNIT], same=True))


@operator(
    "distributions.dirichlet_kl_divergence",
    max_programs=3,
    torch=_divergence(td.Dirichlet),
    dtypes=WIDE,
    tolerance=GAMMAS,
)
def dirichlet_divergence(draw):
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    return call(draw(floats(shape, *POSITIVE)), draw(floats(shape, *POSITIVE)))


@operator(
    "distributions.categorical_kl_divergence",
    max_programs=3,
    torch=_divergence(td.Categorical),
    points=[call(ZERO, ZERO[::-1])],
    differences=[
        PinnedDifference(call([[-1.0, 1.0]], [[1.0, 1.0]]), {"tangent/0": (-inf, nan)}, QUOTIENT)
    ],
    dtypes=WIDE,
)
def categorical_divergence(draw):
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    return call(draw(floats(shape, *UNIT)), draw(floats(shape, *UNIT)))


def _of_factors(p_loc, p_factor, q_loc, q_factor):
    p, q = (
        td.MultivariateNormal(loc, scale_tril=factor, validate_args=False)
        for loc, factor in ((p_loc, p_factor), (q_loc, q_factor))
    )
    return td.kl_divergence(p, q)


@operator(
    "distributions.multivariate_normal_kl_divergence",
    torch=_of_factors,
    max_programs=3,
    dtypes=WIDE,
)
def normals_divergence(draw):
    n = draw(st.integers(1, 3))
    return call(*(x for _ in "pq" for x in (draw(floats((n,))), cholesky_factor(draw, n))))
