"""`prove`: right ports pass, planted bugs are found, bad input gets a sentence."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad._core.jaxpr import is_inexact
from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.align import align
from jaxgrad.parity.prove.align.fingerprint import apart, fingerprint
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.program import Spot
from jaxgrad.parity.prove.judge import judge
from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.layout import layout
from parity_tests.audits import planted_bugs as kill_table
from parity_tests.case import identity
from parity_tests.ports.bug import Bug


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.norm(torch.tanh(self.inner(x))) + x)


def port(p: Any, x: Any, *, eps: float = 1e-5, turn: bool = True, stop: Any = identity) -> Any:
    w = p["inner.weight"]
    h = jnp.tanh(x @ (w.T if turn else w) + p["inner.bias"])
    mean, var = jnp.mean(h, -1, keepdims=True), jnp.var(h, -1, keepdims=True)
    h = (h - mean) * lax.rsqrt(var + eps) * p["norm.weight"] + p["norm.bias"]
    return (stop(h) + x) @ p["head.weight"].T + p["head.bias"]


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    torch.manual_seed(0)
    module = Net()
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    return dict(
        module=module,
        fn=port,
        params=params,
        inputs=(np.random.default_rng(0).standard_normal((5, 6)),),
    )


def proved(given: dict[str, Any], **changes: Any) -> Any:
    every = given | changes
    first = [every.pop(name) for name in ("module", "fn", "params", "inputs")]
    return prove(*first, **every)


@pytest.mark.parametrize("wrap", [identity, jax.jit, jax.checkpoint], ids=["eager", "jit", "remat"])
def test_a_right_port(given, wrap):
    tx = (lambda p: torch.optim.AdamW(p, 1e-3), optax.adamw(1e-3, weight_decay=1e-2))
    report = proved(given, fn=wrap(port), optimizer=tx, steps=3)
    assert report.check() is report
    assert {s.verdict for s in report.surfaces.values()} == {"pass"}
    assert report.first is None
    for name in ("forward", "backward", "gradients", "updates"):
        assert "planted" in report.surfaces[name].control


@pytest.mark.parametrize(
    ("surface", "where", "cause", "changes"),
    [
        ("forward", "norm", "eps 1e-06 where torch has 1e-05", dict(eps=1e-6)),
        ("forward", "inner", "the square weight is transposed", dict(turn=False)),
        ("structure", "inner.weight", "an extra stop_gradient", dict(stop=lax.stop_gradient)),
    ],
    ids=["eps", "transposed", "stopped"],
)
def test_a_planted_bug(given, surface, where, cause, changes):
    report = proved(given, fn=functools.partial(port, **changes))
    assert report.verdict == "fail"
    assert report.first.surface == surface
    assert report.first.torch == where
    assert cause in report.first.cause
    with pytest.raises(AssertionError, match="first divergence"):
        report.check()


@pytest.mark.parametrize(
    ("cause", "tx"),
    [
        ("no weight decay", optax.adam(1e-3)),
        ("eps 1e-06", optax.adamw(1e-3, weight_decay=1e-2, eps=1e-6)),
        ("a learning rate 10 times torch's", optax.adamw(1e-2, weight_decay=1e-2)),
    ],
    ids=["decay", "eps", "rate"],
)
def test_an_optimizer_that_is_not_torchs(given, cause, tx):
    report = proved(given, optimizer=(lambda p: torch.optim.AdamW(p, 1e-3), tx), steps=2)
    assert report.first.surface == "updates"
    assert cause in report.first.cause


def scheduled(parameters: Any) -> Any:
    optimizer: Any = torch.optim.SGD(parameters, 1e-3)
    optimizer.scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    return optimizer


@pytest.mark.parametrize("rate", [0.9, 0.901])
def test_a_schedule_in_float32_is_lifted(given, rate):
    """optax computes the rate in float32, 2e-8 off; a rate that is another one still shows."""
    tx = optax.sgd(optax.exponential_decay(1e-3, 1, rate))
    report = proved(given, optimizer=(scheduled, tx), steps=3)
    assert (report.verdict == "pass") == (rate == 0.9), report


def test_a_schedule_that_is_too_rough_is_judged_as_it_is(given):
    """In float16 a rate of 1e-3 is 4e-4 off: that is another rate."""
    tx = optax.sgd(lambda step: jnp.float16(1e-3) + jnp.float16(0) * step)
    report = proved(given, optimizer=(lambda p: torch.optim.SGD(p, 1e-3), tx), steps=3)
    assert report.first.surface == "updates"


def test_a_loss_of_the_users(given):
    loss = (lambda y: (y**2).mean(), lambda y: jnp.mean(y**2))
    assert proved(given, loss=loss).verdict == "pass"
    wrong = (lambda y: (y**2).mean(), lambda y: jnp.sum(y**2))
    report = proved(given, loss=wrong)
    assert report.first.surface == "forward" and report.first.torch.startswith("loss")


def test_the_gradient_of_an_input_counts(given):
    report = proved(given, fn=lambda p, x: port(p, lax.stop_gradient(x)))
    assert report.verdict == "fail"
    assert report.first.surface == "gradients" and report.first.torch == "input 0"


def test_low_precision_inside_is_lifted_and_named(given):
    def low(p: Any, x: Any) -> Any:
        p, x = jax.tree.map(lambda a: a.astype(jnp.float32), (p, x))
        return port(p, x)

    report = proved(given, fn=low)
    assert report.verdict == "pass"
    assert "test_prove.py" in "".join(report.notes)
    found = proved(given, fn=lambda p, x: port(p, x.astype(jnp.bfloat16), eps=1.1e-5))
    assert found.verdict == "fail" and found.first.torch.startswith("norm")


@pytest.mark.parametrize("fast", [True, False])
def test_digits_that_float32_loses_are_told(fast):
    """E[x^2] - E[x]^2 is the variance: right in float64, and no good in float32."""

    def norm(params, x):
        mean = jnp.mean(x, -1, keepdims=True)
        square = jnp.mean(x**2, -1, keepdims=True) - mean**2
        var = square if fast else jnp.var(x, -1, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5) * params["weight"] + params["bias"]

    module = nn.LayerNorm(16)
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    x = (5 + 0.1 * np.random.default_rng(0).standard_normal((4, 16))).astype(np.float32)
    report = prove(module, norm, params, (x,))
    assert report.verdict == "pass", report
    assert any("loses digits" in note for note in report.notes) == fast, report.notes
    assert "times torch's own error" in report.surfaces["gradients"].text


def test_constant_weights_are_paired_and_redrawn(given):
    module = nn.Sequential(nn.LayerNorm(6), nn.LayerNorm(6))
    params = [{"scale": np.ones(6), "shift": np.zeros(6)} for _ in range(2)]

    def norm(p: Any, x: Any) -> Any:
        x = x - jnp.mean(x, -1, keepdims=True)
        return x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]

    fn = lambda p, x: norm(p[1], norm(p[0], x))  # noqa: E731
    report = proved(given, module=module, fn=fn, params=params)
    assert report.verdict == "pass", report
    assert "4 constant ones paired by name" in report.surfaces["structure"].text
    # At the start scale and shift do nothing: only the second draw sees one that is missing.
    silent = lambda p, x: norm(p[1] | {"shift": p[0]["shift"]}, norm(p[0], x))  # noqa: E731
    report = proved(given, module=module, fn=silent, params=params)
    assert report.verdict == "fail"


KEPT: list[Any] = []


def leaking(p: Any, x: Any) -> Any:
    KEPT.append(x * 2)
    return port(p, x)


def without(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: x for key, x in params.items() if key != name}


BAD = {
    "too many inputs": (lambda g: dict(inputs=g["inputs"] * 2), "called with 2 inputs"),
    "no inputs": (lambda g: dict(inputs=None), "no inputs were given"),
    "inputs of another shape": (
        lambda g: dict(inputs=(np.ones((5, 3)),)),
        "called with 1 inputs (float64[5, 3]) raised RuntimeError",
    ),
    "NaN in the input": (lambda g: dict(inputs=(np.full((5, 6), np.nan),)), "has 30 NaN"),
    "integer outputs": (
        lambda g: dict(outputs=(lambda y: y.argmax(-1), lambda y: y)),
        "the outputs hold no floating values (int64)",
    ),
    "shapes that differ": (
        lambda g: dict(fn=lambda p, x: port(p, x).T),
        "torch gives shape (5, 2), JAX gives (2, 5)",
    ),
    "another number of outputs": (
        lambda g: dict(fn=lambda p, x: (port(p, x), x)),
        "torch gives 1 outputs (output[5, 2]), JAX gives 2 (0, 1)",
    ),
    "dropout left on": (
        lambda g: dict(module=nn.Sequential(g["module"], nn.Dropout(0.5))),
        "the torch module is not deterministic: 1 drop values in train mode",
    ),
    "a leaf too many": (
        lambda g: dict(params=g["params"] | {"extra": np.arange(6.0)}),
        "JAX leaf 'extra' [6] holds no torch tensor",
    ),
    "a leaf too few": (
        lambda g: dict(params=without(g["params"], "norm.bias")),
        "raised KeyError",
    ),
    "other numbers": (
        lambda g: dict(params=g["params"] | {"inner.bias": g["params"]["inner.bias"] * 1.5}),
        "JAX leaf 'inner.bias' [6] holds no torch tensor; torch's 'inner.bias' has as many",
    ),
    "NaN in the JAX weights": (
        lambda g: dict(params=g["params"] | {"inner.bias": np.full(6, np.nan)}),
        "the JAX weights are not finite: 'inner.bias' has NaN",
    ),
    "a tracer that leaks": (lambda g: dict(fn=leaking), "fn is not pure"),
    "numpy on tracers": (
        lambda g: dict(fn=lambda p, x: port(p, x) + np.tanh(x)),
        "fn cannot be traced: it uses numpy",
    ),
    "if on tracers": (
        lambda g: dict(fn=lambda p, x: port(p, x) if x.sum() > 0 else x),
        "fn cannot be traced",
    ),
    "no module": (lambda g: dict(module=len), "not a torch.nn.Module"),
    "no function": (lambda g: dict(fn=3), "fn is int, which is not callable"),
    "no parameters": (lambda g: dict(params={}), "params holds no array"),
    "a loss that is no number": (
        lambda g: dict(loss=(lambda y: y, lambda y: y)),
        "the torch loss gave Tensor of shape (5, 2)",
    ),
    "no optimizer": (lambda g: dict(optimizer=(lambda p: 3, optax.sgd(1.0))), "gave int"),
    "no transformation": (
        lambda g: dict(optimizer=(lambda p: torch.optim.SGD(p, 1.0), 4)),
        "int is no optax transformation",
    ),
    "a map to nowhere": (
        lambda g: dict(weights={"inner.weight": "nowhere"}),
        "weights= sends 'inner.weight' to 'nowhere'",
    ),
    "trainable that names nothing": (
        lambda g: dict(trainable=["zz*"]),
        "trainable= names 'zz*', which no leaf matches",
    ),
    "all gradients zero": (
        lambda g: dict(loss=(lambda y: (y * 0).sum(), lambda y: jnp.sum(y * 0))),
        "all gradients are zero",
    ),
    "what cannot be differentiated": (
        lambda g: dict(
            fn=lambda p, x: jax.pure_callback(
                np.asarray, jax.ShapeDtypeStruct((5, 2), jnp.float64), port(p, x)
            )
        ),
        "Pure callbacks do not support JVP",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(given, name):
    changes, words = BAD[name]
    report = proved(given, **changes(given))
    assert report.verdict == "error"
    assert words in report.text
    assert report.first is None and "Traceback" not in str(report)


def test_nan_in_the_weights(given):
    module = Net()
    module.norm.weight.data[2] = torch.nan
    report = proved(given, module=module)
    assert "'norm.weight' of shape (6,) has 1 NaN" in report.text


def test_watching_changes_no_bit(given):
    with jax.enable_x64(True):
        made = jax_program.program(port, given["params"], given["inputs"])
        keys = [(path, 0) for path in made.equations if path not in made.closed]
        keys = [k for k in keys if is_inexact(made.equations[k[0]].outvars[0])]
        slots = {key: jax_program.slot(made, key) for key in keys}

        def total(leaves: Any, slots: Any) -> Any:
            return jnp.sum(jax_program.watched(made, leaves, slots=slots).outputs[0])

        tapped = jax.grad(total)(made.leaves, slots)
        plain = jax.grad(total)(made.leaves, {})
        for x, y in zip(tapped, plain, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.mark.parametrize(
    "change",
    [np.transpose, np.flip, lambda x: x.reshape(2, 2, 3)],
    ids=["transpose", "flip", "reshape"],
)
def test_a_fingerprint_knows_no_order(change):
    x = np.random.default_rng(0).standard_normal((4, 3))
    assert apart(fingerprint(x), fingerprint(change(x))) < 1e-14
    assert apart(fingerprint(x), fingerprint(x * (1 + 1e-9))) > 1e-10
    y = x.copy()
    y[1, 2] += 1e-6
    assert apart(fingerprint(x), fingerprint(y)) > 1e-9


def test_a_fingerprint_sees_what_is_not_finite():
    x = np.array([1.0, np.nan, -np.inf])
    assert apart(fingerprint(x), fingerprint(x)) == 0
    assert apart(fingerprint(x), fingerprint(np.array([1.0, np.nan, np.inf]))) == np.inf


def test_align_tells_equal_sizes_apart():
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 4, 5))
    prints = np.stack([fingerprint(x) for x in (b.T, a, c)])
    spots = [Spot((i,), 0) for i in range(3)]
    found = align([[fingerprint(a), fingerprint(b)]], [prints], spots, np.zeros(2))
    assert found.candidates == ((1,), (0,))


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.T,
        lambda w: w.reshape(6, 2, 3),
        lambda w: np.moveaxis(w.reshape(6, 2, 3), 0, -1),
        lambda w: w,
    ],
    ids=["transpose", "heads", "heads first", "none"],
)
def test_a_layout_is_found(change):
    w = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
    index = layout(w, change(w))
    assert index is not None
    assert np.array_equal(w.ravel()[index], change(w))


def test_weights_that_were_fused_stacked_and_summed():
    rng = np.random.default_rng(0)
    t = {name: rng.standard_normal((4, 4)) for name in ("q", "k", "v", "l.0", "l.1")}
    t |= {name: rng.standard_normal(4) for name in ("b_ih", "b_hh")}
    leaves = {
        "qkv": np.concatenate([t["q"].T, t["k"].T, t["v"].T], 1),
        "stacked": np.stack([t["l.0"].T, t["l.1"].T]),
        "bias": t["b_ih"] + t["b_hh"],
    }
    found, missing, extra = infer(t, list(leaves.values()), list(leaves))
    assert not missing and not extra
    fresh = {name: rng.standard_normal(x.shape) for name, x in t.items()}
    qkv, stacked, bias = found.to_jax(fresh)
    assert np.array_equal(qkv[:, 4:8], fresh["k"].T)
    assert np.array_equal(stacked[1], fresh["l.1"].T)
    assert np.array_equal(bias, fresh["b_ih"] + fresh["b_hh"])
    grads = found.to_torch([np.ones((4, 12)), None, np.arange(4.0)])
    assert grads["l.0"] is None
    assert grads["b_ih"] is not None and np.array_equal(grads["b_ih"], np.arange(4.0))


def test_judge():
    x = np.array([1.0, 2.0])
    assert judge("x", x, x * (1 + 1e-13)).verdict == "pass"
    assert judge("x", x, x * (1 + 1e-9)).verdict == "fail"
    assert judge("x", x, x * (1 + 1e-9), [x * (1 + 1e-9)]).verdict == "pass"
    assert judge("x", x, x * (1 + 1e-3), [x * (1 + 1e-3)]).verdict == "inconclusive"
    assert judge("x", x * 1e-20, x * 3e-20, tree_scale=1.0).verdict == "zero"
    assert judge("x", np.array([np.nan]), np.array([np.nan])).verdict == "pass"
    assert judge("x", np.array([np.nan]), np.array([1.0])).verdict == "fail"


def test_the_kill_table_says_where():
    bug = Bug("b", "forward", "layers.*.norm")
    assert kill_table.matches("layers.0.norm", bug.where)
    assert kill_table.matches("layers.0.norm.weight", bug.where)
    assert not kill_table.matches("layers.0.mlp", bug.where)


def test_a_verdict_stands_where_its_place_is_not_found(given, monkeypatch):
    def broken(*args):
        raise KeyError("spot")

    monkeypatch.setattr("jaxgrad.parity.prove.surfaces.locate_forward.origins", broken)
    report = proved(given, fn=functools.partial(port, eps=1e-3))
    assert report.verdict == "fail"
    assert report.notes == ("the first place was not found, a fault of jaxgrad: KeyError: 'spot'",)
    assert "output differs" in str(report)
