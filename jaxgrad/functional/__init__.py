"""torch's operators with torch's names, defaults and gradient conventions, as JAX functions.

`functional.x` is `torch.x` or `torch.nn.functional.x`; the namespaces `linalg`, `special`, `fft`
and `distributions` match torch's modules of these names. `out=` and `inplace=` are omitted.
Operators raise NotImplementedError for dtypes that torch has no kernel for (booleans, integers or
complex numbers), and RuntimeError where torch requires arguments of one dtype. Subnormal numbers
are flushed to zero, as XLA does on the CPU.

The gradients are those of the newest supported torch. `functional.at("2.13")` has the operators
with the gradients of an older version; docs/versions.md lists the differences.
"""

import typing as _typing

from jaxgrad._core import suggestions as _suggestions
from jaxgrad.functional import distributions as distributions
from jaxgrad.functional import fft as fft
from jaxgrad.functional import linalg as linalg
from jaxgrad.functional import special as special
from jaxgrad.functional._versions import at as at
from jaxgrad.functional.activation.dropout import alpha_dropout as alpha_dropout
from jaxgrad.functional.activation.dropout import dropout as dropout
from jaxgrad.functional.activation.dropout import dropout1d as dropout1d
from jaxgrad.functional.activation.dropout import dropout2d as dropout2d
from jaxgrad.functional.activation.dropout import dropout3d as dropout3d
from jaxgrad.functional.activation.dropout import feature_alpha_dropout as feature_alpha_dropout
from jaxgrad.functional.activation.elu import celu as celu
from jaxgrad.functional.activation.elu import elu as elu
from jaxgrad.functional.activation.elu import selu as selu
from jaxgrad.functional.activation.gelu_silu_hardswish import gelu as gelu
from jaxgrad.functional.activation.gelu_silu_hardswish import glu as glu
from jaxgrad.functional.activation.gelu_silu_hardswish import hardswish as hardswish
from jaxgrad.functional.activation.gelu_silu_hardswish import mish as mish
from jaxgrad.functional.activation.gelu_silu_hardswish import silu as silu
from jaxgrad.functional.activation.relu_hardtanh import hardtanh as hardtanh
from jaxgrad.functional.activation.relu_hardtanh import leaky_relu as leaky_relu
from jaxgrad.functional.activation.relu_hardtanh import prelu as prelu
from jaxgrad.functional.activation.relu_hardtanh import relu as relu
from jaxgrad.functional.activation.relu_hardtanh import relu6 as relu6
from jaxgrad.functional.activation.relu_hardtanh import rrelu as rrelu
from jaxgrad.functional.activation.relu_hardtanh import threshold as threshold
from jaxgrad.functional.activation.shrink import hardshrink as hardshrink
from jaxgrad.functional.activation.shrink import softshrink as softshrink
from jaxgrad.functional.activation.shrink import tanhshrink as tanhshrink
from jaxgrad.functional.activation.sigmoid_tanh_softplus import hardsigmoid as hardsigmoid
from jaxgrad.functional.activation.sigmoid_tanh_softplus import logit as logit
from jaxgrad.functional.activation.sigmoid_tanh_softplus import logsigmoid as logsigmoid
from jaxgrad.functional.activation.sigmoid_tanh_softplus import sigmoid as sigmoid
from jaxgrad.functional.activation.sigmoid_tanh_softplus import softplus as softplus
from jaxgrad.functional.activation.sigmoid_tanh_softplus import softsign as softsign
from jaxgrad.functional.activation.sigmoid_tanh_softplus import tanh as tanh
from jaxgrad.functional.activation.softmax import gumbel_softmax as gumbel_softmax
from jaxgrad.functional.activation.softmax import log_softmax as log_softmax
from jaxgrad.functional.activation.softmax import softmax as softmax
from jaxgrad.functional.activation.softmax import softmin as softmin
from jaxgrad.functional.fft.stft import istft as istft
from jaxgrad.functional.fft.stft import stft as stft
from jaxgrad.functional.indexing.diagonal_trace import diag as diag
from jaxgrad.functional.indexing.diagonal_trace import diag_embed as diag_embed
from jaxgrad.functional.indexing.diagonal_trace import diagflat as diagflat
from jaxgrad.functional.indexing.diagonal_trace import diagonal as diagonal
from jaxgrad.functional.indexing.diagonal_trace import trace as trace
from jaxgrad.functional.indexing.flip_roll_tril import flip as flip
from jaxgrad.functional.indexing.flip_roll_tril import repeat_interleave as repeat_interleave
from jaxgrad.functional.indexing.flip_roll_tril import roll as roll
from jaxgrad.functional.indexing.flip_roll_tril import transpose as transpose
from jaxgrad.functional.indexing.flip_roll_tril import tril as tril
from jaxgrad.functional.indexing.flip_roll_tril import triu as triu
from jaxgrad.functional.indexing.fold import fold as fold
from jaxgrad.functional.indexing.fold import unfold as unfold
from jaxgrad.functional.indexing.gather_take import gather as gather
from jaxgrad.functional.indexing.gather_take import index_select as index_select
from jaxgrad.functional.indexing.gather_take import take as take
from jaxgrad.functional.indexing.gather_take import take_along_dim as take_along_dim
from jaxgrad.functional.indexing.index_add_copy_fill import index_add as index_add
from jaxgrad.functional.indexing.index_add_copy_fill import index_copy as index_copy
from jaxgrad.functional.indexing.index_add_copy_fill import index_fill as index_fill
from jaxgrad.functional.indexing.pad import pad as pad
from jaxgrad.functional.indexing.scatter_put import index_put as index_put
from jaxgrad.functional.indexing.scatter_put import put as put
from jaxgrad.functional.indexing.scatter_put import scatter as scatter
from jaxgrad.functional.indexing.scatter_put import scatter_add as scatter_add
from jaxgrad.functional.indexing.scatter_reduce import index_reduce as index_reduce
from jaxgrad.functional.indexing.scatter_reduce import scatter_reduce as scatter_reduce
from jaxgrad.functional.indexing.shuffle import channel_shuffle as channel_shuffle
from jaxgrad.functional.indexing.shuffle import pixel_shuffle as pixel_shuffle
from jaxgrad.functional.indexing.shuffle import pixel_unshuffle as pixel_unshuffle
from jaxgrad.functional.indexing.slice_scatter import diagonal_scatter as diagonal_scatter
from jaxgrad.functional.indexing.slice_scatter import select_scatter as select_scatter
from jaxgrad.functional.indexing.slice_scatter import slice_scatter as slice_scatter
from jaxgrad.functional.indexing.sort_topk import argsort as argsort
from jaxgrad.functional.indexing.sort_topk import msort as msort
from jaxgrad.functional.indexing.sort_topk import sort as sort
from jaxgrad.functional.indexing.sort_topk import topk as topk
from jaxgrad.functional.indexing.where_mask import masked_fill as masked_fill
from jaxgrad.functional.indexing.where_mask import masked_scatter as masked_scatter
from jaxgrad.functional.indexing.where_mask import masked_select as masked_select
from jaxgrad.functional.indexing.where_mask import where as where
from jaxgrad.functional.linalg.addmm import addbmm as addbmm
from jaxgrad.functional.linalg.addmm import addmm as addmm
from jaxgrad.functional.linalg.addmm import addmv as addmv
from jaxgrad.functional.linalg.addmm import addr as addr
from jaxgrad.functional.linalg.addmm import baddbmm as baddbmm
from jaxgrad.functional.linalg.cholesky import cholesky_inverse as cholesky_inverse
from jaxgrad.functional.linalg.cholesky import cholesky_solve as cholesky_solve
from jaxgrad.functional.linalg.det import det as det
from jaxgrad.functional.linalg.det import logdet as logdet
from jaxgrad.functional.linalg.det import slogdet as slogdet
from jaxgrad.functional.linalg.dot_outer_cross import dot as dot
from jaxgrad.functional.linalg.dot_outer_cross import inner as inner
from jaxgrad.functional.linalg.dot_outer_cross import outer as outer
from jaxgrad.functional.linalg.dot_outer_cross import vdot as vdot
from jaxgrad.functional.linalg.grouped_mm import grouped_mm as grouped_mm
from jaxgrad.functional.linalg.legacy_names import chain_matmul as chain_matmul
from jaxgrad.functional.linalg.legacy_names import cross as cross
from jaxgrad.functional.linalg.legacy_names import lu_solve as lu_solve
from jaxgrad.functional.linalg.legacy_names import lu_unpack as lu_unpack
from jaxgrad.functional.linalg.legacy_names import pinverse as pinverse
from jaxgrad.functional.linalg.legacy_names import qr as qr
from jaxgrad.functional.linalg.legacy_names import svd as svd
from jaxgrad.functional.linalg.legacy_names import triangular_solve as triangular_solve
from jaxgrad.functional.linalg.matmul_einsum import bmm as bmm
from jaxgrad.functional.linalg.matmul_einsum import einsum as einsum
from jaxgrad.functional.linalg.matmul_einsum import kron as kron
from jaxgrad.functional.linalg.matmul_einsum import matmul as matmul
from jaxgrad.functional.linalg.matmul_einsum import mm as mm
from jaxgrad.functional.linalg.matmul_einsum import mv as mv
from jaxgrad.functional.linalg.matmul_einsum import tensordot as tensordot
from jaxgrad.functional.loss.binary_and_soft_margin import (
    binary_cross_entropy as binary_cross_entropy,
)
from jaxgrad.functional.loss.binary_and_soft_margin import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from jaxgrad.functional.loss.binary_and_soft_margin import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from jaxgrad.functional.loss.binary_and_soft_margin import soft_margin_loss as soft_margin_loss
from jaxgrad.functional.loss.cross_entropy_nll import cross_entropy as cross_entropy
from jaxgrad.functional.loss.cross_entropy_nll import nll_loss as nll_loss
from jaxgrad.functional.loss.ctc import ctc_loss as ctc_loss
from jaxgrad.functional.loss.kl_div_gaussian_poisson import gaussian_nll_loss as gaussian_nll_loss
from jaxgrad.functional.loss.kl_div_gaussian_poisson import kl_div as kl_div
from jaxgrad.functional.loss.kl_div_gaussian_poisson import poisson_nll_loss as poisson_nll_loss
from jaxgrad.functional.loss.linear_cross_entropy import (
    linear_cross_entropy as linear_cross_entropy,
)
from jaxgrad.functional.loss.margin_hinge import hinge_embedding_loss as hinge_embedding_loss
from jaxgrad.functional.loss.margin_hinge import margin_ranking_loss as margin_ranking_loss
from jaxgrad.functional.loss.margin_hinge import multi_margin_loss as multi_margin_loss
from jaxgrad.functional.loss.margin_hinge import multilabel_margin_loss as multilabel_margin_loss
from jaxgrad.functional.loss.mse_l1_huber import huber_loss as huber_loss
from jaxgrad.functional.loss.mse_l1_huber import l1_loss as l1_loss
from jaxgrad.functional.loss.mse_l1_huber import mse_loss as mse_loss
from jaxgrad.functional.loss.mse_l1_huber import smooth_l1_loss as smooth_l1_loss
from jaxgrad.functional.loss.triplet_cosine_embedding import (
    cosine_embedding_loss as cosine_embedding_loss,
)
from jaxgrad.functional.loss.triplet_cosine_embedding import (
    triplet_margin_loss as triplet_margin_loss,
)
from jaxgrad.functional.loss.triplet_cosine_embedding import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from jaxgrad.functional.nn.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from jaxgrad.functional.nn.batch_instance_norm import batch_norm as batch_norm
from jaxgrad.functional.nn.batch_instance_norm import instance_norm as instance_norm
from jaxgrad.functional.nn.convolution import conv1d as conv1d
from jaxgrad.functional.nn.convolution import conv2d as conv2d
from jaxgrad.functional.nn.convolution import conv3d as conv3d
from jaxgrad.functional.nn.embedding import embedding as embedding
from jaxgrad.functional.nn.embedding import one_hot as one_hot
from jaxgrad.functional.nn.embedding_bag import embedding_bag as embedding_bag
from jaxgrad.functional.nn.grid_sample import affine_grid as affine_grid
from jaxgrad.functional.nn.grid_sample import grid_sample as grid_sample
from jaxgrad.functional.nn.interpolate import interpolate as interpolate
from jaxgrad.functional.nn.interpolate import upsample as upsample
from jaxgrad.functional.nn.layer_group_rms_norm import group_norm as group_norm
from jaxgrad.functional.nn.layer_group_rms_norm import layer_norm as layer_norm
from jaxgrad.functional.nn.layer_group_rms_norm import local_response_norm as local_response_norm
from jaxgrad.functional.nn.layer_group_rms_norm import rms_norm as rms_norm
from jaxgrad.functional.nn.linear import bilinear as bilinear
from jaxgrad.functional.nn.linear import linear as linear
from jaxgrad.functional.nn.multi_head_attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from jaxgrad.functional.nn.recurrent import gru as gru
from jaxgrad.functional.nn.recurrent import lstm as lstm
from jaxgrad.functional.nn.recurrent import rnn_relu as rnn_relu
from jaxgrad.functional.nn.recurrent import rnn_tanh as rnn_tanh
from jaxgrad.functional.nn.recurrent_cells import gru_cell as gru_cell
from jaxgrad.functional.nn.recurrent_cells import lstm_cell as lstm_cell
from jaxgrad.functional.nn.recurrent_cells import rnn_relu_cell as rnn_relu_cell
from jaxgrad.functional.nn.recurrent_cells import rnn_tanh_cell as rnn_tanh_cell
from jaxgrad.functional.nn.transposed_convolution import conv_transpose1d as conv_transpose1d
from jaxgrad.functional.nn.transposed_convolution import conv_transpose2d as conv_transpose2d
from jaxgrad.functional.nn.transposed_convolution import conv_transpose3d as conv_transpose3d
from jaxgrad.functional.pointwise.abs_sign import abs as abs
from jaxgrad.functional.pointwise.abs_sign import copysign as copysign
from jaxgrad.functional.pointwise.abs_sign import heaviside as heaviside
from jaxgrad.functional.pointwise.abs_sign import sign as sign
from jaxgrad.functional.pointwise.arithmetic import add as add
from jaxgrad.functional.pointwise.arithmetic import div as div
from jaxgrad.functional.pointwise.arithmetic import mul as mul
from jaxgrad.functional.pointwise.arithmetic import neg as neg
from jaxgrad.functional.pointwise.arithmetic import positive as positive
from jaxgrad.functional.pointwise.arithmetic import sub as sub
from jaxgrad.functional.pointwise.arithmetic import true_divide as true_divide
from jaxgrad.functional.pointwise.atan2_hypot import atan2 as atan2
from jaxgrad.functional.pointwise.atan2_hypot import hypot as hypot
from jaxgrad.functional.pointwise.bessel import i0 as i0
from jaxgrad.functional.pointwise.clamp_maximum import clamp as clamp
from jaxgrad.functional.pointwise.clamp_maximum import clamp_max as clamp_max
from jaxgrad.functional.pointwise.clamp_maximum import clamp_min as clamp_min
from jaxgrad.functional.pointwise.clamp_maximum import fmax as fmax
from jaxgrad.functional.pointwise.clamp_maximum import fmin as fmin
from jaxgrad.functional.pointwise.clamp_maximum import maximum as maximum
from jaxgrad.functional.pointwise.clamp_maximum import minimum as minimum
from jaxgrad.functional.pointwise.complex_numbers import angle as angle
from jaxgrad.functional.pointwise.complex_numbers import complex as complex
from jaxgrad.functional.pointwise.complex_numbers import conj as conj
from jaxgrad.functional.pointwise.complex_numbers import imag as imag
from jaxgrad.functional.pointwise.complex_numbers import polar as polar
from jaxgrad.functional.pointwise.complex_numbers import real as real
from jaxgrad.functional.pointwise.complex_numbers import sgn as sgn
from jaxgrad.functional.pointwise.complex_numbers import view_as_complex as view_as_complex
from jaxgrad.functional.pointwise.complex_numbers import view_as_real as view_as_real
from jaxgrad.functional.pointwise.erf_ndtr import erf as erf
from jaxgrad.functional.pointwise.erf_ndtr import erfc as erfc
from jaxgrad.functional.pointwise.erf_ndtr import erfinv as erfinv
from jaxgrad.functional.pointwise.exp_log import exp as exp
from jaxgrad.functional.pointwise.exp_log import exp2 as exp2
from jaxgrad.functional.pointwise.exp_log import expm1 as expm1
from jaxgrad.functional.pointwise.exp_log import log as log
from jaxgrad.functional.pointwise.exp_log import log1p as log1p
from jaxgrad.functional.pointwise.exp_log import log2 as log2
from jaxgrad.functional.pointwise.exp_log import log10 as log10
from jaxgrad.functional.pointwise.exp_log import logaddexp as logaddexp
from jaxgrad.functional.pointwise.exp_log import logaddexp2 as logaddexp2

