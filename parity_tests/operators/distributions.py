"""Records of `jaxgrad.functional.distributions`: torch's objects, without their checks."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributions as td
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, Sample, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers


inf, nan = np.inf, np.nan
ANY, POSITIVE, UNIT = (-2.0, 2.0), (0.3, 3.0), (0.1, 0.9)
Range = tuple[float, float] | int
WIDE = ("float64", "float32")
GAMMAS = {
    "float32": Tolerance(
        1e-4, "XLA's lgamma and digamma in float32 are some 1e-6 off, and these sums cancel"
    )
}
ALMOST = "the normalizing constant near 1/2 is the log of 0 / 0, all but exactly"
NEAR_HALF = {"float32": Tolerance(2e-3, ALMOST), "float64": Tolerance(1e-9, ALMOST)}
OF_HALF = ("continuous_bernoulli",)
QUOTIENT = "torch's forward mode of a quotient is (dx - out dy) / y, its gradient -x / y / y"
DIFFERENCES = {
    "laplace": PinnedDifference(call([1.0], [2.0], [-0.0]), {"tangent/0": (inf, nan)}, QUOTIENT),
    "generalized_pareto": PinnedDifference(
        call([1.0], [2.0], [0.0], [0.0]), {"tangent/0": (-inf, nan)}, QUOTIENT
    ),
    "beta": PinnedDifference(
        call([0.5], [-0.0], [-0.0]),
        {
            "gradient/1": (-inf, nan),
            "gradient/2": (-inf, nan),
            "tangent/0": (-inf, nan),
            "transpose/0": (-inf, nan),
        },
        "XLA drops the 0 with which a sum begins: it stays -0, whose digamma is not that of 0",
    ),
    "relaxed_bernoulli": PinnedDifference(
        call([0.0], [1.0], logits=np.array([1.0])),
        {
            "second/1": (nan, -1.0),
            "second/logits": (nan, 0.0),
            "tangent/0": (-inf, -708.3964185322641),
            "transpose/0": (-inf, -708.3964185322641),
        },
        "torch's derivatives of log1p(exp(708)) overflow from the second on, and forward",
    ),
}
MORE = {
    "continuous_bernoulli": [call([0.5, 0.5], [0.4, 0.8], lims=(0.3, 0.7))],
    "geometric": [call([-inf], logits=np.array([-0.25]))],
    "relaxed_bernoulli": [call([0.0], [2.0], logits=np.array([1.0]))],
    "negative_binomial": [call([2.0], [-inf], logits=np.array([0.5]))],
}
OF_LOGITS = ("geometric", "bernoulli", "binomial", "negative_binomial", "continuous_bernoulli",
             "relaxed_bernoulli")  # fmt: skip
OF_GAMMAS = ("student_t", "gamma", "beta", "binomial", "negative_binomial", "poisson",
             "inverse_gamma", "chi2", "fisher_snedecor")  # fmt: skip


def _drawn(
    ranges: Sequence[Range], *, same: bool = False, logits: bool = False
) -> Callable[..., Sample]:
    """A value and parameters in these ranges, which broadcast; an int is a bound of counts.

    `same`: of one shape, because torch writes into some of its divergences, without broadcasting.
    `logits`: the last one, a probability, may be given by its logits.
    """

    def strategy(draw):
        shapes = draw(broadcast(len(ranges)))
        shapes = [shapes[0] for _ in ranges] if same else shapes
        arrays = [
            draw(integers(shape, 0, r)).astype(float) if isinstance(r, int)
            else draw(floats(shape, *r))
            for r, shape in zip(ranges, shapes, strict=True)
        ]  # fmt: skip
        if logits and draw(st.booleans()):
            *arrays, probs = arrays
            return call(*arrays, logits=np.asarray(np.log(probs / (1 - probs))))
        return call(*arrays)

    strategy.__module__ = __name__
    return strategy


def _log_prob(made: Any) -> Callable[..., Any]:
    return lambda value, *args, **kwargs: made(*args, **kwargs, validate_args=False).log_prob(value)


class _GeneralizedPareto(td.GeneralizedPareto):
    """torch compares the concentration with a number of the default dtype, which must be its."""

    def log_prob(self, value):
        usual = torch.get_default_dtype()
        torch.set_default_dtype(self.concentration.dtype)
        try:
            return super().log_prob(value)
        finally:
            torch.set_default_dtype(usual)


def _divergence(made: Any) -> Callable[..., Any]:
    def of(*args: Any) -> Any:
        half = len(args) // 2
        p, q = (made(*part, validate_args=False) for part in (args[:half], args[half:]))
        return td.kl_divergence(p, q)

    return of


for name, made, ranges, points in (
    ("normal", td.Normal, [ANY, ANY, POSITIVE], [[1.0, inf], [1.0, 0.0], [1.0, 1.0]]),
    ("log_normal", td.LogNormal, [POSITIVE, ANY, POSITIVE], [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
    ("laplace", td.Laplace, [ANY, ANY, POSITIVE], [[1.0, inf], [1.0, 0.0], [1.0, 1.0]]),
    ("cauchy", td.Cauchy, [ANY, ANY, POSITIVE], [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),
    ("student_t", td.StudentT, [ANY, POSITIVE, ANY, POSITIVE], [[1.0], [2.0], [1.0], [1.0]]),
    ("gumbel", td.Gumbel, [ANY, ANY, POSITIVE], [[0.0, inf], [0.0, 0.0], [1.0, 1.0]]),
    ("half_normal", td.HalfNormal, [POSITIVE, POSITIVE], [[0.0, -1.0, 1.0], [1.0, 1.0, 0.0]]),
    ("half_cauchy", td.HalfCauchy, [POSITIVE, POSITIVE], [[0.0, -1.0, 1.0], [1.0, 1.0, 0.0]]),
    ("uniform", td.Uniform, [UNIT, (-1.0, 0.1), (0.9, 2.0)],
        [[0.0, 1.0, -1.0, 0.5], [0.0, 0.0, 0.0, 0.5], [1.0, 1.0, 1.0, 0.5]]),
    ("exponential", td.Exponential, [POSITIVE, POSITIVE], [[0.0, -1.0, 1.0], [1.0, 1.0, 0.0]]),
    ("gamma", td.Gamma, [POSITIVE, POSITIVE, POSITIVE],
        [[0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [1.0, 1.0, 1.0]]),
    ("beta", td.Beta, [UNIT, POSITIVE, POSITIVE],
        [[0.0, 1.0, 0.5], [1.0, 1.0, 2.0], [1.0, 2.0, 1.0]]),
    ("poisson", td.Poisson, [4, POSITIVE], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("geometric", td.Geometric, [4, UNIT], [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
    ("bernoulli", td.Bernoulli, [2, UNIT], [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]),
    ("binomial", td.Binomial, [4, (4.0, 6.0), UNIT],
        [[0.0, 2.0, 3.0], [2.0, 2.0, 2.0], [0.0, 1.0, 0.5]]),
    ("negative_binomial", td.NegativeBinomial, [4, POSITIVE, UNIT],
        [[0.0, 1.0], [0.0, 1.0], [0.5, 0.0]]),
    ("weibull", td.Weibull, [POSITIVE] * 3,
        [[0.0, 1.0, 0.0, inf], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 2.0, 1.0]]),
    ("pareto", td.Pareto, [(3.0, 6.0), POSITIVE, POSITIVE],
        [[0.0, 1.0, inf], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]),
    ("generalized_pareto", _GeneralizedPareto, [POSITIVE, (-2.0, 0.0), POSITIVE, POSITIVE],
        [[1.0, 1.0, 2.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, -1.0]]),
    ("inverse_gamma", td.InverseGamma, [POSITIVE] * 3,
        [[0.0, inf, 1.0], [1.0, 2.0, 0.0], [1.0, 1.0, 1.0]]),
    ("chi2", td.Chi2, [POSITIVE, POSITIVE], [[0.0, 0.0, 1.0], [2.0, 1.0, 0.0]]),
    ("fisher_snedecor", td.FisherSnedecor, [POSITIVE] * 3,
        [[0.0, 1.0, inf], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
    ("kumaraswamy", td.Kumaraswamy, [UNIT, POSITIVE, POSITIVE],
        [[0.0, 1.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]]),
    ("von_mises", td.VonMises, [ANY, ANY, (0.3, 6.0)], [[0.0, 1.0], [0.0, 0.0], [0.0, 3.75]]),
    ("continuous_bernoulli", td.ContinuousBernoulli, [UNIT, UNIT],
        [[0.0, 1.0, 0.5, 0.5, 0.5], [0.5, 0.0, 1.0, 0.499, 0.501]]),
    ("relaxed_bernoulli", td.RelaxedBernoulli, [UNIT, POSITIVE, UNIT],
        [[1.0, 0.5, 0.5], [1.0, 0.0, 1.0], [0.5, 0.5, 1.0]]),
):  # fmt: skip
    operator(
        f"distributions.{name}_log_prob",
        max_programs=4 if name in OF_LOGITS else 3,
        torch=_log_prob(made),
        elementwise=True,
        points=[call(*points), *MORE.get(name, [])],
        differences=[DIFFERENCES[name]] if name in DIFFERENCES else [],
        dtypes=WIDE,
        tolerance=GAMMAS if name in OF_GAMMAS else NEAR_HALF if name in OF_HALF else {},
    )(_drawn(ranges, logits=name in OF_LOGITS))


ZERO = [[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]


def _classes(draw):
    """The word probs or logits, and one of both for 2 or 3 classes."""
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    word = draw(st.sampled_from(["probs", "logits"]))
    return {word: draw(floats(shape, *(UNIT if word == "probs" else ANY)))}


@operator(
    "distributions.categorical_log_prob",
    max_programs=3,
    torch=_log_prob(td.Categorical),
    points=[call(np.array([0, 1]), ZERO), call(np.array([0, 1]), logits=[[-inf, 0.0], [0.0, 1.0]])],
    dtypes=WIDE,
)
def categorical(draw):
    more = _classes(draw)
    (x,) = more.values()
    return call(draw(integers(x.shape[:-1], 0, x.shape[-1])), **more)


def _multinomial(value, probs=None, logits=None):
    made = td.Multinomial(1, probs, logits, validate_args=False)
    return made.log_prob(value)


@operator(
    "distributions.multinomial_log_prob",
    max_programs=3,
    torch=_multinomial,
    points=[call([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]], ZERO)],
    dtypes=WIDE,
)
def multinomial(draw):
    more = _classes(draw)
    (x,) = more.values()
    return call(draw(integers(x.shape, 0, 3)).astype(float), **more)


@operator(
    "distributions.dirichlet_log_prob",
    max_programs=3,
    torch=_log_prob(td.Dirichlet),
    points=[call([[0.0, 1.0], [0.5, 0.5]], [[1.0, 1.0], [2.0, 1.0]])],
    dtypes=WIDE,
    tolerance=GAMMAS,
)
def dirichlet(draw):
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    return call(draw(floats(shape, *UNIT)), draw(floats(shape, *POSITIVE)))


def _factor(draw, n):
    return np.tril(draw(floats((n, n), -1, 1))) + 2 * np.eye(n)


@operator(
    "distributions.multivariate_normal_log_prob",
    max_programs=3,
    torch=_log_prob(td.MultivariateNormal),
    forward_mode="torch's forward mode of cholesky takes the tangent as it is",
    dtypes=WIDE,
)
def multivariate_normal(draw):
    n = draw(st.integers(1, 3))
    factor = _factor(draw, n)
    loc = draw(floats((n,)))
    x = draw(floats((draw(st.integers(1, 2)), n)))
    if draw(st.booleans()):
        return call(x, loc, scale_tril=factor)
    return call(x, loc, factor @ factor.T)


for name, made, ranges, points in (
    ("normal", td.Normal, [ANY, POSITIVE, ANY, POSITIVE], [[1.0], [0.0], [1.0], [1.0]]),
    ("laplace", td.Laplace, [ANY, POSITIVE, ANY, POSITIVE], [[1.0], [1.0], [1.0], [1.0]]),
    ("gumbel", td.Gumbel, [ANY, POSITIVE, ANY, POSITIVE], [[1.0], [1.0], [1.0], [1.0]]),
    ("cauchy", td.Cauchy, [ANY, POSITIVE, ANY, POSITIVE], [[1.0], [1.0], [1.0], [1.0]]),
    ("exponential", td.Exponential, [POSITIVE, POSITIVE], [[0.0], [1.0]]),
    ("poisson", td.Poisson, [POSITIVE, POSITIVE], [[1.0, 1.0], [0.0, 1.0]]),
    ("gamma", td.Gamma, [POSITIVE] * 4, [[1.0], [1.0], [1.0], [1.0]]),
    ("beta", td.Beta, [POSITIVE] * 4, [[1.0], [1.0], [1.0], [1.0]]),
    ("uniform", td.Uniform, [(0.1, 0.4), (0.5, 1.0), (-1.0, 0.1), (1.0, 2.0)],
        [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0], [2.0, 1.0]]),
    ("bernoulli", td.Bernoulli, [UNIT, UNIT], [[0.0, 1.0, 0.5, 0.5], [0.5, 0.5, 0.0, 1.0]]),
    ("geometric", td.Geometric, [UNIT, UNIT], [[0.5], [0.5]]),
):  # fmt: skip
    operator(
        f"distributions.{name}_kl_divergence",
        max_programs=3,
        torch=_divergence(made),
        elementwise=True,
        points=[call(*points)],
        dtypes=WIDE,
        tolerance=GAMMAS if name in (*OF_GAMMAS, "gumbel") else {},
    )(_drawn(ranges, same=True))


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
    return call(*(x for _ in "pq" for x in (draw(floats((n,))), _factor(draw, n))))
