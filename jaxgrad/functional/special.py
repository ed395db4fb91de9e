"""The functions of `torch.special` under the same names."""

from jaxgrad.functional.activation.sigmoid_tanh_softplus import logit as logit
from jaxgrad.functional.activation.sigmoid_tanh_softplus import sigmoid as _sigmoid
from jaxgrad.functional.activation.softmax import log_softmax as _log_softmax
from jaxgrad.functional.activation.softmax import softmax as _softmax
from jaxgrad.functional.pointwise.bessel import i0 as i0
from jaxgrad.functional.pointwise.bessel import i0e as i0e
from jaxgrad.functional.pointwise.bessel import i1 as i1
from jaxgrad.functional.pointwise.bessel import i1e as i1e
from jaxgrad.functional.pointwise.erf_ndtr import erf as erf
from jaxgrad.functional.pointwise.erf_ndtr import erfc as erfc
from jaxgrad.functional.pointwise.erf_ndtr import erfcx as erfcx
from jaxgrad.functional.pointwise.erf_ndtr import erfinv as erfinv
from jaxgrad.functional.pointwise.erf_ndtr import log_ndtr as log_ndtr
from jaxgrad.functional.pointwise.erf_ndtr import ndtr as ndtr
from jaxgrad.functional.pointwise.erf_ndtr import ndtri as ndtri
from jaxgrad.functional.pointwise.exp_log import exp2 as exp2
from jaxgrad.functional.pointwise.exp_log import expm1 as expm1
from jaxgrad.functional.pointwise.exp_log import log1p as log1p
from jaxgrad.functional.pointwise.gamma_zeta import digamma as digamma
from jaxgrad.functional.pointwise.gamma_zeta import igamma as _igamma
from jaxgrad.functional.pointwise.gamma_zeta import igammac as _igammac
from jaxgrad.functional.pointwise.gamma_zeta import lgamma as _lgamma
from jaxgrad.functional.pointwise.gamma_zeta import mvlgamma as _mvlgamma
from jaxgrad.functional.pointwise.gamma_zeta import polygamma as polygamma
from jaxgrad.functional.pointwise.gamma_zeta import zeta as zeta
from jaxgrad.functional.pointwise.rounding_remainder import round as round
from jaxgrad.functional.pointwise.trigonometric import sinc as sinc
from jaxgrad.functional.pointwise.xlogy_entr import entr as entr
from jaxgrad.functional.pointwise.xlogy_entr import xlog1py as xlog1py
from jaxgrad.functional.pointwise.xlogy_entr import xlogy as xlogy
from jaxgrad.functional.reduction.sum_mean_prod import logsumexp as logsumexp


expit = _sigmoid
psi = digamma
gammaln = _lgamma
gammainc = _igamma
gammaincc = _igammac
multigammaln = _mvlgamma
softmax = _softmax
log_softmax = _log_softmax


def __dir__() -> list[str]:
    """List the operators without the files that define them."""
    return [name for name, value in globals().items() if callable(value) and name[0] != "_"]
