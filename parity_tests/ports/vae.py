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
from parity_tests.ports.bug import Bug


PIXELS, CONDITION, WIDTH, LATENT, LAYERS, BATCH = 9, 3, 8, 4, 2, 4
BALANCE, RATE, DECAY, CLIP = 0.8, 1e-2, 0.05, 0.05


class Gaussian(nn.Module):
    """Mean and log variance; it starts as wide as it may be, from zeros."""

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
    """Cross entropy of pixels, and the KL that trains the prior more than the posterior."""
    logits, q, p = outputs["logits"], outputs["posterior"], outputs["prior"]
    fixed_q, fixed_p = ([part.detach() for part in pair] for pair in (q, p))
    reconstruction = functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = BALANCE * torch_kl(fixed_q, p) + (1 - BALANCE) * torch_kl(q, fixed_p)
    return reconstruction / len(x) + kl


def torch_adam(params: Any) -> torch.optim.Optimizer:
    """Adam with decay in the gradient, and each entry of a gradient clipped."""
    params = list(params)
    optimizer = torch.optim.Adam(params, lr=RATE, weight_decay=DECAY)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_value_(params, CLIP)

    optimizer.register_step_pre_hook(clip)
    return optimizer


def clamp(x: Any) -> Any:
    """Within [-6, 0]; on the bounds, as in torch, the gradient passes."""
    return jnp.where(x > 0.0, 0.0, jnp.where(x < -6.0, -6.0, x))


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX side, and the choices in which a port goes wrong."""

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
        # The first layer in two parts: no concatenation.
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
        given = jnp.concatenate(parts[::-1] if self.noise_first else parts, -1)
        logits = jax.nn.elu(given @ d["w0"] + d["b0"]) @ d["w1"] + d["b1"]
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
    """The weights of `VAE` for `Port`; mean and log variance come from one matrix."""
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
    """The optax chain of `torch_adam`, and its parts in which a port goes wrong."""
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
    """A conditional VAE against plain functions; the noise is an input of both."""
    module = build(VAE, seed, fresh=fresh)
    port = Port(scan=scan, **tools)
    weights = functools.partial(convert, scan=scan, square=square)
    rng = np.random.default_rng(seed)
    x, condition = rng.random((BATCH, PIXELS)), rng.standard_normal((BATCH, CONDITION))
    made: dict[str, Any] = dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(x, condition, rng.standard_normal((BATCH, LATENT))),
        weights=weights,
    )
    if trained:
        made |= dict(loss=(torch_loss, port.loss), optimizer=(torch_adam, tx), steps=3)
    return made


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "cotangent": dict(trained=False),
}

BUGS: tuple[Bug, ...] = (
    Bug("variance_for_deviation", "forward", "", half=1.0, about="exp(logvar) is the variance"),
    Bug(
        "square_not_transposed",
        "forward",
        "encoder.hidden.*",
        square=identity,
        about="a square kernel keeps torch's (out, in)",
    ),
    Bug("relu_for_softplus", "forward", "encoder*", softplus=jax.nn.relu, about="the sharp one"),
    Bug("joined_in_other_order", "forward", "", noise_first=True, about="condition, then sample"),
    Bug(
        "kl_mean_over_latents",
        "forward",
        "loss",
        latents=jnp.mean,
        about="the KL is a sum over latents",
    ),
    Bug(
        "pixels_mean",
        "forward",
        "loss",
        pixels=jnp.mean,
        about="the reconstruction is a sum over pixels",
    ),
    Bug("kl_swapped", "forward", "loss", swapped=True, about="KL(p, q) for KL(q, p)"),
    Bug(
        "balance_lost",
        "backward",
        "loss",
        silent=True,
        stop_balance=identity,
        about="without its two detaches the balanced KL has the same value",
    ),
    Bug(
        "balance_swapped",
        "backward",
        "loss",
        silent=True,
        balance=1 - BALANCE,
        about="the posterior is pulled more than the prior",
    ),
    Bug(
        "sample_stopped",
        "backward",
        "",
        silent=True,
        stop_sample=lax.stop_gradient,
        about="the sample is detached: no reparameterisation",
    ),
    Bug(
        "width_stopped",
        "backward",
        "",
        silent=True,
        scan=True,
        stop_width=lax.stop_gradient,
        about="the deviation of the sample is detached, its mean is not",
    ),
    Bug(
        "prior_stopped",
        "structure",
        "prior*",
        silent=True,
        stop_prior=lax.stop_gradient,
        about="the learned prior never learns",
    ),
    Bug(
        "clamp_on_bound",
        "backward",
        "p*",
        silent=True,
        fresh=True,
        clamp=lambda x: jnp.clip(x, -6.0, 0.0),
        about="on a bound clamp passes the gradient, jnp.clip half of it",
    ),
    Bug(
        "decoupled_decay",
        "updates",
        "*",
        silent=True,
        tx=adam(coupled=False),
        about="AdamW for torch's Adam with weight_decay",
    ),
    Bug(
        "decay_clipped",
        "updates",
        "*",
        silent=True,
        tx=adam(decay_first=True),
        about="decay added before the clip",
    ),
    Bug(
        "biases_not_decayed",
        "updates",
        "*bias",
        silent=True,
        tx=adam(mask=matrices),
        about="torch's weight_decay is for every parameter",
    ),
    Bug(
        "clip_by_norm",
        "updates",
        "*",
        silent=True,
        tx=adam(clip=optax.clip_by_global_norm(CLIP)),
        about="by norm, not by value",
    ),
    Bug(
        "adam_eps",
        "updates",
        "*",
        silent=True,
        tx=adam(scale=optax.scale_by_adam(eps=1e-7)),
        about="Keras' eps",
    ),
    Bug(
        "no_bias_correction",
        "updates",
        "*",
        silent=True,
        tx=adam(scale=uncorrected_adam()),
        about="Adam without its bias correction",
    ),
)
