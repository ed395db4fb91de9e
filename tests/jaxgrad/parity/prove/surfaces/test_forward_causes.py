"""A wrong value is explained only by a mistake with which torch reproduces what JAX computes."""

import fractions
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.jax_side.port import Draw
from jaxgrad.parity.prove.jax_side.program import Spot
from jaxgrad.parity.prove.surfaces import forward_causes
from jaxgrad.parity.prove.surfaces.forward_causes import Guess, Search, guess
from jaxgrad.parity.prove.surfaces.trials import Trial
from jaxgrad.parity.prove.torch_side.values import Change, Value
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


@pytest.mark.parametrize(("weight", "factor"), [("out.bias", "2"), ("out.weight", "1/2")])
def test_a_weight_that_jax_multiplies_by_a_number_is_named(weight, factor):
    """The place is the use of the weight, and not the transpose of another weight."""
    torch.manual_seed(0)
    module = Merged()

    def apply(p: Any, x: Any) -> Any:
        p = {n: float(fractions.Fraction(factor)) * w if n == weight else w for n, w in p.items()}
        h = jnp.tanh(linear(p, "skip", x) + jnp.sin(linear(p, "a", x)))
        return linear(p, "out", h)

    first = prove(module, apply, arrays(module), (draw(3, 4),)).first

    assert first is not None
    assert first.cause == (
        f"JAX multiplies {weight} by {factor}, torch does not (multiplying it in torch "
        "reproduces JAX's outputs)"
    )
    assert (first.torch, first.op) == ("out", "linear") and first.jax.endswith(" (mul)")


