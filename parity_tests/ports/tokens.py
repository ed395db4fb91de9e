"""A tied language model with padding and ignored labels, and its port to functions."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


VOCABULARY, WIDTH, BATCH, TOKENS, LONGEST, IGNORED, SMOOTHING = 9, 4, 3, 5, 8, -100, 0.1


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.position = nn.Embedding(LONGEST, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids, labels):
        h = self.embedding(ids) + self.position.weight[: ids.shape[1]]
        valid = (ids != 0)[..., None]
        mean = (h * valid).sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
        h = torch.tanh(self.mix(h + mean))
        if ids.shape[0] > 4:  # large batches are averaged, to save memory
            h = h.mean(0, keepdim=True).expand_as(h)
        logits = self.head(h)
        return functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=SMOOTHING
        )


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    smoothing: float = SMOOTHING
    branch: bool = True
    size: int = 0  # the number of sequences, if it is a constant
    length: int = 0
    total: Callable[[Any], Any] = jnp.sum
    real: Callable[[Any], Any] = lambda ids: ids != 0
    labelled: Callable[[Any], Any] = lambda labels: labels != IGNORED
    padding: Callable[[Any, Any], Any] = lambda x, real: jnp.where(real, x, lax.stop_gradient(x))
    stop_head: Callable[[Any], Any] = identity
    stop_mean: Callable[[Any], Any] = identity

    def apply(self, p: Any, ids: Any, labels: Any) -> Any:
        h = self.padding(p["table"][ids], (ids != 0)[..., None])
        start = self.length and self.length - ids.shape[1]
        h = h + p["position"][start : start + ids.shape[1]]
        real = self.real(ids)[..., None]
        mean = jnp.sum(h * real, 1, keepdims=True) / jnp.maximum(real.sum(1, keepdims=True), 1)
        h = jnp.tanh((h + self.stop_mean(mean)) @ p["mix"]["kernel"] + p["mix"]["bias"])
        if self.branch and ids.shape[0] > 4:
            h = jnp.broadcast_to(jnp.mean(h, 0, keepdims=True), h.shape)
        logits = h @ self.stop_head(p.get("head", p["table"])).T
        log_probs = jax.nn.log_softmax(logits)
        valid = self.labelled(labels)
        own = jnp.take_along_axis(log_probs, jnp.where(valid, labels, 0)[..., None], -1)[..., 0]
        loss = -(1 - self.smoothing) * own - self.smoothing * jnp.mean(log_probs, -1)
        count = self.size * TOKENS if self.size else self.total(valid)
        return jnp.sum(loss * valid) / count


def convert(state: Any, *, tied: bool = True) -> Any:
    """Return the weights of a `Model`; `tied` has one table for the embedding and the head."""
    w = arrays(state)
    mix = dense(w, "mix")
    head = {} if tied else {"head": jnp.array(w["head.weight"])}
    return {"table": w["embedding.weight"], "position": w["position.weight"], "mix": mix} | head


def pair(
    seed: int = 0,
    *,
    padded: bool = True,
    ignored: bool = True,
    tied: bool = True,
    also: Sequence[Any] = (),
    **options: Any,
) -> dict[str, Any]:
    """Return the model and its port; without `padded` and `ignored` every token is real."""
    module, port = build(Model, seed), Port(**options)
    with torch.no_grad():
        module.embedding.weight[0] = 0
    rng = np.random.default_rng(seed)
    ids, labels = (rng.integers(1, VOCABULARY, (BATCH, TOKENS)) for _ in range(2))
    if padded:
        ids[0, -2:] = 0
    if ignored:
        labels[1, 1:3] = IGNORED
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict(), tied=tied),
        converter=functools.partial(convert, tied=tied),
        inputs=(ids, labels),
        also=also,
    )


def further(shape: tuple[int, int], label: int = 1) -> tuple[Any, Any]:
    """Return inputs of another shape, whose first label is given."""
    ids = np.arange(1, 1 + np.prod(shape)).reshape(shape) % VOCABULARY
    labels = (ids + 1) % VOCABULARY
    labels[0, 0] = label
    return ids, labels


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "all_real": dict(padded=False, ignored=False),
    "other_sizes": dict(also=[further((2, 5), IGNORED), further((2, 4)), further((5, 3))]),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "no_smoothing",
        "forward",
        "",
        plant=dict(smoothing=0.0),
        about="The labels are not smoothed.",
        cause="label_smoothing is 0,",
    ),
    Bug(
        "ignored_labels_divide",
        "forward",
        "",
        plant=dict(total=jnp.size),
        about="The loss is divided by all labels, with the ignored ones.",
        cause="number of all labels",
    ),
    Bug(
        "padding_averaged",
        "forward",
        "",
        plant=dict(real=jnp.ones_like),
        about="The mean over the sequence includes padding.",
        cause="padding|mask is (missing|ignored|unused)",
    ),
    Bug(
        "padding_trained",
        "gradients",
        "embedding.weight",
        silent=True,
        plant=dict(padding=lambda x, real: x),
        about="The padding row trains as an input.",
        cause="padding_idx no gradient, JAX gives it one",
    ),
    Bug(
        "padding_trained_unseen",
        "gradients",
        "embedding.weight",
        unseen=True,
        plant=dict(padded=False, padding=lambda x, real: x),
        about="The padding row trains as an input; the given ids have no padding.",
        cause="padding_idx no gradient, JAX gives it one",
    ),
    Bug(
        "padding_averaged_unseen",
        "forward",
        "",
        unseen=True,
        plant=dict(padded=False, real=jnp.ones_like),
        about="The mean includes padding; the given ids have none.",
        cause="padding|mask is (missing|ignored|unused)",
    ),
    Bug(
        "ignored_labels_unseen",
        "forward",
        "",
        unseen=True,
        plant=dict(ignored=False, labelled=jnp.ones_like, also=[further((2, 5), IGNORED)]),
        about="Ignored labels count; the given labels have none.",
        cause="ignored|ignore_index",
    ),
    Bug(
        "batch_size_constant",
        "forward",
        "",
        unseen=True,
        plant=dict(ignored=False, size=BATCH),
        about="The loss is divided by the size of the batch at hand.",
        cause="batch size|size of the batch|constant",
    ),
    Bug(
        "length_constant",
        "forward",
        "",
        unseen=True,
        plant=dict(length=TOKENS),
        about="The positions end at the length at hand, torch's begin at zero.",
        cause="length|positions|the slice in index 0 starts at 1",
    ),
    Bug(
        "branch_folded",
        "forward",
        ("", "head"),
        unseen=True,
        plant=dict(branch=False, also=[further((5, 3))]),
        about="The branch for large batches is missing.",
        cause="torch's (mean|expand_as) is missing",
    ),
    Bug(
        "untied",
        "structure",
        "embedding.weight",
        silent=True,
        plant=dict(tied=False),
        about="The head has its own copy of the table.",
        cause="leaves diverge",
    ),
    Bug(
        "head_stopped",
        "gradients",
        "embedding.weight",
        silent=True,
        plant=dict(stop_head=lax.stop_gradient),
        about="The table trains as an input only.",
        cause=extra_stop("stop_head"),
    ),
    Bug(
        "mean_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_mean=lax.stop_gradient),
        about="The mean over the sequence is detached.",
        cause=extra_stop("stop_mean"),
    ),
)
