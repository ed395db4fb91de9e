"""Ports draw the random numbers that torch drew, so that train mode is compared."""

import functools
import re
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import linen, nnx
from torch import nn
from torch.nn import functional

from jaxgrad.parity import ProofError, dump, prove
from jaxgrad.parity.prove.record.jax_side import inject as inject_module
from jaxgrad.parity.prove.record.jax_side.inject import _choices
from jaxgrad.parity.prove.record.jax_side.sites import Injection, Site
from jaxgrad.parity.prove.record.noise import ACCEPTED, Noise
from parity_tests.runner.settings import ROOT
from tests.jaxgrad.parity.prove._helpers import arrays, draw


KEY = jax.random.key(3)
X = draw(5, 6)
PAGE = " ".join((ROOT / "docs" / "prove_special.md").read_text().split())


def dropped(x: Any, rate: float = 0.3, *, key: Any = KEY, keeps: str = "below", scale: Any = None):
    """Drop elements of `x`, in one of the forms in which people write it."""
    if keeps == "below":
        mask = jax.random.bernoulli(key, 1 - rate, x.shape)
    elif keeps == "the others":
        mask = ~jax.random.bernoulli(key, rate, x.shape)
    else:
        mask = jax.random.uniform(key, x.shape) > rate
    return jnp.where(mask, x * (scale or 1 / (1 - rate)), 0)


def port(p: Any, x: Any, drop: Any = dropped, first: Any = lambda x: x) -> Any:
    h = drop(jnp.tanh(first(x @ p["0.weight"].T + p["0.bias"])))
    return h @ p["3.weight"].T + p["3.bias"]


@pytest.fixture(scope="module")
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 4))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "drop",
    [
        dropped,
        functools.partial(dropped, keeps="above"),
        functools.partial(dropped, key=jax.random.PRNGKey(1)),
    ],
    ids=["bernoulli", "uniform above a threshold", "raw key"],
)
def test_a_port_with_dropout_passes(net, drop):
    """A right port passes in train mode, whatever keeps an element and whatever key it holds."""
    report = prove(net, lambda p, x: port(p, x, drop), arrays(net), (X,))
    assert report.check().notes == (
        "the port was given the random numbers that torch drew: 1 of 1 arrays",
    )
    assert "a batch of 4 instead of 5" in report.surfaces["forward"].text


def test_each_step_repeats_the_mask_of_the_first(net):
    """All runs of torch during the updates have one mask, as docs/prove_special.md says."""
    masks: list[Any] = []
    phase = ""

    def watch(_module: Any, _inputs: Any, output: torch.Tensor) -> None:
        if phase == "updates":
            masks.append(output.detach().numpy() == 0)

    def begins(name: str) -> None:
        nonlocal phase
        phase = name

    handle = net[2].register_forward_hook(watch)
    optimizer = (lambda ps: torch.optim.SGD(ps, lr=0.1), optax.sgd(0.1))
    options: Any = dict(optimizer=optimizer, steps=3, progress=begins)
    report = prove(net, port, arrays(net), (X,), **options)
    handle.remove()

    assert report.verdict == "pass" and len(masks) >= 3 and masks[0].any()
    assert all(np.array_equal(mask, masks[0]) for mask in masks)
    assert "Every step of `steps=` repeats the draws of the first one" in PAGE


def test_a_mask_that_torch_draws_once_may_be_drawn_with_one_key_twice():
    """Both draws get torch's numbers, and the outputs agree."""
    torch.manual_seed(0)

    class Once(nn.Module):
        def forward(self, x):
            mask = functional.dropout(torch.ones_like(x), 0.3)
            return torch.tanh(x * mask) * mask

    def twice(key: Any) -> Any:
        return lambda p, x: dropped(jnp.tanh(dropped(x)), key=key)

    assert prove(Once(), twice(KEY), {}, (X,)).verdict == "pass"
    assert prove(Once(), twice(jax.random.key(4)), {}, (X,)).verdict == "fail"
    assert "One key for two draws fails" in PAGE


