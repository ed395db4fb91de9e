"""A speech recogniser with convolutions, an LSTM and CTC, and its port with channels last."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


FRAMES, BINS, CHANNELS, HIDDEN, CLASSES, BATCH, LABELS = 12, 5, 3, 4, 5, 2, 2
LENGTHS, LABEL_LENGTHS = np.array([5, 4], np.int32), np.array([2, 1], np.int32)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, CHANNELS, 3, stride=2)
        self.norm = nn.LayerNorm(2 * CHANNELS)
        self.lstm = nn.LSTM(2 * CHANNELS, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, CLASSES)

    def forward(self, features, labels):
        x = functional.relu(self.conv(features[:, None]))
        x = self.norm(x.permute(0, 2, 1, 3).flatten(2))
        log_probs = self.out(self.lstm(x)[0]).log_softmax(-1)
        lengths = torch.tensor(LENGTHS), torch.tensor(LABEL_LENGTHS)
        return functional.ctc_loss(log_probs.transpose(0, 1), labels, *lengths)


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    padding: str = "VALID"
    features_last: bool = False
    gates: str = "ifgo"
    blank: int = 0
    per_label: bool = True
    frames: Callable[[Any], Any] = lambda length: jnp.arange(length) >= LENGTHS[:, None]
    stop_carry: Callable[[Any], Any] = identity
    stop_cell: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    stop_forget: Callable[[Any], Any] = identity

    def apply(self, p: Any, features: Any, labels: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(
            features[..., None], p["conv"]["kernel"], (2, 2), self.padding, dimension_numbers=layout
        )
        x = jax.nn.relu(x + p["conv"]["bias"])
        x = x if self.features_last else jnp.swapaxes(x, 2, 3)
        x = self.normalised(p["norm"], x.reshape(*x.shape[:2], -1)[..., : 2 * CHANNELS])
        logits = self.recurrent(p["lstm"], x) @ p["out"]["kernel"] + p["out"]["bias"]
        empty = jnp.arange(LABELS) >= LABEL_LENGTHS[:, None]
        padded = self.frames(logits.shape[1]) * jnp.ones((BATCH, 1)), empty * 1.0
        losses = optax.ctc_loss(logits, padded[0], labels, padded[1], blank_id=self.blank)
        return jnp.mean(losses / LABEL_LENGTHS if self.per_label else losses)

    def normalised(self, p: Any, x: Any) -> Any:
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        mean, variance = self.stop_statistics((mean, variance))
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]

    def recurrent(self, p: Any, x: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = self.stop_carry(carry[0]), self.stop_cell(carry[1])
            z = jnp.split(x @ p["input"] + h @ p["hidden"] + p["bias"], 4, -1)
            gate = dict(zip(self.gates, z, strict=True))
            forget = self.stop_forget(jax.nn.sigmoid(gate["f"]))
            c = forget * c + jax.nn.sigmoid(gate["i"]) * jnp.tanh(gate["g"])
            h = jax.nn.sigmoid(gate["o"]) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[0], HIDDEN), x.dtype)
        return jnp.swapaxes(lax.scan(step, (zeros, zeros), jnp.swapaxes(x, 0, 1))[1], 0, 1)


def convert(state: Any) -> Any:
    """Return the weights of a `Recogniser`; the two biases of the LSTM are summed."""
    w = arrays(state)
    return {
        "conv": {"kernel": jnp.transpose(w["conv.weight"], (2, 3, 1, 0)), "bias": w["conv.bias"]},
        "norm": {"scale": w["norm.weight"], "bias": w["norm.bias"]},
        "lstm": {
            "input": w["lstm.weight_ih_l0"].T,
            "hidden": w["lstm.weight_hh_l0"].T,
            "bias": w["lstm.bias_ih_l0"] + w["lstm.bias_hh_l0"],
        },
        "out": dense(w, "out"),
    }


def pair(seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return the recogniser and its port."""
    module, port = build(Recogniser, seed), Port(**options)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(
            rng.standard_normal((BATCH, FRAMES, BINS)),
            rng.integers(1, CLASSES, (BATCH, LABELS)),
        ),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "flatten_channels_last",
        "forward",
        ("", "norm"),  # the flattening, or the layer that reads it
        plant=dict(features_last=True),
        about="The features are flattened with channels last.",
        cause="last two axes are exchanged before flatten|channels are flattened last",
    ),
    Bug(
        "same_padding",
        "forward",
        "conv",
        plant=dict(padding="SAME"),
        about="The convolution pads with SAME.",
        cause="padding is 'SAME'",
    ),
    Bug(
        "gate_order",
        "forward",
        "lstm",
        plant=dict(gates="igfo"),
        about="The forget and cell gates are swapped.",
        cause="ordered input, cell, forget, output",
    ),
    Bug(
        "last_class_is_blank",
        "forward",
        "",
        plant=dict(blank=CLASSES - 1),
        about="The last class is the blank.",
        cause="blank",
    ),
    Bug(
        "not_per_label",
        "forward",
        "",
        plant=dict(per_label=False),
        about="The mean is not divided by the label lengths.",
        cause="number of its labels|label lengths|target_lengths",
    ),
    Bug(
        "frame_lengths_ignored",
        "forward",
        "",
        plant=dict(frames=lambda length: jnp.zeros((BATCH, length))),
        about="The padded frames count.",
        cause="padding of the log_probs|input_lengths|frame lengths",
    ),
    Bug(
        "carry_stopped",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_carry=lax.stop_gradient),
        about="The hidden state is detached at every step.",
        cause=extra_stop("stop_carry"),
    ),
    Bug(
        "cell_stopped",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_cell=lax.stop_gradient),
        about="The cell state is detached at every step.",
        cause=extra_stop("stop_cell"),
    ),
    Bug(
        "forget_gate_stopped",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_forget=lax.stop_gradient),
        about="The forget gate is detached.",
        cause=extra_stop("stop_forget"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "norm",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
)