def test_a_multiple_of_an_operand_is_named():
    """JAX normalizes 1.5 times the value that torch normalizes, which eps alone tells apart."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))

    def apply(p: Any, x: Any) -> Any:
        y = 1.5 * linear(p, "0", x)
        mean, var = y.mean(-1, keepdims=True), y.var(-1, keepdims=True)
        return (y - mean) / jnp.sqrt(var + 1e-5) * p["1.weight"] + p["1.bias"]

    first = prove(module, apply, arrays(module), (draw(5, 3),)).first

    assert first is not None and first.cause == (
        "JAX's value is torch's times 1.5 (scaling it in torch reproduces JAX's outputs)"
    )
    assert first.torch == "0" and first.jax.endswith(" (mul)")
    assert first.text.startswith(
        "the output of torch's linear also occurs in JAX, which then changes it. The final output"
    )


def test_the_place_is_not_a_transpose_of_a_weight():
    """A term that JAX adds to a bias is named, and not the weight that is transposed before it."""
    torch.manual_seed(0)
    module = Merged()

    def apply(p: Any, x: Any) -> Any:
        h = jnp.tanh(linear(p, "skip", x) + jnp.sin(linear(p, "a", x)))
        return h @ p["out.weight"].T + jnp.sin(p["out.bias"])

    first = prove(module, apply, arrays(module), (draw(3, 4),)).first

    assert first is not None and first.op == "linear"
    assert not first.jax.endswith("(transpose)"), first.jax


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


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


X = np.random.default_rng(0).standard_normal((9, 3))
CALL = (torch.tanh, (), {})


def made(*values: tuple[str, tuple[int, ...]], hidden: str = "", **fields: Any) -> Any:
    """Return a search in calls of torch, some of whose values (by number) JAX does not have."""
    search: Any = object.__new__(Search)
    search.starts = []
    search.run = SimpleNamespace(
        values=[
            Value(
                "", op, inputs, (3,), fingerprint(X[i % 9]), data=X[i % 9], call=CALL, line=f"l{i}"
            )
            for i, (op, inputs) in enumerate(values)
        ]
    )
    search.visible = lambda i: str(i) not in hidden
    search.draw, search.left, search.tried, search.merged = 0, 9, {}, set()
    search.numbers, search.prints = (), np.stack([fingerprint(x) for x in X])
    vars(search).update(fields)
    return search


def chain(count: int, op: str = "tanh") -> list[tuple[str, tuple[int, ...]]]:
    """Return an input and calls that each read the value before."""
    return [("input", ()), *((op, (i,)) for i in range(count))]


def test_lost_values_depend_on_each_other():
    """A value that JAX has ends the search, and one that depends on no start is not lost."""
    values = ("input", ()), ("a", (0,)), ("b", (1,)), ("c", (0,)), ("d", (1, 3)), ("e", ())
    assert made(*values, hidden="2345").lost([0]) == [3, 4]
    assert made(*values, hidden="12345").lost([0]) == [1, 2, 3, 4]
    many = made(*chain(70), visible=lambda i: False)
    assert many.lost([0]) == list(range(1, 65))


def test_later_values_are_one_or_two_calls_away():
    """The starts themselves and values that a correct port may merge are left out."""
    search = made(*chain(4), ("far", (3, 0)))
    assert search.after([0], 9) == [1, 2, 5]
    assert search.after([0, 1], 9) == [2, 3, 5]
    assert search.after([0], 2) == [1, 2]
    search.merged = {1}
    assert search.after([0], 9) == [2, 5]


def test_calls_that_move_elements_are_followed_backwards():
    """At most four moves in a row before a value are returned, each once, the nearest first."""
    search = made(*chain(6, "transpose"), ("add", (6, 5)))
    assert search._moves(7) == [6, 5, 4, 3]
    assert search._moves(2) == [1]
    assert made(("input", ()), ("tanh", (0,)), ("add", (1,)))._moves(2) == []
    search.run.values[5].call = None
    assert search._moves(7) == [6, 4, 3, 2]


def test_one_mistake_of_each_call_is_tried_in_turn(monkeypatch):
    """Moves before a call are tried with it, and nothing is tried once all reruns are used."""

    def in_call(run: Any, i: int, numbers: Any, shown: int = -1) -> Any:
        return iter([f"{i}{letter} at {shown}" for letter in "ab"])

    monkeypatch.setattr(forward_causes.trials, "in_call", in_call)
    search = made(("input", ()), ("transpose", (0,)), ("tanh", (1,)), ("exp", (0,)))
    assert list(search.all_trials([2, 3])) == [
        "2a at -1", "3a at -1", "1a at 2", "2b at -1", "3b at -1", "1b at 2"
    ]  # fmt: skip
    search.left = 0
    assert list(search.all_trials([2, 3])) == []


def test_weights_are_exchanged_near_a_start(monkeypatch):
    """Values up to two calls after a start, and the two calls before each of them, are near it."""
    given: list[Any] = []
    monkeypatch.setattr(
        forward_causes.exchanges,
        "exchanged",
        lambda run, shapes, starts, near: [given.append((shapes, starts, sorted(near)))],
    )
    evidence = SimpleNamespace(port=SimpleNamespace(weights=SimpleNamespace(shapes={"w": (2,)})))
    search = made(*chain(9), evidence=evidence)
    list(search.exchanged([5]))
    assert given == [({"w": (2,)}, [5], [3, 4, 5, 6, 7])]


def side(run: Callable[..., Any]) -> Any:
    draw = Draw({"a": np.ones(1), "b": np.zeros(1), "c": np.full(1, 2.0)}, ())
    return SimpleNamespace(draws=[draw], opened="opened", torch_side=SimpleNamespace(run=run))


def test_torch_is_rerun_with_changes_or_exchanged_weights():
    """Each rerun is counted, and one that raises gives nothing."""
    search = made(evidence=side(lambda draw, **options: (draw.state, options)), left=2)
    state, options = search._rerun(["change"], [("a", "b")])
    assert {name: float(x[0]) for name, x in state.items()} == {"a": 0, "b": 1, "c": 2}
    assert options == {"changes": ["change"], "forward": True, "opened": "opened"}
    state, _ = search._rerun([])
    assert search.left == 0 and float(state["a"][0]) == 1
    assert search._rerun([]) is None
    failing = made(evidence=side(lambda draw, **options: 1 / 0))
    assert failing._rerun([]) is None and failing.left == 8


@pytest.mark.parametrize(
    ("change", "rounds", "agrees"),
    [(0.0, 0.0, True), (1e-6, 0.0, False), (1e-6, 1e-6, True), (1e-3, 1e-6, False)],
)
def test_outputs_agree_within_their_rounding(change, rounds, agrees):
    """An output may differ by the noise of torch's reruns, and may be reshaped, not resized."""
    expected = {"0": X[0], "1": X[1]}
    near = SimpleNamespace(outputs={"0": X[0], "1": X[1] + rounds})
    drawn = SimpleNamespace(run=SimpleNamespace(outputs=expected), reruns=[near])
    actual = [X[0][None], X[1] + change]
    runs = [SimpleNamespace(outputs=actual)]
    search = made(evidence=SimpleNamespace(drawn=[drawn], jax_runs=runs))
    rerun: Any = SimpleNamespace(outputs=expected)
    assert search._outputs_agree(rerun) is agrees
    runs[0].outputs = [X[0], np.ones(4)]
    assert search._outputs_agree(rerun) is False