def test_the_calls_that_the_page_names_are_those_that_are_replaced():
    """The page names each sampler of `jax.random` that can be given torch's numbers."""
    (sentence,) = re.findall(r"\*\*Supported calls\*\* are (.*?), functions", PAGE)

    named = set(re.findall(r"`(?:jax\.random\.)?(\w+)`", sentence))
    assert named == {*ACCEPTED, "bernoulli"}


def test_wrong_dropout_is_found(net):
    """A wrong rate, a missing division and a missing dropout are located, each with its cause."""
    wrong = {
        "the dropout rate is 0.2, torch uses 0.3": functools.partial(dropped, rate=0.2),
        "not divided by 1 - 0.3": functools.partial(dropped, scale=1.0),
        "torch's dropout is missing": lambda x: x,
    }
    for cause, drop in wrong.items():
        report = prove(net, lambda p, x, drop=drop: port(p, x, drop), arrays(net), (X,))
        assert report.verdict == "fail" and report.first is not None
        assert report.first.where == "2 (dropout)" and cause in report.first.cause


class Residual(nn.Module):
    """A block that adds its input behind dropout."""

    def __init__(self):
        super().__init__()
        self.a, self.drop, self.b = nn.Linear(6, 16), nn.Dropout(0.2), nn.Linear(16, 6)

    def forward(self, x):
        return torch.relu(x + self.b(self.drop(torch.relu(self.a(x)))))


