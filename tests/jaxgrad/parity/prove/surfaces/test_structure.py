"""Weights that are trained or tied in only one framework are found."""

import functools
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
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Finding, prove
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.record.adapters import Trained
from jaxgrad.parity.prove.report import Judgement, Surface
from jaxgrad.parity.prove.surfaces.structure import (
    _copies,
    _is_zero,
    _unreached,
    explained,
    surface,
)
from jaxgrad.parity.prove.weights.map import Piece, WeightMap
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Pair(nn.Module):
    """Two linear layers, tied or not."""

    def __init__(self, tied: bool):
        super().__init__()
        self.one, self.two = (nn.Linear(3, 3, bias=False) for _ in range(2))
        if tied:
            self.two.weight = self.one.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.two(torch.tanh(self.one(x)))


def apply(params: Any, x: Any) -> Any:
    return lax.tanh(x @ params["one"].T) @ params["two"].T


def first(module: nn.Module, fn: Any = apply, **options: Any) -> Finding:
    """Prove a port that stores both layers' weights, and return the first finding."""
    state = arrays(module)
    params = {"one": state["one.weight"], "two": state["two.weight"]}
    report = prove(module, fn, params, (draw(4, 3),), **options)
    assert report.first is not None, report
    return report.first


@pytest.fixture
def module() -> Pair:
    torch.manual_seed(0)
    return Pair(tied=False)


def test_a_weight_tied_only_in_torch_is_found():
    """A weight that torch ties is found if the port stores it in two trained leaves."""
    finding = first(Pair(tied=True))

    assert (finding.surface, finding.torch) == ("structure", "one.weight")
    assert "torch has one parameter, but JAX has 2 leaves that are not tied" in finding.text


def test_a_frozen_parameter_that_jax_trains_is_found(module):
    """A parameter that is frozen in torch is found if JAX differentiates it."""
    module.two.requires_grad_(False)
    finding = first(module)

    assert (finding.torch, finding.jax) == ("two.weight", "two")
    assert "frozen in torch (requires_grad is False) but trained in JAX" in finding.text


def test_a_stopped_parameter_is_found(module):
    """A parameter behind a stop_gradient is found, and so is the stop_gradient's source line."""
    stopped = lambda p, x: apply(p | {"two": lax.stop_gradient(p["two"])}, x)  # noqa: E731
    finding = first(module, stopped)

    assert finding.torch == "two.weight"
    assert "no derivative path leads to the leaf in JAX" in finding.text
    assert "test_structure.py:" in finding.cause


def test_an_excluded_parameter_is_found(module):
    """A parameter that torch trains and `trainable=` excludes is found."""
    finding = first(module, trainable=["one"])

    assert finding.torch == "two.weight"
    assert "trained in torch, but trainable= excludes it in JAX" in finding.text


class Shifted(nn.Module):
    """A scale that torch trains, and a mean that is a buffer."""

    mean: Tensor

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0, 5.0]))
        self.register_buffer("mean", torch.tensor([0.1, 0.2, 0.4]))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * (x - self.mean)


class LinenShifted(linen.Module):
    """The same, with the mean in one of two collections."""

    collection: str

    @linen.compact
    def __call__(self, x: Any) -> Any:
        scale = self.param("scale", linen.initializers.ones, (3,))
        if self.collection == "params":
            return scale * (x - self.param("mean", linen.initializers.ones, (3,)))
        return scale * (x - self.variable(self.collection, "mean", np.ones, 3).value)


class NnxShifted(nnx.Module):
    """The same, with the mean in one of two types of variables."""

    def __init__(self, collection: str):
        state = arrays(Shifted())
        self.scale = nnx.Param(state["scale"])
        self.mean = (nnx.Param if collection == "params" else nnx.BatchStat)(state["mean"])

    def __call__(self, x: Any) -> Any:
        return self.scale * (x - self.mean)


def shifted(kind: str) -> tuple[Any, Any]:
    """Return the port of one kind and its params, with the mean among the trained leaves or not."""
    state = arrays(Shifted())
    library, collection = kind.split()
    if library == "linen":
        scale, mean = {"scale": state["scale"]}, {"mean": state["mean"]}
        variables = {"params": scale, collection: mean}
        if collection == "params":
            variables = {"params": scale | mean}
        return LinenShifted(collection), variables
    return NnxShifted(collection), None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["linen params", "linen stats", "nnx params", "nnx stats"])
