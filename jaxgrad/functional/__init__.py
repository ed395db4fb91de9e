"""torch's operators with torch's names, defaults and gradient conventions, as JAX functions.

`torch.x` and `torch.nn.functional.x` are `functional.x`; `torch.linalg.x`, `torch.special.x` and
`torch.fft.x` are in the namespaces of the same names. `out=` and `inplace=` are left out.
Where torch has no kernel for a kind of numbers (booleans, integers, complex), NotImplementedError
is raised, and RuntimeError where it wants arguments of one dtype. Subnormal numbers are zeros: so
XLA has them on the CPU.
"""

from jaxgrad.functional import _conventions
from jaxgrad.functional import distributions as distributions
from jaxgrad.functional import fft as fft
from jaxgrad.functional import linalg as linalg
from jaxgrad.functional import special as special
from jaxgrad.functional.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from jaxgrad.functional.adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from jaxgrad.functional.adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from jaxgrad.functional.adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from jaxgrad.functional.adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from jaxgrad.functional.adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from jaxgrad.functional.added_products import addbmm as addbmm
from jaxgrad.functional.added_products import addmm as addmm
from jaxgrad.functional.added_products import addmv as addmv
from jaxgrad.functional.added_products import addr as addr
from jaxgrad.functional.added_products import baddbmm as baddbmm
from jaxgrad.functional.arithmetic import add as add
from jaxgrad.functional.arithmetic import deg2rad as deg2rad
from jaxgrad.functional.arithmetic import div as div
from jaxgrad.functional.arithmetic import erf as erf
from jaxgrad.functional.arithmetic import erfc as erfc
from jaxgrad.functional.arithmetic import erfinv as erfinv
from jaxgrad.functional.arithmetic import heaviside as heaviside
from jaxgrad.functional.arithmetic import logit as logit
from jaxgrad.functional.arithmetic import mul as mul
from jaxgrad.functional.arithmetic import rad2deg as rad2deg
from jaxgrad.functional.arithmetic import sub as sub
from jaxgrad.functional.arithmetic import true_divide as true_divide
from jaxgrad.functional.arrange import diag as diag
from jaxgrad.functional.arrange import flip as flip
from jaxgrad.functional.arrange import repeat_interleave as repeat_interleave
from jaxgrad.functional.arrange import roll as roll
from jaxgrad.functional.arrange import tril as tril
from jaxgrad.functional.arrange import triu as triu
from jaxgrad.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from jaxgrad.functional.average_pools import avg_pool1d as avg_pool1d
from jaxgrad.functional.average_pools import avg_pool2d as avg_pool2d
from jaxgrad.functional.average_pools import avg_pool3d as avg_pool3d
from jaxgrad.functional.batch_norms import batch_norm as batch_norm
from jaxgrad.functional.batch_norms import instance_norm as instance_norm
from jaxgrad.functional.bessel import i0 as i0
from jaxgrad.functional.binary_losses import binary_cross_entropy as binary_cross_entropy
from jaxgrad.functional.binary_losses import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from jaxgrad.functional.binary_losses import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from jaxgrad.functional.binary_losses import soft_margin_loss as soft_margin_loss
from jaxgrad.functional.bounds import clamp as clamp
from jaxgrad.functional.bounds import clamp_max as clamp_max
from jaxgrad.functional.bounds import clamp_min as clamp_min
from jaxgrad.functional.bounds import fmax as fmax
from jaxgrad.functional.bounds import fmin as fmin
from jaxgrad.functional.bounds import maximum as maximum
from jaxgrad.functional.bounds import minimum as minimum
from jaxgrad.functional.cholesky_factors import cholesky_inverse as cholesky_inverse
from jaxgrad.functional.cholesky_factors import cholesky_solve as cholesky_solve
from jaxgrad.functional.classification import cross_entropy as cross_entropy
from jaxgrad.functional.classification import nll_loss as nll_loss
from jaxgrad.functional.complex_numbers import angle as angle
from jaxgrad.functional.complex_numbers import complex as complex
from jaxgrad.functional.complex_numbers import conj as conj
from jaxgrad.functional.complex_numbers import imag as imag
from jaxgrad.functional.complex_numbers import polar as polar
from jaxgrad.functional.complex_numbers import real as real
from jaxgrad.functional.complex_numbers import sgn as sgn
from jaxgrad.functional.complex_numbers import view_as_complex as view_as_complex
from jaxgrad.functional.complex_numbers import view_as_real as view_as_real
from jaxgrad.functional.convolution import conv1d as conv1d
from jaxgrad.functional.convolution import conv2d as conv2d
from jaxgrad.functional.convolution import conv3d as conv3d
from jaxgrad.functional.ctc import ctc_loss as ctc_loss
from jaxgrad.functional.determinants import det as det
from jaxgrad.functional.determinants import logdet as logdet
from jaxgrad.functional.determinants import slogdet as slogdet
from jaxgrad.functional.diagonals import diag_embed as diag_embed
from jaxgrad.functional.diagonals import diagflat as diagflat
from jaxgrad.functional.diagonals import diagonal as diagonal
from jaxgrad.functional.diagonals import trace as trace
from jaxgrad.functional.distances import cdist as cdist
from jaxgrad.functional.distances import cosine_similarity as cosine_similarity
from jaxgrad.functional.distances import pairwise_distance as pairwise_distance
from jaxgrad.functional.distances import pdist as pdist
from jaxgrad.functional.dropouts import alpha_dropout as alpha_dropout
from jaxgrad.functional.dropouts import dropout as dropout
from jaxgrad.functional.dropouts import dropout1d as dropout1d
from jaxgrad.functional.dropouts import dropout2d as dropout2d
from jaxgrad.functional.dropouts import dropout3d as dropout3d
from jaxgrad.functional.dropouts import feature_alpha_dropout as feature_alpha_dropout
from jaxgrad.functional.embedding_bags import embedding_bag as embedding_bag
from jaxgrad.functional.embeddings import embedding as embedding
from jaxgrad.functional.embeddings import one_hot as one_hot
from jaxgrad.functional.exponential_units import celu as celu
from jaxgrad.functional.exponential_units import elu as elu
from jaxgrad.functional.exponential_units import selu as selu
from jaxgrad.functional.exponents import float_power as float_power
from jaxgrad.functional.exponents import frexp as frexp
from jaxgrad.functional.exponents import ldexp as ldexp
from jaxgrad.functional.exponents import logaddexp2 as logaddexp2
from jaxgrad.functional.exponents import neg as neg
from jaxgrad.functional.extrema import amax as amax
from jaxgrad.functional.extrema import amin as amin
from jaxgrad.functional.extrema import aminmax as aminmax
from jaxgrad.functional.extrema import max as max
from jaxgrad.functional.extrema import min as min

