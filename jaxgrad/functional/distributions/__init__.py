"""Log-probabilities and KL divergences of `torch.distributions`, as functions."""

from jaxgrad.functional.distributions.circular import von_mises_log_prob as von_mises_log_prob
from jaxgrad.functional.distributions.discrete import bernoulli_log_prob as bernoulli_log_prob
from jaxgrad.functional.distributions.discrete import binomial_log_prob as binomial_log_prob
from jaxgrad.functional.distributions.discrete import categorical_log_prob as categorical_log_prob
from jaxgrad.functional.distributions.discrete import geometric_log_prob as geometric_log_prob
from jaxgrad.functional.distributions.discrete import multinomial_log_prob as multinomial_log_prob
from jaxgrad.functional.distributions.discrete import (
    negative_binomial_log_prob as negative_binomial_log_prob,
)
from jaxgrad.functional.distributions.discrete import poisson_log_prob as poisson_log_prob
from jaxgrad.functional.distributions.gamma_beta_dirichlet import beta_log_prob as beta_log_prob
from jaxgrad.functional.distributions.gamma_beta_dirichlet import (
    dirichlet_log_prob as dirichlet_log_prob,
)
from jaxgrad.functional.distributions.gamma_beta_dirichlet import (
    exponential_log_prob as exponential_log_prob,
)
from jaxgrad.functional.distributions.gamma_beta_dirichlet import gamma_log_prob as gamma_log_prob
from jaxgrad.functional.distributions.kl_divergence import (
    bernoulli_kl_divergence as bernoulli_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import beta_kl_divergence as beta_kl_divergence
from jaxgrad.functional.distributions.kl_divergence import (
    categorical_kl_divergence as categorical_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    cauchy_kl_divergence as cauchy_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    dirichlet_kl_divergence as dirichlet_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    exponential_kl_divergence as exponential_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    gamma_kl_divergence as gamma_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    geometric_kl_divergence as geometric_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    gumbel_kl_divergence as gumbel_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    laplace_kl_divergence as laplace_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    multivariate_normal_kl_divergence as multivariate_normal_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    normal_kl_divergence as normal_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    poisson_kl_divergence as poisson_kl_divergence,
)
from jaxgrad.functional.distributions.kl_divergence import (
    uniform_kl_divergence as uniform_kl_divergence,
)
from jaxgrad.functional.distributions.multivariate import (
    lkj_cholesky_log_prob as lkj_cholesky_log_prob,
)
from jaxgrad.functional.distributions.multivariate import (
    low_rank_multivariate_normal_log_prob as low_rank_multivariate_normal_log_prob,
)
from jaxgrad.functional.distributions.multivariate import (
    multivariate_normal_log_prob as multivariate_normal_log_prob,
)
from jaxgrad.functional.distributions.multivariate import wishart_log_prob as wishart_log_prob
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    cauchy_log_prob as cauchy_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    gumbel_log_prob as gumbel_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    laplace_log_prob as laplace_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    normal_log_prob as normal_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    student_t_log_prob as student_t_log_prob,
)
from jaxgrad.functional.distributions.normal_laplace_uniform import (
    uniform_log_prob as uniform_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import chi2_log_prob as chi2_log_prob
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    fisher_snedecor_log_prob as fisher_snedecor_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    generalized_pareto_log_prob as generalized_pareto_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    half_cauchy_log_prob as half_cauchy_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    half_normal_log_prob as half_normal_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    inverse_gamma_log_prob as inverse_gamma_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    log_normal_log_prob as log_normal_log_prob,
)
from jaxgrad.functional.distributions.positive_chi2_pareto import pareto_log_prob as pareto_log_prob
from jaxgrad.functional.distributions.positive_chi2_pareto import (
    weibull_log_prob as weibull_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    continuous_bernoulli_log_prob as continuous_bernoulli_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    kumaraswamy_log_prob as kumaraswamy_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    logistic_normal_log_prob as logistic_normal_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    one_hot_categorical_log_prob as one_hot_categorical_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    relaxed_bernoulli_log_prob as relaxed_bernoulli_log_prob,
)
from jaxgrad.functional.distributions.relaxed_unit_interval import (
    relaxed_one_hot_categorical_log_prob as relaxed_one_hot_categorical_log_prob,
)


def __dir__() -> list[str]:
    """List the operators but not the submodules that define them."""
    return [name for name, value in globals().items() if callable(value) and name[0] != "_"]
