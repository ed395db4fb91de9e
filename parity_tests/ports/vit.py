"""A vision transformer with a domain head behind a gradient reversal, and its equinox port."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn

import jaxgrad
from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


IMAGE, PATCH, CHANNELS, WIDTH, HEADS, LAYERS, BATCH, CLASSES = 12, 4, 3, 16, 4, 2, 2, 5
COUNT = (IMAGE // PATCH) ** 2


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, alpha: float) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return -ctx.alpha * grad, None


class GradientReversal(nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return Reverse.apply(x, self.alpha)


class EncoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attn = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.1, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, frozen_patches: bool = False):
        super().__init__()
        self.patch_embed = nn.Conv2d(CHANNELS, WIDTH, kernel_size=PATCH, stride=PATCH)
        self.patch_embed.requires_grad_(not frozen_patches)
        self.cls_token = nn.Parameter(0.2 * torch.randn(1, 1, WIDTH))
        self.pos_embed = nn.Parameter(0.2 * torch.randn(1, COUNT + 1, WIDTH))
        self.blocks = nn.Sequential(*[EncoderBlock() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)
        self.reverse = GradientReversal(0.5)
        self.domain_head = nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos_embed
        x = self.norm(self.blocks(x))[:, 0]
        return {"classes": self.head(x), "domain": self.domain_head(self.reverse(x))}


def halved_and_reversed(x: Any) -> Any:
    return jaxgrad.reverse_gradient(x, 0.5)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    scan: bool = False
    remat: bool = False
    eps: float = 1e-5
    approximate: bool = False
    scale: float = (WIDTH // HEADS) ** -0.5
    axis: int = -1
    split: str = "t (h d)"
    token_last: bool = False
    reverse: Callable[[Any], Any] = halved_and_reversed
    freeze: Callable[[Any], Any] = identity
    stop_patches: Callable[[Any], Any] = identity
    stop_attention: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_values: Callable[[Any], Any] = identity
    stop_token: Callable[[Any], Any] = identity
    per_image: Callable[[Any], Any] = identity


class Norm(eqx.Module):
    scale: jax.Array
    shift: jax.Array

    def __call__(self, x: Any, c: Choices) -> Any:
        """Normalise one token."""
        mean, variance = c.stop_statistics((jnp.mean(x), jnp.var(x)))
        return (x - mean) / jnp.sqrt(variance + c.eps) * self.scale + self.shift


class SelfAttention(eqx.Module):
    query: eqx.nn.Linear
    key: eqx.nn.Linear
    value: eqx.nn.Linear
    output: eqx.nn.Linear

    def __call__(self, tokens: Any, c: Choices) -> Any:
        def heads(linear: eqx.nn.Linear) -> Any:
            y = jax.vmap(linear)(tokens)
            if c.split == "t (d h)":
                return y.reshape(len(y), -1, HEADS).transpose(2, 0, 1)
            return y.reshape(len(y), HEADS, -1).transpose(1, 0, 2)

        @jax.vmap
        def attend(q: Any, k: Any, v: Any) -> Any:
            weights = jax.nn.softmax(c.scale * (q @ k.T), axis=c.axis)
            return c.stop_attention(weights) @ c.stop_values(v)

        mixed = attend(heads(self.query), heads(self.key), heads(self.value))
        return jax.vmap(self.output)(mixed.transpose(1, 0, 2).reshape(tokens.shape))


class Layer(eqx.Module):
    norms: tuple[Norm, Norm]
    attention: SelfAttention
    expand: eqx.nn.Linear
    contract: eqx.nn.Linear

    def __call__(self, tokens: Any, c: Choices) -> Any:
        before, between = self.norms
        normed = jax.vmap(lambda t: before(t, c))(tokens)
        tokens = tokens + self.attention(normed, c)

        def mlp(token: Any) -> Any:
            hidden = self.expand(between(token, c))
            return self.contract(jax.nn.gelu(hidden, approximate=c.approximate))

        return tokens + jax.vmap(mlp)(tokens)


class ViT(eqx.Module):
    patches: eqx.nn.Conv2d
    token: jax.Array
    positions: jax.Array
    layers: Any  # a list, or one layer with stacked weights
    norm: Norm
    classify: eqx.nn.Linear
    discriminate: tuple[eqx.nn.Linear, eqx.nn.Linear]
    choices: Choices = eqx.field(static=True)

    def __call__(self, image: Any) -> dict[str, Any]:
        c = self.choices
        x = c.stop_patches(c.freeze(self.patches)(image)).reshape(WIDTH, -1).T
        token = self.token[None]
        x = jnp.concatenate([x, token] if c.token_last else [token, x]) + self.positions
        run = jax.checkpoint(Layer.__call__, static_argnums=2) if c.remat else Layer.__call__
        if c.scan:
            x, _ = lax.scan(lambda x, layer: (run(layer, x, c), None), x, self.layers)
        else:
            for layer in self.layers:
                x = run(layer, x, c)
        x = c.per_image(self.norm(c.stop_token(x[-1 if c.token_last else 0]), c))
        first, second = self.discriminate
        domain = second(jax.nn.relu(first(c.reverse(x))))
        return {"classes": self.classify(x), "domain": domain}


def convert(
    state: Any,
    *,
    choices: Choices,
    order: str = "qkv",
    output: Callable[[Any], Any] = identity,
    kernel: Callable[[Any], Any] = identity,
) -> ViT:
    """Return a `ViT` with torch's weights; `in_proj_weight` is split into three."""
    w = arrays(state)

    def linear(weight: Any, bias: Any) -> eqx.nn.Linear:
        layer = eqx.nn.Linear(weight.shape[1], weight.shape[0], key=jax.random.key(0))
        return eqx.tree_at(lambda m: (m.weight, m.bias), layer, (weight, bias))

    def linear_of(name: str) -> eqx.nn.Linear:
        return linear(w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(name: str) -> Norm:
        return Norm(w[f"{name}.weight"], w[f"{name}.bias"])

    def layer(name: str) -> Layer:
        parts = zip(
            order,
            jnp.split(w[f"{name}.attn.in_proj_weight"], 3),
            jnp.split(w[f"{name}.attn.in_proj_bias"], 3),
            strict=True,
        )
        cut = {letter: linear(weight, bias) for letter, weight, bias in parts}
        out = linear(output(w[f"{name}.attn.out_proj.weight"]), w[f"{name}.attn.out_proj.bias"])
        return Layer(
            norms=(norm(f"{name}.norm1"), norm(f"{name}.norm2")),
            attention=SelfAttention(cut["q"], cut["k"], cut["v"], out),
            expand=linear_of(f"{name}.mlp.0"),
            contract=linear_of(f"{name}.mlp.3"),
        )

    layers = [layer(f"blocks.{i}") for i in range(LAYERS)]
    conv = eqx.nn.Conv2d(CHANNELS, WIDTH, PATCH, PATCH, key=jax.random.key(0))
    bias = w["patch_embed.bias"][:, None, None]
    weights = (kernel(w["patch_embed.weight"]), bias)
    return ViT(
        patches=eqx.tree_at(lambda m: (m.weight, m.bias), conv, weights),
        token=w["cls_token"].reshape(WIDTH),
        positions=w["pos_embed"].reshape(COUNT + 1, WIDTH),
        layers=jax.tree.map(lambda *x: jnp.stack(x), *layers) if choices.scan else layers,
        norm=norm("norm"),
        classify=linear_of("head"),
        discriminate=(linear_of("domain_head.0"), linear_of("domain_head.2")),
        choices=choices,
    )


def apply(model: ViT, images: Any) -> dict[str, Any]:
    return jax.vmap(model)(images)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    frozen_patches: bool = False,
    order: str = "qkv",
    output: Callable[[Any], Any] = identity,
    kernel: Callable[[Any], Any] = identity,
    **choices: Any,
) -> dict[str, Any]:
    """Return a ViT and its equinox port; `frozen_patches` freezes the patch projection."""
    module = build(lambda: VisionTransformer(frozen_patches), seed, fresh=fresh)
    if frozen_patches:
        choices = {"freeze": lax.stop_gradient} | choices
    weights = functools.partial(
        convert, choices=Choices(**choices), order=order, output=output, kernel=kernel
    )
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=apply,
        params=weights(module.state_dict()),
        inputs=(rng.standard_normal((BATCH, CHANNELS, IMAGE, IMAGE)),),
        weights=weights,
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scale_gradient(x: Any, factor: float) -> Any:
    del factor
    return x