@pytest.mark.parametrize("keeps", ["below", "above"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("joined", "cause"),
    [(lambda x, h: x - h, "JAX subtracts, torch adds"),
     (lambda x, h: h, "torch's add is missing")],
)  # fmt: skip
def test_a_mistake_behind_dropout_is_not_placed_at_the_dropout(keeps, seed, joined, cause):
    """A wrong residual may be nearer to torch with the mask of the dropped elements."""

    def fn(p: Any, x: Any) -> Any:
        h = jax.nn.relu(x @ p["a.weight"].T + p["a.bias"])
        h = dropped(h, 0.2, keeps=keeps) @ p["b.weight"].T + p["b.bias"]
        return jax.nn.relu(joined(x, h))

    torch.manual_seed(seed)
    module = Residual()
    finding = prove(module, fn, arrays(module), (draw(16, 6),)).first
    assert finding is not None
    assert (finding.op, finding.tested) == ("add", True), finding
    assert cause in finding.cause


class Scaled(nn.Module):
    """Two layers with a factor before them and dropout after each."""

    def __init__(self, rate: float):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(6, 6), nn.Linear(6, 6), nn.Dropout(rate)

    def forward(self, x):
        x = x * 6**0.5
        return self.drop(self.b(self.drop(torch.tanh(self.a(x))))).sum()


@pytest.mark.parametrize("keeps", ["below", "above", "the others"])
@pytest.mark.parametrize("rate", [0.1, 0.8])
@pytest.mark.parametrize("wrong_rate", [False, True])
def test_a_mistake_before_all_dropout_does_not_turn_the_masks(keeps, rate, wrong_rate):
    """If no value of torch occurs behind the mistake, the dropped elements tell what is kept."""
    own = rate + 0.1 if wrong_rate else rate

    def fn(p: Any, x: Any) -> Any:
        for name in "ab":
            x = x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
            x = dropped(jnp.tanh(x) if name == "a" else x, own, keeps=keeps)
        return x.sum()

    torch.manual_seed(0)
    module = Scaled(rate)
    finding = prove(module, fn, arrays(module), (draw(5, 6),)).first
    assert finding is not None and finding.cause.startswith("torch's mul by "), finding
    assert finding.tested


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_a_mask_that_several_rows_share_is_named(axes):
    """flax's `broadcast_dims` draws one mask where torch draws one for each row."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 4))

    def fn(p: Any, x: Any) -> Any:
        layer = linen.Dropout(0.5, broadcast_dims=axes, deterministic=False)
        h = layer.apply({}, x @ p["0.weight"].T + p["0.bias"], rngs={"dropout": KEY})
        return h @ p["2.weight"].T + p["2.bias"]

    report = prove(module, fn, arrays(module), (X,))
    finding = report.first
    assert finding is not None
    assert (finding.op, finding.tested) == ("dropout", True), finding
    assert report.surfaces["gradients"].verdict == "pass", report
    shape = [1, 8] if axes == (0,) else [5, 1]
    assert f"the mask has the shape {shape}, torch's has [5, 8] (rerunning" in finding.cause


def test_masks_that_heads_and_batch_share_are_named_together():
    """flax's attention shares one mask in each layer, and all of them explain the outputs."""

    class Attention(nn.Module):
        def forward(self, x):
            for _ in range(2):
                w = functional.dropout((x @ x.mT).softmax(-1), 0.5)
                x = w @ x
            return x

    def fn(p: Any, x: Any) -> Any:
        del p
        for n in range(2):
            w = jax.nn.softmax(x @ x.mT)
            keep = jax.random.bernoulli(jax.random.key(n), 0.5, (1, 1, *w.shape[2:]))
            x = jnp.where(keep, w / 0.5, 0) @ x
        return x

    report = prove(Attention(), fn, {}, (draw(2, 2, 4, 3),))
    finding = report.first
    assert finding is not None
    assert finding.tested, finding
    assert "select_n" in finding.jax or "where" in finding.jax, finding
    assert report.surfaces["gradients"].verdict == "pass", report
    text = "the first of 2 shared masks has the shape [1, 1, 4, 4], torch's has [2, 2, 4, 4]"
    assert text in finding.cause


def test_a_mask_of_another_probability_is_found(net):
    """A port that scales like torch but keeps elements with another probability fails."""
    drop = functools.partial(dropped, rate=0.2, scale=1 / 0.7)
    report = prove(net, lambda p, x: port(p, x, drop), arrays(net), (X,))
    assert report.verdict == "fail" and report.first is not None
    assert report.first.where == "2 (dropout)"
    kept = (
        "the port keeps an element with the probability 0.8, torch with 0.7, although both rescale"
    )
    assert report.first.text.startswith(kept), report.first


def test_a_mask_that_keeps_what_torch_drops_is_found(net):
    """`bernoulli` takes the probability of keeping an element, which is not the rate of dropout."""

    def swapped(x: Any) -> Any:
        return jnp.where(jax.random.bernoulli(KEY, 0.3, x.shape), x / 0.7, 0)

    report = prove(net, lambda p, x: port(p, x, swapped), arrays(net), (X,))
    assert report.first is not None
    kept = (
        "the port keeps an element with the probability 0.3, torch with 0.7, although both rescale"
    )
    assert report.first.text.startswith(kept), report.first


class Linen(linen.Module):
    rate: float

    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.Dropout(self.rate, deterministic=False)(jnp.tanh(linen.Dense(8)(x)))
        return linen.Dense(4)(x)


class Nnx(nnx.Module):
    def __init__(self, rate: float, net: Any) -> None:
        rngs = nnx.Rngs(0)
        self.a, self.b = nnx.Linear(6, 8, rngs=rngs), nnx.Linear(8, 4, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)
        for layer, theirs in ((self.a, net[0]), (self.b, net[3])):
            layer.kernel = nnx.Param(jnp.asarray(theirs.weight.detach().numpy().T))
            layer.bias = nnx.Param(jnp.asarray(theirs.bias.detach().numpy()))

    def __call__(self, x: Any) -> Any:
        return self.b(self.dropout(jnp.tanh(self.a(x))))


class Equinox(eqx.Module):
    weights: Any
    dropout: eqx.nn.Dropout

    def __call__(self, x: Any, key: Any) -> Any:
        a, b, c, d = self.weights
        return c @ self.dropout(jnp.tanh(a @ x + b), key=key) + d


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rate", [0.3, 0.5])
@pytest.mark.parametrize("library", ["linen", "nnx", "equinox"])
def test_the_dropout_of_flax_and_equinox_is_given_torchs_mask(net, library, rate):
    """The layers of flax and equinox pass with torch's rate, even under vmap, or else fail."""
    w = arrays(net)
    if library == "linen":
        dense = [dict(kernel=w[f"{n}.weight"].T, bias=w[f"{n}.bias"]) for n in (0, 3)]
        params: Any = {"params": {"Dense_0": dense[0], "Dense_1": dense[1]}}
        fn: Any = lambda v, x: Linen(rate).apply(v, x, rngs={"dropout": KEY})  # noqa: E731
    elif library == "nnx":
        params, fn = None, Nnx(rate, net)
    else:
        params = Equinox(tuple(map(jnp.asarray, w.values())), eqx.nn.Dropout(rate))
        fn = lambda m, x: jax.vmap(m)(x, jax.random.split(KEY, len(x)))  # noqa: E731
    assert prove(net, fn, params, (X,)).verdict == ("pass" if rate == 0.3 else "fail")


class Sampled(nn.Module):
    """The reparametrised sample of a VAE."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, log_variance = self.linear(x).chunk(2, -1)
        return mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)


@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_normal_numbers_are_shared(factor):
    """A reparametrised sample is compared with torch's own normal numbers."""
    torch.manual_seed(0)
    module = Sampled()

    def sampled(p: Any, x: Any) -> Any:
        mean, log_variance = jnp.split(x @ p["linear.weight"].T + p["linear.bias"], 2, -1)
        return mean + jnp.exp(factor * log_variance) * jax.random.normal(KEY, mean.shape)

    report = prove(module, sampled, arrays(module), (X,))
    assert report.verdict == ("pass" if factor == 0.5 else "fail")


class Layers(nn.Module):
    """Layers in a loop with dropout, which the port runs in a scan that carries the key."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = functional.dropout(torch.tanh(layer(x)), 0.2)
        return x


@pytest.mark.parametrize("shape", [(), (1,)])
def test_one_number_may_be_drawn_without_a_shape(shape):
    """A layer that is skipped at random needs a single number."""

    class Skipped(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x):
            return x if torch.rand(()) < 0.3 else x + self.layer(x)

    def port(p: Any, x: Any) -> Any:
        drawn = jax.random.uniform(KEY, shape)
        return jnp.where(drawn < 0.3, x, x + x @ p["layer.weight"].T + p["layer.bias"])

    torch.manual_seed(0)
    module = Skipped()
    assert prove(module, port, arrays(module), (X,)).verdict == "pass"


def test_each_iteration_of_a_scan_draws_torchs_mask():
    """A port that scans over its layers and splits its key in each step passes."""
    torch.manual_seed(0)
    module = Layers()
    params = {
        name: np.stack([getattr(layer, name).detach().numpy() for layer in module.layers])
        for name in ("weight", "bias")
    }

    def step(carry: Any, layer: Any) -> Any:
        x, key = carry
        key, own = jax.random.split(key)
        x = dropped(jnp.tanh(x @ layer["weight"].T + layer["bias"]), 0.2, key=own)
        return (x, key), None

    report = prove(module, lambda p, x: jax.lax.scan(step, (x, KEY), p)[0][0], params, (X,))
    assert report.verdict == "pass"


def test_a_mask_that_is_shared_along_an_axis_is_found(net):
    """A mask with one number for a batch or for a sample fails, and its shape is the cause."""
    for shape in ((1, 8), (5, 1)):
        drop = lambda x, shape=shape: x * jax.random.bernoulli(KEY, 0.7, shape) / 0.7  # noqa: E731
        report = prove(net, lambda p, x, drop=drop: port(p, x, drop), arrays(net), (X,))
        assert report.verdict == "fail" and report.first is not None
        assert report.first.where == "2 (dropout)"
        assert f"the mask has the shape {list(shape)}, torch's has [5, 8]" in report.first.cause


def test_a_mask_with_more_numbers_than_torchs_is_found():
    """A port that drops elements where torch drops channels fails, although the masks agree."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(2, 3, 1), nn.Dropout1d(0.3))
    x = draw(4, 2, 5)

    def apply(p: Any, x: Any, wrong: bool = False) -> Any:
        h = jnp.einsum("oi,bit->bot", p["0.weight"][..., 0], x) + p["0.bias"][:, None]
        return dropped(h, scale=1 / 0.7) if wrong else h * keep(h) / 0.7

    def keep(h: Any) -> Any:
        return jax.random.bernoulli(KEY, 0.7, (*h.shape[:2], 1))

    assert prove(module, apply, arrays(module), (x,)).verdict == "pass"
    report = prove(module, functools.partial(apply, wrong=True), arrays(module), (x,))
    assert report.verdict == "fail" and report.first is not None
    assert report.first.torch == "1" and "several where torch draws one" in report.first.text


def test_numbers_that_cannot_be_given_are_named(net):
    """A mask of another shape, and a permutation, are errors with a remedy."""
    other = lambda x: x * jax.random.bernoulli(KEY, 0.7, (2, 8))[:1] / 0.7  # noqa: E731
    report = prove(net, lambda p, x: port(p, x, other), arrays(net), (X,))
    assert report.verdict == "error"
    assert "torch draws [5, 8] bernoulli numbers in 2 (dropout), but the port draws [2, 8]" in (
        report.text
    )

    class Shuffled(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return super().forward(input[torch.randperm(len(input))])

    module = Shuffled(6, 2)
    report = prove(module, lambda p, x: x @ p["weight"].T + p["bias"], arrays(module), (X,))
    assert "torch draws [5] randperm numbers in (randperm), which cannot be" in report.text


def test_a_dump_holds_torchs_random_numbers(net, tmp_path):
    """A dump of a module in train mode is proved with the numbers that torch drew."""
    dump(net, (X,), tmp_path / "net.npz")
    assert prove(tmp_path / "net.npz", port, arrays(net)).verdict == "pass"


def site(line: str, *shape: int) -> Site:
    return Site((0,), "uniform", shape, (), (line,))


@pytest.mark.parametrize(
    ("lines", "shape", "choices"),
    [
        ("", (2, 3), []),
        ("a", (2, 3), [("", 0), ("a", 0)]),
        ("a", (3, 3), [("", 0), ("", 1), ("a", 0), ("a", 1)]),
        ("a", (3,), [("", 0), ("a", 0)]),
        ("ab", (2, 3), [("", 0), ("ab", 0), ("a", 0), ("b", 0)]),
        ("abc", (2, 3), [(x, 0) for x in ("", "abc", "a", "b", "c", "ab", "ac", "bc")]),
        ("abcd", (2, 3), [("", 0), ("abcd", 0)]),
    ],
)
def test_each_set_of_lines_is_reflected(lines, shape, choices):
    """With more than three lines all or none are; only equal axes are swapped."""
    injection = Injection(sites=tuple(site(line, *shape) for line in lines))
    assert [
        ("".join(line for (line,) in chosen), int(swapped))
        for chosen, swapped in _choices(injection)
    ] == choices


def noise(kind: str, size: int = 2) -> Noise:
    return Noise(kind, np.zeros(size), np.zeros(size), where="net")


PORT: Any = SimpleNamespace(
    program=SimpleNamespace(
        equations={(7,): SimpleNamespace(outvars=[jax.ShapeDtypeStruct((5, 3), jnp.float32)])}
    )
)


@pytest.mark.parametrize(
    ("kinds", "unused", "extra", "words"),
    [
        ("normal", (), (), ""),
        ("normal", (0,), (), ""),
        ("normal", (), ((7,),), ""),
        ("normal uniform", (1,), ((7,),), "torch draws [3] uniform numbers in net, but the port"),
        ("normal randperm", (), (), "torch draws [3] randperm numbers in net, which cannot be"),
    ],
)
def test_numbers_of_both_frameworks_without_a_counterpart_are_an_error(
    kinds, unused, extra, words, monkeypatch
):
    """Numbers that only one framework draws may be numbers that the output does not need."""
    monkeypatch.setattr(inject_module, "_site", lambda port, injection: "[5] random numbers")
    given: Any = SimpleNamespace(noise=[noise(k, 2 + n) for n, k in enumerate(kinds.split())])
    injection = Injection(unused=unused, extra=extra)
    if not words:
        inject_module._check(PORT, injection, given)
        return
    with pytest.raises(ProofError) as error:
        inject_module._check(PORT, injection, given)
    assert str(error.value).startswith(words)


def test_numbers_are_counted_in_notes(monkeypatch):
    """The names of at most three arrays that only torch draws are listed."""
    monkeypatch.setattr(inject_module, "place", lambda program, key: f"line {key}")
    monkeypatch.setattr(inject_module, "abstract", lambda v: v)
    given: Any = SimpleNamespace(noise=[noise("normal", n) for n in range(1, 7)])
    injection = Injection(sites=(site("a", 2),), unused=(1, 2, 3, 4), extra=((7,), (8,)))
    assert inject_module._notes(PORT, injection, given) == [
        "the port was given the random numbers that torch drew: 2 of 6 arrays",
        "torch draws numbers that the port does not draw: [2] normal numbers in net; [3] normal "
        "numbers in net; [4] normal numbers in net",
        "the port draws [5, 3] random numbers at line ((7,), 0), which torch does not draw",
    ]
    assert inject_module._notes(PORT, Injection(), given) == []


@pytest.mark.parametrize(
    ("offs", "occurring", "best", "runs"),
    [([3.0, 1.0, 2.0, 2.0], [5, 5, 5, 5], ("a", False), 4),
     ([1.0, 1.0, 1.0, 1.0], [5, 5, 5, 5], ("", False), 4),
     ([3.0, 1e-10], [], ("a", False), 2),
     ([1e-9, 1e-8, 1e-8, 1e-8], [5, 5, 5, 5], ("", False), 4),
     ([2.0, 2.0, 2.0, 0.9], [5, 5, 5, 5], ("b", False), 4),
     ([2.0, 2.0, 2.0, 1.1], [5, 5, 5, 5], ("", False), 4),
     ([2.0, 2.0, 2.0, 1.0], [7, 5, 5, 6], ("", False), 4),
     ([5.0, 2.0, 2.0, 1.0], [7, 7, 5, 6], ("a", False), 4)],
)  # fmt: skip
def test_the_nearest_choice_is_kept(offs, occurring, best, runs, monkeypatch):
    """Equal outputs end the search; otherwise more values occur, or outputs are clearly nearer."""
    injection = Injection(sites=(site("a", 2), site("b", 2)))
    order = [("", False), ("ab", False), ("a", False), ("b", False)]
    if best[0] == "a":
        best = ("ab", False)
    monkeypatch.setattr(inject_module, "sites", lambda program, used: ["site"])
    monkeypatch.setattr(inject_module, "matched", lambda *_: injection)
    monkeypatch.setattr(inject_module, "_keeping_above", lambda *_: {})
    seen: list[Any] = []

    def port_with(injection: Any) -> Any:
        made = SimpleNamespace(program=None, injection=injection)
        made.outputs = lambda draw, scales: seen.append(injection)
        made.replacing, made.watch = port_with, lambda draw: injection
        return made

    flow: Any = SimpleNamespace(used=set())
    given: Any = SimpleNamespace(noise=[noise("normal")])
    left, counts = iter(offs), iter(occurring)
    drawn: Any = SimpleNamespace(
        draw=given, distance=lambda outputs: next(left), occurring=lambda watched: next(counts)
    )
    port, _ = inject_module.inject(port_with(None), flow, drawn)

    def described(x: Injection) -> tuple[str, bool]:
        return "".join(sorted(line for (line,) in x.reflected)), x.swapped

    assert described(port.injection) == best
    assert [described(x) for x in seen] == order[:runs]
