"""Compare the cost of jaxgrad's operators with that of the usual JAX expressions.

XLA counts the flops and bytes of value and pullback at sizes typical of networks; nothing is timed.
Where torch's convention costs flops or bytes, the row states the reason.
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


class Comparison(NamedTuple):
    """jaxgrad's operator, the usual JAX expression, their arguments, and the reason for a cost."""

    operator: Callable[..., Any]
    jax_form: Callable[..., Any]
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


ROWS: dict[str, Comparison] = {
    "abs": Comparison(F.abs, jnp.abs, (X,)),
    "clamp": Comparison(lambda x: F.clamp(x, -1, 1), lambda x: jnp.clip(x, -1, 1), (X,)),
    "sqrt": Comparison(F.sqrt, jnp.sqrt, (X,)),
    "pow": Comparison(
        F.pow, jnp.power, (X, W), "both factors are masked where the exponent or the base is 0"
    ),
    "atan2": Comparison(F.atan2, jnp.arctan2, (X, W), "the gradient at (0, 0) is masked"),
    "xlogy": Comparison(
        F.xlogy, jax.scipy.special.xlogy, (X, W), "the gradient where x is 0 is masked"
    ),
    "maximum": Comparison(
        F.maximum,
        jnp.maximum,
        (X, W),
        "ties are distinguished, and the cotangent is masked",
    ),
    "relu": Comparison(F.relu, jax.nn.relu, (X,)),
    "leaky_relu": Comparison(F.leaky_relu, jax.nn.leaky_relu, (X,)),
    "elu": Comparison(F.elu, jax.nn.elu, (X,)),
    "gelu": Comparison(F.gelu, lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "gelu, tanh": Comparison(lambda x: F.gelu(x, approximate="tanh"), jax.nn.gelu, (X,)),
    "silu": Comparison(F.silu, jax.nn.silu, (X,)),
    "mish": Comparison(
        F.mish,
        jax.nn.mish,
        (X,),
        "recomputed from the input; JAX saves intermediate values",
    ),
    "softplus": Comparison(F.softplus, jax.nn.softplus, (X,)),
    "sigmoid": Comparison(F.sigmoid, jax.nn.sigmoid, (X,)),
    "tanh": Comparison(
        F.tanh,
        jnp.tanh,
        (X,),
        "XLA's tanh is inaccurate near 1, where torch's gradient 1 - y * y cancels",
    ),
    "softmax": Comparison(
        lambda x: F.softmax(x, -1),
        jax.nn.softmax,
        (X,),
    ),
    "log_softmax": Comparison(
        lambda x: F.log_softmax(x, -1),
        jax.nn.log_softmax,
        (X,),
        "as in torch, the gradient recomputes the exponential of the result",
    ),
    "sum": Comparison(lambda x: F.sum(x, -1), lambda x: jnp.sum(x, -1), (X,)),
    "std": Comparison(lambda x: F.std(x, -1), lambda x: jnp.std(x, -1, ddof=1), (X,)),
    "norm": Comparison(
        lambda x: F.norm(x, dim=-1),
        lambda x: jnp.linalg.norm(x, axis=-1),
        (X,),
        "the gradient is masked where the norm is 0",
    ),
    "logsumexp": Comparison(
        lambda x: F.logsumexp(x, -1),
        lambda x: jax.nn.logsumexp(x, -1),
        (X,),
        "the gradient recomputes the exponential; JAX saves it",
    ),
    "amax": Comparison(
        lambda x: F.amax(x, -1),
        lambda x: jnp.max(x, -1),
        (X,),
        "ties are counted, with a special case for NaN",
    ),
    "max over a dim": Comparison(
        lambda x: F.max(x, -1).values,
        lambda x: jnp.max(x, -1),
        (X,),
        "only one of the ties gets the gradient, so its index is computed",
    ),
    "median": Comparison(
        lambda x: F.median(x, -1).values,
        lambda x: jnp.median(x, -1),
        (X,),
        "only one element gets the gradient, so its index is computed",
    ),
    "sort": Comparison(lambda x: F.sort(x).values, jnp.sort, (X,)),
    "cumsum": Comparison(lambda x: F.cumsum(x, -1), lambda x: jnp.cumsum(x, -1), (X,)),
    "cross_entropy": Comparison(
        lambda x: F.cross_entropy(x, LABELS),
        lambda x: jnp.mean(optax.softmax_cross_entropy_with_integer_labels(x, LABELS)),
        (X,),
        "the entries of the labels are scattered into the gradient, apart from the softmax",
    ),
    "mse_loss": Comparison(F.mse_loss, lambda x, y: jnp.mean((x - y) ** 2), (X, 2 * X)),
    "l1_loss": Comparison(
        F.l1_loss,
        lambda x, y: jnp.mean(jnp.abs(x - y)),
        (X, 2 * X),
        "equal elements and NaN are distinguished",
    ),
    "smooth_l1_loss": Comparison(
        F.smooth_l1_loss, lambda x, y: jnp.mean(optax.huber_loss(x, y)), (X, 2 * X)
    ),
    "layer_norm": Comparison(lambda x, w: F.layer_norm(x, (1000,), w), _layer_norm, (X, W)),
    "batch_norm": Comparison(
        lambda x: F.batch_norm(x, None, None, training=True).output, _batch_norm, (IMAGE,)
    ),
    "linear": Comparison(F.linear, lambda x, w: x @ w.T, (X, _drawn(64, 1000))),
    "conv2d": Comparison(
        lambda x, w: F.conv2d(x, w, padding=1),
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))),
        (IMAGE, FILTERS),
    ),
    "max_pool2d": Comparison(
        lambda x: F.max_pool2d(x, 2),
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *POOL),
        (IMAGE,),
        "only one of the ties gets the gradient, so its index is computed",
    ),
    "avg_pool2d": Comparison(
        lambda x: F.avg_pool2d(x, 2),
        lambda x: lax.reduce_window(x, 0.0, lax.add, *POOL) / 4,
        (IMAGE,),
    ),
    "adaptive_max_pool1d": Comparison(
        lambda x: F.adaptive_max_pool1d(x, 100),
        lambda x: x.reshape(256, 100, 10).max(-1),
        (X,),
        "only one of the ties gets the gradient, so its index is computed",
    ),
    "interpolate, bilinear": Comparison(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: jax.image.resize(x, (4, 8, 64, 64), "bilinear"),
        (IMAGE,),
        "neighbours are gathered instead of multiplied by a dense matrix",
    ),
    "embedding": Comparison(lambda w: F.embedding(WORDS, w), lambda w: w[WORDS], (X,)),
    "embedding_bag": Comparison(
        lambda w: F.embedding_bag(WORDS, w),
        lambda w: w[WORDS].mean(1),
        (X,),
        "the bags are segment sums of a flat list, since their lengths may differ",
    ),
    "scaled_dot_product_attention": Comparison(F.scaled_dot_product_attention, _attention, QKV),
}


