"""torch's autocast lists of operations, and the names of these operations in JAX.

Source: aten/src/ATen/autocast_mode.h (shared and CUDA) and autocast_mode.cpp (CPU), torch 2.13.
"""

from __future__ import annotations


# Low precision: every matrix product and convolution is one of three primitives.
PRODUCTS = {"dot_general", "conv_general_dilated", "ragged_dot_general"}

# Primitives that run in float32. torch's linalg.* and fft.* have no low-precision kernels.
_LINALG = {"cholesky", "lu", "qr", "geqrf", "householder_product", "eig", "eigh", "svd", "schur"}
_LINALG |= {"hessenberg", "tridiagonal", "tridiagonal_solve", "triangular_solve", "fft"}
FLOAT32_PRIMITIVES = {
    "cpu": _LINALG | {"reduce_prod"},
    "cuda": _LINALG
    | {"exp", "expm1", "log", "log1p", "log2", "pow", "integer_pow", "square", "rsqrt"}
    | {"acos", "asin", "cosh", "sinh", "tan", "erf_inv"}
    | {"reduce_sum", "reduce_prod", "cumsum", "cumprod"},
}

# torch operations that run in float32 and are several primitives in a jaxpr.
_BOTH = {"cross_entropy_loss", "mse_loss", "quantile"}
FLOAT32_OPERATIONS = {
    "cpu": _BOTH | {"avg_pool3d", "max_pool3d", "trace"},
    "cuda": _BOTH | {"softmax", "log_softmax", "logsumexp", "layer_norm"},
}
FLOAT32_OPERATIONS["cuda"] |= {"softplus", "norm", "reciprocal", "upsample"}

# A `jit` or custom rule with this name, one array input and no product counts as that torch
# operation. Some are a `jit` only in some versions of JAX; `operations` recognizes those by their
# equations.
NAMED = {
    "_mean": "mean", "mean": "mean", "_var": "var", "var": "var", "_std": "std", "std": "std",
    "norm": "norm", "logsumexp": "logsumexp", "standardize": "layer_norm",
    "quantile": "quantile", "trace": "trace", "_resize": "upsample",
    "softmax": "softmax", "_softmax": "softmax", "log_softmax": "log_softmax",
    "celu": "celu", "elu": "elu", "gelu": "gelu", "glu": "glu", "hard_sigmoid": "hardsigmoid",
    "hard_silu": "hardswish", "log_sigmoid": "logsigmoid", "mish": "mish", "selu": "selu",
    "sigmoid": "sigmoid", "silu": "silu", "soft_sign": "softsign", "softplus": "softplus",
}  # fmt: skip

# Primitives that are computed in float32 and rounded once, as in torch's kernels: sums, and
# functions that XLA would expand into several low-precision operations.
ROUNDED_ONCE = {"reduce_sum", "reduce_prod", "reduce_window_sum", "cumsum", "cumprod"}
ROUNDED_ONCE |= {"cumlogsumexp", "logistic", "exp2", "expm1", "integer_pow"}
ROUNDED_ONCE |= {"asin", "acos", "asinh", "acosh", "atanh"}

# Primitives whose input dtypes are fixed by their parameters or by a Python function.
AS_TRACED = {"bitcast_convert_type", "pure_callback", "io_callback", "ffi_call"}