# Aliases that torch defines.
from jaxgrad.functional.pointwise.fake_quantize import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from jaxgrad.functional.pointwise.fake_quantize import (
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
)
from jaxgrad.functional.pointwise.frexp_ldexp import frexp as frexp
from jaxgrad.functional.pointwise.frexp_ldexp import ldexp as ldexp
from jaxgrad.functional.pointwise.gamma_zeta import digamma as digamma
from jaxgrad.functional.pointwise.gamma_zeta import igamma as igamma
from jaxgrad.functional.pointwise.gamma_zeta import igammac as igammac
from jaxgrad.functional.pointwise.gamma_zeta import lgamma as lgamma
from jaxgrad.functional.pointwise.gamma_zeta import mvlgamma as mvlgamma
from jaxgrad.functional.pointwise.gamma_zeta import polygamma as polygamma
from jaxgrad.functional.pointwise.hyperbolic import acosh as acosh
from jaxgrad.functional.pointwise.hyperbolic import asinh as asinh
from jaxgrad.functional.pointwise.hyperbolic import atanh as atanh
from jaxgrad.functional.pointwise.hyperbolic import cosh as cosh
from jaxgrad.functional.pointwise.hyperbolic import sinh as sinh
from jaxgrad.functional.pointwise.lerp_addcmul import addcdiv as addcdiv
from jaxgrad.functional.pointwise.lerp_addcmul import addcmul as addcmul
from jaxgrad.functional.pointwise.lerp_addcmul import lerp as lerp
from jaxgrad.functional.pointwise.nan_to_num import nan_to_num as nan_to_num
from jaxgrad.functional.pointwise.pow_sqrt import float_power as float_power
from jaxgrad.functional.pointwise.pow_sqrt import pow as pow
from jaxgrad.functional.pointwise.pow_sqrt import reciprocal as reciprocal
from jaxgrad.functional.pointwise.pow_sqrt import rsqrt as rsqrt
from jaxgrad.functional.pointwise.pow_sqrt import sqrt as sqrt
from jaxgrad.functional.pointwise.pow_sqrt import square as square
from jaxgrad.functional.pointwise.rounding_remainder import ceil as ceil
from jaxgrad.functional.pointwise.rounding_remainder import floor as floor
from jaxgrad.functional.pointwise.rounding_remainder import fmod as fmod
from jaxgrad.functional.pointwise.rounding_remainder import frac as frac
from jaxgrad.functional.pointwise.rounding_remainder import remainder as remainder
from jaxgrad.functional.pointwise.rounding_remainder import round as round
from jaxgrad.functional.pointwise.rounding_remainder import trunc as trunc
from jaxgrad.functional.pointwise.trigonometric import acos as acos
from jaxgrad.functional.pointwise.trigonometric import asin as asin
from jaxgrad.functional.pointwise.trigonometric import atan as atan
from jaxgrad.functional.pointwise.trigonometric import cos as cos
from jaxgrad.functional.pointwise.trigonometric import deg2rad as deg2rad
from jaxgrad.functional.pointwise.trigonometric import rad2deg as rad2deg
from jaxgrad.functional.pointwise.trigonometric import sin as sin
from jaxgrad.functional.pointwise.trigonometric import sinc as sinc
from jaxgrad.functional.pointwise.trigonometric import tan as tan
from jaxgrad.functional.pointwise.xlogy_entr import xlogy as xlogy
from jaxgrad.functional.pooling.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from jaxgrad.functional.pooling.adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from jaxgrad.functional.pooling.adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from jaxgrad.functional.pooling.adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from jaxgrad.functional.pooling.adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from jaxgrad.functional.pooling.adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from jaxgrad.functional.pooling.average import avg_pool1d as avg_pool1d
from jaxgrad.functional.pooling.average import avg_pool2d as avg_pool2d
from jaxgrad.functional.pooling.average import avg_pool3d as avg_pool3d
from jaxgrad.functional.pooling.fractional import fractional_max_pool2d as fractional_max_pool2d
from jaxgrad.functional.pooling.fractional import fractional_max_pool3d as fractional_max_pool3d
from jaxgrad.functional.pooling.lp import lp_pool1d as lp_pool1d
from jaxgrad.functional.pooling.lp import lp_pool2d as lp_pool2d
from jaxgrad.functional.pooling.lp import lp_pool3d as lp_pool3d
from jaxgrad.functional.pooling.max import max_pool1d as max_pool1d
from jaxgrad.functional.pooling.max import max_pool2d as max_pool2d
from jaxgrad.functional.pooling.max import max_pool3d as max_pool3d
from jaxgrad.functional.pooling.unpool import max_unpool1d as max_unpool1d
from jaxgrad.functional.pooling.unpool import max_unpool2d as max_unpool2d
from jaxgrad.functional.pooling.unpool import max_unpool3d as max_unpool3d
from jaxgrad.functional.reduction.all_any import all as all
from jaxgrad.functional.reduction.all_any import any as any
from jaxgrad.functional.reduction.all_any import count_nonzero as count_nonzero
from jaxgrad.functional.reduction.amax_max import amax as amax
from jaxgrad.functional.reduction.amax_max import amin as amin
from jaxgrad.functional.reduction.amax_max import aminmax as aminmax
from jaxgrad.functional.reduction.amax_max import max as max
from jaxgrad.functional.reduction.amax_max import min as min
from jaxgrad.functional.reduction.cov_gradient import corrcoef as corrcoef
from jaxgrad.functional.reduction.cov_gradient import cov as cov
from jaxgrad.functional.reduction.cov_gradient import gradient as gradient
from jaxgrad.functional.reduction.cummax import cummax as cummax
from jaxgrad.functional.reduction.cummax import cummin as cummin
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import cumprod as cumprod
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import cumsum as cumsum
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import (
    cumulative_trapezoid as cumulative_trapezoid,
)
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import diff as diff
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import logcumsumexp as logcumsumexp
from jaxgrad.functional.reduction.cumsum_diff_trapezoid import trapezoid as trapezoid
from jaxgrad.functional.reduction.distance import cdist as cdist
from jaxgrad.functional.reduction.distance import cosine_similarity as cosine_similarity
from jaxgrad.functional.reduction.distance import dist as dist
from jaxgrad.functional.reduction.distance import pairwise_distance as pairwise_distance
from jaxgrad.functional.reduction.distance import pdist as pdist
from jaxgrad.functional.reduction.median_mode import kthvalue as kthvalue
from jaxgrad.functional.reduction.median_mode import median as median
from jaxgrad.functional.reduction.median_mode import mode as mode
from jaxgrad.functional.reduction.median_mode import nanmedian as nanmedian
from jaxgrad.functional.reduction.norm_matrix_norm import norm as norm
from jaxgrad.functional.reduction.quantile import nanquantile as nanquantile
from jaxgrad.functional.reduction.quantile import quantile as quantile
from jaxgrad.functional.reduction.sum_mean_prod import logsumexp as logsumexp
from jaxgrad.functional.reduction.sum_mean_prod import mean as mean
from jaxgrad.functional.reduction.sum_mean_prod import nanmean as nanmean
from jaxgrad.functional.reduction.sum_mean_prod import nansum as nansum
from jaxgrad.functional.reduction.sum_mean_prod import prod as prod
from jaxgrad.functional.reduction.sum_mean_prod import sum as sum
from jaxgrad.functional.reduction.var_std import std as std
from jaxgrad.functional.reduction.var_std import std_mean as std_mean
from jaxgrad.functional.reduction.var_std import var as var
from jaxgrad.functional.reduction.var_std import var_mean as var_mean
from jaxgrad.functional.reduction.vector_norm_normalize import normalize as normalize
from jaxgrad.functional.reduction.vector_norm_normalize import renorm as renorm


# Aliases that torch defines.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
clip = clamp
conj_physical = conj
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
swapaxes = transpose
swapdims = transpose
trapz = trapezoid


def __dir__() -> list[str]:
    """List the operators, the namespaces and `at` without the rooms that define them."""
    names = [name for name, value in globals().items() if callable(value) and name[0] != "_"]
    return [*names, "distributions", "fft", "linalg", "special"]


if not _typing.TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> _typing.Any:
        """Raise the error for an unknown name, with the names that are spelt alike."""
        raise _suggestions.missing(__name__, name, __dir__())
