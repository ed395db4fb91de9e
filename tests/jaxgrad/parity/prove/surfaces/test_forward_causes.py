"""A wrong value is explained only by a mistake with which torch reproduces what JAX computes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import prove
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Merged(nn.Module):
    """A sum whose second term is a linear layer: a port may add its bias last."""

    def __init__(self):
        super().__init__()
        self.a, self.skip, self.out = nn.Linear(4, 5), nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.skip(x) + torch.sin(self.a(x))))


def merged(function: Callable[[Any], Any] = jnp.sin, skip: Callable[[Any], Any] = identity) -> Any:
    torch.manual_seed(0)
    module = Merged()

    def apply(p: Any, x: Any) -> Any:
        y = function(x @ p["a.weight"].T + p["a.bias"])
        h = jnp.tanh(y + x @ p["skip.weight"].T + skip(p["skip.bias"]))
        return h @ p["out.weight"].T + p["out.bias"]

    return prove(module, apply, arrays(module), (draw(3, 4),))


def test_a_merged_bias_does_not_hide_an_earlier_mistake():
    """cos for sin is named although the port also adds a bias later than torch does."""
    merged().check()
    first = merged(jnp.cos).first

    assert (first.torch, first.op) == ("(root)", "sin")
    assert first.cause.startswith("the function is cos, torch uses sin (rerunning torch with")
    assert first.cause.endswith("reproduces JAX's outputs)")


def test_a_mistake_without_a_name_is_not_explained_by_a_merged_bias():
    """A wrong function that no mistake explains is located at its own term, without a cause."""
    first = merged(lambda x: jnp.sin(x) * jnp.exp(x)).first

    assert (first.torch, first.op, first.cause) == ("(root)", "add", "")


def test_a_bias_that_is_really_missing_is_named():
    """A missing bias is named because torch without it reproduces JAX's outputs."""
    first = merged(skip=lambda b: 0 * b).first

    assert (first.torch, first.op) == ("skip", "linear")
    assert first.cause.startswith("the bias is missing")


class Fused(nn.Module):
    """Two layers whose activations a port computes inside a larger formula."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = 2 * functional.softplus(self.a(x)) + x
        return 2 * functional.softplus(self.b(x)) + x


def test_a_mistake_in_all_calls_of_a_function_is_named():
    """The same mistake in every layer is confirmed by changing all calls at once."""
    torch.manual_seed(0)
    module = Fused()

    def apply(p: Any, x: Any) -> Any:
        for name in "ab":
            z = x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
            x = x + (z + z * jnp.tanh(z / 2))  # 2 * silu(z), without a value of its own
        return x

    first = prove(module, apply, arrays(module), (draw(3, 4),)).first

    assert first is not None
    assert first.cause.startswith("the activation is silu, torch uses softplus (rerunning torch")


def test_operands_in_another_order_are_named_where_they_are_joined():
    """Joined operands have the same elements in any order: the join is named, not its consumer."""

    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(5, 2)

        def forward(self, x, y):
            return self.out(torch.cat([x, y], 1))

    torch.manual_seed(0)
    module = Joined()

    def apply(p: Any, x: Any, y: Any) -> Any:
        return jnp.concatenate([y, x], 1) @ p["out.weight"].T + p["out.bias"]

    first = prove(module, apply, arrays(module), (draw(3, 2), draw(3, 3))).first

    assert first is not None
    assert (first.torch, first.op) == ("(root)", "cat")
    assert "concatenate" in first.source and "in another order or place" in first.text
    assert first.cause.startswith("the operands of cat are in another order: 1, 0 (rerunning")


def test_a_sum_in_another_order_does_not_explain_a_wrong_term():
    """A term is not called missing because the port adds the other terms first."""

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.kinds = nn.Embedding(4, 3), nn.Embedding(2, 3)
            self.places = nn.Parameter(torch.randn(5, 3))

        def forward(self, ids, kinds):
            return torch.tanh(self.words(ids) + self.kinds(kinds) + self.places)

    torch.manual_seed(0)
    module = Sum()

    def apply(p: Any, ids: Any, kinds: Any) -> Any:
        return jnp.tanh(p["words.weight"][ids] + p["places"] + p["kinds.weight"][1 - kinds])

    inputs = (torch.tensor([0, 3, 1, 2, 2]).numpy(), torch.tensor([0, 1, 1, 0, 1]).numpy())
    first = prove(module, apply, arrays(module), inputs).first

    assert first is not None
    assert (first.torch, first.op) == ("kinds", "embedding")
    assert first.cause.startswith("the indices 0 and 1 are swapped")


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return torch.relu(self.norm(x)) / x.std(0)


def normed(module: nn.Module, batch: bool, ddof: int = 1) -> Any:
    def apply(p: Any, x: Any) -> Any:
        mean, var = p["norm.running_mean"], p["norm.running_var"]
        mean, var = (x.mean(0), x.var(0)) if batch else (mean, var)
        y = (x - mean) / jnp.sqrt(var + 1e-5) * p["norm.weight"] + p["norm.bias"]
        return jax.nn.relu(y) / x.std(0, ddof=ddof)

    return prove(module, apply, arrays(module), (draw(6, 3),))


def test_train_and_eval_mode_are_named():
    """Statistics of the batch where torch is in eval mode, and the reverse, are named."""
    torch.manual_seed(0)
    module = Normed()
    module(torch.randn(6, 3))
    normed(module.eval(), False).check()

    assert "rerunning torch with module.train()" in normed(module.eval(), True).first.cause
    assert "rerunning torch with module.eval()" in normed(module.train(), False).first.cause


def test_the_divisor_of_a_deviation_is_named():
    """A standard deviation that divides by N is found at torch's own call."""
    torch.manual_seed(0)
    module = Normed()
    module(torch.randn(6, 3))
    first = normed(module.eval(), False, ddof=0).first

    assert first.op == "std"
    assert first.cause.startswith("std divides by N, torch divides by N - 1")


class Mixture(nn.Module):
    """Normalise the two largest weights; the port may forget it."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)

    def forward(self, x):
        top, ids = self.router(x).softmax(-1).topk(2, -1)
        top = top / top.sum(-1, keepdim=True)
        return torch.zeros(len(x), 3, dtype=x.dtype).scatter(1, ids, top)


def test_a_call_that_jax_leaves_out_is_named():
    """Weights that are not normalised again are found at the division, not where they are used."""
    torch.manual_seed(0)
    module = Mixture()

    def apply(p: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ p["router.weight"].T + p["router.bias"])
        top, ids = lax.top_k(gates, 2)
        return (jax.nn.one_hot(ids, 3) * top[..., None]).sum(1)

    first = prove(module, apply, arrays(module), (draw(6, 4),)).first

    assert first is not None
    assert first.op == "div"
    assert first.cause.startswith("torch's div is missing (skipping it in torch reproduces JAX's")