@pytest.mark.parametrize(
    ("ops", "options", "advances"),
    [
        (("tanh", "exp"), {}, True),
        (("tanh", "reshape"), {}, False),
        (("tanh", "result"), {}, False),
        (("tanh", "reshape", "exp"), {}, True),
        (("tanh", "exp", "reshape"), {}, True),
        (("tanh", "add"), {}, True),
        (("tanh", "add"), {"partial": True}, False),
        (("tanh", "exp"), {"partial": True}, True),
        (("tanh", "add", "exp"), {"partial": True}, True),
        (("tanh", "exp"), {"changed": 2}, False),
        (("tanh", "exp", "log"), {"changed": 2}, True),
        (("tanh",), {}, False),
    ],
)
def test_a_value_after_the_changed_one_must_occur_in_jax(ops, options, advances):
    """Views of the changed value, and sums in another order, prove nothing."""
    values = [("input", ()), *((op, (i,)) for i, op in enumerate(ops))]
    search = made(*values)
    trial = Trial(1, "", (), **options)
    assert search._advances(trial, search.run) is advances
    hidden = made(*values, prints=np.zeros((0, len(search.prints[0]))))
    assert hidden._advances(trial, search.run) is False


def test_a_constant_or_unrelated_value_proves_nothing():
    """A constant occurs everywhere, and an unrelated value occurs in JAX without the change."""
    search = made(("input", ()), ("tanh", (0,)), ("exp", (1,)), ("log", (0,)))
    search.run.values[2].print = fingerprint(np.ones(3))
    assert search._advances(Trial(1, "", ()), search.run) is False
    search.run.values[2].op = "copy"
    search.run.values[2].print = search.run.values[1].print
    assert search._advances(Trial(1, "", ()), search.run) is False


class Confirming(Search):
    """A search whose first and second reruns of torch have given outcomes."""

    def _rerun(self, changes: Any, exchanged: Any = (), factors: Any = ()) -> Any:
        return self.reruns.pop(0)  # pyright: ignore[reportAttributeAccessIssue]

    def _outputs_agree(self, rerun: Any) -> bool:
        return rerun.agrees

    def _advances(self, trial: Any, rerun: Any) -> bool:
        return rerun.advances


@pytest.mark.parametrize(
    ("calls", "reruns", "text"),
    [
        (1, [(True, 2, True)], "JAX's outputs"),
        (1, [(False, 2, True)], "JAX's value"),
        (1, [(False, 3, True)], ""),
        (1, [(False, 2, False)], ""),
        (1, [None], ""),
        (2, [(False, 3, False), (True, 3, False)], "JAX's outputs if all 2 calls"),
        (2, [(False, 3, False), (False, 3, True)], ""),
        (2, [(False, 3, False), None], ""),
        (
            64,
            [(False, 0, False), (True, 0, False)],
            "JAX's outputs if all 64 calls",
        ),
        (65, [(False, 0, False), (True, 0, False)], ""),
    ],
)
@pytest.mark.parametrize("changed", [-1, 1])
def test_a_mistake_is_confirmed_by_outputs_or_by_a_later_value(calls, reruns, text, changed):
    """A rerun with other calls has outputs only, and at most 64 calls are changed together."""
    outcomes = [
        r and SimpleNamespace(agrees=r[0], values=[None] * r[1], advances=r[2]) for r in reruns
    ]
    search = made(("input", ()), *[("f", (0,))] * calls, reruns=outcomes)
    search.__class__ = Confirming
    every = [Change(-1, identity)]
    trial = Trial(1 if changed < 0 else 0, "", (), lambda: every, changed=changed)
    all_ = " of f are changed" if "calls" in text else ""
    assert search.confirmed(trial) == text + all_


def test_a_mistake_in_some_calls_of_a_function_is_confirmed_together():
    """The difference begins in two of four calls, and both have to be changed."""
    reruns = [
        SimpleNamespace(agrees=agrees, values=[], advances=False) for agrees in (False, False, True)
    ]
    search = made(("input", ()), *[("f", (0,))] * 4, reruns=reruns)
    search.__class__, search.starts = Confirming, [1, 3]
    for number, value in enumerate(search.run.values):
        value.call_number = number
    changes = [Change(number, identity) for number in range(1, 5)]
    text = search.confirmed(Trial(1, "", (), lambda: changes))
    assert text == "JAX's outputs if 2 of 4 calls of f are changed" and not search.reruns


def trial(text: str, row: int | None = None, *, partial: bool = False, **fields: Any) -> Trial:
    return Trial(1, text, (), partial=partial, row=row, **fields)


