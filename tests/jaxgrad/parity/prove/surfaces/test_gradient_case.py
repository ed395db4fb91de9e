"""Gates that repair wrong gradients are found, and the values that torch detaches are listed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.surfaces import gradient_case
from jaxgrad.parity.prove.surfaces.gradient_case import Case, _affordable, detached_operands
from tests.jaxgrad.parity.prove.surfaces._helpers import Made


def paths(groups: Any) -> list[str]:
    return ["".join(gate.path for gate in group) for group in groups]


@pytest.mark.parametrize(
    ("repairs", "kept", "fixed"),
    [
        ({"a": "x", "b": "xy"}, ["b"], "xy"),
        ({"a": "x", "b": "y"}, ["a", "b"], "xy"),
        ({"a": "x", "b": "x"}, ["a"], "x"),
        ({"a": "x", "b": "y1"}, ["a"], "x"),  # the second one breaks another gradient
        ({"a": "", "b": "1"}, [], ""),
    ],
)
def test_the_fewest_gates_that_repair_most_gradients_are_kept(repairs, kept, fixed):
    """A gate that breaks a gradient is never one of them."""
    case = Made("xyz", repairs, 0.0)
    found, names = case.best([(gate,) for gate in case.uses], 0.0)
    assert paths(found) == kept and names == frozenset(fixed)


def test_a_gate_that_repairs_gradients_on_one_draw_only_is_not_kept():
    """A gate that repairs no gradient on the other draws repairs this draw's by coincidence."""
    case = Made("x", {"a": "x"}, 0.0)
    case.elsewhere = False
    assert case.best([(gate,) for gate in case.uses], 0.0) == ([], frozenset())


def test_two_gates_together_are_tested_on_every_draw():
    """Each of two gates may repair a gradient on every draw, and both together on one alone."""

    class Apart(Made):
        def holds(self, fixed: Any, settings: Any = None, changes: Any = ()) -> bool:
            return len(settings) == 1

    case = Apart("xy", {"a": "x", "b": "y"}, 0.0)
    found, names = case.best([(gate,) for gate in case.uses], 0.0)
    assert paths(found) == ["a"] and names == {"x"}


def test_no_gate_is_tried_without_reruns_left():
    """Each rerun counts."""
    case = Made("x", {"a": "", "b": "x"}, 0.0, left=1)
    assert case.best([(gate,) for gate in case.uses], 0.0) == ([], frozenset())
    case = Made("x", {"a": "", "b": "x"}, 0.0, left=2)
    assert paths(case.best([(gate,) for gate in case.uses], 0.0)[0]) == ["b"]


@pytest.mark.parametrize(
    ("fixed", "text"),
    [
        ("abcdef", "all gradients agree"),
        ("ab", "the gradients of a, b agree, others still differ"),
        ("abcd", "the gradients of a, b, c, d agree, others still differ"),
        ("abcde", "the gradients of a, b, c, d and others agree, others still differ"),
    ],
)
def test_at_most_four_gradients_are_listed(fixed, text):
    """All of them are not listed at all."""
    assert Made("abcdef", {}, 0.0).names(frozenset(fixed)) == text


def test_the_operands_that_torch_detaches():
    """Each value is listed once, in torch's order."""
    ops = [("input", ()), ("detach", (0,)), ("data", (2,)), ("mul", (1,)), ("detach", (0,))]
    plain = {"weights": (), "requires_grad": True, "own_gradient": False}
    values = [SimpleNamespace(op=o, inputs=i, **plain) for o, i in ops]
    record: Any = SimpleNamespace(values=values, grads={})
    assert detached_operands(record) == [0, 2]


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("expected", "actual", "rerun", "masks", "wrong"),
    [
        (ONES, ONES, None, "", ""),
        (ONES, 2 * ONES, None, "", "a"),
        (ONES, 2 * ONES, None, "a", ""),
        (ONES, None, None, "", ""),
        (None, 0 * ONES, None, "", ""),
        (None, ONES, None, "", "a"),
        (ONES, ONES + 1e-9, None, "", "a"),
        (ONES, ONES + 1e-9, ONES + 1e-9, "", ""),
        (1e-20 * ONES, 2e-20 * ONES, None, "", ""),
    ],
)
def test_a_gradient_differs_by_more_than_rounding(expected, actual, rerun, masks, wrong):
    """No gradient in torch counts as zeros, and one that JAX does not have is not compared."""
    case: Any = object.__new__(Case)
    near: Any = [{"a": rerun}, {}]
    case.evidence = SimpleNamespace(
        torch_gradients=lambda run: run,
        drawn=[SimpleNamespace(gradient_reruns=near)],
        masks=set(masks),
    )
    case.draw = 0
    run: Any = {"a": expected, "b": ONES}
    assert case.differing({"a": actual, "b": ONES}, run) == frozenset(wrong)


