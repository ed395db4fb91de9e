"""Weights, averages and moments after some steps are judged on made trajectories."""

import types
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity import Training
from jaxgrad.parity.prove.causes import updates as update_causes
from jaxgrad.parity.prove.causes.acceptance import Range, confirms
from jaxgrad.parity.prove.judge import Judged
from jaxgrad.parity.prove.record.torch_side.side import Steps
from jaxgrad.parity.prove.training_steps import moments, steps
from jaxgrad.parity.prove.training_steps.steps import Trained
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories, first_steps
from jaxgrad.parity.prove.waivers import as_waivers


BEFORE = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
MOVE = np.array([0.5, -0.25])


def states(last: Any = 3, every: Any = 1, **off: float) -> dict[int, dict[str, np.ndarray]]:
    """Return weights after some steps, some of them off by a relative error."""
    return {
        step: {k: x + step * MOVE * (1 + off.get(f"{k}{step}", 0.0)) for k, x in BEFORE.items()}
        for step in range(1, last + 1, every)
    }


def paths(last: Any = 3, **off: float) -> Trajectories:
    return Trajectories(BEFORE, states(last), states(last, **off), [], {}, [], None, ({}, {}))


def evidence(accept: Any = None, merged: Any = None) -> Any:
    """Return the parts of the evidence that the judgement of the steps uses."""
    return types.SimpleNamespace(
        waivers=as_waivers(accept),
        jax_place=lambda name: f"leaf {name}",
        port=types.SimpleNamespace(weights=types.SimpleNamespace(not_one_to_one=merged or {})),
        runs=[types.SimpleNamespace(grads={})],
        locate=lambda find, *otherwise: (find(), ()),
    )


def trained(taken: Trajectories, zero: Any = (), training: Any = None, **options: Any) -> Trained:
    return Trained(evidence(**options), training or Training(None), taken, set(zero))


@pytest.fixture(autouse=True)
def _without_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    search = types.SimpleNamespace(guess=lambda name: (f"the cause of {name}", True))
    monkeypatch.setattr(steps.update_causes, "Search", lambda *_: search)


@pytest.mark.parametrize(("last", "text"), [(1, "1 step, "), (3, "3 steps, ")])
def test_equal_weights_pass_with_a_control(last, text):
    """The sentence has the largest difference, and an injected error was detected."""
    surface = steps._weights(trained(paths(last, a1=1e-14)))

    assert surface.verdict == "pass"
    assert surface.text.startswith(f"{text}weights agree within ")
    assert surface.text.endswith("(relative to their change)")
    assert 0 < float(surface.text.split("within ")[1].split()[0]) < 1e-13
    assert surface.control == "an error of 1e-09 injected into the update of a was detected"
    assert [row["name"] for row in surface.rows] == [
        f"{name} after step {step}" for step in sorted({1, last}) for name in "ab"
    ]


def test_every_step_is_judged():
    """A difference in a step between the first and the last one fails at that step."""
    surface = steps._weights(trained(paths(9, b5=1e-6)))
    (finding,) = surface.findings

    assert surface.text == "1 of 2 weights differ after step 5"
    assert finding.text.startswith("the weight's change after step 5 is off by 1e-06")
    names = [row["name"] for row in surface.rows]
    assert names == [f"{name} after step {step}" for step in (1, 5, 9) for name in "ab"]


@pytest.mark.parametrize(
    ("every", "wrong", "text"),
    [(1, "a3", ""), (2, "a3", "; step 2 is not compared"),
     (4, "a5", "; the steps 2 to 4 are not compared"), (4, "a1", "")],
)  # fmt: skip
def test_steps_that_are_not_compared_are_named(every, wrong, text):
    """The weights of a large model are not stored after every step."""
    right, left = states(9, every), states(9, every, **{wrong: 1e-6})
    taken = Trajectories(BEFORE, right, left, [], {}, [], None, ({}, {}))

    (finding,) = steps._weights(trained(taken)).findings
    assert finding.text.endswith(f"(relative to the weight's change){text}")
    passed = steps._weights(trained(taken._replace(jax=right))).text
    start = (
        "9 steps, weights are bit-identical"
        if every == 1
        else (
            f"9 steps, of which {len(right)} are compared to save memory, weights are bit-identical"
        )
    )
    assert passed.startswith(start)


def test_errors_are_relative_to_the_largest_change_so_far():
    """A weight that comes back to where it started has the rounding of its way."""
    way = {1: {"a": BEFORE["a"] + 1.0}, 2: {"a": BEFORE["a"] + 1e-6}}
    off = {1: way[1], 2: {"a": way[2]["a"] + 1e-13}}
    taken = Trajectories(BEFORE, way, off, [], {}, [], None, ({}, {}))
    assert steps._weights(trained(taken)).verdict == "pass"
    far = {1: way[1], 2: {"a": way[2]["a"] + 1e-11}}
    assert steps._weights(trained(taken._replace(jax=far))).verdict == "fail"
    near = {1: {"a": way[1]["a"] + 1e-11}, 2: way[2]}
    surface = steps._weights(trained(taken._replace(jax=far, reruns=[near])))
    assert surface.verdict == "pass", "the rounding of the first step has no effect on the second"


