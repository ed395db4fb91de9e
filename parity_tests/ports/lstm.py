"""A two-layer LSTM with optional truncated backpropagation, and its port to a scan."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


FEATURES, HIDDEN, LAYERS, CLASSES, BATCH, STEPS, WINDOW = 6, 8, 2, 4, 3, 8, 4

Pair = tuple[Any, Any]


class Tagger(nn.Module):
    """Label each step of a sequence; the state is detached between windows."""

    def __init__(self, bidirectional: bool = False, window: int | None = None):
        super().__init__()
        self.window = window
        self.norm = nn.LayerNorm(FEATURES)
        self.lstm = nn.LSTM(
            FEATURES,
            HIDDEN,
            num_layers=LAYERS,
            batch_first=True,
            dropout=0.1,
            bidirectional=bidirectional,
        )
        self.classifier = nn.Linear(HIDDEN * (1 + bidirectional), CLASSES)

    def forward(self, x):
        x = self.norm(x)
        outputs, state, h = [], None, x
        for chunk in x.split(self.window or x.shape[1], dim=1):
            out, (h, c) = self.lstm(chunk, state)
            outputs.append(out)
            state = h.detach(), c.detach()
        return self.classifier(torch.cat(outputs, dim=1)), h


def torch_loss(outputs: Any) -> Any:
    logits, last = outputs
    return -(logits.log_softmax(-1)[..., 0]).mean() + (last**2).mean()


def cell(
    p: Any,
    carry: Pair,
    x: Any,
    *,
    forget_bias: float = 0.0,
    candidate: Callable[[Any], Any] = jnp.tanh,
    squash: Callable[[Any], Any] = jnp.tanh,
    stop_h: Callable[[Any], Any] = identity,
    stop_c: Callable[[Any], Any] = identity,
    stop_gates: Callable[[Any], Any] = identity,
) -> tuple[Pair, Any]:
    """Compute one step of one layer; the kernel stores the gates in the order i, o, f, g."""
    c, h = carry
    c, h = stop_c(c), stop_h(h)
    gates = jnp.concatenate([x, h], axis=-1) @ p["kernel"] + p["bias"]
    sigmoids, g = jnp.split(gates, [3 * HIDDEN], axis=-1)
    i, o, f = jnp.split(stop_gates(sigmoids), 3, axis=-1)
    c = jax.nn.sigmoid(f + forget_bias) * c + jax.nn.sigmoid(i) * candidate(g)
    h = jax.nn.sigmoid(o) * squash(c)
    return (c, h), h


def over_time(p: Any, x: Any, carry: Pair, *, backwards: bool = False, **tools: Any) -> Any:
    """Scan over (time, batch, features); return the last state and all hidden states."""
    step = functools.partial(cell, p, **tools)
    return lax.scan(step, carry, x, reverse=backwards)


def apply(
    params: Any,
    x: Any,
    *,
    window: int | None = None,
    detach: Callable[[Any], Any] = lax.stop_gradient,
    second_backwards: bool = True,
    last: int = 1,
    between: Callable[[Any], Any] = identity,
    eps: float = 1e-5,
    **tools: Any,
) -> tuple[Any, Any]:
    """Compute `Tagger.forward`; the keyword arguments introduce mistakes."""
    mean = jnp.mean(x, -1, keepdims=True)
    x = (x - mean) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + eps)
    x = jnp.swapaxes(x * params["norm"]["scale"] + params["norm"]["shift"], 0, 1)
    zero = jnp.zeros((x.shape[1], HIDDEN), x.dtype)
    states = [[(zero, zero) for _ in directions] for directions in params["layers"]]
    chunks = []
    for start in range(0, len(x), window or len(x)):
        y = x[start : start + (window or len(x))]
        states = detach(states) if start else states
        for i, directions in enumerate(params["layers"]):
            outs = []
            for k, p in enumerate(directions):
                backwards = k == 1 and second_backwards
                run = functools.partial(over_time, backwards=backwards, **tools)
                states[i][k], out = run(p, y, states[i][k])
                outs.append(out)
            y = jnp.concatenate(outs, axis=-1)
            y = between(y) if i < len(params["layers"]) - 1 else y
        chunks.append(y)
    out = jnp.swapaxes(jnp.concatenate(chunks), 0, 1)
    h = jnp.stack([state[last] for directions in states for state in directions])
    return out @ params["head"]["kernel"] + params["head"]["bias"], h


def loss(outputs: Any, *, mean: Callable[[Any], Any] = jnp.mean) -> Any:
    logits, last = outputs
    return -mean(jax.nn.log_softmax(logits)[..., 0]) + jnp.mean(last**2)


def convert(
    state: Any,
    *,
    order: str = "ifgo",
    bias: Callable[[Any, Any], Any] = jnp.add,
    recurrent: Callable[[Any], Any] = jnp.transpose,
    bidirectional: bool = False,
) -> dict[str, Any]:
    """Merge torch's two biases, and reorder its gates from `order` to i, o, f, g."""
    w = arrays(state)

    def gates(x: Any) -> Any:
        named = dict(zip(order, jnp.split(x, 4), strict=True))
        return jnp.concatenate([named[letter] for letter in "iofg"])

    def each_gate(x: Any) -> Any:
        return jnp.concatenate([recurrent(part) for part in jnp.split(gates(x), 4)], axis=-1)

    def layer(suffix: str) -> dict[str, Any]:
        inner = gates(w[f"lstm.weight_ih_{suffix}"]).T
        kernel = jnp.concatenate([inner, each_gate(w[f"lstm.weight_hh_{suffix}"])])
        both = bias(w[f"lstm.bias_ih_{suffix}"], w[f"lstm.bias_hh_{suffix}"])
        return {"kernel": kernel, "bias": gates(both)}

    directions = ["", "_reverse"] if bidirectional else [""]
    return {
        "norm": {"scale": w["norm.weight"], "shift": w["norm.bias"]},
        "layers": [[layer(f"l{i}{d}") for d in directions] for i in range(LAYERS)],
        "head": dense(w, "classifier"),
    }


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    bidirectional: bool = False,
    window: int | None = None,
    train: bool = False,
    order: str = "ifgo",
    bias: Callable[[Any, Any], Any] = jnp.add,
    recurrent: Callable[[Any], Any] = jnp.transpose,
    mean: Callable[[Any], Any] = jnp.mean,
    **tools: Any,
) -> dict[str, Any]:
    """Return `nn.LSTM` and its port to a scan; `window` truncates the backpropagation."""
    module = build(lambda: Tagger(bidirectional, window), seed, fresh=fresh)
    weights = functools.partial(
        convert, order=order, bias=bias, recurrent=recurrent, bidirectional=bidirectional
    )
    training = dict(loss=(torch_loss, functools.partial(loss, mean=mean)))
    return dict(
        module=module,
        fn=functools.partial(apply, window=window, **tools),
        params=weights(module.state_dict()),
        inputs=(np.random.default_rng(seed).standard_normal((BATCH, STEPS, FEATURES)),),
        weights=weights,
        **(training if train else {}),
    )