def test_a_buffer_among_the_params_of_flax_is_found(kind):
    """A buffer that the port holds as a parameter is found, with both names; a variable passes."""
    fn, params = shifted(kind)
    report = prove(Shifted(), fn, params, (draw(4, 3),))

    if kind.endswith("stats"):
        assert report.verdict == "pass", report
    else:
        assert report.first is not None and report.first.surface == "structure"
        assert (report.first.torch, report.first.jax.rpartition("/")[2]) == ("mean", "mean")
        assert "torch has a buffer, but JAX trains the leaf" in report.first.text
        assert "trainable=" in report.first.cause
        assert prove(Shifted(), fn, params, (draw(4, 3),), trainable=["*scale"]).verdict == "pass"


def test_an_optimizer_that_trains_a_buffer_is_found():
    """A plain tree with a buffer in it passes, unless an optimizer moves all of its leaves."""
    fn = lambda p, x: p["scale"] * (x - p["mean"])  # noqa: E731
    options: Any = dict(optimizer=(lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1)))
    arguments = Shifted(), fn, arrays(Shifted()), (draw(4, 3),)
    report = prove(*arguments, **options)

    assert prove(*arguments).verdict == "pass"
    assert report.first is not None and (report.first.torch, report.first.jax) == ("mean", "mean")
    assert "a tree of its own" in report.first.cause
    assert prove(*arguments, **options, trainable="scale").verdict == "pass"