def test_the_first_wrong_weight_is_named():
    """The weights of the first wrong step are counted among all that were compared."""
    surface = steps._weights(trained(paths(b1=1e-6, a3=1e-6, b3=1e-6)))
    (finding,) = surface.findings

    assert surface.verdict == "fail"
    assert surface.text == "1 of 2 weights differ after step 1"
    assert (finding.torch, finding.jax, finding.cause) == ("b", "leaf b", "the cause of b")
    assert finding.text == (
        "the weight's change after step 1 is off by 1e-06 (relative to the weight's change)"
    )
    assert finding.index == (0,)
    later = steps._weights(trained(paths(a3=1e-6, b3=1e-6)))
    assert later.text == "2 of 2 weights differ after step 3"


def test_weights_without_a_gradient_are_left_out():
    """Weights without a gradient are not judged, and the text says how many there are."""
    surface = steps._weights(trained(paths(b1=1.0, b3=1.0), zero=["b"]))
    assert surface.verdict == "pass"
    assert surface.text.endswith("; 1 weight left out, with gradients that are zero up to rounding")
    surface = steps._weights(trained(paths(), zero=["b"], merged={"b": "leaf x adds it"}))
    assert "left out" not in surface.text


def test_a_change_below_the_weights_rounding_is_left_out():
    """The difference of two weights of size 1e9 has an error of 1e-7."""
    big = {"a": np.array([1e9, 1e9])}
    after = {1: {"a": big["a"] + 1e-3}}
    off = {1: {"a": big["a"] + 1e-3 + 2e-7}}
    taken = Trajectories(big, after, off, [], {}, [], None, ({}, {}))

    surface = steps._weights(trained(taken))
    assert (surface.verdict, surface.text) == (
        "inconclusive", "no weight changes by more than rounding"
    )  # fmt: skip
    far = taken._replace(jax={1: {"a": big["a"] + 1e-3 + 1e-5}})
    assert steps._weights(trained(far)).verdict == "fail"


def test_the_rounding_of_torchs_own_steps_is_allowed():
    """A rerun that is off by as much makes the weight inconclusive or equal."""
    taken = paths(a1=1e-9, a3=1e-9)
    assert steps._weights(trained(taken)).verdict == "fail"
    rerun = states(a1=1e-9, a3=1e-9)
    assert steps._weights(trained(taken._replace(reruns=[rerun]))).verdict == "pass"


def test_a_weight_that_rounding_alone_moves_too_far_is_inconclusive():
    """One weight of which nothing can be said makes the whole surface inconclusive."""
    taken = paths(a1=1e-3, a3=1e-3)._replace(reruns=[states(a1=1e-3, a3=1e-3)])
    surface = steps._weights(trained(taken))

    assert surface.verdict == "inconclusive"
    assert surface.text == (
        "a after step 1: rounding alone changes its update too much to compare (by up to 0.03 of "
        "its scale, and torch and JAX differ by 0.001)"
    )


def test_a_weight_without_dimensions_is_compared():
    """torch's reruns with rounded numbers stay arrays, so that a wrong scalar weight fails."""
    before = {"a": np.array(1.0)}
    after = {1: {"a": np.array(1.5)}}
    off = {1: {"a": np.array(1.6)}}
    taken = Trajectories(before, after, off, [after, after], {}, [], None, ({}, {}))

    assert steps._weights(trained(taken)).verdict == "fail"
    assert steps._weights(trained(taken._replace(jax=after))).verdict == "pass"


def test_accepted_weights_do_not_fail():
    """A surface on which everything is accepted passes; its text has no difference."""
    accept = {"updates": {"*": "known"}}
    surface = steps._weights(trained(paths(a1=0.1, b1=0.1, a3=0.1, b3=0.1), accept=accept))
    assert surface.verdict == "pass"
    assert "are bit-identical" in surface.text
    assert surface.control == ""


def averaged(**off: float) -> Trajectories:
    return paths()._replace(averages=(states(), states(**off)))


def test_averages_are_judged_like_weights():
    """The average's change is relative to the first weights, and has its own name."""
    training = Training(None, ema=(0.9, None))
    surface = steps._weights(trained(averaged(), training=training))
    assert surface.verdict == "pass"
    assert "weights and their averages are bit-identical" in surface.text
    assert [row["name"] for row in surface.rows][2] == "average of a after step 1"
    assert "averages" not in steps._weights(trained(averaged())).text

    surface = steps._weights(trained(averaged(a3=1e-6), training=training))
    (finding,) = surface.findings
    assert finding.text.startswith("the weight's average after step 3 is off by 1e-06")
    assert surface.text == "1 of 2 weights differ after step 3"


