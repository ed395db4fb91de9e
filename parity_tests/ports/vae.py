"""A conditional VAE with a learned prior and a balanced KL, and its port to plain functions."""

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
from parity_tests.ports._adamw import uncorrected_adam
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


PIXELS, CONDITION, WIDTH, LATENT, LAYERS, BATCH = 9, 3, 8, 4, 2, 4
BALANCE, RATE, DECAY, CLIP = 0.8, 1e-2, 0.05, 0.05


class Gaussian(nn.Module):
    """Return mean and log variance; the log variance starts at its upper bound, zero."""

    def __init__(self, inner: int):
        super().__init__()
        self.mu = nn.Linear(inner, LATENT)
        self.logvar = nn.Linear(inner, LATENT)
        nn.init.zeros_(self.logvar.weight)
        nn.init.zeros_(self.logvar.bias)

    def forward(self, h):
        return self.mu(h), torch.clamp(self.logvar(h), -6.0, 0.0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(PIXELS + CONDITION, WIDTH)
        self.hidden = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, condition):
        h = torch.tanh(self.inp(torch.cat([x, condition], dim=-1)))
        for layer in self.hidden:
            h = self.dropout(functional.softplus(layer(h)))
        return h


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.posterior = Gaussian(WIDTH)
        self.prior = Gaussian(CONDITION)
        self.decoder = nn.Sequential(
            nn.Linear(LATENT + CONDITION, WIDTH), nn.ELU(), nn.Linear(WIDTH, PIXELS)
        )

    def reparameterize(self, mu, logvar, noise):
        return mu + noise * torch.exp(0.5 * logvar)

    def forward(self, x, condition, noise):
        mu, logvar = self.posterior(self.encoder(x, condition))
        z = self.reparameterize(mu, logvar, noise)
        logits = self.decoder(torch.cat([z, condition], dim=-1))
        return {"logits": logits, "posterior": (mu, logvar), "prior": self.prior(condition)}


def torch_kl(q: Any, p: Any) -> Any:
    (m, s), (n, t) = q, p
    return 0.5 * (t - s + (s.exp() + (m - n) ** 2) / t.exp() - 1).sum(-1).mean()


def torch_loss(outputs: Any, x: Any, condition: Any, noise: Any) -> Any:
    """Return the reconstruction loss plus a KL that trains the prior more than the posterior."""
    logits, q, p = outputs["logits"], outputs["posterior"], outputs["prior"]
    fixed_q, fixed_p = ([part.detach() for part in pair] for pair in (q, p))
    reconstruction = functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = BALANCE * torch_kl(fixed_q, p) + (1 - BALANCE) * torch_kl(q, fixed_p)
    return reconstruction / len(x) + kl


def torch_adam(params: Any) -> torch.optim.Optimizer:
    """Return Adam with coupled weight decay and elementwise gradient clipping."""
    params = list(params)
    optimizer = torch.optim.Adam(params, lr=RATE, weight_decay=DECAY)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_value_(params, CLIP)

    optimizer.register_step_pre_hook(clip)
    return optimizer


