"""Log-probabilities and divergences of `torch.distributions`, as functions."""

from jaxgrad.functional.discrete_log_probs import bernoulli_log_prob as bernoulli_log_prob
from jaxgrad.functional.discrete_log_probs import binomial_log_prob as binomial_log_prob
from jaxgrad.functional.discrete_log_probs import categorical_log_prob as categorical_log_prob
from jaxgrad.functional.discrete_log_probs import geometric_log_prob as geometric_log_prob
from jaxgrad.functional.discrete_log_probs import multinomial_log_prob as multinomial_log_prob
from jaxgrad.functional.discrete_log_probs import (
    negative_binomial_log_prob as negative_binomial_log_prob,
)
from jaxgrad.functional.discrete_log_probs import poisson_log_prob as poisson_log_prob
from jaxgrad.functional.divergences import bernoulli_kl_divergence as bernoulli_kl_divergence
from jaxgrad.functional.divergences import beta_kl_divergence as beta_kl_divergence
from jaxgrad.functional.divergences import categorical_kl_divergence as categorical_kl_divergence
from jaxgrad.functional.divergences import cauchy_kl_divergence as cauchy_kl_divergence
from jaxgrad.functional.divergences import dirichlet_kl_divergence as dirichlet_kl_divergence
from jaxgrad.functional.divergences import exponential_kl_divergence as exponential_kl_divergence
from jaxgrad.functional.divergences import gamma_kl_divergence as gamma_kl_divergence
from jaxgrad.functional.divergences import geometric_kl_divergence as geometric_kl_divergence
from jaxgrad.functional.divergences import gumbel_kl_divergence as gumbel_kl_divergence
from jaxgrad.functional.divergences import laplace_kl_divergence as laplace_kl_divergence
from jaxgrad.functional.divergences import (
    multivariate_normal_kl_divergence as multivariate_normal_kl_divergence,
)
from jaxgrad.functional.divergences import normal_kl_divergence as normal_kl_divergence
from jaxgrad.functional.divergences import poisson_kl_divergence as poisson_kl_divergence
from jaxgrad.functional.divergences import uniform_kl_divergence as uniform_kl_divergence
from jaxgrad.functional.gamma_log_probs import beta_log_prob as beta_log_prob
from jaxgrad.functional.gamma_log_probs import dirichlet_log_prob as dirichlet_log_prob
from jaxgrad.functional.gamma_log_probs import exponential_log_prob as exponential_log_prob
from jaxgrad.functional.gamma_log_probs import gamma_log_prob as gamma_log_prob
from jaxgrad.functional.log_probs import cauchy_log_prob as cauchy_log_prob
from jaxgrad.functional.log_probs import gumbel_log_prob as gumbel_log_prob
from jaxgrad.functional.log_probs import half_cauchy_log_prob as half_cauchy_log_prob
from jaxgrad.functional.log_probs import half_normal_log_prob as half_normal_log_prob
from jaxgrad.functional.log_probs import laplace_log_prob as laplace_log_prob
from jaxgrad.functional.log_probs import log_normal_log_prob as log_normal_log_prob
from jaxgrad.functional.log_probs import (
    multivariate_normal_log_prob as multivariate_normal_log_prob,
)
from jaxgrad.functional.log_probs import normal_log_prob as normal_log_prob
from jaxgrad.functional.log_probs import student_t_log_prob as student_t_log_prob
from jaxgrad.functional.log_probs import uniform_log_prob as uniform_log_prob
