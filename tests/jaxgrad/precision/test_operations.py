"""Each operation on torch's autocast lists that exists in JAX returns torch's dtype."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax

import jaxgrad


LOW = (torch.bfloat16, torch.float16)
F = torch.nn.functional
RNG = np.random.default_rng(3)
X, T = (RNG.normal(size=(4, 6)).astype("f") for _ in range(2))
U = RNG.uniform(0.1, 0.9, size=(4, 6)).astype("f")
Y = np.arange(4)
G, C = (RNG.normal(size=6).astype("f") for _ in range(2))
EYE = np.eye(6, dtype="f")
NCH = ("NCH", "OIH", "NCH")
tensor = torch.tensor


def norm_by_hand(h: Any, axes: Any, scale: Any = G, bias: Any = C) -> Any:
    mean = h.mean(axes, keepdims=True)
    var = jnp.mean((h - mean) ** 2, axes, keepdims=True)
    return (h - mean) / jnp.sqrt(var + 1e-5) * scale + bias


def group_norm(h: Any) -> Any:
    grouped = h.reshape(4, 2, 3)
    mean, var = grouped.mean(-1, keepdims=True), grouped.var(-1, keepdims=True)
    return ((grouped - mean) * lax.rsqrt(var + 1e-5)).reshape(4, 6) * G + C


@jax.jit  # makes scale and bias arguments
def running_norm(h: Any, scale: Any, bias: Any) -> Any:
    return (h - bias) * (lax.rsqrt(scale**2 + 1e-5) * scale) + bias


def rms_norm(h: Any) -> Any:
    return h * lax.rsqrt(jnp.mean(h**2, -1, keepdims=True) + 1e-5)


def pool(h: Any, init: float, kind: Any, dims: int) -> Any:
    window = (1,) * (3 - dims) + (2,) * dims
    return lax.reduce_window(h.reshape(3, 2, 4), init, kind, window, window, "VALID")


def torch_attention(x: Any) -> Any:
    return F.scaled_dot_product_attention(x, x, x)


def flax_layer_norm(h: Any) -> Any:
    return flax.linen.LayerNorm(epsilon=1e-5).apply({"params": {"scale": G, "bias": C}}, h)


def one_hot() -> Any:
    return jax.nn.one_hot(Y, 6, dtype=jnp.float32)


def picked(h: Any) -> Any:
    return -jax.nn.log_softmax(h)[jnp.arange(4), Y].mean()


# torch's name of an operation, and a torch and a JAX function that apply it to a low-precision h.
# A number distinguishes several spellings of one operation.
ROWS: dict[str, tuple[Any, Any]] = {
    # low precision
    "matmul": (lambda h: h.float() @ tensor(EYE), lambda h: h @ EYE),
    "bmm": (
        lambda h: torch.bmm(h[None].float(), tensor(EYE)[None]),
        lambda h: jnp.matmul(h[None], EYE[None]),
    ),
    "einsum": (
        lambda h: torch.einsum("ij,kj->ik", h, tensor(EYE)),
        lambda h: jnp.einsum("ij,kj->ik", h, EYE),
    ),
    "linear": (
        lambda h: F.linear(tensor(X), tensor(EYE), tensor(C)),
        lambda h: (h * 0 + X) @ EYE.T + C,
    ),
    "conv1d": (
        lambda h: F.conv1d(tensor(X)[None], torch.ones(2, 4, 3)),
        lambda h: lax.conv((h * 0 + X)[None], jnp.ones((2, 4, 3), "f"), (1,), "VALID"),
    ),
    "conv_transpose1d": (
        lambda h: F.conv_transpose1d(tensor(X)[None], torch.ones(4, 2, 3)),
        lambda h: lax.conv_transpose(
            (h * 0 + X)[None], jnp.ones((2, 4, 3), "f"), (1,), "VALID", dimension_numbers=NCH
        ),
    ),
    "scaled_dot_product_attention": (
        lambda h: torch_attention(tensor(X)[None, None]),
        lambda h: jax.nn.dot_product_attention(*[(h * 0 + X)[None, :, None]] * 3),
    ),
    # float32 on CUDA
    "acos": (lambda h: h.tanh().acos(), lambda h: jnp.arccos(jnp.tanh(h))),
    "asin": (lambda h: h.tanh().asin(), lambda h: jnp.arcsin(jnp.tanh(h))),
    "cosh": (torch.cosh, jnp.cosh),
    "erfinv": (lambda h: h.tanh().erfinv(), lambda h: jax.scipy.special.erfinv(jnp.tanh(h))),
    "exp": (torch.exp, jnp.exp),
    "expm1": (torch.expm1, jnp.expm1),
    "log": (lambda h: h.abs().log(), lambda h: jnp.log(jnp.abs(h))),
    "log10": (lambda h: h.abs().log10(), lambda h: jnp.log10(jnp.abs(h))),
    "log2": (lambda h: h.abs().log2(), lambda h: jnp.log2(jnp.abs(h))),
    "log1p": (lambda h: h.abs().log1p(), lambda h: jnp.log1p(jnp.abs(h))),
    "reciprocal": (lambda h: 1 / h, lambda h: 1 / h),
    "rsqrt": (lambda h: h.abs().rsqrt(), lambda h: lax.rsqrt(jnp.abs(h))),
    "sinh": (torch.sinh, jnp.sinh),
    "tan": (torch.tan, jnp.tan),
    "pow 1": (lambda h: h**2, lambda h: h**2),
    "pow 2": (lambda h: h.abs() ** 2.5, lambda h: jnp.abs(h) ** 2.5),
    "pow 3": (lambda h: 2.0**h, lambda h: 2.0**h),
    "pow 4": (torch.square, jnp.square),
    "softplus": (F.softplus, jax.nn.softplus),
    "layer_norm 1": (
        lambda h: F.layer_norm(h, (6,), tensor(G), tensor(C)),
        lambda h: norm_by_hand(h, -1),
    ),
    "layer_norm 2": (lambda h: F.layer_norm(h, (6,), tensor(G), tensor(C)), flax_layer_norm),
    "layer_norm 3": (lambda h: F.layer_norm(h, (6,)), jax.nn.standardize),
    "rms_norm": (lambda h: F.rms_norm(h, (6,), None, 1e-5), rms_norm),
    "group_norm": (lambda h: F.group_norm(h, 2, tensor(G), tensor(C)), group_norm),
    "nll_loss 1": (lambda h: F.cross_entropy(h, tensor(Y)), picked),
    "nll_loss 2": (
        lambda h: F.cross_entropy(h, tensor(Y), reduction="none"),
        lambda h: optax.softmax_cross_entropy_with_integer_labels(h, Y),
    ),
    "nll_loss 3": (
        lambda h: F.cross_entropy(h, tensor(Y)),
        lambda h: -jnp.mean(jnp.sum(one_hot() * jax.nn.log_softmax(h), -1)),
    ),
    "mse_loss 1": (lambda h: F.mse_loss(h, tensor(T)), lambda h: jnp.mean((h - T) ** 2)),
    "mse_loss 2": (lambda h: F.mse_loss(h, h.tanh()), lambda h: jnp.mean((h - jnp.tanh(h)) ** 2)),
    "l1_loss": (lambda h: F.l1_loss(h, h.tanh()), lambda h: jnp.mean(jnp.abs(h - jnp.tanh(h)))),
    "huber_loss": (lambda h: F.huber_loss(h, tensor(T)), lambda h: optax.huber_loss(h, T).mean()),
    "binary_cross_entropy_with_logits": (
        lambda h: F.binary_cross_entropy_with_logits(h, tensor(U)),
        lambda h: optax.sigmoid_binary_cross_entropy(h, U).mean(),
    ),
    "logsumexp": (lambda h: h.logsumexp(-1), lambda h: jax.nn.logsumexp(h, -1)),
    "prod": (torch.prod, jnp.prod),
    "softmax": (lambda h: h.softmax(-1), jax.nn.softmax),
    "log_softmax": (lambda h: h.log_softmax(-1), jax.nn.log_softmax),
    "cumprod": (lambda h: h.cumprod(0), lambda h: jnp.cumprod(h, 0)),
    "cumsum": (lambda h: h.cumsum(0), lambda h: jnp.cumsum(h, 0)),
    "linalg_vector_norm 1": (torch.linalg.vector_norm, jnp.linalg.norm),
    "linalg_vector_norm 2": (F.normalize, lambda h: h / jnp.linalg.norm(h, axis=-1, keepdims=True)),
    "sum": (lambda h: h.sum(0), lambda h: h.sum(0)),
    "upsample_nearest1d": (
        lambda h: F.interpolate(h[None], scale_factor=2),
        lambda h: jax.image.resize(h[None], (1, 4, 12), "nearest"),
    ),
    "upsample_linear1d": (
        lambda h: F.interpolate(h[None], scale_factor=2, mode="linear"),
        lambda h: jax.image.resize(h[None], (1, 4, 12), "linear"),
    ),
    # the widest dtype of the inputs
    "atan2": (lambda h: torch.atan2(h, tensor(X)), lambda h: jnp.arctan2(h, X)),
    "cat": (lambda h: torch.cat([h, tensor(X)]), lambda h: jnp.concatenate([h, X])),
    "stack": (lambda h: torch.stack([h, tensor(X)]), lambda h: jnp.stack([h, X])),
    "addcmul": (lambda h: torch.addcmul(tensor(X), h, h), lambda h: X + h * h),
    "addcdiv": (lambda h: torch.addcdiv(tensor(X), h, h), lambda h: X + h / h),
    "outer": (
        lambda h: torch.einsum("i,j->ij", tensor(X)[0], tensor(X)[0]),
        lambda h: jnp.einsum("i,j->ij", (h * 0 + X)[0] * 0 + X[0], X[0]),
    ),
    "mul a mask": (lambda h: h * (tensor(X) > 0), lambda h: h * (X > 0)),
    "mul a float mask": (
        lambda h: h * (tensor(X) > 0).float(),
        lambda h: h * (jnp.asarray(X) > 0).astype(jnp.float32),
    ),
    "add a float one-hot": (
        lambda h: h + F.one_hot(tensor(Y), 6).float(),
        lambda h: h + one_hot(),
    ),
    "add a number": (lambda h: h + 0.1, lambda h: h + 0.1),
    "add a linear": (
        lambda h: F.linear(h, tensor(EYE), tensor(C)) + F.linear(h, tensor(EYE)),
        lambda h: h @ EYE + h @ EYE + C,
    ),
    # operations that are on none of torch's lists
    "batch_norm 1": (
        lambda h: F.batch_norm(h, None, None, tensor(G), tensor(C), training=True),
        lambda h: norm_by_hand(h, 0),
    ),
    "batch_norm 2": (
        lambda h: F.batch_norm(h, tensor(C), tensor(G) ** 2, tensor(G), tensor(C)),
        lambda h: running_norm(h, G, C),
    ),
    "mean": (lambda h: h.mean(0), lambda h: h.mean(0)),
    "var": (lambda h: h.var(0), lambda h: h.var(0, ddof=1)),
    "std": (lambda h: h.std(), lambda h: h.std(ddof=1)),
    "avg_pool1d": (
        lambda h: F.avg_pool1d(h.reshape(3, 2, 4), 2),
        lambda h: pool(h, 0.0, lax.add, 1) / 2,
    ),
    "avg_pool3d": (
        lambda h: F.avg_pool3d(h.reshape(1, 1, 6, 2, 2), 2),
        lambda h: lax.reduce_window(
            h.reshape(1, 1, 6, 2, 2), 0.0, lax.add, (1, 1, 2, 2, 2), (1, 1, 2, 2, 2), "VALID"
        ) / 8,
    ),
    "max_pool1d": (
        lambda h: F.max_pool1d(h.reshape(3, 2, 4), 2),
        lambda h: pool(h, -jnp.inf, lax.max, 1),
    ),
    "max_pool3d": (
        lambda h: F.max_pool3d(h.reshape(1, 3, 2, 4), 2),
        lambda h: pool(h, -jnp.inf, lax.max, 3),
    ),
    "quantile": (lambda h: h.quantile(0.5), lambda h: jnp.quantile(h, 0.5)),
    "trace": (torch.trace, jnp.trace),
    "gelu 1": (F.gelu, lambda h: jax.nn.gelu(h, approximate=False)),
    "gelu 2": (lambda h: F.gelu(h, approximate="tanh"), jax.nn.gelu),
    "gelu 3": (lambda h: F.gelu(h * 2 + 1, approximate="tanh"), lambda h: jax.nn.gelu(h * 2 + 1)),
    "gelu 4": (
        lambda h: F.gelu(F.linear(h, tensor(EYE), tensor(C)), approximate="tanh"),
        lambda h: jax.nn.gelu(h @ EYE + C),
    ),
    "silu": (F.silu, jax.nn.silu),
    "mish": (F.mish, jax.nn.mish),
    "elu": (F.elu, jax.nn.elu),
    "selu": (F.selu, jax.nn.selu),
    "celu": (F.celu, jax.nn.celu),
    "glu": (F.glu, jax.nn.glu),
    "logsigmoid": (F.logsigmoid, jax.nn.log_sigmoid),
    "hardswish": (F.hardswish, jax.nn.hard_swish),
    "softsign": (F.softsign, jax.nn.soft_sign),
    "sigmoid": (torch.sigmoid, jax.nn.sigmoid),
    "tanh": (torch.tanh, jnp.tanh),
    "relu": (torch.relu, jax.nn.relu),
    "leaky_relu": (F.leaky_relu, jax.nn.leaky_relu),
    "sqrt": (lambda h: h.abs().sqrt(), lambda h: jnp.sqrt(jnp.abs(h))),
    "sin": (torch.sin, jnp.sin),
    "eigh": (lambda h: torch.linalg.eigh(h.T @ h)[0], lambda h: jnp.linalg.eigh(h.T @ h)[0]),
    "fft": (torch.fft.fft, jnp.fft.fft),
}  # fmt: skip
CPU_ONLY = {"avg_pool3d", "max_pool3d", "trace"}  # float32 on a CPU but not on CUDA


def both(row: str, low: Any = torch.bfloat16, device_type: str = "cpu") -> tuple[Any, Any]:
    theirs, ours = ROWS[row]
    with torch.autocast("cpu", dtype=low):
        expected = theirs(tensor(X) @ tensor(EYE))
    dtype = {torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}[low]
    run = jaxgrad.autocast(lambda x: ours(x @ EYE), dtype, device_type=device_type)
    return expected, run(jnp.asarray(X))


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("row", "low"), list(itertools.product(ROWS, LOW)), ids=str)
def test_on_a_cpu(row: str, low: Any) -> None:
    """On a CPU, the result has torch's dtype, and torch's value within two units of `eps`."""
    expected, got = both(row, low)

    assert f"torch.{got.dtype}" == str(expected.dtype)
    wide = np.asarray(got).astype(np.complex128).reshape(expected.shape)
    scale = np.abs(wide[np.isfinite(wide)]).max()
    np.testing.assert_allclose(
        wide, expected.to(torch.complex128), rtol=0, atol=2 * torch.finfo(low).eps * scale
    )


def listed(macro: str) -> set[str]:
    """Return the operations on one list in torch's header."""
    header = pathlib.Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
    match = re.search(rf"#define AT_FORALL_{macro}\(_\)(.*?)\n\n", header.read_text(), re.DOTALL)
    assert match is not None
    return set(re.findall(r"_\((\w+)", match[1]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", ROWS)
def test_on_cuda(row: str) -> None:
    """On CUDA, the dtype is the one torch's header lists; unlisted operations behave as on CPU."""
    name = row.split(maxsplit=1)[0]
    expected, got = both(row, device_type="cuda")

    if name in listed("FP32") | listed("FP32_SET_OPT_DTYPE"):
        assert got.dtype == jnp.float32
    elif name in listed("LOWER_PRECISION_FP") | CPU_ONLY:
        assert got.dtype == jnp.bfloat16
    else:
        assert f"torch.{got.dtype}" == str(expected.dtype)