def clamp(x: Any) -> Any:
    """Clamp to [-6, 0] with torch's gradient, which passes at the bounds."""
    return jnp.where(x > 0.0, 0.0, jnp.where(x < -6.0, -6.0, x))


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX port and its options; most values other than the default are porting mistakes."""

    scan: bool = False
    remat: bool = False
    clamp: Callable[[Any], Any] = clamp
    half: float = 0.5
    softplus: Callable[[Any], Any] = jax.nn.softplus
    noise_first: bool = False
    stop_sample: Callable[[Any], Any] = identity
    stop_width: Callable[[Any], Any] = identity
    stop_prior: Callable[[Any], Any] = identity
    stop_balance: Callable[[Any], Any] = lax.stop_gradient
    balance: float = BALANCE
    latents: Callable[..., Any] = jnp.sum
    pixels: Callable[..., Any] = jnp.sum
    swapped: bool = False

    def gaussian(self, p: Any, h: Any) -> tuple[Any, Any]:
        mean, width = jnp.split(h @ p["w"] + p["b"], 2, axis=-1)
        return mean, self.clamp(width)

    def apply(self, params: Any, x: Any, condition: Any, noise: Any) -> dict[str, Any]:
        e, d = params["encode"], params["decode"]
        # Splitting the first layer's weight avoids a concatenation of its inputs.
        h = jnp.tanh(x @ e["from_x"] + condition @ e["from_condition"] + e["b"])

        def layer(h: Any, p: Any) -> Any:
            return self.softplus(h @ p["w"] + p["b"])

        layer = jax.checkpoint(layer) if self.remat else layer
        if self.scan:
            h, _ = lax.scan(lambda h, p: (layer(h, p), None), h, e["layers"])
        else:
            h = functools.reduce(layer, e["layers"], h)
        mean, width = self.gaussian(params["posterior"], h)
        sample = mean + jnp.exp(self.half * self.stop_width(width)) * noise
        parts = (self.stop_sample(sample), condition)
        joined = jnp.concatenate(parts[::-1] if self.noise_first else parts, -1)
        logits = jax.nn.elu(joined @ d["w0"] + d["b0"]) @ d["w1"] + d["b1"]
        prior = self.stop_prior(self.gaussian(params["prior"], condition))
        return {"logits": logits, "posterior": (mean, width), "prior": prior}

    def kl(self, q: Any, p: Any) -> Any:
        q, p = (p, q) if self.swapped else (q, p)
        (m, s), (n, t) = q, p
        return jnp.mean(
            self.latents((t - s - 1 + jnp.exp(s - t) + (m - n) ** 2 / jnp.exp(t)) / 2, -1)
        )

    def loss(self, outputs: Any, x: Any, condition: Any, noise: Any) -> Any:
        q, p, stop = outputs["posterior"], outputs["prior"], self.stop_balance
        each = optax.sigmoid_binary_cross_entropy(outputs["logits"], x)
        toward_p, toward_q = self.kl(stop(q), p), self.kl(q, stop(p))
        kl = self.balance * toward_p + (1 - self.balance) * toward_q
        return jnp.mean(self.pixels(each, -1)) + kl


def convert(
    state: Any, *, scan: bool = False, square: Callable[[Any], Any] = jnp.transpose
) -> dict[str, Any]:
    """Return the params of `Port`; one matrix computes both mean and log variance."""
    w = arrays(state)

    def gaussian(name: str) -> dict[str, Any]:
        heads = (f"{name}.mu", f"{name}.logvar")
        return {
            "w": jnp.concatenate([w[f"{head}.weight"].T for head in heads], -1),
            "b": jnp.concatenate([w[f"{head}.bias"] for head in heads]),
        }

    layers = [
        {"w": square(w[f"encoder.hidden.{i}.weight"]), "b": w[f"encoder.hidden.{i}.bias"]}
        for i in range(LAYERS)
    ]
    from_x, from_condition = jnp.split(w["encoder.inp.weight"].T, [PIXELS])
    return {
        "encode": {
            "from_x": from_x,
            "from_condition": from_condition,
            "b": w["encoder.inp.bias"],
            "layers": jax.tree.map(lambda *x: jnp.stack(x), *layers) if scan else layers,
        },
        "posterior": gaussian("posterior"),
        "prior": gaussian("prior"),
        "decode": {
            "w0": w["decoder.0.weight"].T,
            "b0": w["decoder.0.bias"],
            "w1": w["decoder.2.weight"].T,
            "b1": w["decoder.2.bias"],
        },
    }


def adam(
    *,
    clip: Any = None,
    scale: Any = None,
    coupled: bool = True,
    mask: Any = None,
    decay_first: bool = False,
) -> Any:
    """Return the optax equivalent of `torch_adam`; the arguments introduce mistakes."""
    clip = clip or optax.clip(CLIP)
    scale, decay = scale or optax.scale_by_adam(), optax.add_decayed_weights(DECAY, mask)
    parts = (clip, decay, scale) if coupled else (clip, scale, decay)
    parts = (decay, clip, scale) if decay_first else parts
    return optax.chain(*parts, optax.scale(-RATE))


ADAM = adam()


def matrices(params: Any) -> Any:
    return jax.tree.map(lambda x: x.ndim > 1, params)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    scan: bool = False,
    trained: bool = True,
    square: Callable[[Any], Any] = jnp.transpose,
    tx: Any = ADAM,
    **tools: Any,
) -> dict[str, Any]:
    """Return a conditional VAE and its port; the noise is an input of both programs."""
    module = build(VAE, seed, fresh=fresh)
    port = Port(scan=scan, **tools)
    weights = functools.partial(convert, scan=scan, square=square)
    rng = np.random.default_rng(seed)
    x, condition = rng.random((BATCH, PIXELS)), rng.standard_normal((BATCH, CONDITION))
    arguments: dict[str, Any] = dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(x, condition, rng.standard_normal((BATCH, LATENT))),
        weights=weights,
    )
    if trained:
        arguments |= dict(loss=(torch_loss, port.loss), optimizer=(torch_adam, tx), steps=3)
    return arguments


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "cotangent": dict(trained=False),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "variance_for_deviation",
        "forward",
        "",
        plant=dict(half=1.0),
        about="exp(logvar) is the variance, not the standard deviation.",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "square_not_transposed",
        "forward",
        "encoder.hidden.*",
        plant=dict(square=identity),
        about="A square weight is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "relu_for_softplus",
        "forward",
        "encoder*",
        plant=dict(softplus=jax.nn.relu),
        about="The activation is ReLU instead of softplus.",
        cause="activation is relu, torch uses softplus",
    ),
    Bug(
        "joined_in_other_order",
        "forward",
        "",
        plant=dict(noise_first=True),
        about="The sample and the condition are concatenated in the other order.",
        cause="operands of cat are in another order: 1, 0",
    ),
    Bug(
        "kl_mean_over_latents",
        "forward",
        "loss",
        plant=dict(latents=jnp.mean),
        about="The KL is averaged over latents instead of summed.",
        cause="reduction is mean, torch uses sum|times 1/4",
    ),
    Bug(
        "pixels_mean",
        "forward",
        "loss",
        plant=dict(pixels=jnp.mean),
        about="The reconstruction loss is averaged over pixels instead of summed.",
        cause="times 1/9|averaged over",
    ),
    Bug(
        "kl_swapped",
        "forward",
        "loss",
        plant=dict(swapped=True),
        about="The KL is KL(p, q) instead of KL(q, p).",
        cause=r"\b(posterior|prior|q|p)\b.* (swapped|exchanged)",
    ),
    Bug(
        "balance_lost",
        "backward",
        "loss",
        silent=True,
        plant=dict(stop_balance=identity),
        about="The balanced KL has the same value without its two detaches.",
        cause=missing_stop(r"detach\(\)", "kl|t - s - 1"),
    ),
    Bug(
        "balance_swapped",
        "backward",
        "loss",
        silent=True,
        plant=dict(balance=1 - BALANCE),
        about="The KL trains the posterior more than the prior.",
        cause=r"times 1/4|0\.25 times torch's",
    ),
    Bug(
        "sample_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_sample=lax.stop_gradient),
        about="The sample is detached: there is no reparameterisation.",
        cause=extra_stop("stop_sample"),
    ),
    Bug(
        "width_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(scan=True, stop_width=lax.stop_gradient),
        about="The sample's standard deviation is detached, but not its mean.",
        cause=extra_stop("stop_width"),
    ),
    Bug(
        "prior_stopped",
        "structure",
        "prior*",
        silent=True,
        plant=dict(stop_prior=lax.stop_gradient),
        about="The learned prior is detached, so it never trains.",
        cause=extra_stop("stop_prior"),
    ),
    Bug(
        "clamp_on_bound",
        "backward",
        "p*",
        silent=True,
        plant=dict(fresh=True, clamp=lambda x: jnp.clip(x, -6.0, 0.0)),
        about="At a bound `torch.clamp` passes the gradient, `jnp.clip` half of it.",
        cause="equal in some elements",
    ),
    Bug(
        "decoupled_decay",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adam(coupled=False)),
        about="The optimizer is AdamW instead of Adam with `weight_decay`.",
        cause="decay is added to the gradient|decoupled",
    ),
    Bug(
        "decay_clipped",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adam(decay_first=True)),
        about="Weight decay is added before the clip.",
        cause="decay.* (before|clipped)",
    ),
    Bug(
        "biases_not_decayed",
        "updates",
        "*bias",
        silent=True,
        plant=dict(tx=adam(mask=matrices)),
        about="torch's `weight_decay` applies to every parameter, biases included.",
        cause="decay is not applied to",
    ),
    Bug(
        "clip_by_norm",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adam(clip=optax.clip_by_global_norm(CLIP))),
        about="Gradients are clipped by norm instead of by value.",
        cause="clipped by norm|clipped by (its|their|the) (total |global )?norm",
    ),
    Bug(
        "adam_eps",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adam(scale=optax.scale_by_adam(eps=1e-7))),
        about="The port uses Keras' default epsilon for Adam.",
        cause="eps is 1e-07",
    ),
    Bug(
        "no_bias_correction",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=adam(scale=uncorrected_adam())),
        about="Adam's bias correction is missing.",
        cause="bias correction is missing|bias corrections are missing",
    ),
)