def test_a_weight_that_the_port_does_not_have_is_not_compared():
    """A merged tensor cannot be restored from the leaves."""
    taken = paths()
    for weights in taken.jax.values():
        del weights["b"]  # pyright: ignore[reportIndexIssue]
    surface = steps._weights(trained(taken))
    assert surface.verdict == "pass"
    assert len(surface.rows) == 2


def test_a_weight_that_does_not_move_is_judged_by_the_others():
    """The scale of a weight that does not move is that of the largest change."""
    taken = paths(1)
    still = {1: {**taken.torch[1], "b": BEFORE["b"]}}
    moved = {1: {**taken.jax[1], "b": BEFORE["b"] + 1e-13}}
    assert steps._weights(trained(taken._replace(torch=still, jax=moved))).verdict == "pass"
    moved = {1: {**taken.jax[1], "b": BEFORE["b"] + 1e-11}}
    assert steps._weights(trained(taken._replace(torch=still, jax=moved))).verdict == "fail"


def test_the_control_needs_a_sharp_comparison(monkeypatch):
    """A weight whose rounding is larger than the injected error, or that is 0, is no control."""
    taken = paths(1)
    noisy = {1: {k: x + MOVE * 1e-9 for k, x in taken.torch[1].items()}}
    taken = taken._replace(reruns=[noisy])
    equal = list(steps._changes(taken, 1, set()))
    assert steps._control(taken, equal, set()) == ""
    assert steps._control(paths(1), list(steps._averages(averaged(), 1, set())), set()) == ""
    assert steps._control(paths(1), list(steps._changes(paths(1), 1, set())), {"a", "b"}) == ""
    worst: list[Any] = []
    monkeypatch.setattr(steps, "_changes", lambda paths, *_: worst.append(paths) or [])
    assert steps._control(paths(1), equal, set()) == ""
    off = worst[0].jax[1]["a"] - BEFORE["a"]
    np.testing.assert_allclose(off, MOVE * (1 + 1e-9), rtol=1e-12)
    assert list(worst[0].torch[1]) == list(worst[0].jax[1]) == ["a"]


def test_the_control_is_a_weight_that_is_compared():
    changes = list(steps._changes(paths(1), 1, {"a"}))
    assert "update of b" in steps._control(paths(1), changes, {"a"})


def moment(name: str, verdict: str, difference: float = 0.0) -> moments.Moment:
    judged = Judged(f"mu of {name}", verdict, difference, 0.0, 1.0, (1,), 2.0, 3.0)
    return moments.Moment(name, "mu", judged, Range(2.0, 3.0, 2))


@pytest.mark.parametrize(
    ("compared", "verdict", "text"),
    [
        ([moment("a", "pass", 1e-13), moment("b", "pass")], "pass",
         "2 optimizer moments agree within 1e-13"),
        ([moment("a", "pass"), moment("b", "fail", 0.25)], "fail",
         "1 of 2 optimizer moments differ"),
        ([], "pass", "the optimizer moments are not compared, because their names differ"),
    ],
)  # fmt: skip
def test_moments_are_judged_after_the_last_step(monkeypatch, compared, verdict, text):
    """A wrong moment is named with the step after which it differs."""
    monkeypatch.setattr(moments, "compare", lambda *_: compared)
    taken = paths()._replace(moments={"a": {"mu": MOVE}})
    (surface,) = steps._moments(trained(taken))

    assert (surface.verdict, surface.text) == (verdict, text)
    assert len(surface.rows) == len(compared)
    if verdict == "fail":
        (finding,) = surface.findings
        assert finding.text == (
            "the optimizer's mu after step 3 is off by 0.25 (relative to its scale), which changes "
            "later steps"
        )
        assert (finding.torch, finding.jax, finding.index) == ("b", "leaf b", (1,))


def test_a_moment_that_rounding_alone_changes_is_inconclusive(monkeypatch):
    """A moment of which nothing can be said is not counted among those that agree."""
    noisy = [moment("a", "pass"), moment("b", "inconclusive")]
    monkeypatch.setattr(moments, "compare", lambda *_: noisy)
    (surface,) = steps._moments(trained(paths()))

    assert surface.verdict == "inconclusive"
    assert ": rounding alone changes it too much to compare (by up to" in surface.text


def test_accepted_moments_are_not_counted(monkeypatch):
    """An optimizer without moments as large as a weight has no surface."""
    monkeypatch.setattr(moments, "compare", lambda *_: [moment("a", "fail"), moment("b", "pass")])
    accept = {"updates": {"a": "known"}}
    (surface,) = steps._moments(trained(paths(), accept=accept))
    assert surface.text == "1 optimizer moment is bit-identical"

    monkeypatch.setattr(moments, "compare", lambda *_: [])
    assert steps._moments(trained(paths())) == []


