"""A residual MLP autoencoder with a probe on detached features, and its port to plain functions."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._adamw import adamw, clip_each, torch_adamw, uncorrected_adam, warm_up
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


FEATURES, CONTEXT, WIDTH, LAYERS, BATCH = 6, 4, 8, 2, 5


class WeightNormLinear(nn.Module):
    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.v = nn.Parameter(torch.randn(outer, inner))
        self.g = nn.Parameter(torch.ones(outer, 1))
        self.bias = nn.Parameter(torch.zeros(outer))

    def forward(self, x):
        return functional.linear(x, self.g * self.v / self.v.norm(dim=1, keepdim=True), self.bias)


class Norm(nn.Module):
    """Divide by the unbiased std plus eps, as in the Annotated Transformer."""

    def __init__(self, features: int, eps: float = 1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm(WIDTH)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(functional.silu(self.linear(self.norm(x))))


class Unit(nn.Module):
    def forward(self, x):
        return x / (x.norm(dim=-1, keepdim=True) + 1e-6)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, CONTEXT)

    def forward(self, x):
        return self.linear(x.detach())


class MLP(nn.Module):
    def __init__(self, tied: bool = True, frozen: bool = False):
        super().__init__()
        self.features = nn.Linear(FEATURES, WIDTH, bias=False)
        self.unit = Unit()
        self.mix = WeightNormLinear(WIDTH, WIDTH)
        self.context = nn.Linear(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.probe = Probe()
        self.aux_head = nn.Linear(WIDTH, 3)  # left over from pretraining and unused
        self.decoder_bias = nn.Parameter(torch.zeros(FEATURES))
        self.decoder = None if tied else nn.Linear(WIDTH, FEATURES, bias=False)
        if frozen:
            for part in (self.features, self.mix, self.context, self.blocks[0]):
                part.requires_grad_(False)

    def forward(self, x, context):
        h = self.mix(self.unit(self.features(x))) + self.context(context)
        for block in self.blocks:
            h = block(h)
        weight = self.features.weight.t() if self.decoder is None else self.decoder.weight
        return functional.linear(h, weight, self.decoder_bias), self.probe(h)


def torch_loss(outputs: Any, x: Any, context: Any) -> Any:
    decoded, probed = outputs
    return functional.mse_loss(decoded, x) + functional.smooth_l1_loss(probed, context)


def length(x: Any) -> Any:
    """Return the norm over the last axis, with gradient zero at zero as in torch."""
    squares = jnp.sum(x * x, -1, keepdims=True)
    some = squares > 0
    return jnp.where(some, jnp.sqrt(jnp.where(some, squares, 1.0)), 0.0)


def plain_length(x: Any) -> Any:
    return jnp.linalg.norm(x, axis=-1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX port and its options; most values other than the default are porting mistakes."""

    scan: bool = False
    remat: bool = False
    frozen: bool = False
    ddof: int = 1
    eps: float = 1e-6
    eps_inside: float = 0.0
    activation: Callable[[Any], Any] = jax.nn.silu
    length: Callable[[Any], Any] = length
    stop_length: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_branch: Callable[[Any], Any] = identity
    stop_context: Callable[[Any], Any] = identity
    stop_probe: Callable[[Any], Any] = lax.stop_gradient
    stop_frozen: Callable[[Any], Any] = lax.stop_gradient
    micro_batches: tuple[slice, ...] = (slice(None),)

    def layer(self, p: Any, x: Any) -> Any:
        center = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.sum(center**2, -1, keepdims=True) / (x.shape[-1] - self.ddof)
        deviation = self.stop_statistics(jnp.sqrt(variance + self.eps_inside)) + self.eps
        normed = p["scale"] * center / deviation + p["shift"]
        return self.stop_branch(self.activation(normed @ p["w"] + p["b"])) + x

    def apply(self, params: Any, x: Any, context: Any) -> tuple[Any, Any]:
        p = dict(params)
        if self.frozen:
            p |= self.stop_frozen({name: p[name] for name in ("embed", "direct", "context")})
            p["layers"] = [self.stop_frozen(p["layers"][0]), *p["layers"][1:]]
        z = x @ p["embed"]
        z = z / (self.length(z) + 1e-6)
        gain, direction = p["direct"]["gain"], p["direct"]["direction"]
        size = self.stop_length(jnp.sqrt(jnp.sum(direction**2, axis=0)))
        h = z @ (direction * (gain / size)) + self.stop_context(context) @ p["context"]["w"]
        for bias in (p["direct"].get("b"), p["context"]["b"]):
            h = h if bias is None else h + bias
        layer = jax.checkpoint(self.layer) if self.remat else self.layer
        if self.scan:
            h, _ = lax.scan(lambda h, p: (layer(p, h), None), h, p["layers"])
        else:
            h = functools.reduce(lambda h, p: layer(p, h), p["layers"], h)
        decoded = h @ (p["decode"] if "decode" in p else p["embed"].T) + p["decode_b"]
        return decoded, self.stop_probe(h) @ p["probe"]["w"] + p["probe"]["b"]

    def loss(self, outputs: Any, x: Any, context: Any) -> Any:
        decoded, probed = outputs

        def part(rows: slice) -> Any:
            huber = optax.huber_loss(probed[rows], context[rows])
            return jnp.mean((decoded[rows] - x[rows]) ** 2) + jnp.mean(huber)

        return sum(map(part, self.micro_batches)) / len(self.micro_batches)