scale_gradient.defvjp(lambda x, factor: (x, None), lambda factor, _, g: (factor * g,))


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "frozen_patches": dict(frozen_patches=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "layer_norm_eps",
        "forward",
        "*norm*",
        plant=dict(eps=1e-6),
        about="The layer norm's epsilon is 1e-6, as in timm, instead of 1e-5.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "gelu_tanh",
        "forward",
        "blocks.*.mlp*",
        plant=dict(approximate=True),
        about="`jax.nn.gelu` defaults to the tanh approximation.",
        cause="GELU is the tanh approximation",
    ),
    Bug(
        "scale_1_over_d",
        "forward",
        "blocks.*.attn*",
        plant=dict(scale=HEADS / WIDTH),
        about="The attention scores are divided by d instead of sqrt(d).",
        cause="scale is 1/d|number in mul is 0.25, torch uses 0.5",
    ),
    Bug(
        "softmax_axis",
        "forward",
        "blocks.*.attn*",
        plant=dict(axis=-2),
        about="The softmax is over the queries instead of the keys.",
        cause="softmax is over the queries",
    ),
    Bug(
        "head_split",
        "forward",
        "blocks.*.attn*",
        plant=dict(split="t (d h)"),
        about="The features are split as (size, heads) instead of (heads, size).",
        cause=r"heads are split as \[head_dim, heads\]",
    ),
    Bug(
        "in_proj_order",
        "forward",
        "blocks.*.attn*",
        plant=dict(order="kqv"),
        about="`in_proj_weight` is split as k, q, v instead of q, k, v.",
        cause="q and k are swapped",
    ),
    Bug(
        "out_proj_transposed",
        "forward",
        "blocks.*.attn*",
        plant=dict(output=jnp.transpose),
        about="The square output weight is transposed, but equinox uses torch's layout.",
        cause="square weight is transposed",
    ),
    Bug(
        "token_last",
        "forward",
        "",
        plant=dict(token_last=True),
        about="The class token is placed after the patches.",
        cause="operands of cat are in another order: 1, 0|last element",
    ),
    Bug(
        "patch_height_and_width",
        "forward",
        "patch_embed",
        plant=dict(kernel=functools.partial(jnp.swapaxes, axis1=2, axis2=3)),
        about="Height and width of the patch kernel are swapped.",
        cause="kernel's height and width are swapped",
    ),
    Bug(
        "reversal_lost",
        "backward",
        "reverse",
        silent=True,
        plant=dict(reverse=identity),
        about="The custom backward function is missing.",
        cause="backward of its own|-2 times torch's|custom (backward|derivative)",
    ),
    Bug(
        "reversal_scale",
        "backward",
        "reverse",
        silent=True,
        plant=dict(reverse=jaxgrad.reverse_gradient),
        about="The gradient is reversed but not scaled.",
        cause=r"(?<!-)\b2 times torch's",
    ),
    Bug(
        "reversal_detaches",
        "backward",
        "reverse",
        silent=True,
        plant=dict(reverse=lax.stop_gradient),
        about="The domain head's gradient does not reach the backbone.",
        cause="JAX passes no gradient through this call|" + extra_stop(r"c\.reverse"),
    ),
    Bug(
        "frozen_patches_trained",
        "structure",
        "patch_embed*",
        silent=True,
        plant=dict(frozen_patches=True, freeze=identity),
        about="`requires_grad_(False)` has no counterpart in the port.",
        cause="put a stop_gradient around the leaf|" + missing_stop("requires_grad", "freeze"),
    ),
    Bug(
        "patches_frozen",
        "structure",
        "patch_embed*",
        silent=True,
        plant=dict(freeze=lax.stop_gradient),
        about="The patch projection is frozen, as in MoCo v3, but not in torch.",
        cause=extra_stop("freeze"),
    ),
    Bug(
        "frozen_by_output",
        "backward",
        "patch_embed",
        silent=True,
        plant=dict(frozen_patches=True, freeze=identity, stop_patches=lax.stop_gradient),
        about="The patches are detached instead of the weights, so the image has no gradient.",
        cause="JAX passes no gradient through this call|" + extra_stop("stop_patches"),
    ),
    Bug(
        "attention_stopped",
        "structure",
        "blocks.*.attn.in_proj*",
        silent=True,
        plant=dict(stop_attention=lax.stop_gradient),
        about="The attention probabilities are detached, so queries and keys never train.",
        cause=extra_stop("stop_attention"),
    ),
    Bug(
        "values_stopped_in_scan",
        "structure",
        "blocks.*.attn.in_proj*",
        silent=True,
        plant=dict(scan=True, stop_values=lax.stop_gradient),
        about="The values are detached inside a scan, so they never train.",
        cause=extra_stop("stop_values"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "*norm*",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "trunk_stopped",
        "structure",
        "*",
        silent=True,
        plant=dict(stop_token=lax.stop_gradient),
        about="The backbone is detached, as for linear probing.",
        cause=extra_stop("stop_token"),
    ),
    Bug(
        "gradient_over_batch",
        "backward",
        ("norm", ""),  # torch also normalises the other tokens: the first one is a view of that
        silent=True,
        plant=dict(per_image=lambda x: scale_gradient(x, 1 / BATCH)),
        about="The gradient is divided by the batch size once more.",
        cause=r"times 1/2|0\.5 times torch's",
    ),
    Bug(
        "statistics_stopped_in_scan_remat",
        "backward",
        "*norm*",
        silent=True,
        plant=dict(scan=True, remat=True, stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached inside a checkpointed scan.",
        cause=extra_stop("stop_statistics"),
    ),
)
