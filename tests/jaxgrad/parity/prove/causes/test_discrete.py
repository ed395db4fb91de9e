"""`prove` finds mistakes in integers and booleans, which are compared by their effect alone."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


CLASSES = 3
BOXES = np.random.default_rng(0).uniform(0.2, 3.7, (3, 5))
LABELS = np.array([[0, 1, 3, 2, 1], [3, 2, 2, 0, 1], [1, 1, 0, 3, 2]])
TOKENS = np.array([[5, 0, 4, 3, 1], [2, 5, 0, 1, 3], [4, 4, 5, 2, 1]])
Port = Callable[..., Any]


class Head(nn.Module):
    """The loss of a detection head: positives, neighbouring bins, and a count of positives."""

    def __init__(self):
        super().__init__()
        self.cls, self.reg = nn.Linear(4, CLASSES), nn.Linear(4, 6)

    def forward(self, x, labels, boxes):
        positive = labels < CLASSES
        score = self.cls(x).sigmoid().amax(-1) * positive
        left = boxes.long()
        right = left + 1
        logp = self.reg(x).log_softmax(-1)
        both = logp.gather(-1, left[..., None]) + logp.gather(-1, right[..., None])
        count = positive.sum().clamp(min=1)
        return (score * both[..., 0]).sum() / count


def head(
    p: Any,
    x: Any,
    labels: Any,
    boxes: Any,
    positive: Port = lambda labels: labels < CLASSES,
    left: Port = lambda boxes: boxes.astype(int),
    right: Port = lambda left: left + 1,
) -> jax.Array:
    positives = positive(labels)
    score = jax.nn.sigmoid(x @ p["cls.weight"].T + p["cls.bias"]).max(-1) * positives
    first = left(boxes)
    second = right(first)
    logp = jax.nn.log_softmax(x @ p["reg.weight"].T + p["reg.bias"], -1)
    both = jnp.take_along_axis(logp, first[..., None], -1)
    both += jnp.take_along_axis(logp, second[..., None], -1)
    return (score * both[..., 0]).sum() / jnp.maximum(positives.sum(), 1)


class Tokens(nn.Module):
    """Embeddings with positions counted over the tokens that are not padding, as in RoBERTa."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(6, 4), nn.Embedding(9, 4)

    def forward(self, tokens):
        mask = tokens.ne(1).long()
        positions = mask.cumsum(1) * mask + 1
        first = tokens.argmax(1)
        h = self.words(tokens) + self.positions(positions)
        pad = (tokens == 1) | (tokens == 0)
        return torch.tanh(h).masked_fill(pad[..., None], 0.0), h[range(len(h)), first].exp()


def embed(
    p: Any,
    tokens: Any,
    mask: Port = lambda tokens: tokens != 1,
    positions: Port = lambda mask: mask.cumsum(1) * mask + 1,
    first: Port = lambda tokens: tokens.argmax(1),
    pad: Port = lambda tokens: (tokens == 1) | (tokens == 0),
) -> tuple[jax.Array, jax.Array]:
    h = p["words.weight"][tokens] + p["positions.weight"][positions(mask(tokens).astype(int))]
    kept = jnp.where(pad(tokens)[..., None], 0.0, jnp.tanh(h))
    return kept, jnp.exp(h[np.arange(len(h)), first(tokens)])


class NextToken(nn.Module):
    """A language model's loss: the labels are the tokens after each position."""

    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(6, 4), nn.Linear(4, 6)

    def forward(self, tokens):
        logits = self.out(torch.tanh(self.words(tokens)))
        return functional.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])


def next_token(p: Any, tokens: Any, labels: Port = lambda tokens: tokens[:, 1:]) -> jax.Array:
    logits = jnp.tanh(p["words.weight"][tokens]) @ p["out.weight"].T + p["out.bias"]
    logp = jax.nn.log_softmax(logits[:, :-1], -1)
    return -jnp.take_along_axis(logp, labels(tokens)[..., None], -1).mean()


MODELS: dict[Port, tuple[type[nn.Module], tuple[Any, ...]]] = {
    head: (Head, (draw(3, 5, 4), LABELS, BOXES)),
    embed: (Tokens, (TOKENS,)),
    next_token: (NextToken, (TOKENS,)),
}

# The port, the argument that is planted, the call of torch that is named, and the cause.
PLANTED: list[tuple[Port, str, Port, str, str]] = [
    (head, "positive", lambda x: x <= CLASSES, "lt", "JAX compares by <=, torch by <"),
    (head, "positive", lambda x: x <= CLASSES, "lt", "JAX compares by <=, torch by <"),
    (head, "positive", lambda x: x < 2, "lt", "JAX compares with 2, torch with 3"),
    (head, "left", lambda x: jnp.round(x).astype(int), "long",
     "the conversion to integers rounds to the nearest integer, torch rounds towards zero"),
    (head, "right", lambda x: x + 2, "add", "the number in add is 2, torch uses 1"),
    (embed, "mask", lambda x: x > 1, "ne", "JAX compares by >, torch by !="),
    (next_token, "labels", lambda x: x[:, :-1], "getitem",
     "the slice in index 1 starts at 0, torch starts at 1"),
    (embed, "first", lambda x: x.argmin(1), "argmax", "the function is argmin, torch uses argmax"),
]  # fmt: skip


@pytest.mark.parametrize("port", MODELS)
def test_the_right_ports_pass(port):
    module, inputs = MODELS[port]
    model = module()
    assert prove(model, port, arrays(model), inputs).verdict == "pass"