class Centered(nn.Module):
    """A center that the output depends on, and that the forward pass then moves."""

    center: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(3, 2)
        self.register_buffer("center", torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.l(x)
        out = (y - self.center).tanh()
        with torch.no_grad():
            self.center.copy_(0.9 * self.center + 0.1 * y.mean(0))
        return out


def centered(w: Any, b: Any, center: Any, x: Any, decay: float) -> tuple[Any, Any]:
    y = x @ w.T + b
    return jnp.tanh(y - center), decay * center + (1 - decay) * y.mean(0)


class NnxCentered(nnx.Module):
    def __init__(self, state: Any, decay: float, kind: Any) -> None:
        self.w, self.b = nnx.Param(state["l.weight"]), nnx.Param(state["l.bias"])
        self.center, self.decay = kind(state["center"]), decay

    def __call__(self, x: Any) -> Any:
        out, self.center[...] = centered(self.w[...], self.b[...], self.center[...], x, self.decay)
        return out


class LinenCentered(linen.Module):
    decay: float

    @linen.compact
    def __call__(self, x: Any) -> Any:
        w = self.param("w", linen.initializers.zeros, (2, 3))
        b = self.param("b", linen.initializers.zeros, (2,))
        center = self.variable("ema", "center", jnp.zeros, 2)
        out, center.value = centered(w, b, center.value, x, self.decay)
        return out


class EquinoxCentered(eqx.Module):
    w: Any
    b: Any
    center: eqx.nn.StateIndex
    decay: float = eqx.field(static=True)

    def __call__(self, x: Any, state: eqx.nn.State) -> Any:
        out, new = centered(self.w, self.b, state.get(self.center), x, self.decay)
        return out, state.set(self.center, new)


def with_center(kind: str, decay: float = 0.9) -> tuple[Any, Any, bool]:
    """Return a port whose center is state: a function, its params, and `has_state`."""
    state = arrays(Centered())
    w, b, center = (state[name] for name in ("l.weight", "l.bias", "center"))
    if kind in ("nnx", "nnx asked"):
        return NnxCentered(state, decay, nnx.Variable), None, kind == "nnx asked"
    variables = {"params": {"w": w, "b": b}, "ema": {"center": center}}
    if kind in ("linen", "linen asked"):
        return LinenCentered(decay), variables, kind == "linen asked"
    if kind == "linen function":
        fn = functools.partial(LinenCentered(decay).apply, mutable=["ema"])
        return fn, variables, True
    if kind == "equinox":
        make = eqx.nn.make_with_state(
            lambda: EquinoxCentered(w, b, eqx.nn.StateIndex(jnp.asarray(center)), decay)
        )
        return lambda p, x: p[0](x, p[1]), make(), True

    def plain(p: Any, x: Any) -> Any:
        out, new = centered(p["w"], p["b"], p["center"], x, decay)
        return out, {"center": new}

    return plain, {"w": w, "b": b, "center": center}, True


KINDS = ["nnx", "nnx asked", "linen", "linen asked", "linen function", "equinox", "plain"]
SGD: Any = (lambda ps: torch.optim.SGD(ps, lr=0.1), optax.sgd(0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_state_that_the_output_depends_on_is_not_trained(kind):
    """A center that a framework's own grad does not differentiate is state, and is compared."""
    for seed in range(3):
        fn, params, asked = with_center(kind)
        report = prove(
            Centered(), fn, params, (draw(4, 3),), optimizer=SGD, steps=2, has_state=asked,
            seed=seed,
        )  # fmt: skip
        assert report.verdict == "pass", report
    fn, params, asked = with_center(kind, 0.8)
    wrong = prove(Centered(), fn, params, (draw(4, 3),), optimizer=SGD, steps=2, has_state=asked)
    assert wrong.first is not None and wrong.first.surface == "updates", wrong
    assert "The new value of center is off by" in wrong.first.text


def test_a_center_among_the_params_of_nnx_is_trained():
    """The negative control: an `nnx.Param` is trained, and torch has a buffer there."""
    fn = NnxCentered(arrays(Centered()), 0.9, nnx.Param)
    found = prove(Centered(), fn, None, (draw(4, 3),), optimizer=SGD, steps=2).first
    assert found is not None and (found.surface, found.torch) == ("structure", "center")
    assert found.text == "torch has a buffer, but JAX trains the leaf"


def test_a_parameter_that_the_port_holds_as_state_is_found():
    """nnx.grad does not differentiate a weight in a variable that is not an `nnx.Param`."""
    module = Centered()
    fn: Any = NnxCentered(arrays(module), 0.9, nnx.BatchStat)
    fn.b = nnx.BatchStat(fn.b[...])
    found = prove(module, fn, None, (draw(4, 3),)).first
    assert found is not None and (found.surface, found.torch) == ("structure", "l.bias")
    assert found.text.endswith("but not in JAX: nnx.grad differentiates nnx.Param")
    everything = ["w", "b"]
    assert prove(module, fn, None, (draw(4, 3),), trainable=everything).verdict == "pass"


ONES, ZEROS = np.ones(2), np.zeros(2)


def made(
    grads: dict[str, Any],
    pieces: dict[str, Any],
    *,
    flags: Any = None,
    reached: str = "",
    trainable: str | None = None,
    jax: Any = None,
    failed: int | None = None,
    tensors: dict[str, Any] | None = None,
    state: str = "",
    declared: str = "",
) -> Any:
    """Return made evidence, in which a leaf has the name of its tensor and a number of its own.

    Leaf `a` holds tensor `a`, and leaf `a1` holds it too.
    """
    paths = list(pieces)
    given = None if trainable is None else [path in trainable.split() for path in paths]
    held = [
        Piece(i, (slice(None),), path[0], np.asarray(index), guessed=path in "gh")
        for i, (path, index) in enumerate(pieces.items())
    ]
    values = dict(zip("abcdefgh", np.eye(8)[:, :2] + 1, strict=True))
    values |= tensors or {}
    weights = WeightMap(tuple(held), (ONES,) * len(paths), values, tuple(paths))
    names = flags if flags is not None else dict.fromkeys(grads, True)
    return SimpleNamespace(
        reference="torch",
        port=SimpleNamespace(
            weights=weights,
            reachable=[path in reached.split() for path in paths],
            program=SimpleNamespace(param_paths=paths),
            gradients=lambda draw: {"again": ONES},
        ),
        torch_side=SimpleNamespace(flags=names, state=[*names, *state.split()]),
        runs=[SimpleNamespace(grads=grads)],
        draws=[None],
        trainable=given,
        trained=given or ([path in declared.split() for path in paths] if declared else None),
        failed_output_draw=failed,
        jax_gradients=[jax or {}],
        by_torch_name=lambda gradients: gradients,
        flow=SimpleNamespace(outputs=[], between=lambda *_: []),
        model=SimpleNamespace(
            trained=Trained(frozenset(declared.split()), "why") if declared else None
        ),
    )


BOTH = [0, 1]


@pytest.mark.parametrize(
    ("evidence", "texts"),
    [
        (made({"a": ONES}, {"a": BOTH}, reached="a"), []),
        (made({"a": ONES}, {}), ["torch trains the parameter, but no JAX leaf"]),
        (made({"a": ZEROS}, {}), []),
        (made({"a": None}, {}), []),
        (made({"a": ONES}, {}, failed=0), []),
        (made({"a": ONES, "b": ONES}, {"a": BOTH}, reached="a",
              tensors={"b": np.array([2.0, 1.0])}), ["(a, b), but JAX has one leaf for both"]),
        (made({"a": ONES, "b": None}, {"a": BOTH}, reached="a",
              tensors={"b": np.array([2.0, 1.0])}), []),
        (made({"a": ONES}, {"a": BOTH}), ["no derivative path leads to the leaf"]),
        (made({"a": ZEROS}, {"a": BOTH}), []),
        (made({"a": None}, {"a": BOTH}, reached="a", jax={"a": ONES}), ["no gradient (None)"]),
        (made({"a": None}, {"a": BOTH}, reached="a", jax={"a": ZEROS}), []),
        (made({"a": None}, {"a": BOTH}, reached="a"), []),
        (made({"a": None}, {"a": BOTH}, jax={"a": ONES}), []),
        (made({"a": None}, {"a": BOTH}, reached="a", trainable="", jax={"a": ONES}),
         ["no gradient (None)"]),
        (made({"a": ONES}, {"a": BOTH}, reached="a", trainable=""), ["trainable= excludes it"]),
        (made({"a": ONES}, {"a": BOTH}, reached="a", trainable="a"), []),
        (made({"a": None}, {"a": BOTH}, flags={"a": False}, reached="a"), ["frozen in torch"]),
        (made({"a": None}, {"a": BOTH}, flags={"a": False}), []),
        (made({"a": None}, {"a": BOTH}, flags={"a": False}, reached="a", trainable=""), []),
        (made({"a": None}, {"a": BOTH}, flags={"a": False}, reached="a", trainable="a"),
         ["frozen in torch"]),
        (made({"a": None}, {"a": BOTH}, flags={"a": False}, trainable="a"), []),
        (made({"a": ONES}, {"a": BOTH, "a1": BOTH}, reached="a a1"), ["2 leaves that are not"]),
        (made({"a": ONES}, {"a": BOTH, "a1": BOTH}, reached="a"), []),
        (made({}, {"a": BOTH}, state="a", reached="a", declared="a"), ["torch has a buffer"]),
        (made({}, {"a": BOTH}, state="a", declared="a"), []),
        (made({}, {"a": BOTH}, state="a", reached="a"), []),
        (made({}, {"a": BOTH}, state="a", trainable="a"), ["torch has a buffer"]),
        (made({}, {"a": BOTH}, state="a", reached="a", declared="a", trainable=""), []),
        (made({}, {"a": BOTH}, reached="a", declared="a"), []),
        (made({}, {"a": BOTH}, state="a", reached="a", declared="b"), []),
        (made({"a": ONES}, {"a": BOTH}, reached="a", declared="b"), ["but not in JAX: why"]),
        (made({"a": None}, {"a": BOTH}, reached="a", declared="b", jax={"a": ONES}), []),
    ],
)  # fmt: skip
def test_each_difference_in_training_has_its_sentence(evidence, texts):
    """A weight may be missing, frozen, stopped, excluded or tied in one framework alone."""
    judged = surface(evidence).surface
    assert [text in f.text for f, text in zip(judged.findings, texts, strict=True)] == [True] * len(
        texts
    )
    assert judged.verdict == ("fail" if texts else "pass")


def test_an_optimizer_trains_leaves_that_are_not_declared():
    """A leaf that holds a buffer is trained if it is reached."""
    evidence = made({}, {"a": BOTH, "b": BOTH}, state="a b", reached="a")
    assert [f.torch for f in surface(evidence, has_optimizer=True).surface.findings] == ["a"]


def test_the_parameters_are_counted():
    """Parameters without a gradient and constants paired by name are counted apart."""
    grads = {"a": ONES, "b": None, "c": None, "g": ZEROS, "h": ZEROS}
    evidence = made(grads, {"a": BOTH, "b": BOTH, "c": BOTH, "g": BOTH, "h": BOTH}, reached="a")
    text = "5 parameters, 2 without a gradient; 2 constant tensors paired by name"
    assert surface(evidence).surface.text == text
    judgement = surface(made(dict.fromkeys("abcde", ONES), {}))
    assert judgement.surface.text == "5 differences in 5 parameters"
    one = {"a": ONES}
    assert surface(made(one, {"a": BOTH}, reached="a")).surface.text == "1 parameter"
    assert surface(made(one, {})).surface.text == "1 difference in 1 parameter"
    assert judgement.notes == ("no JAX leaf holds a, b, c, d, which torch trains",)
    assert surface(made({"a": ZEROS}, {})).notes == ()


@pytest.mark.parametrize(
    ("pieces", "reached", "grad", "leaves"),
    [
        ({"a": [0], "a1": [1]}, "a", [1.0, 1.0], [1]),
        ({"a": [0], "a1": [1]}, "a", [1.0, 0.0], []),
        ({"a": [0, 1], "a1": [1]}, "a", [1.0, 1.0], []),
        ({"a": [0], "a1": [1]}, "", [1.0, 1.0], [0, 1]),
        ({"a": [0], "a1": [1]}, "", [1.0, 0.0], [0]),
        ({"b": [0, 1], "a": [0, 1]}, "b", [1.0, 1.0], [1]),
    ],
)
def test_only_elements_with_a_gradient_need_a_derivative_path(pieces, reached, grad, leaves):
    """A second copy of an element that is reached once needs none."""
    evidence = made({}, pieces, reached=reached)
    assert _unreached(evidence.port, "a", np.array(grad)) == leaves


@pytest.mark.parametrize(
    ("pieces", "reached", "leaves"),
    [
        ({"a": [0, 1], "a1": [0, 1]}, "a a1", [0, 1]),
        ({"a": [0], "a1": [1]}, "a a1", []),
        ({"a": [0, 1], "a1": [1]}, "a a1", [0, 1]),
        ({"a": [0, 1], "a1": [0, 1]}, "a", []),
        ({"a": [0, 1], "b": [0, 1]}, "a b", []),
        ({"a": [], "a1": []}, "a a1", []),
    ],
)
def test_copies_share_elements(pieces, reached, leaves):
    """Two leaves with different parts of a tensor are not copies, nor are unreached ones."""
    assert _copies(made({}, {k: np.array(v, int) for k, v in pieces.items()}, reached=reached).port,
                   "a") == leaves  # fmt: skip


@pytest.mark.parametrize(
    ("name", "failed", "zero"),
    [("a", None, False), ("b", None, True), ("c", None, True), ("again", 0, False), ("a", 0, True)],
)
def test_a_gradient_is_zero_if_it_is_missing(name, failed, zero):
    """The gradients of the given weights decide, computed apart if the outputs differ."""
    evidence = made({}, {}, jax={"a": np.array([0.0, 1.0]), "b": ZEROS}, failed=failed)
    assert _is_zero(evidence, name) is zero


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_tested_cause_is_named_in_the_findings_that_it_explains(confirmed):
    """The others keep their own cause, as a frozen parameter does; not all is called a cause."""
    findings = tuple(Finding("structure", name, "leaf", "text", cause="own") for name in "abc")
    judgement = Judgement(Surface("structure", "fail", "text", findings=findings))
    why = Explanation("tested", frozenset("bc"), complete=True, confirmed=confirmed)
    evidence: Any = SimpleNamespace(
        reference="torch",
        port=SimpleNamespace(program=SimpleNamespace(equations={})),
        torch_side=SimpleNamespace(flags={"a": True, "b": True, "c": False}),
    )
    first, second, frozen = explained(judgement, evidence, why).surface.findings
    once = why._replace(through=("port.py:3",))
    assert explained(judgement, evidence, once).surface.findings[2].cause == "tested"
    assert (first.cause, first.tested) == ("own", False)
    assert (second.cause, second.tested) == ("tested", confirmed)
    assert (frozen.cause, frozen.tested) == ("own", False)
    assert explained(judgement, evidence, None) == judgement


class Idle(nn.Module):
    """A parameter without a gradient, or with a gradient of zeros."""

    def __init__(self, reads: bool):
        super().__init__()
        self.layer, self.idle = nn.Linear(3, 1), nn.Parameter(torch.ones(2))
        self.reads = reads

    def forward(self, x):
        return self.layer(x) + (0 * self.idle.sum() if self.reads else 0)


@pytest.mark.parametrize("torchs", [True, False])
@pytest.mark.parametrize("jaxs", [True, False])
def test_a_gradient_of_zeros_on_one_side_is_noted(torchs, jaxs):
    """It is no difference without weight decay; with an optimizer, the updates tell."""

    def port(p: Any, x: Any) -> Any:
        y = x @ p["layer.weight"].T + p["layer.bias"]
        return y + (0 * p["idle"].sum() if jaxs else 0)

    torch.manual_seed(0)
    module = Idle(torchs)
    report = prove(module, port, arrays(module), (draw(4, 3),)).check()
    has, lacks = ("torch", "JAX") if torchs else ("JAX", "torch")
    text = f"the gradient of idle is 0 in {has} and None in {lacks}: with weight decay or momentum"
    assert any(note.startswith(text) for note in report.notes) == (torchs != jaxs), report.notes


class Adapted(nn.Module):
    """A frozen layer that passes a gradient to the layer before it, and a mask that is stopped."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 8), nn.Linear(8, 1).requires_grad_(False)
        self.c = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        scores = (self.c(h) + self.b(h)).softmax(0)
        return (scores * self.c(h.sin())).sum()


def linear(p: Any, name: str, h: Any) -> Any:
    return h @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def adapted(p: Any, x: Any) -> Any:
    h = jnp.tanh(linear(p, "a", x))
    scores = jax.nn.softmax(linear(p, "c", h) + linear(p, "b", h), 0)
    return (scores * linear(p, "c", jnp.sin(h))).sum()


def of_adapted(port: Any, **options: Any) -> Finding:
    torch.manual_seed(0)
    module = Adapted()
    x = np.random.default_rng(0).normal(size=(4, 3))
    report = prove(module, port, arrays(module), (x,), **options)
    assert report.first is not None
    return report.first


def test_a_frozen_layer_is_no_place_for_a_stop_gradient():
    """A stop at its call would also stop the gradient of the layer before it, which torch has."""
    finding = of_adapted(adapted)

    assert not finding.tested and finding.edit is None
    assert finding.cause.startswith("if your training step freezes the leaf, list the trained ")


def test_the_stop_inside_of_a_softmax_ends_no_path():
    """The maximum that a softmax subtracts is stopped, and another path goes on beside it."""

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift, self.a = nn.Parameter(torch.randn(4)), nn.Linear(4, 4)

        def step(self, h):
            return self.a(h).softmax(-1) + h

        def forward(self, x):
            first = self.shift + 0 * x
            return self.step(self.step(first).detach() + first - first.detach())

    def step(p: Any, h: Any) -> Any:
        return jax.nn.softmax(h @ p["a.weight"].T + p["a.bias"], -1) + h

    def port(p: Any, x: Any) -> Any:
        h = step(p, p["shift"] + 0 * x)
        return step(p, lax.stop_gradient(h))

    torch.manual_seed(0)
    module = Shifted()
    report = prove(module, port, arrays(module), (draw(4, 4),))
    line = port.__code__.co_firstlineno + 2
    assert report.first is not None
    assert f"ends at the stop_gradient at test_structure.py:{line} (" in report.first.cause