@pytest.mark.parametrize(
    ("size", "reruns"), [(0, 150), (2e8 / 40 - 1, 40), (2e8 / 7, 8), (1e12, 8)]
)
def test_a_large_model_is_rerun_less_often(size, reruns):
    """All reruns together compute 200 million numbers, but there are 8 to 150 of them."""
    assert _affordable(size) == reruns


def opened(monkeypatch: Any, actual: Any) -> tuple[Case, list[Any]]:
    """Return the case of three gradients, and the values whose uses are gates."""
    sources: list[Any] = []
    monkeypatch.setattr(gradient_case.gates, "repeated", lambda flow: [])
    for name in ("stops", "ties", "unbounded"):
        monkeypatch.setattr(gradient_case.gates, name, lambda flow: range(999))
    monkeypatch.setattr(
        gradient_case.gates, "uses", lambda flow, keys: sources.extend(keys) or range(999)
    )

    class Gated(SimpleNamespace):
        def gradients(self, draw: Any, settings: Any) -> Any:
            return actual

        def differentiable(self, draw: Any) -> Any:
            return self

    monkeypatch.setattr(gradient_case, "Gated", lambda port, gates: Gated(gates=gates))
    plain = {"weights": (), "requires_grad": True, "own_gradient": False, "print": [2e6]}
    calls = [("input", ()), ("mul", (0,)), ("detach", (1,))]
    values = [SimpleNamespace(op=op, inputs=inputs, **plain) for op, inputs in calls]
    expected = {"a": ONES, "b": ONES, "c": None}
    judged = [SimpleNamespace(name=n, verdict=v) for n, v in (("a", "fail"), ("b", "pass"))]
    alignment = SimpleNamespace(
        spots=[SimpleNamespace(key=f"spot {n}") for n in range(9)],
        candidates={0: [8], 1: [5, 4, 3, 2, 1]},
    )
    evidence: Any = SimpleNamespace(
        port=SimpleNamespace(
            weights=SimpleNamespace(leaves_of=lambda name: ["abc".index(name)]),
            program=SimpleNamespace(leaves=[np.ones(int(1e6)), np.ones(int(1e6))]),
        ),
        flow=None,
        runs=[SimpleNamespace(values=values, grads=expected)],
        torch_gradients=lambda run: run.grads if hasattr(run, "grads") else run,
        by_torch_name=lambda gradients: gradients,
        jax_gradients=[actual],
        judged_gradients=[judged],
        alignments=[alignment],
        draws=[None],
        drawn=[SimpleNamespace(gradient_reruns=[])],
        masks=set(),
        clock=SimpleNamespace(searched=lambda: 0.0),
    )
    return Case(evidence, 0), sources


def test_a_case_has_gates_for_wrong_and_missing_gradients_and_detached_values(monkeypatch):
    """At most four JAX values are candidates for a detached one; a first rerun is made."""
    case, sources = opened(monkeypatch, {"a": 2 * ONES, "b": ONES, "c": None, "merged": None})

    leaves = {gradient_case.leaf_key(0), gradient_case.leaf_key(2)}
    assert set(sources) == leaves | {f"spot {n}" for n in (2, 3, 4, 5)}
    assert [len(x) for x in (case.stops, case.uses, case.ties, case.unbounded)] == [48, 96, 48, 0]
    assert case.left == int(2e8 / (8e6 + 1)) - 1
    assert case.wrong == {"a"}


def test_only_a_gradient_that_is_not_finite_has_gates_for_infinite_derivatives(monkeypatch):
    """Infinite derivatives are tried only if the other framework's gradient is finite."""
    case, _ = opened(monkeypatch, {"a": np.array([np.nan, 1.0]), "b": ONES, "c": ONES})
    assert case.not_finite and len(case.unbounded) == 96
    case, _ = opened(monkeypatch, {"a": None, "b": ONES, "other": np.array([np.nan])})
    assert not case.not_finite
