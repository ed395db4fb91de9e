"""A residual MLP autoencoder with a probe on detached features; a dict of arrays in JAX."""

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
from parity_tests.ports.bug import Bug


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
    """As in the annotated transformer: the unbiased std, and eps outside the root."""

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
        self.aux_head = nn.Linear(WIDTH, 3)  # of the pretraining, unused since
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
    """The norm of the last axis; its gradient at zero is zero, as torch has it."""
    squares = jnp.sum(x * x, -1, keepdims=True)
    some = squares > 0
    return jnp.where(some, jnp.sqrt(jnp.where(some, squares, 1.0)), 0.0)


def plain_length(x: Any) -> Any:
    return jnp.linalg.norm(x, axis=-1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX side, and the choices in which a port goes wrong."""

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
    """The weights of `MLP` for `Port`; `merged` has one bias for two that are added."""
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
    """What is a matrix in torch (its gain too), and used; by name, also where it is stacked."""
    return path[0].key != "aux" and path[-1].key in (*MATRICES, "gain")


def decays_and_aux(path: Any, x: Any) -> bool:
    return path[-1].key in (*MATRICES, "gain")


def decays_trained(path: Any, x: Any) -> bool:
    """The same with the trunk frozen: torch leaves alone what has no gradient."""
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
    """A residual MLP against plain functions; one of its rows of inputs is empty."""
    module = build(lambda: MLP(tied, frozen), seed, fresh=fresh)
    port = Port(scan=scan, frozen=frozen, **tools)
    weights = functools.partial(convert, scan=scan, merged=merged, untied=untied, square=square)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((BATCH, FEATURES)) * (np.arange(BATCH) != 1)[:, None]
    made: dict[str, Any] = dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(x, rng.standard_normal((BATCH, CONTEXT))),
        weights=weights,
    )
    if trained:
        made["loss"] = torch_loss, port.loss
    if trained and not merged:  # two biases move twice as far as one
        made |= dict(optimizer=(torch_adamw, tx or (ADAMW_OF_FROZEN if frozen else ADAMW)), steps=3)
    return made


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
    Bug("std_over_n", "forward", "blocks.*.norm", ddof=0, about="jnp.std is over N, torch's N - 1"),
    Bug("norm_eps", "forward", "blocks.*.norm", eps=1e-5, about="another framework's eps"),
    Bug(
        "eps_inside_root",
        "forward",
        "blocks.*.norm",
        scan=True,
        eps=0.0,
        eps_inside=1e-6,
        about="sqrt(var + eps) for std + eps",
    ),
    Bug(
        "square_not_transposed",
        "forward",
        "blocks.*.linear",
        square=identity,
        about="a square kernel keeps torch's (out, in)",
    ),
    Bug(
        "square_not_transposed_in_scan",
        "forward",
        "blocks.*.linear",
        scan=True,
        square=identity,
        about="the same, in stacked weights",
    ),
    Bug(
        "gelu_for_silu",
        "forward",
        "blocks.*",
        activation=functools.partial(jax.nn.gelu, approximate=False),
        about="another smooth ReLU",
    ),
    Bug(
        "norm_at_zero",
        "backward",
        "unit",
        silent=True,
        length=plain_length,
        about="the norm of an empty row: torch's gradient is zero, JAX's is NaN",
    ),
    Bug(
        "weight_norm_stopped",
        "backward",
        "mix",
        silent=True,
        stop_length=lax.stop_gradient,
        about="the norm of the direction held constant: an update may change its length",
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "blocks.*.norm",
        silent=True,
        stop_statistics=lax.stop_gradient,
        about="the deviation held constant",
    ),
    Bug(
        "branch_stopped",
        "structure",
        "blocks.*",
        silent=True,
        scan=True,
        stop_branch=lax.stop_gradient,
        about="an extra detach on the residual branch",
    ),
    Bug(
        "probe_not_detached",
        "backward",
        "probe",
        silent=True,
        stop_probe=identity,
        about="a missing detach: the probe trains what it should only watch",
    ),
    Bug(
        "frozen_trained",
        "structure",
        "[bcfm]*",
        silent=True,
        frozen=True,
        stop_frozen=identity,
        about="requires_grad=False has no counterpart",
    ),
    Bug(
        "untied",
        "structure",
        "features.weight",
        silent=True,
        untied=True,
        about="the decoder has its own copy of the encoder's weight",
    ),
    Bug(
        "mean_of_means",
        "forward",
        "loss",
        micro_batches=(slice(0, 3), slice(3, None)),
        about="the mean over micro-batches of 3 and 2 of their means",
    ),
    Bug(
        "unused_decayed",
        "updates",
        "aux_head.weight",
        silent=True,
        tx=adamw(decays_and_aux),
        about="torch skips what has no gradient; optax decays it",
    ),
    Bug(
        "frozen_decayed",
        "updates",
        "[bcfm]*",
        silent=True,
        frozen=True,
        tx=ADAMW,
        about="the frozen trunk shrinks by weight decay",
    ),
    Bug(
        "decay_on_biases",
        "updates",
        "*[s2]",
        silent=True,
        tx=adamw(lambda path, x: path[0].key != "aux"),
        about="biases and norms decay too",
    ),
    Bug(
        "coupled_decay",
        "updates",
        "*[tvg]",
        silent=True,
        tx=adamw(decays, coupled=True),
        about="decay added to the gradient, as in Adam, not AdamW",
    ),
    Bug(
        "adam_eps_in_root",
        "updates",
        "*",
        silent=True,
        scan=True,
        tx=adamw(decays, adam=optax.scale_by_adam(eps=0.0, eps_root=1e-8)),
        about="Adam's eps inside the square root",
    ),
    Bug(
        "no_bias_correction",
        "updates",
        "*",
        silent=True,
        tx=adamw(decays, adam=uncorrected_adam()),
        about="Adam without its bias correction",
    ),
    Bug(
        "clip_each_tensor",
        "updates",
        "*",
        silent=True,
        tx=adamw(decays, clip=clip_each),
        about="each gradient clipped by its own norm",
    ),
    Bug(
        "schedule_off_by_one",
        "updates",
        "*",
        silent=True,
        tx=adamw(decays, rate=lambda count: warm_up(count + 1)),
        about="the warm-up is a step ahead",
    ),
)