def convert(
    state: Any,
    *,
    scan: bool = False,
    merged: bool = False,
    untied: bool = False,
    square: Callable[[Any], Any] = jnp.transpose,
) -> dict[str, Any]:
    """Return the params of `Port`; `merged` stores two biases that are always added as one sum."""
    w = arrays(state)

    def dense(name: str, turn: Callable[[Any], Any] = jnp.transpose) -> dict[str, Any]:
        return {"w": turn(w[f"{name}.weight"]), "b": w[f"{name}.bias"]}

    def layer(name: str) -> dict[str, Any]:
        norm = {"scale": w[f"{name}.norm.a_2"], "shift": w[f"{name}.norm.b_2"]}
        return norm | dense(f"{name}.linear", square)

    layers = [layer(f"blocks.{i}") for i in range(LAYERS)]
    params = {
        "embed": w["features.weight"].T,
        "direct": {"direction": w["mix.v"].T, "gain": w["mix.g"][:, 0], "b": w["mix.bias"]},
        "context": dense("context"),
        "layers": jax.tree.map(lambda *x: jnp.stack(x), *layers) if scan else layers,
        "probe": dense("probe.linear"),
        "aux": dense("aux_head"),
        "decode_b": w["decoder_bias"],
    }
    if merged:
        params["context"]["b"] = params["direct"].pop("b") + params["context"]["b"]
    if "decoder.weight" in w:
        params["decode"] = w["decoder.weight"].T
    return params | ({"decode": w["features.weight"]} if untied else {})


MATRICES = ("embed", "w", "direction", "decode")


def decays(path: Any, x: Any) -> bool:
    """Decide by name whether a leaf is a used matrix in torch, because stacking adds an axis."""
    return path[0].key != "aux" and path[-1].key in (*MATRICES, "gain")


def decays_and_aux(path: Any, x: Any) -> bool:
    return path[-1].key in (*MATRICES, "gain")


def decays_trained(path: Any, x: Any) -> bool:
    """Return whether a leaf decays if the first layers are frozen; torch skips frozen layers."""
    if path[0].key == "layers" and path[1].idx == 0:
        return False
    return path[0].key not in ("embed", "direct", "context") and decays(path, x)


