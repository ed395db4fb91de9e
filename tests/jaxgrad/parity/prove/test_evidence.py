"""Runs of torch and of the port are made only where a verdict needs them, and freed once judged."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch import nn

from jaxgrad.parity import ProofError, prove
from jaxgrad.parity.prove import evidence as evidences
from jaxgrad.parity.prove.beside import other_inputs
from jaxgrad.parity.prove.clock import Clock
from jaxgrad.parity.prove.evidence import Evidence, _first_fail, gather, taken
from jaxgrad.parity.prove.judge import MAX_ROUNDING, Judged, judge
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import Flow
from jaxgrad.parity.prove.record.jax_side.port import Port
from jaxgrad.parity.prove.record.torch_side.live import Live
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
PARAMS = {name: x.numpy().copy() for name, x in NET.state_dict().items()}
X = np.random.default_rng(0).standard_normal((5, 3))


def port(p, x):
    return jnp.tanh(x @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"]


def stopped_elsewhere(p, x):
    """Stop the gradient of a weight unless it has its given value."""
    w = p["2.weight"]
    given = jnp.abs(w - PARAMS["2.weight"]) < 1e-3
    return port({**p, "2.weight": jnp.where(given, w, jax.lax.stop_gradient(w))}, x)


@pytest.fixture
def runs(monkeypatch):
    """Record each run of torch: its draw, whether it has no gradients, whether it is a rerun."""
    calls, run = [], Live.run

    def spy(self, draw, *, forward=False, **options):
        calls.append((draw.number, forward, "rough" in options))
        return run(self, draw, forward=forward, **options)

    monkeypatch.setattr(Live, "run", spy)
    return calls


def test_each_draw_of_a_right_port_is_rerun_once(runs):
    """One rerun measures rounding: with gradients on the first draw, without on the second."""
    assert prove(NET, port, PARAMS, (X,)).verdict == "pass"
    assert [forward for number, forward, rerun in runs if number == 0 and rerun] == [False]
    assert [forward for number, forward, rerun in runs if number == 1 and rerun] == [True]


def test_a_gradient_that_differs_on_the_second_draw_alone_is_judged_with_its_rounding(runs):
    """A differing gradient on the second draw asks for reruns with gradients, and then fails."""
    report = prove(NET, stopped_elsewhere, PARAMS, (X,))

    assert report.surfaces["forward"].verdict == "pass"
    text = ", but only with redrawn weights and inputs"
    assert text in report.surfaces["gradients"].text
    assert (1, False, True) in runs


def test_the_control_of_the_forward_surface_uses_the_program_of_the_gradients(monkeypatch):
    """Both negative controls run a program that is compiled anyway."""
    monkeypatch.setattr(Port, "outputs", None)
    surfaces = prove(NET, port, PARAMS, (X,)).surfaces

    assert "was detected" in surfaces["forward"].control
    assert "was detected" in surfaces["backward"].control


@pytest.mark.sampled(2)
@pytest.mark.parametrize("optimizer", [None, (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1))])
def test_judged_gradients_are_freed_unless_updates_need_them(optimizer, monkeypatch):
    """Before other inputs are proved, no gradient of the first ones is kept without optimizer=."""
    kept: list[bool] = []

    def surfaces(evidence: Evidence, *_):
        kept.append(any(g is not None for g in evidence.runs[0].grads.values()))
        kept.append(bool(evidence.jax_gradients[0].leaves))
        return {}

    monkeypatch.setattr(other_inputs, "surfaces", surfaces)

    assert prove(NET, port, PARAMS, (X,), optimizer=optimizer).verdict == "pass"
    assert kept == [optimizer is not None] * 2


def made(**fields: Any) -> Any:
    """Return what a method of `Evidence` reads, in which a run is its gradients."""
    layout = SimpleNamespace(unused=["b"])
    program = SimpleNamespace(layout=layout, input_paths=["a", "b"])
    return SimpleNamespace(
        torch_gradients=lambda run: run, port=SimpleNamespace(program=program), **fields
    )


class Run(dict[str, Any]):
    """A run of torch that is its gradients."""

    attached = True


def judged_gradients(run: Run, near: list[Run], actual: Any, in_jax: Any = None) -> list[Judged]:
    """Compare a port's gradients with those of a run, given the reruns."""
    drawn: Any = SimpleNamespace(run=run, gradient_reruns=near, most_rounding=MAX_ROUNDING)
    return Evidence._judged(made(), drawn, actual, in_jax or (lambda name: 0.0))


class Detached(Run):
    attached = False


ONES = np.ones(3)