@pytest.mark.parametrize(
    ("port", "name", "mistake", "op", "cause"), PLANTED, ids=range(len(PLANTED))
)
def test_a_mistake_in_integers_is_named_with_its_call(port, name, mistake, op, cause):
    module, inputs = MODELS[port]
    model = module()

    def fn(p: Any, *args: Any) -> Any:
        return port(p, *args, **{name: mistake})

    first = prove(model, fn, arrays(model), inputs).first
    assert first is not None and first.tested
    assert (first.op, first.cause) == (
        op, f"{cause} (rerunning torch with this change reproduces JAX's outputs)"
    )  # fmt: skip


class Pooled(nn.Module):
    """A mean over the tokens that are no padding."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(6, 4)

    def forward(self, tokens):
        pad = tokens == 0
        h = torch.tanh(self.words(tokens)).masked_fill(pad[..., None], 0.0)
        return h.sum(1)


def test_a_comparison_that_is_equal_by_chance_is_no_cause():
    """JAX masks nothing; its test for negative indices has the value of `tokens < 0`.

    With torch's mask in the place of that value, JAX does not have torch's outputs.
    """
    model = Pooled()

    def pooled(
        p: Any, tokens: Any, mask: Port = lambda tokens: jnp.zeros_like(tokens, bool)
    ) -> Any:
        h = jnp.tanh(p["words.weight"][tokens])
        return jnp.where(mask(tokens)[..., None], 0.0, h).sum(1)

    right = functools.partial(pooled, mask=lambda tokens: tokens == 0)
    assert prove(model, right, arrays(model), (TOKENS,)).verdict == "pass"
    first = prove(model, pooled, arrays(model), (TOKENS,)).first
    assert first is not None and "compares by" not in first.cause


class Thresholds(nn.Module):
    """A mask by a threshold, of floats or of integers."""

    def __init__(self, whole: bool):
        super().__init__()
        self.words, self.whole = nn.Embedding(6, 4), whole

    def forward(self, x, tokens):
        if self.whole:
            return self.words(torch.where(x > 1, 3, tokens)).square().sum(-1)
        return self.words(tokens).masked_fill((x > 1)[..., None], 0.0).square().sum(-1)


@pytest.mark.parametrize("whole", [False, True])
def test_a_mask_that_hides_nothing_is_not_missing(whole):
    """No element passes JAX's threshold: without the mask, torch has JAX's outputs too."""
    model = Thresholds(whole)

    def port(p: Any, x: Any, tokens: Any, threshold: float = 1) -> Any:
        if whole:
            return (p["words.weight"][jnp.where(x > threshold, 3, tokens)] ** 2).sum(-1)
        h = jnp.where((x > threshold)[..., None], 0.0, p["words.weight"][tokens])
        return (h**2).sum(-1)

    inputs = np.minimum(draw(3, 5), 1.5), TOKENS
    assert (inputs[0] > 1).any()
    assert prove(model, port, arrays(model), inputs).verdict == "pass"
    first = prove(model, functools.partial(port, threshold=4), arrays(model), inputs).first
    assert first is not None and first.tested
    assert first.cause.startswith("JAX compares with 4, torch with 1 (")


def test_a_mask_that_is_a_constant_in_jax_is_missing():
    """A `where` whose condition depends on nothing is no mask, and no comparison."""
    model = Pooled()

    def port(p: Any, tokens: Any) -> Any:
        kept = jnp.ones_like(tokens)
        return jnp.where(kept[..., None], jnp.tanh(p["words.weight"][tokens]), 0.0).sum(1)

    first = prove(model, port, arrays(model), (TOKENS,)).first
    assert first is not None and first.tested and first.op == "masked_fill"
    assert first.cause.startswith("torch's masked_fill is missing (")


class Steps(nn.Module):
    """A diffusion loss that reads its table twice."""

    def __init__(self):
        super().__init__()
        self.layer, self.labels = nn.Linear(4, 4), nn.Embedding(4, 4)
        self.register_buffer("table", torch.linspace(0.6, 0.1, 10))

    def forward(self, x, t, y):
        table: Any = self.table
        share = table[t][:, None]
        h = torch.tanh(self.layer(share.sqrt() * x) + self.labels(y))
        return ((h - x) ** 2).mean(1) / (1 - table[t])


def steps(p: Any, x: Any, t: Any, y: Any, early: int = 0, label: int = 0) -> jax.Array:
    share = p["table"][t + early][:, None]
    h = jnp.sqrt(share) * x @ p["layer.weight"].T + p["layer.bias"] + p["labels.weight"][y + label]
    return ((jnp.tanh(h) - x) ** 2).mean(1) / (1 - p["table"][t])


@pytest.mark.parametrize(
    ("wrong", "by", "where"),
    [
        ({"early": 1}, "in index 0 are shifted by 1", "share = p"),
        ({"early": -1}, "in index 0 are shifted by -1", "share = p"),
        ({"label": -1}, "are shifted by -1", "h = jnp.sqrt"),  # JAX counts -1 from the end
        ({"label": 1}, "are shifted by 1", "h = jnp.sqrt"),  # JAX takes the last label for 4
    ],
)
def test_an_index_that_is_off_by_one_is_found_where_it_is_used(wrong: Any, by: str, where: str):
    torch.manual_seed(0)
    module, x = Steps(), draw(6, 4)
    inputs = (x, np.arange(1, 7), np.arange(6) % 4)
    report = prove(module, functools.partial(steps, **wrong), arrays(module), inputs)
    finding = report.first
    assert finding is not None
    assert finding.cause == (
        f"the indices {by} (rerunning torch with this change reproduces JAX's outputs)"
    )
    assert where in finding.source