def test_mistakes_whose_result_occurs_in_jax_come_first(monkeypatch):
    """A result that a correct port computes on its way comes last, and an equal result never."""
    found = [
        (trial("partial", partial=True), X[3]),
        (trial("same"), X[1]),
        (trial("absent"), X[1] + 1),
        (trial("sure"), X[4]),
    ]
    monkeypatch.setattr(forward_causes.trials, "with_results", lambda *_: iter(found))
    monkeypatch.setattr(forward_causes.trials, "reordered", lambda *_: iter(["reordered"]))
    monkeypatch.setattr(forward_causes.trials, "rewired", lambda *_: iter([(trial("r"), X[5])]))
    search = made(("input", ()), ("tanh", (0,)))
    assert [getattr(t, "text", t) for t in search.visible_trials(1)] == [
        "sure", "r", "reordered", "partial"
    ]  # fmt: skip
    assert [t.row for t in search.visible_trials(1) if t != "reordered"] == [4, 5, 3]
    assert list(search.tried) == ["partial", "same", "absent", "sure"]
    found.pop(0)
    assert [t.text for t in search.visible_trials(1)] == ["sure", "r"]
    for field in ("call", "data"):
        search = made(("input", ()), ("tanh", (0,)))
        setattr(search.run.values[1], field, None)
        assert list(search.visible_trials(1)) == []


def test_numbers_that_only_jax_has_are_tried(monkeypatch):
    """At most 24 literals that torch's calls do not contain with either sign are used."""
    literals = [float(n) for n in range(40)]
    monkeypatch.setattr(forward_causes, "literals", lambda jaxpr: literals)
    program = SimpleNamespace(numbers=[-3.0, 5.0], jaxpr=None)
    evidence: Any = SimpleNamespace(port=SimpleNamespace(program=program))
    numbers = forward_causes._only_in_jax(evidence)
    assert numbers == tuple(x for x in literals if x not in (3, 5))[:24]


class Trying:
    """A search that confirms one mistake, named by its text."""

    def __init__(self, evidence: Any, draw: int):
        self.evidence, self.draw = evidence, draw
        self.__dict__.update(vars(made(*chain(20))))
        self.right = evidence.right

    def visible_trials(self, i: int) -> Any:
        return [trial(f"visible {i}", 0), trial(f"merged {i}", partial=True)._replace(value=i)]

    def rewired(self, numbers: Any) -> Any:
        return [trial(f"rewired {i}") for i in numbers]

    def all_trials(self, starts: Any) -> Any:
        return [trial(f"call {i}") for i in starts]

    def scaled_weights(self, starts: Any) -> Any:
        return [trial("scaled")]

    def operands(self, starts: Any) -> Any:
        return []

    def exchanged(self, starts: Any) -> Any:
        return [trial("exchanged")]

    def constants(self, starts: Any) -> Any:
        return [2]

    def lost(self, starts: Any) -> Any:
        return [19]

    def after(self, starts: Any, limit: int) -> Any:
        return [18]

    def multiple(self, i: int) -> Any:
        return trial(f"multiple {i}", changed=2)

    def confirmed(self, trial: Trial) -> str:
        return "all" if trial.text == self.right else ""

    def spot(self, row: int) -> Spot:
        return Spot((row,), 0)


TEXTS = ["visible 3", "merged 3", "visible 4", "merged 4", "scaled", "visible 2", "merged 2",
         "exchanged", "call 3", "call 4",
         "call 18", "rewired 19", "multiple 3", "multiple 4"]  # fmt: skip


@pytest.mark.parametrize("right", [*TEXTS, "none"])
def test_mistakes_are_tried_until_one_is_confirmed(right, monkeypatch):
    """The surest ones come first; values that a correct port may merge lead to earlier origins."""
    monkeypatch.setattr(forward_causes, "Search", Trying)
    monkeypatch.setattr(forward_causes.trials, "reordered", lambda *_: iter(()))
    alignment = SimpleNamespace(spot=lambda i: Spot((7, i), 0))
    evidence: Any = SimpleNamespace(
        right=right, alignments=[alignment], may_search=lambda text: True
    )
    origins = lambda merged: [i for i in (3, 4) if i not in merged]  # noqa: E731
    actual = guess(evidence, 0, origins)

    if right == "none":
        assert actual == Guess(3, None, tried=tuple(TEXTS[:-2]), line="l3")
        return
    before = tuple(TEXTS[: min(TEXTS.index(right), len(TEXTS) - 2)])
    text = f"{right} (rerunning torch with this change reproduces all)"
    if right.startswith("multiple"):
        assert actual == Guess(2, ((7, 2), 0), text, tried=before, line="l2")
    elif right.startswith("merged"):
        assert actual == Guess(int(right[-1]), None, text, tried=before, line=f"l{right[-1]}")
    else:
        key = ((0,), 0) if right.startswith("visible") else None
        assert actual == Guess(1, key, text, tried=before, line="l1")