@pytest.mark.parametrize("missing", ["torch", "jax"])
def test_a_gradient_of_an_input_may_be_zero_in_one_framework(missing):
    """A missing gradient of an input is zero; one of a parameter is judged elsewhere."""
    full = {"w": ONES, "v": ONES, "input a": 0 * ONES, "input b": ONES}
    without = {"w": ONES, "v": None, "input a": None, "input b": None}
    pair: Any = (without, full) if missing == "torch" else (full, without)
    run: Any = Run(pair[0])
    judged = judged_gradients(run, [], pair[1])
    assert {j.name: j.verdict for j in judged} == {"w": "pass", "input a": "zero"}
    full["input a"] = ONES
    run = Run(pair[0])
    (_, wrong) = judged_gradients(run, [], pair[1])
    assert wrong.verdict == "fail"
    run = Detached(pair[0])
    (only,) = judged_gradients(run, [], pair[1])
    assert only.name == "w"


@pytest.mark.parametrize(
    ("rerun", "size", "verdict"),
    [(1 + 1e-9, 1.0, "pass"), (None, 1.0, "fail"), (1 + 1e-15, 1.0, "fail"), (None, 1e-20, "zero")],
)
def test_gradients_are_judged_with_reruns_and_the_scale_of_all(rerun, size, verdict):
    """Reruns allow a difference, and a gradient is zero relative to the largest one."""
    x = size * ONES
    run: Any = Run({"big": ONES, "w": x, "n": None})
    near = [Run({"big": ONES, "w": None if rerun is None else rerun * x, "n": None})]
    judged = judged_gradients(run, near, {"big": ONES, "w": x * (1 + 1e-9)})
    assert [(j.name, j.verdict) for j in judged] == [("big", "pass"), ("w", verdict)]


def test_rounding_in_jax_explains_a_small_difference_of_gradients():
    """It is measured only for gradients that torch's rounding does not explain."""
    asked: list[str] = []

    def in_jax(name: str) -> float:
        asked.append(name)
        return {"a": 1e-10, "b": 1e-12}[name]

    run = Run(dict.fromkeys("abcd", ONES))
    near = [Run({**run, "c": ONES * (1 + 1e-9)})]
    off = {"a": 1e-9, "b": 1e-9, "c": 1e-9, "d": 1.0}
    judged = judged_gradients(run, near, {k: ONES + x for k, x in off.items()}, in_jax)
    assert {j.name: j.verdict for j in judged} == dict(a="pass", b="fail", c="pass", d="fail")
    assert asked == ["a", "b"]


@pytest.mark.parametrize(
    ("flags", "x", "masks"),
    [({"w": True}, [0.0, 1.0], {"input a"}), ({"w": False}, [0.0, 1.0], set()),
     ({"w": True}, [0.0, 0.5, 1.0], set()), ({"w": True}, [1.0, 1.0], set())],
)  # fmt: skip
def test_inputs_of_zeros_and_ones_are_masks(flags, x, masks):
    """A mask contains both numbers, and only a module with trained parameters has masks."""
    draws = [SimpleNamespace(inputs=(np.array(x), np.array([2.0])))]
    evidence = made(torch_side=SimpleNamespace(flags=flags), draws=draws)
    assert Evidence.masks.func(evidence) == masks


def test_the_first_failing_draw_is_returned():
    """Any failing comparison counts, and without one there is no draw."""
    right, wrong = judge("x", ONES, ONES), judge("x", ONES, 2 * ONES)
    assert _first_fail([[right], [right, wrong], [wrong]]) == 1
    assert _first_fail([[wrong]]) == 0 and _first_fail([[right], []]) is None


@pytest.mark.parametrize(
    ("torch_has", "words"),
    [(True, "torch has a loss, JAX has none"), (False, "JAX has a loss, torch has none")],
)
def test_a_loss_of_one_framework_is_an_error(torch_has, words):
    """The sentence names the framework that has a loss."""
    side: Any = SimpleNamespace(has_loss=torch_has)
    request = Request(None, None, loss=(None, None if torch_has else max))
    with pytest.raises(ProofError, match=words):
        gather(request, Clock(), side)


def test_only_weights_that_the_port_reads_are_mapped():
    """Trained weights need a leaf, and the others an output that depends on their leaf."""
    program = jax_program.program(
        lambda p, x: p["a"] * x, {"a": ONES, "b": ONES, "c": ONES}, (ONES,)
    )
    pieces = tuple(Piece(i, (slice(None),), name, np.arange(3)) for i, name in enumerate("abc"))
    tensors = dict.fromkeys("abcd", ONES)
    port: Any = SimpleNamespace(weights=WeightMap(pieces, (ONES,) * 3, tensors, tuple("abc")))
    flags = {"a": False, "b": True, "d": True}
    assert taken(port, Flow(program), flags) == ["a", "b"]


@pytest.mark.parametrize(
    ("spots", "outputs", "controls", "key"),
    [
        ({i: (i,) for i in range(9)}, {8}, [4, 3, 5, 2, 6, 1], "k4"),
        ({0: (0,), 1: (1,)}, {0, 1}, [0, 1], "k0"),
        ({0: (0,), 1: (1,), 2: (2,)}, {2}, [1, 0], "k1"),
        ({0: (), 1: (1,)}, {9}, [1], "k1"),
        ({0: ()}, set(), [], None),
        ({}, set(), [], None),
    ],
)
def test_controls_are_injected_in_the_middle_of_the_program(spots, outputs, controls, key):
    """At most six values are tried; outputs only if nothing else is compared, loops never."""
    listed = {i: SimpleNamespace(iteration=not at, key=f"k{i}") for i, at in spots.items()}
    evidence: Any = SimpleNamespace(spots=lambda: listed, output_values=outputs)
    evidence.control_values = Evidence.control_values.func(evidence)
    assert evidence.control_values == controls
    assert Evidence.control_key.func(evidence) == key


