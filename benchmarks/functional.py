"""Operators with torch's conventions beside their natural JAX forms: what XLA counts.

Value and pullback of each at a size that a network has; no clock. Where a convention costs flops
or bytes, the row says what for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from benchmarks.interleaved import Cost, cost
from jaxgrad import functional


F: Any = functional
TITLE = "Operators with torch's conventions"
BOUND = 1.05


class Row(NamedTuple):
    """Ours, the natural form, and what both are given; `why`: what the convention costs."""

    ours: Callable[..., Any]
    natural: Callable[..., Any]
    args: tuple[Any, ...]
    why: str = ""


def _drawn(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape), jnp.float32)


X, W = _drawn(256, 1000), _drawn(1000)
IMAGE, FILTERS = _drawn(4, 8, 32, 32), _drawn(16, 8, 3, 3)
QKV = (_drawn(2, 4, 64, 32),) * 3
LABELS = jnp.asarray(np.random.default_rng(0).integers(0, 1000, 256), jnp.int32)
WORDS = jnp.asarray(np.random.default_rng(0).integers(0, 256, (64, 10)), jnp.int32)
POOL = ((1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    q, k, v = (jnp.moveaxis(x, 1, 2) for x in (q, k, v))
    return jnp.moveaxis(jax.nn.dot_product_attention(q, k, v), 1, 2)


def _layer_norm(x: jax.Array, weight: jax.Array) -> jax.Array:
    scale = lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)
    return (x - jnp.mean(x, -1, keepdims=True)) * scale * weight


def _batch_norm(x: jax.Array) -> jax.Array:
    scale = lax.rsqrt(jnp.var(x, (0, 2, 3), keepdims=True) + 1e-5)
    return (x - jnp.mean(x, (0, 2, 3), keepdims=True)) * scale


ROWS: dict[str, Row] = {
    "abs": Row(F.abs, jnp.abs, (X,)),
    "clamp": Row(lambda x: F.clamp(x, -1, 1), lambda x: jnp.clip(x, -1, 1), (X,)),
    "sqrt": Row(F.sqrt, jnp.sqrt, (X,)),
    "pow": Row(
        F.pow, jnp.power, (X, W), "both factors are masked where the exponent or the base is 0"
    ),
    "atan2": Row(F.atan2, jnp.arctan2, (X, W), "what is left at (0, 0) is masked"),
    "xlogy": Row(F.xlogy, jax.scipy.special.xlogy, (X, W), "what is left where x is 0 is masked"),
    "maximum": Row(
        F.maximum,
        jnp.maximum,
        (X, W),
        "a tie, the larger and the rest are told apart, and the cotangent masked",
    ),
    "relu": Row(F.relu, jax.nn.relu, (X,)),
    "leaky_relu": Row(F.leaky_relu, jax.nn.leaky_relu, (X,)),
    "elu": Row(F.elu, jax.nn.elu, (X,)),
    "gelu": Row(F.gelu, lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "gelu, tanh": Row(lambda x: F.gelu(x, approximate="tanh"), jax.nn.gelu, (X,)),
    "silu": Row(F.silu, jax.nn.silu, (X,)),
    "mish": Row(
        F.mish,
        jax.nn.mish,
        (X,),
        "computed from the input again, where JAX keeps what is in between",
    ),
    "softplus": Row(F.softplus, jax.nn.softplus, (X,)),
    "sigmoid": Row(F.sigmoid, jax.nn.sigmoid, (X,)),
    "tanh": Row(
        F.tanh, jnp.tanh, (X,), "XLA's own is off near 1, where torch's gradient 1 - y * y cancels"
    ),
    "softmax": Row(
        lambda x: F.softmax(x, -1), jax.nn.softmax, (X,), "XLA fuses the same equations otherwise"
    ),
    "log_softmax": Row(
        lambda x: F.log_softmax(x, -1),
        jax.nn.log_softmax,
        (X,),
        "its gradient takes the exponential of the result again, as torch's",
    ),
    "sum": Row(lambda x: F.sum(x, -1), lambda x: jnp.sum(x, -1), (X,)),
    "std": Row(lambda x: F.std(x, -1), lambda x: jnp.std(x, -1, ddof=1), (X,)),
    "norm": Row(
        lambda x: F.norm(x, dim=-1),
        lambda x: jnp.linalg.norm(x, axis=-1),
        (X,),
        "masked where the norm is 0",
    ),
    "logsumexp": Row(
        lambda x: F.logsumexp(x, -1),
        lambda x: jax.nn.logsumexp(x, -1),
        (X,),
        "its gradient takes the exponential again, where JAX keeps it",
    ),
    "amax": Row(
        lambda x: F.amax(x, -1),
        lambda x: jnp.max(x, -1),
        (X,),
        "ties are counted, and none is where the result is NaN",
    ),
    "max of a dim": Row(
        lambda x: F.max(x, -1).values,
        lambda x: jnp.max(x, -1),
        (X,),
        "one of the ties has the gradient: its index is found",
    ),
    "median": Row(
        lambda x: F.median(x, -1).values,
        lambda x: jnp.median(x, -1),
        (X,),
        "one element has the gradient: its index is found",
    ),
    "sort": Row(lambda x: F.sort(x).values, jnp.sort, (X,), "returns the indices too"),
    "cumsum": Row(lambda x: F.cumsum(x, -1), lambda x: jnp.cumsum(x, -1), (X,)),
    "cross_entropy": Row(
        lambda x: F.cross_entropy(x, LABELS),
        lambda x: jnp.mean(optax.softmax_cross_entropy_with_integer_labels(x, LABELS)),
        (X,),
        "the log-probabilities are kept, as torch keeps them",
    ),
    "mse_loss": Row(F.mse_loss, lambda x, y: jnp.mean((x - y) ** 2), (X, 2 * X)),
    "l1_loss": Row(
        F.l1_loss,
        lambda x, y: jnp.mean(jnp.abs(x - y)),
        (X, 2 * X),
        "above, below and equal are told apart, NaN is none of them",
    ),
    "smooth_l1_loss": Row(
        F.smooth_l1_loss, lambda x, y: jnp.mean(optax.huber_loss(x, y)), (X, 2 * X)
    ),
    "layer_norm": Row(lambda x, w: F.layer_norm(x, (1000,), w), _layer_norm, (X, W)),
    "batch_norm": Row(
        lambda x: F.batch_norm(x, None, None, training=True).output, _batch_norm, (IMAGE,)
    ),
    "linear": Row(F.linear, lambda x, w: x @ w.T, (X, _drawn(64, 1000))),
    "conv2d": Row(
        lambda x, w: F.conv2d(x, w, padding=1),
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))),
        (IMAGE, FILTERS),
    ),
    "max_pool2d": Row(
        lambda x: F.max_pool2d(x, 2),
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *POOL),
        (IMAGE,),
        "one of the ties has the gradient: its index is found",
    ),
    "avg_pool2d": Row(
        lambda x: F.avg_pool2d(x, 2),
        lambda x: lax.reduce_window(x, 0.0, lax.add, *POOL) / 4,
        (IMAGE,),
    ),
    "adaptive_max_pool1d": Row(
        lambda x: F.adaptive_max_pool1d(x, 100),
        lambda x: x.reshape(256, 100, 10).max(-1),
        (X,),
        "windows may differ in size: they are gathered",
    ),
    "interpolate, bilinear": Row(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: jax.image.resize(x, (4, 8, 64, 64), "bilinear"),
        (IMAGE,),
        "neighbours are gathered, not multiplied by a dense matrix",
    ),
    "embedding": Row(lambda w: F.embedding(WORDS, w), lambda w: w[WORDS], (X,)),
    "embedding_bag": Row(
        lambda w: F.embedding_bag(WORDS, w),
        lambda w: w[WORDS].mean(1),
        (X,),
        "the bags are sums of one flat list, of any lengths",
    ),
    "scaled_dot_product_attention": Row(
        F.scaled_dot_product_attention, _attention, QKV, "its softmax"
    ),
}


def cells() -> list[str]:
    return list(ROWS)


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Flops, bytes and bytes kept in between, ours / natural."""
    found = {}
    for name, row in ROWS.items():
        tick(name)
        ours, natural = (counts(fun, *row.args) for fun in (row.ours, row.natural))
        found[name] = {
            "flops": ours.flops / max(natural.flops, 1.0),
            "bytes": ours.bytes / natural.bytes,
        }
    return found


def counts(fun: Callable[..., Any], *args: Any) -> Cost:
    """Of the value and the pullback of an arbitrary cotangent."""

    def program(args: Any, cotangent: Any) -> Any:
        out, pull = jax.vjp(fun, *args)
        return out, pull(cotangent)

    return cost(program, args, jax.eval_shape(fun, *args))


def markdown(found: dict[str, Any]) -> Iterator[str]:
    yield (
        "Value and gradient, ours over the natural JAX form; counted by XLA, not timed. Above "
        f"{BOUND} the last column says what for."
    )
    yield ""
    yield "| operator | flops | bytes | |"
    yield "|---|---|---|---|"
    for name, row in found.items():
        yield f"| {name} | {row['flops']:.2f} | {row['bytes']:.2f} | {ROWS[name].why} |"