def cells() -> list[str]:
    return list(ROWS)


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Return each operator's flops and bytes divided by those of the usual JAX expression."""
    ratios = {}
    for name, row in ROWS.items():
        tick(name)
        operator, jax_form = (counts(fun, *row.args) for fun in (row.operator, row.jax_form))
        ratios[name] = {
            "flops": operator.flops / max(jax_form.flops, 1.0),
            "bytes": operator.bytes / jax_form.bytes,
        }
    return ratios


def counts(fun: Callable[..., Any], *args: Any) -> Cost:
    """Return the cost of a function's value and of its pullback for an arbitrary cotangent."""

    def program(args: Any, cotangent: Any) -> Any:
        out, pull = jax.vjp(fun, *args)
        return out, pull(cotangent)

    return cost(program, args, jax.eval_shape(fun, *args))


def markdown(ratios: dict[str, Any]) -> Iterator[str]:
    yield (
        "Cost of value and gradient of `jaxgrad.functional`'s operators, relative to the usual JAX "
        "expressions. XLA counts flops and bytes; nothing is timed. Ratios above "
        f"{BOUND} have a reason in the last column."
    )
    yield ""
    yield "| operator | flops | bytes | reason |"
    yield "|---|---|---|---|"
    for name, row in ratios.items():
        yield f"| {name} | {row['flops']:.2f} | {row['bytes']:.2f} | {ROWS[name].why} |"