def test_the_positions_of_outputs_leave_out_those_without_a_value():
    """An output that no call computed has no position."""
    evidence: Any = SimpleNamespace(runs=[SimpleNamespace(output_values=[3, None, 0])])
    assert Evidence.output_values.func(evidence) == {0, 3}


@pytest.mark.parametrize(
    ("agrees", "rerunnable", "exact", "runs"),
    [
        (True, True, True, ["d0", "d1"]),
        (False, False, True, ["d0", "d1"]),
        (False, True, False, ["d0", "d1"]),
        (False, True, True, ["d0", "d1", "d0", "d1"]),
    ],
)
def test_a_port_that_differs_gets_torchs_exact_tables(monkeypatch, agrees, rerunnable, exact, runs):
    """The first draw is compared, matched and rerun; a table is equal on the second one."""
    calls: dict[str, list[Any]] = {}

    def note(name: str, result: Any) -> Any:
        return lambda *args, **kwargs: calls.setdefault(name, []).append(args) or result

    drawn = [
        SimpleNamespace(
            draw=f"d{n}",
            run=SimpleNamespace(numbers=[float(n)], outputs=f"o{n}"),
            distance=f"distance {n}",
            agrees=lambda outputs, n=n: agrees if (n, outputs) == (0, ["d0"]) else n,
        )
        for n in (0, 1)
    ]
    side: Any = SimpleNamespace(
        has_loss=False, flags={}, seed=0, notes=["side"], rerunnable=rerunnable,
        tables=lambda mapped: {}, drawn=note("drawn", drawn), run=note("run", "kept"),
        replace=note("replace", None),
    )  # fmt: skip
    empty: Any = [None, None, [], [], [], [], []]
    layout: Any = SimpleNamespace(fixed=("x",))
    program = jax_program.JaxProgram(*empty, fill=lambda leaves: None, layout=layout)
    kept = WeightMap((), (), {}, ())
    for name, result in {
        "weight_map": (None, kept), "as_function": "model", "traced": (program, ["traced"]),
        "trainable_mask": None, "Flow": None, "_own_leaves": (), "taken": ["w"],
        "aligned": (), "misnamed": ["swapped"],
    }.items():  # fmt: skip
        monkeypatch.setattr(evidences, name, note(name, result))
    monkeypatch.setattr(
        evidences, "inject", lambda port, *given: calls.setdefault("inject", []).append(given)
        or (port, ["unmatched"]),
    )  # fmt: skip
    monkeypatch.setattr(
        evidences, "_watch", lambda port, draw, side, clock: SimpleNamespace(outputs=[draw])
        if calls.setdefault("watch", []).append(draw) is None else None,
    )  # fmt: skip
    monkeypatch.setattr(evidences.checks, "same_outputs", note("same_outputs", None))
    monkeypatch.setattr(evidences.pairing, "settled", lambda port, drawn, runs, *_: (port, runs))
    monkeypatch.setattr(evidences.tables, "for_torch", note("for_torch", {"t": (ONES, 1e-8)}))
    monkeypatch.setattr(evidences.tables, "for_jax", note("for_jax", ["pair"] if exact else []))
    monkeypatch.setattr(evidences.tables, "notes", note("notes", ["tables"]))
    found = gather(Request(None, None), Clock(), side)

    assert calls["watch"] == runs and [run.outputs for run in found.jax_runs] == [["d0"], ["d1"]]
    assert calls["drawn"] == [(["w"], ("x",))] and found.port.program.numbers == [0.0]
    assert calls["inject"][0][1:] == (drawn[0], "the port")
    numbered = dataclasses.replace(program, numbers=[0.0])
    assert calls["same_outputs"] == [("o0", numbered, ["d0"])]
    assert calls["replace"][0][0]["t"] is ONES
    searched = not agrees and rerunnable
    assert calls.get("run", []) == ([("d0",)] if searched else [])
    assert calls.get("for_jax", []) == ([(numbered, "kept", drawn[1].run)] if searched else [])
    assert found.notes == ("side", "traced", "unmatched", "tables", "swapped")


def test_a_parameter_has_a_path_in_the_port_and_an_input_its_name():
    weights = SimpleNamespace(place_of=lambda name: f"params/{name}")
    evidence: Any = SimpleNamespace(port=SimpleNamespace(weights=weights))
    assert Evidence.jax_place(evidence, "w") == "params/w"
    assert Evidence.jax_place(evidence, "input w") == "input w"