ADAMW, ADAMW_OF_FROZEN = adamw(decays), adamw(decays_trained)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    scan: bool = False,
    tied: bool = True,
    frozen: bool = False,
    merged: bool = False,
    trained: bool = True,
    untied: bool = False,
    square: Callable[[Any], Any] = jnp.transpose,
    tx: optax.GradientTransformation | None = None,
    **tools: Any,
) -> dict[str, Any]:
    """Return a residual MLP and its port; one row of the inputs is all zeros."""
    module = build(lambda: MLP(tied, frozen), seed, fresh=fresh)
    port = Port(scan=scan, frozen=frozen, **tools)
    weights = functools.partial(convert, scan=scan, merged=merged, untied=untied, square=square)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((BATCH, FEATURES)) * (np.arange(BATCH) != 1)[:, None]
    arguments: dict[str, Any] = dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(x, rng.standard_normal((BATCH, CONTEXT))),
        weights=weights,
    )
    if trained:
        arguments["loss"] = torch_loss, port.loss
    if trained and not merged:  # together, two biases move twice as far as one
        arguments |= dict(
            optimizer=(torch_adamw, tx or (ADAMW_OF_FROZEN if frozen else ADAMW)), steps=3
        )
    return arguments


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "scan_remat": dict(scan=True, remat=True),
    "remat": dict(remat=True),
    "own_decoder": dict(tied=False),
    "own_decoder_scan": dict(tied=False, scan=True),
    "frozen": dict(frozen=True),
    "merged_bias": dict(merged=True),
    "cotangent": dict(trained=False),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "std_over_n",
        "forward",
        "blocks.*.norm",
        plant=dict(ddof=0),
        about="`jnp.std` divides by N, `torch.std` by N - 1.",
        cause="std divides by N, torch divides by N - 1",
    ),
    Bug(
        "norm_eps",
        "forward",
        "blocks.*.norm",
        plant=dict(eps=1e-5),
        about="The norm's epsilon is 1e-5 instead of 1e-6.",
        cause="1e-05 is added|number in add is 1e-05|eps is 1e-05, torch uses 1e-06",
    ),
    Bug(
        "eps_inside_root",
        "forward",
        "blocks.*.norm",
        plant=dict(scan=True, eps=0.0, eps_inside=1e-6),
        about="The norm divides by sqrt(var + eps) instead of std + eps.",
        cause="inside|to the variance",
    ),
    Bug(
        "square_not_transposed",
        "forward",
        "blocks.*.linear",
        plant=dict(square=identity),
        about="A square weight is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "square_not_transposed_in_scan",
        "forward",
        "blocks.*.linear",
        plant=dict(scan=True, square=identity),
        about="The stacked square weights are not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "gelu_for_silu",
        "forward",
        "blocks.*",
        plant=dict(activation=functools.partial(jax.nn.gelu, approximate=False)),
        about="The activation is GELU instead of SiLU.",
        cause="activation is gelu, torch uses silu",
    ),
    Bug(
        "norm_at_zero",
        "backward",
        "unit",
        silent=True,
        plant=dict(length=plain_length),
        about="At an empty row the norm's gradient is zero in torch and NaN in JAX.",
        cause="derivative of sqrt .*is infinite",
    ),
    Bug(
        "weight_norm_stopped",
        "backward",
        "mix",
        silent=True,
        plant=dict(stop_length=lax.stop_gradient),
        about="The norm of the direction is detached, so an update may change its length.",
        cause=extra_stop("stop_length"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "blocks.*.norm",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The standard deviation is detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "branch_stopped",
        "structure",
        "blocks.*",
        silent=True,
        plant=dict(scan=True, stop_branch=lax.stop_gradient),
        about="The residual branch has an extra `stop_gradient`.",
        cause=extra_stop("stop_branch"),
    ),
    Bug(
        "probe_not_detached",
        "backward",
        "probe",
        silent=True,
        plant=dict(stop_probe=identity),
        about="The probe's input is not detached, so the probe trains the features.",
        cause=missing_stop(r"x\.detach\(\)", "stop_probe"),
    ),
    Bug(
        "frozen_trained",
        "structure",
        "[bcfm]*",
        silent=True,
        plant=dict(frozen=True, stop_frozen=identity),
        about="`requires_grad=False` has no counterpart in the port.",
        cause="put a stop_gradient around the leaf|"
        + missing_stop("requires_grad", r'stop_frozen|functools\.reduce|p\["embed"\]|direction'),
    ),
    Bug(
        "untied",
        "structure",
        "features.weight",
        silent=True,
        plant=dict(untied=True),
        about="The decoder has its own copy of the encoder's weight.",
        cause="leaves diverge",
    ),
    Bug(
        "mean_of_means",
        "forward",
        "loss",
        plant=dict(micro_batches=(slice(0, 3), slice(3, None))),
        about="The loss averages the means of micro-batches of sizes 3 and 2.",
        cause="micro-?batch|mean of means",
    ),
    Bug(
        "unused_decayed",
        "updates",
        "aux_head.weight",
        silent=True,
        plant=dict(tx=adamw(decays_and_aux)),
        about="torch skips parameters without a gradient; optax decays them.",
        cause="torch skips the weight|decay is applied to aux_head",
    ),
    Bug(
        "frozen_decayed",
        "updates",
        "[bcfm]*",
        silent=True,
        plant=dict(frozen=True, tx=ADAMW),
        about="Weight decay shrinks the frozen layers.",
        cause="torch skips the weight|decay is applied to",
    ),
    Bug(
        "decay_on_biases",
        "updates",
        "*[s2]",
        silent=True,
        plant=dict(tx=adamw(lambda path, x: path[0].key != "aux")),
        about="Biases and norms decay too.",
        cause="decay applies to all weights|decay is applied to",
    ),
    Bug(
        "coupled_decay",
        "updates",
        "*[tvg]",
        silent=True,
        plant=dict(tx=adamw(decays, coupled=True)),
        about="Weight decay is added to the gradient, as in Adam instead of AdamW.",
        cause="decay is added to the gradient",
    ),
    Bug(
        "adam_eps_in_root",
        "updates",
        "*",
        silent=True,
        plant=dict(scan=True, tx=adamw(decays, adam=optax.scale_by_adam(eps=0.0, eps_root=1e-8))),
        about="Adam's epsilon is inside the square root.",
        cause="eps.* (inside|outside)",
    ),
    Bug(
        "no_bias_correction",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, adam=uncorrected_adam())),
        about="Adam's bias correction is missing.",
        cause="bias correction is missing|bias corrections are missing",
    ),
    Bug(
        "clip_each_tensor",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, clip=clip_each)),
        about="Each gradient is clipped by its own norm.",
        cause="own norm",
    ),
    Bug(
        "schedule_off_by_one",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adamw(decays, rate=lambda count: warm_up(count + 1))),
        about="The warm-up is one step ahead.",
        cause="one step ahead",
    ),
)