# Second names, as torch has them.
from jaxgrad.functional.fake_quantize import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from jaxgrad.functional.fake_quantize import (
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
)
from jaxgrad.functional.folds import fold as fold
from jaxgrad.functional.folds import unfold as unfold
from jaxgrad.functional.fractional import fractional_max_pool2d as fractional_max_pool2d
from jaxgrad.functional.fractional import fractional_max_pool3d as fractional_max_pool3d
from jaxgrad.functional.gammas import digamma as digamma
from jaxgrad.functional.gammas import igamma as igamma
from jaxgrad.functional.gammas import igammac as igammac
from jaxgrad.functional.gammas import lgamma as lgamma
from jaxgrad.functional.gammas import mvlgamma as mvlgamma
from jaxgrad.functional.gammas import polygamma as polygamma
from jaxgrad.functional.gated import gelu as gelu
from jaxgrad.functional.gated import glu as glu
from jaxgrad.functional.gated import hardswish as hardswish
from jaxgrad.functional.gated import mish as mish
from jaxgrad.functional.gated import silu as silu
from jaxgrad.functional.hyperbolic import acosh as acosh
from jaxgrad.functional.hyperbolic import asinh as asinh
from jaxgrad.functional.hyperbolic import atanh as atanh
from jaxgrad.functional.hyperbolic import cosh as cosh
from jaxgrad.functional.hyperbolic import sinh as sinh
from jaxgrad.functional.index_writes import index_add as index_add
from jaxgrad.functional.index_writes import index_copy as index_copy
from jaxgrad.functional.index_writes import index_fill as index_fill
from jaxgrad.functional.indexing import gather as gather
from jaxgrad.functional.indexing import index_select as index_select
from jaxgrad.functional.indexing import take as take
from jaxgrad.functional.indexing import take_along_dim as take_along_dim
from jaxgrad.functional.layer_norms import group_norm as group_norm
from jaxgrad.functional.layer_norms import layer_norm as layer_norm
from jaxgrad.functional.layer_norms import local_response_norm as local_response_norm
from jaxgrad.functional.layer_norms import rms_norm as rms_norm
from jaxgrad.functional.likelihood_losses import gaussian_nll_loss as gaussian_nll_loss
from jaxgrad.functional.likelihood_losses import kl_div as kl_div
from jaxgrad.functional.likelihood_losses import poisson_nll_loss as poisson_nll_loss
from jaxgrad.functional.linears import bilinear as bilinear
from jaxgrad.functional.linears import linear as linear
from jaxgrad.functional.logarithms import exp as exp
from jaxgrad.functional.logarithms import exp2 as exp2
from jaxgrad.functional.logarithms import expm1 as expm1
from jaxgrad.functional.logarithms import log as log
from jaxgrad.functional.logarithms import log1p as log1p
from jaxgrad.functional.logarithms import log2 as log2
from jaxgrad.functional.logarithms import log10 as log10
from jaxgrad.functional.logical import all as all
from jaxgrad.functional.logical import any as any
from jaxgrad.functional.logical import count_nonzero as count_nonzero
from jaxgrad.functional.lp_pools import lp_pool1d as lp_pool1d
from jaxgrad.functional.lp_pools import lp_pool2d as lp_pool2d
from jaxgrad.functional.lp_pools import lp_pool3d as lp_pool3d
from jaxgrad.functional.margin_losses import hinge_embedding_loss as hinge_embedding_loss
from jaxgrad.functional.margin_losses import margin_ranking_loss as margin_ranking_loss
from jaxgrad.functional.margin_losses import multi_margin_loss as multi_margin_loss
from jaxgrad.functional.margin_losses import multilabel_margin_loss as multilabel_margin_loss
from jaxgrad.functional.masks import masked_fill as masked_fill
from jaxgrad.functional.masks import masked_scatter as masked_scatter
from jaxgrad.functional.masks import masked_select as masked_select
from jaxgrad.functional.masks import nan_to_num as nan_to_num
from jaxgrad.functional.masks import where as where
from jaxgrad.functional.max_pools import max_pool1d as max_pool1d
from jaxgrad.functional.max_pools import max_pool2d as max_pool2d
from jaxgrad.functional.max_pools import max_pool3d as max_pool3d
from jaxgrad.functional.max_unpools import max_unpool1d as max_unpool1d
from jaxgrad.functional.max_unpools import max_unpool2d as max_unpool2d
from jaxgrad.functional.max_unpools import max_unpool3d as max_unpool3d
from jaxgrad.functional.medians import kthvalue as kthvalue
from jaxgrad.functional.medians import median as median
from jaxgrad.functional.medians import mode as mode
from jaxgrad.functional.medians import nanmedian as nanmedian
from jaxgrad.functional.metric_losses import cosine_embedding_loss as cosine_embedding_loss
from jaxgrad.functional.metric_losses import triplet_margin_loss as triplet_margin_loss
from jaxgrad.functional.metric_losses import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from jaxgrad.functional.moments import std as std
from jaxgrad.functional.moments import std_mean as std_mean
from jaxgrad.functional.moments import var as var
from jaxgrad.functional.moments import var_mean as var_mean
from jaxgrad.functional.multihead import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from jaxgrad.functional.norms import norm as norm
from jaxgrad.functional.older_names import chain_matmul as chain_matmul
from jaxgrad.functional.older_names import cross as cross
from jaxgrad.functional.older_names import lu_solve as lu_solve
from jaxgrad.functional.older_names import lu_unpack as lu_unpack
from jaxgrad.functional.older_names import pinverse as pinverse
from jaxgrad.functional.older_names import qr as qr
from jaxgrad.functional.older_names import svd as svd
from jaxgrad.functional.older_names import triangular_solve as triangular_solve
from jaxgrad.functional.padding import pad as pad
from jaxgrad.functional.powers import pow as pow
from jaxgrad.functional.products import bmm as bmm
from jaxgrad.functional.products import einsum as einsum
from jaxgrad.functional.products import kron as kron
from jaxgrad.functional.products import matmul as matmul
from jaxgrad.functional.products import mm as mm
from jaxgrad.functional.products import mv as mv
from jaxgrad.functional.products import tensordot as tensordot
from jaxgrad.functional.projected_losses import linear_cross_entropy as linear_cross_entropy
from jaxgrad.functional.quantiles import nanquantile as nanquantile
from jaxgrad.functional.quantiles import quantile as quantile
from jaxgrad.functional.rectifiers import hardtanh as hardtanh
from jaxgrad.functional.rectifiers import leaky_relu as leaky_relu
from jaxgrad.functional.rectifiers import prelu as prelu
from jaxgrad.functional.rectifiers import relu as relu
from jaxgrad.functional.rectifiers import relu6 as relu6
from jaxgrad.functional.rectifiers import rrelu as rrelu
from jaxgrad.functional.rectifiers import threshold as threshold
from jaxgrad.functional.recurrent import gru_cell as gru_cell
from jaxgrad.functional.recurrent import lstm_cell as lstm_cell
from jaxgrad.functional.recurrent import rnn_relu_cell as rnn_relu_cell
from jaxgrad.functional.recurrent import rnn_tanh_cell as rnn_tanh_cell
from jaxgrad.functional.regression_losses import huber_loss as huber_loss
from jaxgrad.functional.regression_losses import l1_loss as l1_loss
from jaxgrad.functional.regression_losses import mse_loss as mse_loss
from jaxgrad.functional.regression_losses import smooth_l1_loss as smooth_l1_loss
from jaxgrad.functional.resize import interpolate as interpolate
from jaxgrad.functional.resize import upsample as upsample
from jaxgrad.functional.roots import reciprocal as reciprocal
from jaxgrad.functional.roots import rsqrt as rsqrt
from jaxgrad.functional.roots import sqrt as sqrt
from jaxgrad.functional.roots import square as square
from jaxgrad.functional.rounding import ceil as ceil
from jaxgrad.functional.rounding import floor as floor
from jaxgrad.functional.rounding import fmod as fmod
from jaxgrad.functional.rounding import frac as frac
from jaxgrad.functional.rounding import remainder as remainder
from jaxgrad.functional.rounding import round as round
from jaxgrad.functional.rounding import trunc as trunc
from jaxgrad.functional.running import cumprod as cumprod
from jaxgrad.functional.running import cumsum as cumsum
from jaxgrad.functional.running import cumulative_trapezoid as cumulative_trapezoid
from jaxgrad.functional.running import diff as diff
from jaxgrad.functional.running import logcumsumexp as logcumsumexp
from jaxgrad.functional.running import trapezoid as trapezoid
from jaxgrad.functional.running_extrema import cummax as cummax
from jaxgrad.functional.running_extrema import cummin as cummin
from jaxgrad.functional.sampling import affine_grid as affine_grid
from jaxgrad.functional.sampling import grid_sample as grid_sample
from jaxgrad.functional.scatter_reduces import index_reduce as index_reduce
from jaxgrad.functional.scatter_reduces import scatter_reduce as scatter_reduce
from jaxgrad.functional.scatters import index_put as index_put
from jaxgrad.functional.scatters import put as put
from jaxgrad.functional.scatters import scatter as scatter
from jaxgrad.functional.scatters import scatter_add as scatter_add
from jaxgrad.functional.short_time_fourier import istft as istft
from jaxgrad.functional.short_time_fourier import stft as stft
from jaxgrad.functional.shrinks import hardshrink as hardshrink
from jaxgrad.functional.shrinks import softshrink as softshrink
from jaxgrad.functional.shrinks import tanhshrink as tanhshrink
from jaxgrad.functional.shuffles import channel_shuffle as channel_shuffle
from jaxgrad.functional.shuffles import pixel_shuffle as pixel_shuffle
from jaxgrad.functional.shuffles import pixel_unshuffle as pixel_unshuffle
from jaxgrad.functional.sigmoids import hardsigmoid as hardsigmoid
from jaxgrad.functional.sigmoids import logsigmoid as logsigmoid
from jaxgrad.functional.sigmoids import sigmoid as sigmoid
from jaxgrad.functional.sigmoids import softplus as softplus
from jaxgrad.functional.sigmoids import softsign as softsign
from jaxgrad.functional.sigmoids import tanh as tanh
from jaxgrad.functional.signs import abs as abs
from jaxgrad.functional.signs import copysign as copysign
from jaxgrad.functional.signs import sign as sign
from jaxgrad.functional.singularities import atan2 as atan2
from jaxgrad.functional.singularities import hypot as hypot
from jaxgrad.functional.singularities import logaddexp as logaddexp
from jaxgrad.functional.singularities import sinc as sinc
from jaxgrad.functional.singularities import xlogy as xlogy
from jaxgrad.functional.slice_scatters import diagonal_scatter as diagonal_scatter
from jaxgrad.functional.slice_scatters import select_scatter as select_scatter
from jaxgrad.functional.slice_scatters import slice_scatter as slice_scatter
from jaxgrad.functional.softmaxes import gumbel_softmax as gumbel_softmax
from jaxgrad.functional.softmaxes import log_softmax as log_softmax
from jaxgrad.functional.softmaxes import softmax as softmax
from jaxgrad.functional.softmaxes import softmin as softmin
from jaxgrad.functional.sorting import argsort as argsort
from jaxgrad.functional.sorting import msort as msort
from jaxgrad.functional.sorting import sort as sort
from jaxgrad.functional.sorting import topk as topk
from jaxgrad.functional.statistics import corrcoef as corrcoef
from jaxgrad.functional.statistics import cov as cov
from jaxgrad.functional.statistics import gradient as gradient
from jaxgrad.functional.sums import logsumexp as logsumexp
from jaxgrad.functional.sums import mean as mean
from jaxgrad.functional.sums import nanmean as nanmean
from jaxgrad.functional.sums import nansum as nansum
from jaxgrad.functional.sums import prod as prod
from jaxgrad.functional.sums import sum as sum
from jaxgrad.functional.transposed_convolution import conv_transpose1d as conv_transpose1d
from jaxgrad.functional.transposed_convolution import conv_transpose2d as conv_transpose2d
from jaxgrad.functional.transposed_convolution import conv_transpose3d as conv_transpose3d
from jaxgrad.functional.trigonometric import acos as acos
from jaxgrad.functional.trigonometric import asin as asin
from jaxgrad.functional.trigonometric import atan as atan
from jaxgrad.functional.trigonometric import cos as cos
from jaxgrad.functional.trigonometric import sin as sin
from jaxgrad.functional.trigonometric import tan as tan
from jaxgrad.functional.vector_norms import dist as dist
from jaxgrad.functional.vector_norms import normalize as normalize
from jaxgrad.functional.vector_norms import renorm as renorm
from jaxgrad.functional.vector_products import dot as dot
from jaxgrad.functional.vector_products import inner as inner
from jaxgrad.functional.vector_products import outer as outer
from jaxgrad.functional.vector_products import vdot as vdot
from jaxgrad.functional.weighted import addcdiv as addcdiv
from jaxgrad.functional.weighted import addcmul as addcmul
from jaxgrad.functional.weighted import lerp as lerp


# Second names, as torch has them.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
clip = clamp
divide = div
fix = trunc
ger = outer
inverse = linalg.inv
matrix_exp = linalg.matrix_exp
matrix_power = linalg.matrix_power
multiply = mul
negative = neg
orgqr = linalg.householder_product
subtract = sub
trapz = trapezoid


_conventions.into_docstrings(globals())
