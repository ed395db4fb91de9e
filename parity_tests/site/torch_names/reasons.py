"""Why `jaxgrad.functional` lacks a function of torch for which there is no JAX expression."""

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """A reason with the functions that it covers, as words that may be regular expressions."""

    text: str
    names: str

    def covers(self, name: str) -> bool:
        """Return whether one of the words matches the whole name."""
        return any(re.fullmatch(word, name) for word in self.names.split())


REASONS = (
    Reason(
        "These functions write in place. JAX arrays are immutable: call the function without "
        "the final underscore and use its result.",
        r"[a-z]\w*_",
    ),
    Reason(
        "These functions copy what a view would show, for compilers. JAX has no views: call "
        "the function without `_copy`.",
        "(alias|as_strided|detach|diagonal|expand|narrow|permute|select|slice|split|split_with_sizes|squeeze|t|transpose|unbind|unfold|unsqueeze|view|view_as_complex|view_as_real|indices|values|(c?col|c?row|crow)_indices)_copy",
    ),
    Reason(
        "These functions return booleans or integers, which have no gradient: call the "
        "function of `jnp` or `jax.lax` with this name, or the operator.",
        "allclose arg(max|min|where) bincount bitwise_.* bucketize eq equal gcd ge "
        "greater(_equal)? gt is(close|finite|in|inf|nan|neginf|posinf|real) lcm le "
        "less(_equal)? logical_.* lt ne not_equal nonzero(_static)? numel result_type "
        "searchsorted signbit tril_indices triu_indices unravel_index hash_tensor can_cast "
        "promote_types broadcast_shapes",
    ),
    Reason(
        "torch has no derivative for these functions: their backward raises an error, or the "
        "result does not require a gradient.",
        r"floor_divide geqrf histc histogram(dd)? linalg\.ldl_(factor|factor_ex|solve) "
        "native_channel_shuffle "
        r"special\.(airy_ai|(spherical_)?bessel_\w+|(scaled_)?modified_bessel_\w+) "
        r"special\.((shifted_)?chebyshev|hermite|laguerre|legendre)_\w+ "
        "unique unique_consecutive",
    ),
    Reason(
        "torch's derivative of these functions is wrong or always fails: `as_strided_scatter` "
        "returns the gradient of the elements that it overwrites, and `vander` writes to a "
        "saved tensor. `functional.linalg.vander` is correct.",
        "as_strided_scatter vander",
    ),
    Reason(
        "These functions draw random numbers, which no other framework can repeat; their "
        "gradient is 0 or missing. See `jax.random`; for dropout pass the mask or a key to "
        "the functions of `functional`.",
        r"bernoulli binomial multinomial normal poisson rand\w* randn\w* native_dropout "
        "reinforce",
    ),
    Reason(
        "These functions iterate from a random start, so that only the subspace is "
        "determined: use `functional.linalg.svd` or `functional.linalg.eigh`.",
        "lobpcg pca_lowrank svd_lowrank",
    ),
    Reason(
        "These functions create an array from numbers, sizes or other data that have no "
        "gradient: see `jnp`.",
        r"arange as_tensor asarray (bartlett|blackman|hamming|hann|kaiser)_window empty\w* eye "
        r"fill from_\w+ frombuffer full\w* (lin|log)space ones\w* range scalar_tensor tensor "
        r"zeros\w* fft\.r?fftfreq new\w* sparse_\w+_tensor",
    ),
    Reason(
        "These functions take or return sparse tensors. JAX's sparse arrays are in "
        "`jax.experimental.sparse`.",
        "dsmm hsmm hspmm saddmm smm spmm sspaddmm sparse_(dim|mask) dense_dim coalesce "
        "is_coalesced c?col_indices c?row_indices crow_indices indices values "
        r"resize_as_sparse_ to_(dense|padded_tensor|sparse\w*)",
    ),
    Reason(
        "These functions belong to quantized inference, which has no gradient. For training "
        "see `functional.fake_quantize_per_tensor_affine`.",
        r"choose_qparams_optimized dequantize fbgemm_\w+ fused_moving_avg_obs_fake_quant "
        r"int_repr q_\w+ qscheme quantize\w*",
    ),
    Reason(
        "These functions are kernels that public functions call, or belong to one backend: "
        "use `conv2d`, `batch_norm`, `layer_norm`, `group_norm`, `ctc_loss`, `grid_sample`, "
        "`affine_grid`, the pools (with `return_indices=True`) and so on.",
        r"affine_grid_generator batch_norm_\w+ convolution cudnn_\w+ embedding_renorm_ "
        r"grid_sampler_[23]d miopen_\w+ mkldnn_\w+ native_(batch|group|layer)_norm native_norm "
        "(adaptive|fractional)?_?max_pool[123]d_with_indices to_mkldnn slice_inverse "
        "(scaled|scaled_grouped)_mm",
    ),
    Reason(
        "`nextafter` returns the neighbouring float, and `ormqr` applies reflections that "
        "LAPACK stores. JAX has no derivative for either.",
        "nextafter ormqr",
    ),
    Reason(
        "These functions were removed from torch: they raise an error that names their successor.",
        "eig lstsq matrix_rank solve symeig",
    ),
    Reason(
        "These functions are transformations or control flow: use `jax.jit`, `jax.vmap`, "
        "`jax.lax.cond` or `jax.lax.while_loop`.",
        "compile cond fork vmap wait while_loop",
    ),
    Reason(
        "These methods belong to the tape: see `jaxgrad.value_and_grad`, `jaxgrad.hook` and "
        "`jaxgrad.retain_grad`.",
        "backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_",
    ),
    Reason(
        "These methods convert to a dtype without a gradient, to Python or to another device: "
        "use `x.astype`, `x.item()`, `x.tolist()`, `numpy.asarray` or `jax.device_put`.",
        "bool byte chalf char cuda dlpack int ipu item long mtia numpy pin_memory short "
        "tolist xpu to_dlpack",
    ),
    Reason(
        "These functions describe or change a tensor's storage, shape or dtype and compute no "
        "number.",
        r"const_data_ptr data_ptr dim dim_order element_size get_device is_\w+ module_load "
        "ndimension nelement record_stream resize(_as)?_? resize_as set_ share_memory_ size "
        r"storage\w* stride untyped_storage typename",
    ),
    Reason(
        "These functions read or set torch's global state, or serve its compilers and its own "
        "code.",
        r"(are|get|set|use|clear|autocast|init|manual|initial|import|merge)_\w+ "
        r"(parse|unify|prepare|profiler|sym|thread)_\w+ "
        "seed save load classproperty compiled_with_cxx11_abi assert_int_or_pair "
        r"boolean_dispatch handle_torch_function has_torch_function\w* index Optional",
    ),
)