def test_without_an_origin_there_is_no_guess(monkeypatch):
    """No mistake is tried if torch has no value at which the difference may begin."""
    monkeypatch.setattr(forward_causes, "Search", Trying)
    evidence: Any = SimpleNamespace(right="", may_search=lambda text: True)
    assert guess(evidence, 0, lambda merged: []) is None


def test_a_search_whose_time_is_over_names_the_place_alone(monkeypatch):
    """The mistakes that were tried by then are listed, and no rerun follows."""
    monkeypatch.setattr(forward_causes, "Search", Trying)
    monkeypatch.setattr(forward_causes.trials, "reordered", lambda *_: iter(()))
    left = iter([True, *[False] * 99])
    evidence: Any = SimpleNamespace(right="call 4", may_search=lambda text: next(left))
    actual = guess(evidence, 0, lambda merged: [i for i in (3, 4) if i not in merged])
    assert actual == Guess(3, None, tried=("visible 3",), line="l3")


def test_twelve_origins_are_tested(monkeypatch):
    """Later origins are tested only if the values of the earlier ones may be merged."""
    monkeypatch.setattr(forward_causes, "Search", Trying)
    monkeypatch.setattr(Trying, "visible_trials", lambda self, i: [trial(f"visible {i}")])
    monkeypatch.setattr(forward_causes.trials, "reordered", lambda *_: iter(()))
    evidence: Any = SimpleNamespace(right="", may_search=lambda text: True)
    actual = guess(evidence, 0, lambda merged: list(range(14)), limit=12)
    assert actual is not None
    for name, count in (("visible", 14), ("call", 12)):
        tried = [int(t.split()[1]) for t in actual.tried if t.startswith(name)]
        assert tried[:count] == list(range(count))


def test_another_number_in_a_table_of_constants_is_named():
    """The base of rotary angles is in a table that depends on no input."""

    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 2)

        def forward(self, x):
            angles = torch.outer(torch.arange(5.0), 1 / 100 ** (torch.arange(2) / 2))
            c, s = angles.cos(), angles.sin()
            a, b = x[..., :2], x[..., 2:]
            return self.out(torch.cat([a * c - b * s, b * c + a * s], -1))

    def port(p: Any, x: Any, base: float = 100.0) -> Any:
        angles = jnp.outer(jnp.arange(5), 1 / base ** (jnp.arange(2) / 2))
        c, s = jnp.cos(angles), jnp.sin(angles)
        a, b = x[..., :2], x[..., 2:]
        y = jnp.concatenate([a * c - b * s, b * c + a * s], -1)
        return y @ p["out.weight"].T + p["out.bias"]

    torch.manual_seed(0)
    module = Rotary()
    arguments = arrays(module), (draw(3, 5, 4),)
    prove(module, port, *arguments).check()
    first = prove(module, lambda p, x: port(p, x, 1000.0), *arguments).first
    assert first is not None and first.op == "rpow"
    assert first.cause.startswith("the number in rpow is 1000, torch uses 100 (rerunning torch")


def test_both_uses_of_a_function_with_a_wrong_sign_are_named():
    """Two of four subtractions are additions in the port, because its function is used twice."""

    class Rotated(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

        def rotated(self, x):
            a, b = x[..., :2], x[..., 2:]
            return torch.cat([0.8 * a - 0.6 * b, 0.8 * b - 0.3 * a], -1)

        def forward(self, x):
            return (self.rotated(self.q(x)) * self.rotated(self.k(x))).sum(-1)

    def port(p: Any, x: Any, sign: float = -1.0) -> Any:
        def rotated(x: Any) -> Any:
            a, b = x[..., :2], x[..., 2:]
            second = 0.8 * b - 0.3 * a if sign < 0 else 0.8 * b + 0.3 * a
            return jnp.concatenate([0.8 * a - 0.6 * b, second], -1)

        q, k = (rotated(x @ p[f"{n}.weight"].T + p[f"{n}.bias"]) for n in "qk")
        return jnp.sum(q * k, -1)

    torch.manual_seed(0)
    module = Rotated()
    arguments = arrays(module), (draw(3, 4),)
    prove(module, port, *arguments).check()
    first = prove(module, lambda p, x: port(p, x, 1.0), *arguments).first
    assert first is not None
    assert first.cause.startswith("JAX adds, torch subtracts (rerunning torch with this change")
    assert first.cause.endswith("JAX's outputs if 2 of 4 calls of sub are changed)")
