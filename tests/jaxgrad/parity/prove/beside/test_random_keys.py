"""Numbers that are independent in torch must be drawn with different keys in the port."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen, nnx
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = draw(5, 4)


class Two(nn.Module):
    """Two layers, each followed by a dropout; or with one mask for both."""

    def __init__(self, *, once: bool = False):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.c, self.d = nn.Dropout(0.5), nn.Dropout(0.5)
        self.once = once

    def forward(self, x):
        mask = self.c(torch.ones_like(x))
        h = torch.tanh(self.a(x)) * mask
        again = mask if self.once else self.d(torch.ones_like(x))
        return torch.tanh(self.b(h)) * again


@pytest.fixture(scope="module")
def two() -> nn.Module:
    torch.manual_seed(0)
    return Two().train()


def dropped(key: Any, x: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x / 0.5, 0)


def layer(p: Any, name: str, x: Any) -> Any:
    return jnp.tanh(x @ p[f"{name}.weight"].T + p[f"{name}.bias"])


def port(first: Any, second: Any) -> Any:
    """Return a port that drops with two keys."""

    def run(p: Any, x: Any) -> Any:
        x = dropped(first(), layer(p, "a", x))
        return dropped(second(), layer(p, "b", x))

    return run


def key() -> Any:
    return jax.random.key(3)


def old() -> Any:
    return jax.random.PRNGKey(3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (key, key),
        (old, old),
        (key, lambda: jax.random.wrap_key_data(old())),
        (lambda: jax.random.split(old())[1], lambda: jax.random.split(old(), 2)[1]),
        (lambda: jax.random.fold_in(key(), 2), lambda: jax.random.fold_in(key(), 1 + 1)),
    ],
    ids=["typed", "uint32", "both", "split", "fold_in"],
)
def test_one_key_for_two_dropouts_fails(two, first, second):
    """The outputs agree on torch's masks, and the sentence names both modules and both calls."""
    report = prove(two, port(first, second), arrays(two), (X,))
    surface = report.surfaces["forward"]
    (finding,) = surface.findings

    assert report.verdict == "fail"
    assert (finding.torch, finding.op) == ("d", "dropout")
    assert "the masks of torch's c (dropout) and d (dropout) are drawn with the same key" in (
        finding.text
    )
    first_line = port.__code__.co_firstlineno + 4
    calls = [f"test_random_keys.py:{first_line + n}" for n in (0, 1)]
    assert f"called from {' and '.join(calls)}" in finding.text
    assert finding.jax.endswith(calls[1])
    assert "split the key" in finding.text


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: jax.random.key(0), lambda: jax.random.key(1)),
        (lambda: jax.random.split(old())[0], lambda: jax.random.split(old())[1]),
        (lambda: jax.random.fold_in(key(), 0), lambda: jax.random.fold_in(key(), 1)),
        (key, lambda: jax.random.split(key())[0]),
    ],
    ids=["seeds", "split", "fold_in", "child"],
)
def test_different_keys_pass(two, first, second, seed):
    """Keys of `split` and `fold_in`, typed or of uint32, differ from each other."""
    report = prove(two, port(first, second), arrays(two), (X,), seed=seed)
    assert report.verdict == "pass", report


def test_a_mask_that_torch_draws_once_may_be_drawn_twice():
    """Two draws with one key are one mask, which torch uses twice."""
    torch.manual_seed(0)
    once = Two(once=True).train()
    passes = prove(once, port(key, key), arrays(once), (X,))
    fails = prove(once, port(key, old), arrays(once), (X,))

    assert passes.verdict == "pass", passes
    assert prove(once, port(key, lambda: jax.random.key(4)), arrays(once), (X,)).verdict == "fail"
    assert fails.verdict == "pass", "PRNGKey(3) has the numbers of key(3)"


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        for layer in self.layers:
            x = self.drop(torch.tanh(layer(x)))
        return x


def scanned(which: str, x: Any, weights: Any, biases: Any) -> Any:
    """Run three blocks with a key for all of them, or for each one."""

    def block(carry: Any, layer: Any) -> Any:
        x, key = carry
        w, b, number = layer
        used = {
            "one": jax.random.key(0),
            "folded": jax.random.fold_in(jax.random.key(0), number),
            "split": jax.random.split(key)[0],
        }[which]
        return (dropped(used, jnp.tanh(x @ w.T + b)), jax.random.split(key)[1]), None

    start = x, jax.random.PRNGKey(0)
    return lax.scan(block, start, (weights, biases, jnp.arange(3)))[0][0]


