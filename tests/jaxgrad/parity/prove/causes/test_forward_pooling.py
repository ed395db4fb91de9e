"""Causes in a pooling over valid positions: the mask, its count, and gradients that are zero."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.random.default_rng(0).normal(size=(4, 6, 3))
LENGTHS = np.array([6, 3, 5, 2])


class Attentive(nn.Module):
    """An average with attention weights; values in the padding are zeros."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(3, 1)

    def forward(self, x, lengths):
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        x = x * mask[:, :, None]
        s = self.score(x)[..., 0].masked_fill(~mask, -1e9)
        return (torch.softmax(s, dim=1)[:, :, None] * x).sum(1)


def attentive(p: Any, x: Any, lengths: Any, where: str) -> Any:
    mask = jnp.arange(x.shape[1]) < lengths[:, None]
    x = x * mask[:, :, None]
    s = (x @ p["score.weight"].T + p["score.bias"])[..., 0]
    s = jnp.where(mask, s, -1e9) if where == "before" else s
    weights = jax.nn.softmax(s, axis=1)
    weights = weights * mask if where == "after" else weights
    return (weights[:, :, None] * x).sum(1)


def attention(where: str) -> Report:
    torch.manual_seed(0)
    module = Attentive()
    port = lambda p, x, lengths: attentive(p, x, lengths, where)  # noqa: E731
    return prove(module, port, arrays(module), (X, LENGTHS))


def test_a_mask_that_a_port_lacks_is_not_one_that_it_applies_later():
    """With zeros in the padding both give the same outputs, but only one has the product."""
    assert attention("before").verdict == "pass"
    without, after = attention("without").first, attention("after").first

    assert without is not None and after is not None and without.tested and after.tested
    assert without.cause.startswith("torch's masked_fill is missing (skipping it in torch")
    assert after.cause.startswith("the mask is applied after the softmax, torch applies it before")


class Pooled(nn.Module):
    """The mean over the valid positions; how many they are depends on the inputs."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, lengths):
        mask = (torch.arange(x.shape[1]) < lengths[:, None])[:, :, None].to(x.dtype)
        return torch.tanh((self.fc(x) * mask).sum(1) / mask.sum(1))


def test_a_mean_over_the_padding_too_is_named():
    """The divisor of torch has other numbers on each draw, and the sentence has none of them."""

    def port(p: Any, x: Any, lengths: Any) -> Any:
        mask = (jnp.arange(x.shape[1]) < lengths[:, None])[:, :, None]
        return jnp.tanh(((x @ p["fc.weight"].T + p["fc.bias"]) * mask).mean(1))

    torch.manual_seed(0)
    module = Pooled()
    first = prove(module, port, arrays(module), (X, LENGTHS)).first

    assert first is not None and first.tested
    assert first.cause == (
        "JAX divides by 6, torch by numbers that it computes (rerunning torch with this change "
        "reproduces JAX's outputs)"
    )


class Both(nn.Module):
    """Two averages; a softmax does not depend on the bias of its scores."""

    def __init__(self):
        super().__init__()
        self.l1, self.score, self.out = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.l1(x))
        a = torch.softmax(self.score(h)[..., 0], dim=1)[:, :, None]
        return self.out(torch.cat([(h * a).sum(1), h.sum(1)], 1)).mean()


def test_a_gradient_that_is_rounding_alone_refutes_no_cause():
    """With this seed, the gradient of `score.bias` is 0 in torch only with the change."""

    def port(p: Any, x: Any) -> Any:
        def linear(name: str, v: Any) -> Any:
            return v @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        h = jnp.tanh(linear("l1", x))
        a = jax.nn.softmax(linear("score", h)[..., 0], axis=1)[:, :, None]
        return linear("out", jnp.concatenate([h.sum(1), (h * a).sum(1)], 1)).mean()

    for seed in (4, 5):
        torch.manual_seed(seed)
        module = Both()
        x = np.random.default_rng(seed).normal(size=(4, 6, 3))
        first = prove(module, port, arrays(module), (x,)).first
        assert first is not None and first.tested, first
        assert first.cause.startswith("the operands of cat are in another order: 1, 0 (")
