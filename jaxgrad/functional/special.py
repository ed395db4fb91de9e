"""`torch.special`, name by name."""

from jaxgrad.functional.arithmetic import erf as erf
from jaxgrad.functional.arithmetic import erfc as erfc
from jaxgrad.functional.arithmetic import erfinv as erfinv
from jaxgrad.functional.arithmetic import logit as logit
from jaxgrad.functional.bessel import i0 as i0
from jaxgrad.functional.bessel import i0e as i0e
from jaxgrad.functional.bessel import i1 as i1
from jaxgrad.functional.bessel import i1e as i1e
from jaxgrad.functional.gammas import digamma as digamma
from jaxgrad.functional.gammas import igamma as _igamma
from jaxgrad.functional.gammas import igammac as _igammac
from jaxgrad.functional.gammas import lgamma as _lgamma
from jaxgrad.functional.gammas import mvlgamma as _mvlgamma
from jaxgrad.functional.gammas import polygamma as polygamma
from jaxgrad.functional.gammas import zeta as zeta
from jaxgrad.functional.logarithms import exp2 as exp2
from jaxgrad.functional.logarithms import expm1 as expm1
from jaxgrad.functional.logarithms import log1p as log1p
from jaxgrad.functional.normals import entr as entr
from jaxgrad.functional.normals import erfcx as erfcx
from jaxgrad.functional.normals import log_ndtr as log_ndtr
from jaxgrad.functional.normals import ndtr as ndtr
from jaxgrad.functional.normals import ndtri as ndtri
from jaxgrad.functional.normals import xlog1py as xlog1py
from jaxgrad.functional.rounding import round as round
from jaxgrad.functional.sigmoids import sigmoid as _sigmoid
from jaxgrad.functional.singularities import sinc as sinc
from jaxgrad.functional.singularities import xlogy as xlogy
from jaxgrad.functional.softmaxes import log_softmax as _log_softmax
from jaxgrad.functional.softmaxes import softmax as _softmax
from jaxgrad.functional.sums import logsumexp as logsumexp


expit = _sigmoid
psi = digamma
gammaln = _lgamma
gammainc = _igamma
gammaincc = _igammac
multigammaln = _mvlgamma
softmax = _softmax
log_softmax = _log_softmax