def first(a: Any, b: Any) -> Any:
    del b
    return a


@jax.custom_vjp
def clip_gradient(x: Any) -> Any:
    return x


clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.01, 0.01),))

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "bidirectional": dict(bidirectional=True),
    "window": dict(window=WINDOW),
    "train": dict(train=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "gate_order",
        "forward",
        "lstm",
        plant=dict(order="ifog"),
        about="The gates are read as i, f, o, g; torch's order is i, f, g, o.",
        cause="ordered input, forget, output, cell",
    ),
    Bug(
        "gate_order_keras",
        "forward",
        "lstm",
        plant=dict(order="igfo"),
        about="The gates are read in another framework's order.",
        cause="ordered input, cell, forget, output",
    ),
    Bug(
        "forget_bias",
        "forward",
        "lstm",
        plant=dict(forget_bias=1.0),
        about="One is added to the forget gate's bias.",
        cause="1 is added to the forget gate",
    ),
    Bug(
        "second_bias_dropped",
        "forward",
        "lstm",
        plant=dict(bias=first),
        about="`bias_hh` is dropped.",
        cause="bias_hh is missing",
    ),
    Bug(
        "recurrent_not_transposed",
        "forward",
        "lstm",
        plant=dict(recurrent=identity),
        about="The square recurrent kernel is not transposed.",
        cause="weight_hh.* is transposed",
    ),
    Bug(
        "no_squash",
        "forward",
        "lstm",
        plant=dict(squash=identity),
        about="The hidden state is o * c, without the tanh.",
        cause="cell state is not squashed by tanh",
    ),
    Bug(
        "candidate_sigmoid",
        "forward",
        "lstm",
        plant=dict(candidate=jax.nn.sigmoid),
        about="The candidate uses a sigmoid instead of tanh.",
        cause="cell gate uses sigmoid, torch uses tanh",
    ),
    Bug(
        "cell_for_hidden",
        "forward",
        "lstm",
        plant=dict(last=0),
        about="The port returns the cell state instead of the hidden state.",
        cause="cell state .*(instead|where torch)|returns the cell state",
    ),
    Bug(
        "layer_norm_eps",
        "forward",
        "norm",
        plant=dict(eps=1e-6),
        about="The port uses flax's default epsilon.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "backwards_forwards",
        "forward",
        "lstm",
        plant=dict(bidirectional=True, second_backwards=False),
        about="The backward direction runs forwards.",
        cause="backward direction reads the sequence forwards",
    ),
    Bug(
        "state_not_detached",
        "backward",
        "lstm",
        silent=True,
        plant=dict(window=WINDOW, detach=identity),
        about="The state is not detached between windows.",
        cause=missing_stop(r"h\.detach\(\), c\.detach\(\)", r"detach\(states\)"),
    ),
    Bug(
        "state_detached",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_h=lax.stop_gradient),
        about="The hidden state is detached at every step.",
        cause=extra_stop("stop_h"),
    ),
    Bug(
        "cell_detached",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_c=lax.stop_gradient),
        about="The cell state is detached at every step, so no long memory is learned.",
        cause=extra_stop("stop_c"),
    ),
    Bug(
        "gates_detached",
        "backward",
        "lstm",
        silent=True,
        plant=dict(stop_gates=lax.stop_gradient),
        about="The gates are detached, so only the candidate learns.",
        cause=extra_stop("stop_gates"),
    ),
    Bug(
        "layers_detached",
        "backward",
        "lstm",
        silent=True,
        plant=dict(between=lax.stop_gradient),
        about="The second layer's input is detached, but the first layer's last state is returned.",
        cause=extra_stop(r"between\(y\)"),
    ),
    Bug(
        "gradient_clipped_inside",
        "backward",
        "lstm",
        silent=True,
        plant=dict(between=clip_gradient),
        about="The cotangent is clipped between the layers.",
        cause="clip|custom derivative",
    ),
    Bug(
        "loss_sum",
        "forward",
        "loss",
        plant=dict(train=True, mean=jnp.sum),
        about="The loss is summed over time and batch instead of averaged.",
        cause=r"reduction is sum, torch uses mean|times 24\b",
    ),
    Bug(
        "cell_detached_both_ways",
        "backward",
        "lstm",
        silent=True,
        plant=dict(bidirectional=True, stop_c=lax.stop_gradient),
        about="The cell state is detached at every step, in both directions.",
        cause=extra_stop("stop_c"),
    ),
)