@pytest.mark.parametrize(
    ("which", "verdict"), [("one", "fail"), ("folded", "pass"), ("split", "pass")]
)
def test_a_key_in_a_scan_has_to_depend_on_the_iteration(which, verdict):
    """A key from outside of the loop gives every block the same mask."""
    torch.manual_seed(0)
    blocks = Blocks().train()
    params = {
        name: np.stack([getattr(x, name).detach().numpy() for x in blocks.layers])
        for name in ("weight", "bias")
    }
    report = prove(blocks, lambda p, x: scanned(which, x, p["weight"], p["bias"]), params, (X,))
    assert report.verdict == verdict, report
    if verdict == "fail":
        text = report.surfaces["forward"].findings[0].text
        assert "in 3 iterations of a loop" in text and "drop (dropout)" in text


@pytest.mark.parametrize("same", [False, True])
def test_rows_of_a_vmap_need_different_keys(same):
    """torch draws one mask for the batch, whose rows are independent."""
    drop = nn.Dropout(0.5).train()

    def rows(p: Any, x: Any) -> Any:
        keys = jax.random.split(jax.random.key(0), 5)
        keys = jnp.broadcast_to(keys[0], keys.shape) if same else keys
        return jax.vmap(dropped)(keys, x)

    report = prove(drop, rows, {}, (X,))
    assert report.verdict == ("fail" if same else "pass"), report
    if same:
        assert "with equal keys in one `jax.vmap`" in report.surfaces["forward"].findings[0].text


def test_numbers_of_another_distribution_need_another_key():
    """Normal numbers and a mask with one key depend on each other."""

    class Noisy(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x + torch.randn_like(x), 0.5)

    def noisy(second: Any) -> Any:
        return lambda p, x: dropped(second, x + jax.random.normal(key(), x.shape))

    wrong = prove(Noisy(), noisy(key()), {}, (X,))
    assert wrong.verdict == "fail"
    assert "the random numbers of torch's" in wrong.surfaces["forward"].findings[0].text
    assert prove(Noisy(), noisy(jax.random.key(1)), {}, (X,)).verdict == "pass"


def test_the_branches_of_a_cond_may_share_a_key():
    """Only one branch runs."""
    drop = nn.Dropout(0.5).train()

    def branches(p: Any, x: Any) -> Any:
        return lax.cond(x.sum() > -1e9, lambda x: dropped(key(), x), lambda x: dropped(key(), x), x)

    surface = prove(drop, branches, {}, (X,)).surfaces["forward"]
    assert "same key" not in surface.text


class NnxTwo(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.a, self.b = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        x = self.drop(jnp.tanh(self.a(x)))
        return self.drop(jnp.tanh(self.b(x)))


class LinenTwo(linen.Module):
    @linen.compact
    def __call__(self, x):
        for name in "ab":
            x = linen.Dropout(0.5, deterministic=False)(jnp.tanh(linen.Dense(4, name=name)(x)))
        return x


class EqxTwo(eqx.Module):
    a: eqx.nn.Linear
    b: eqx.nn.Linear
    drop: eqx.nn.Dropout

    def __init__(self):
        self.a, self.b = (eqx.nn.Linear(4, 4, key=jax.random.key(n)) for n in (0, 1))
        self.drop = eqx.nn.Dropout(0.5)

    def __call__(self, x, key):
        first, second = jax.random.split(key)
        x = self.drop(jnp.tanh(jax.vmap(self.a)(x)), key=first)
        return self.drop(jnp.tanh(jax.vmap(self.b)(x)), key=second)


def test_the_streams_of_flax_and_equinox_pass(two):
    """nnx counts its draws, linen folds in the path, and equinox takes a key for each call."""
    weights = arrays(two)
    linen_params = {
        "params": {
            n: {"kernel": weights[f"{n}.weight"].T, "bias": weights[f"{n}.bias"]} for n in "ab"
        }
    }
    module = NnxTwo(nnx.Rngs(0))
    for n in "ab":
        getattr(module, n).kernel[...] = jnp.asarray(weights[f"{n}.weight"].T)
        getattr(module, n).bias[...] = jnp.asarray(weights[f"{n}.bias"])
    own = EqxTwo()
    for n in "ab":
        own = eqx.tree_at(lambda m, n=n: (getattr(m, n).weight, getattr(m, n).bias), own,
                          (weights[f"{n}.weight"], weights[f"{n}.bias"]))  # fmt: skip

    def with_linen(p: Any, x: Any) -> Any:
        return LinenTwo().apply(p, x, rngs={"dropout": key()})

    assert prove(two, with_linen, linen_params, (X,)).verdict == "pass"
    assert prove(two, module, None, (X,)).verdict == "pass"
    assert prove(two, lambda m, x: m(x, old()), own, (X,)).verdict == "pass"