def test_a_cause_must_reproduce_weights_averages_and_moments(monkeypatch):
    """A change explains a difference if everything that is compared agrees with it."""
    taken = paths(a1=1e-3, a3=1e-3)._replace(averages=(states(), states()))
    port, own = states(a1=1e-3, a3=1e-3), states()
    searched: list[Any] = []

    def search(*arguments: Any) -> Any:
        searched.append(arguments)
        return types.SimpleNamespace(guess=lambda _: ("a cause", False))

    monkeypatch.setattr(update_causes, "Search", search)

    def agrees(*, zero: Any = (), compared: Any = None, accept: Any = None, **steps_: Any) -> bool:
        fields = {"states": port, "averages": states(), "moments": {}, "reruns": [], **steps_}
        judged = trained(taken, zero, accept=accept)
        finding = steps._weights(trained(taken)).findings[0]
        searched.clear()
        steps._explained(judged, finding, 1, with_moments=compared is not None)
        *_, compare, step = searched[-1]
        assert step == 1
        monkeypatch.setattr(moments, "compare", lambda *_: (compared or [[], []])[0])
        without = compare(taken)
        monkeypatch.setattr(moments, "compare", lambda *_: (compared or [[], []])[1])
        return confirms(without, compare(taken.with_torch(Steps(**fields))))

    assert agrees()
    assert not agrees(states=own)
    assert not agrees(averages=states(b2=1e-3))
    assert agrees(averages=states(b3=1e-3), zero=["b"])
    wrong, right = moment("a", "fail", 1e-3), moment("a", "pass", 1e-15)
    assert agrees(compared=[[wrong], [right]])
    assert not agrees(compared=[[wrong], [wrong]])
    assert agrees(compared=[[wrong], [wrong]], accept={"updates": {"mu of a": "known"}})


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        ({"w": "leaf x adds it"}, "w is not comparable, because leaf x adds it"),
        (
            {"w": "leaf x adds it", "v": "y"},
            "2 weights are not comparable: w is not, because leaf x adds it",
        ),
    ],
)
def test_weights_that_are_not_comparable_are_counted(reasons, text):
    """The reason is the first weight's."""
    assert steps._not_comparable(reasons) == text


@pytest.mark.parametrize(
    ("merged", "verdicts"),
    [({}, ["pass"]), ({"b": "leaf x adds it"}, ["pass", "pass"]),
     ({"a": "leaf x adds it", "b": "so"}, ["not judged"])],
)  # fmt: skip
def test_only_the_first_step_counts_beside_weights_that_are_not_comparable(
    monkeypatch, merged, verdicts
):
    """Weights that are not comparable change all gradients in the second step."""
    monkeypatch.setattr(moments, "compare", lambda *_: [])
    taken = paths(a3=1.0) if merged else paths()
    monkeypatch.setattr(steps.trajectories, "run", lambda *_: taken)
    judged = [Judged("c", "zero", 0, 0, 0), Judged("a", "pass", 0, 0, 0)]
    proof = evidence(merged=merged)
    proof.judged_gradients = [judged]
    surfaces = steps.surfaces(proof, Training(None), 3)

    assert [s.verdict for s in surfaces] == verdicts
    if len(merged) == 1:
        assert surfaces[1].text == "b is not comparable, because leaf x adds it"
        assert surfaces[0].text.startswith("1 step, ")
        assert len(surfaces[0].rows) == 1


def test_a_wrong_weight_ends_the_judgement(monkeypatch):
    """Moments are not judged beside wrong weights."""
    monkeypatch.setattr(steps.trajectories, "run", lambda *_: paths(a1=1.0))
    proof = evidence()
    proof.judged_gradients = [[]]

    (surface,) = steps.surfaces(proof, Training(None), 3)
    assert surface.verdict == "fail"


def test_the_first_step_is_cut_out():
    """Later steps, their averages and the moments are dropped."""
    taken = paths()._replace(averages=(states(), {}), moments={"a": {}})
    first = first_steps(taken)

    assert list(first.torch) == list(first.jax) == list(first.averages[0]) == [1]
    assert first.averages[1] == {}
    assert first.moments == {}


@pytest.mark.parametrize(
    ("change", "text"),
    [(1e-9, "(relative to the weight's change); float32's rounding is larger (6e-08)"),
     (1e-6, "(relative to the weight's change)")],
)  # fmt: skip
def test_a_difference_below_the_rounding_of_float32_is_called_so(change, text):
    """The finding says that only float64 shows the difference."""
    (finding,) = steps._weights(trained(paths(b1=change))).findings
    assert finding.text.endswith(text)
