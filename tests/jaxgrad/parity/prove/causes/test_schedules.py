"""Schedules are compared over the whole training run, without training."""

import dataclasses
import math
from types import SimpleNamespace
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.optim import lr_scheduler

from jaxgrad.parity import Training, prove
from jaxgrad.parity.prove.causes import schedules
from jaxgrad.parity.prove.causes.schedules import Divergence, shift
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.torch_side import loop, variants
from jaxgrad.parity.prove.report import Surface
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.waivers import Waivers
from jaxgrad.parity.prove.wording import InJax
from tests.jaxgrad.parity.prove._helpers import proved, updated


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def halved(boundary: int) -> Any:
    return optax.piecewise_constant_schedule(0.1, {boundary: 0.5})


def milestone(boundary: int) -> Any:
    return lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [boundary], 0.5)


def factor(step: int) -> float:
    return 1.0 if step < 10 else 0.5


def by_lambda(optimizer: Any) -> Any:
    return lr_scheduler.LambdaLR(optimizer, factor)


def hidden(parameters: Any) -> Any:
    """Return an optimizer that steps a scheduler of its own, unknown to `prove`."""
    optimizer = sgd(parameters)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 5)
    optimizer.register_step_post_hook(lambda *_: scheduler.step())
    return optimizer


def frozen(step: Any) -> Any:
    """Return the rate of a cosine decay that stays at its third value."""
    return optax.cosine_decay_schedule(0.1, 5)(jnp.minimum(step, 2))


CASES = {
    "equal": (Training(sgd, optax.sgd(halved(20)), scheduler=milestone(20)), "22 steps agree"),
    "a step too early": (
        Training(sgd, optax.sgd(halved(20)), scheduler=milestone(21)),
        "first in step 21 of 23 (steps count from 1)",
    ),
    "in JAX only": ((sgd, optax.sgd(halved(20))), "first in step 21 of 30"),
    "beyond its length": (
        Training(sgd, optax.sgd(optax.cosine_decay_schedule(0.1, 9)),
                 scheduler=lambda opt: lr_scheduler.CosineAnnealingLR(opt, 9)),
        "9 steps agree",
    ),
    "of unknown length": (Training(sgd, optax.sgd(0.1), scheduler=by_lambda), "pass total="),
    "of a given length": (
        Training(sgd, optax.sgd(0.1), scheduler=by_lambda, total=20),
        "first in step 11 of 20",
    ),
    "hidden": ((hidden, optax.sgd(optax.cosine_decay_schedule(0.1, 5))), "5 steps agree"),
    "hidden and frozen": ((hidden, optax.sgd(frozen)), "first in step 4 of 5"),
    "another update": (
        (sgd, optax.sgd(lambda step: 0.1 + 0 * step, momentum=1e-5)),
        "",
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("optimizer", "text"), CASES.values(), ids=CASES)
def test_the_first_step_that_differs_is_named(evidence: Evidence, optimizer: Any, text: str):
    """Equal schedules pass; others fail in the first step in which the learning rates differ."""
    surface = updated(evidence, optimizer, 2)
    if "agree" in text or "total" in text:
        assert surface.verdict == "pass", surface
        assert text in surface.text
    else:
        assert surface.verdict == "fail" and text in surface.findings[0].text, surface


def test_both_learning_rates_are_shown(evidence: Evidence):
    """The finding has the learning rates of both frameworks and names the shift."""
    training = Training(sgd, optax.sgd(halved(20)), scheduler=milestone(21))
    (first,) = updated(evidence, training).findings
    assert (first.torch_value, first.jax_value) == pytest.approx((0.1, 0.05))
    assert "one step ahead of torch's (replaying torch" in first.cause


CHANGED = {
    "T_max": (
        optax.cosine_decay_schedule(0.1, 20),
        lambda opt: lr_scheduler.CosineAnnealingLR(opt, 10),
        "T_max of the schedule is 20, torch uses 10",
    ),
    "eta_min": (
        optax.cosine_decay_schedule(0.1, 10),
        lambda opt: lr_scheduler.CosineAnnealingLR(opt, 10, eta_min=0.01),
        "eta_min of the schedule is 0, torch uses 0.01",
    ),
    "gamma": (
        optax.exponential_decay(0.1, 2, 0.5, staircase=True),
        lambda opt: lr_scheduler.StepLR(opt, 2, 0.1),
        "gamma of the schedule is 0.5, torch uses 0.1",
    ),
    "warmup": (
        optax.linear_schedule(0.01, 0.1, 7),
        lambda opt: lr_scheduler.LinearLR(opt, 0.1, 1.0, 5),
        "total_iters of the schedule is 7, torch uses 5",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("schedule", "scheduler", "cause"), CHANGED.values(), ids=CHANGED)
def test_a_setting_of_the_schedule_is_named(
    evidence: Evidence, schedule: Any, scheduler: Any, cause: str
):
    """A number that the port's schedule contains is tried in each setting of torch's scheduler."""
    training = Training(sgd, optax.sgd(schedule), scheduler=scheduler)
    (first,) = updated(evidence, training).findings
    assert first.cause == f"{cause} (replaying torch with this change gives JAX's weights)"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("boundary", [50, 51])
def test_a_schedule_is_compared_with_the_scheduler(evidence: Evidence, boundary: int):
    """The user's schedule is evaluated at every step of torch's scheduler."""
    training = Training(
        sgd, optax.sgd(0.1), scheduler=milestone(50), schedule=halved(boundary), total=60
    )
    surface = updated(evidence, training, 1)
    assert surface.verdict == "fail"
    if boundary == 50:  # the transformation has no schedule, which replaying shows
        assert "first in step 51 of 60" in surface.findings[0].text
        assert "the schedules agree in all 60 steps" in surface.text
    else:
        assert (
            "the schedules differ first in step 51 of 60 (steps count from 1), by 0.05"
            in surface.findings[0].text
        )


def warmed_up(optimizer: Any) -> Any:
    """Five steps of warmup, and then a cosine of 15 steps."""
    lr = torch.optim.lr_scheduler
    warmup = lr.LinearLR(optimizer, 0.1, 1.0, total_iters=5)
    return lr.SequentialLR(optimizer, [warmup, lr.CosineAnnealingLR(optimizer, 15)], [5])


def warmed(start: float = 0.1, decay: int = 15, offset: int = 0) -> Any:
    def rate(count: Any) -> Any:
        n = count + offset
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * (n - 5) / decay))
        return 0.1 * jnp.where(n < 5, start + (1 - start) * n / 5, cosine)

    return rate


@pytest.mark.parametrize(
    ("schedule", "cause"),
    [
        (warmed(decay=20), "T_max of the schedule is 20, torch uses 15"),
        (warmed(start=0.02), "start_factor of the schedule is 0.02, torch uses 0.1"),
        (warmed(offset=1), "the schedule is one step ahead of torch's"),
        (lambda count: 0.2 * warmed()(count) / 0.1, ""),
        (lambda count: float(warmed(decay=20)(count)), ""),
    ],
    ids=["decay", "start", "ahead", "scaled", "not traceable"],
)
def test_a_wrong_number_of_a_given_schedule_is_named(evidence: Evidence, schedule, cause: str):
    """torch's scheduler has the port's rates in all 20 steps with the number of the port."""
    right = Training(sgd, optax.sgd(warmed()), scheduler=warmed_up, schedule=warmed(), total=20)
    assert schedules.failing(evidence, right, 1) is None
    wrong = dataclasses.replace(right, schedule=schedule)
    found = schedules.failing(evidence, wrong, 1)
    assert found is not None
    (finding,) = found.surface.findings

    assert finding.tested == bool(cause)
    tested = "(torch's scheduler with this change gives JAX's rates in every step)"
    assert not cause or finding.cause == f"{cause} {tested}"


def test_a_schedule_that_raises_is_an_error(arguments: dict[str, Any]):
    """The error names the field and the step."""
    training = Training(sgd, optax.sgd(0.1), scheduler=milestone(5), schedule=lambda step: [][step])
    report = proved(arguments, optimizer=training)
    assert "Training(schedule=) called with 0, for step 1, raised IndexError" in report.text


def test_shifted_and_scaled_schedules_are_described():
    """The text says if one schedule is the other shifted by a step or multiplied by a number."""
    rates = np.array([0.1, 0.4, 0.3, 0.7, 0.2])
    assert "one step ahead" in shift(rates, np.array([0.4, 0.3, 0.7, 0.2, 0.9]))
    assert "one step behind" in shift(rates, np.array([0.9, 0.1, 0.4, 0.3, 0.7]))
    assert "2 times" in shift(rates, 2 * rates)
    assert shift(rates, rates[::-1]) == ""
    assert shift(np.full(3, 0.1), np.array([0.1, 0.1, 0.2])) == ""


def test_a_dump_has_no_later_steps():
    """Steps after those in a dump are not compared, because a dump cannot be rerun."""
    text = schedules.surface(SimpleNamespace(rerunnable=False), Training(sgd), 3).text  # pyright: ignore[reportArgumentType]
    assert text == "later steps are not compared, because a dump cannot be rerun"


@pytest.mark.parametrize(
    ("steps", "schedule", "verdicts", "text"),
    [
        ((9, 9, True), None, "pass", "replayed 9"),
        ((9, 4, True), None, "pass",
         "replayed 4; a proof with Training(schedule=) compares the schedule of all 9 steps"),
        ((9, 4, False), None, "pass",
         "replayed 4; pass total= to compare the schedule of the whole training run"),
        ((9, 4, True), max, "pass pass", "compared 9; replayed 4"),
        ((9, 4, True), max, "pass fail", "compared 9; replayed 4"),
        ((9, 4, True), max, "fail", "compared 9"),
    ],
)  # fmt: skip
def test_the_text_says_which_steps_are_not_compared(monkeypatch, steps, schedule, verdicts, text):
    """Steps are replayed unless the schedules already differ."""
    found = iter(verdicts.split())

    def part(word: str) -> Any:
        def judge(evidence: Any, training: Any, total: int) -> Surface:
            verdict = next(found)
            findings: Any = (word,) if verdict == "fail" else ()
            return Surface("updates", verdict, f"{word} {total}", findings=findings)

        return judge

    monkeypatch.setattr(schedules, "_range", lambda *_: steps)
    monkeypatch.setattr(schedules, "_compared", part("compared"))
    monkeypatch.setattr(schedules, "replayed", part("replayed"))
    proof: Any = SimpleNamespace(rerunnable=True)
    surface = schedules.surface(proof, Training(sgd, schedule=schedule), 3)

    assert (surface.verdict, surface.text) == (verdicts.split()[-1], text)
    assert bool(surface.findings) == ("fail" in verdicts)
    assert next(found, None) is None


@pytest.mark.parametrize(
    ("off", "text"),
    [
        ({}, "the schedules agree in all 3 steps"),
        ({1: 3.8e-7}, "the schedules agree in all 3 steps"),
        ({1: 4.2e-7, 2: -0.1}, "the schedules differ in 2 of 3 steps"),
    ],
)
def test_schedules_may_be_off_by_a_millionth_of_the_largest_rate(monkeypatch, off, text):
    """The first step that differs is named, counted from one."""
    rates = [[-0.4, -0.4], [0.3, 0.3], [0.2, 0.2]]
    monkeypatch.setattr(loop, "learning_rates", lambda *_: rates)
    training = Training(sgd, schedule=lambda step: rates[step][0] + off.get(step, 0.0))
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=None))
    surface = schedules._compared(proof, training, 3)

    assert surface.text == text
    assert (surface.verdict == "fail") == ("differ" in text)
    for finding in surface.findings:
        assert finding.torch == "the learning rate of group 0"
        assert (
            finding.text
            == "the schedules differ first in step 2 of 3 (steps count from 1), by 4.2e-07"
        )
        assert (finding.torch_value, finding.jax_value) == (0.3, 0.3 + 4.2e-7)


def test_a_schedule_of_groups_has_a_value_for_each(monkeypatch):
    """The rate of every group is compared; one value for two groups is refused."""
    rates = [[0.4, 9.0], [0.2, 3.0]]
    monkeypatch.setattr(loop, "learning_rates", lambda *_: rates)
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=None))

    def judged(schedule: Any) -> Any:
        return schedules._compared(proof, Training(sgd, schedule=schedule), 2)

    assert judged(lambda step: np.array(rates[step])).verdict == "pass"
    (finding,) = judged(lambda step: (rates[step][0], 9.0)).findings
    assert finding.torch == "the learning rate of group 1"
    assert (finding.torch_value, finding.jax_value) == (3.0, 9.0)
    (finding,) = judged(lambda step: (rates[step][0] + 1e-6 * step, rates[step][1])).findings
    assert finding.torch == "the learning rate of group 0"  # 9e-6 is a millionth of the other's
    text = (
        r"schedule=\) returned 1 value, \[0.4\], for step 1, in which torch's 2 parameter "
        r"groups have the learning rates \[0.4, 9.0\]: return one value for each group"
    )
    with pytest.raises(ProofError, match=text):
        judged(lambda step: rates[step][0])
    with pytest.raises(ProofError, match=r"returned 3 values, \[1.0, 2.0, 3.0\], for step 1"):
        judged(lambda step: [1.0, 2.0, 3.0])


def test_schedules_of_zeros_agree(monkeypatch):
    """If all learning rates are zero, the allowed difference is zero."""
    monkeypatch.setattr(loop, "learning_rates", lambda *_: [[0.0], [0.0]])
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=None))
    training = Training(sgd, schedule=lambda step: 0.0)
    assert schedules._compared(proof, training, 2).verdict == "pass"


def test_a_constant_schedule_is_not_shifted():
    """Equal values agree however they are shifted, so a shift is not reported."""
    assert shift(np.array([0.5, 0.1, 0.1]), np.array([0.1, 0.1, 0.7])) == ""
    assert shift(np.array([0.7, 0.1, 0.1]), np.array([0.1, 0.1, 0.3])) == ""
    assert shift(np.array([0.1, 0.2]), np.array([0.2, 0.4])).endswith("is 2 times torch's")
    near = np.array([0.4, 0.3 * (1 + 0.9e-6), 0.2, 0.1])
    assert "ahead" in shift(np.array([0.5, 0.4, 0.3, 0.2]), near)
    near[1] = 0.3 * (1 + 1.1e-6)
    assert shift(np.array([0.5, 0.4, 0.3, 0.2]), near) == ""


@pytest.mark.parametrize(
    ("accumulate", "steps", "total", "replayed"),
    [(1, 5, 99, 33), (2, 5, 99, 16), (1, 60, 99, 60), (1, 5, 9, 9)],
)
def test_replayed_steps_take_two_seconds(monkeypatch, accumulate, steps, total, replayed):
    """A million numbers take 40 ms in each micro-batch, and each tensor 0.2 ms."""
    monkeypatch.setattr(loop, "range_of", lambda *_: (total, True))
    shapes = {"a": (1000, 1000), **{str(n): () for n in range(99)}}
    weights = SimpleNamespace(shapes=shapes)
    proof: Any = SimpleNamespace(
        torch_side=SimpleNamespace(module=None), port=SimpleNamespace(weights=weights)
    )
    training = Training(sgd, accumulate=accumulate)
    assert schedules._range(proof, training, steps) == (total, replayed, True)


@pytest.mark.parametrize("factor", [0.5, None])
def test_a_differing_step_is_a_learning_rate_or_an_update(monkeypatch, factor):
    """Both learning rates are shown only if the updates are proportional."""
    found = Divergence(7, "w", [0.2, 0.3], 0.25, factor)
    monkeypatch.setattr(schedules, "replay", lambda *_: found)
    monkeypatch.setattr(schedules, "cause", lambda *given: (f"why {given[2:]}", True))
    monkeypatch.setattr(loop, "groups", lambda *_: {"v": 0, "w": 1})
    proof: Any = SimpleNamespace(
        jax_place=lambda name: f"leaf {name}",
        locate=lambda find, *otherwise: (find(), ()),
        torch_side=SimpleNamespace(module=None),
    )
    surface = schedules.replayed(proof, Training(sgd), 9)
    (finding,) = surface.findings

    assert surface.text == "given the same gradients, step 7 differs"
    assert (finding.torch, finding.jax, finding.tested) == ("w", "leaf w", True)
    assert finding.cause == "why (9, 0.25)"
    if factor is None:
        text = (
            "the update in step 7 of 9 (steps count from 1) is off by 0.25 (relative to the "
            "largest update)"
        )
        assert finding.text.endswith(text) and finding.torch_value is None
    else:
        assert (
            finding.text
            == "JAX's learning rate differs from torch's first in step 7 of 9 (steps count from 1)"
        )
        assert (finding.torch_value, finding.jax_value) == (0.3, 0.15)


def tried(
    monkeypatch: Any, worst: dict[str, float], share: float = 1e-3, left: int = 9
) -> tuple[tuple[str, bool], list[str]]:
    """Search for a cause, given the largest difference that each change leaves; NaN raises."""
    names: list[str] = []
    count = iter(range(left))

    def replay(evidence: Any, training: Any, total: int, tolerance: float) -> Any:
        assert total == 4
        names.append(training)
        if math.isnan(worst[training]):
            raise ValueError
        return "differs" if worst[training] > tolerance else None

    found: Any = [variants.Variant(InJax(n), cast("Any", n), schedule=True) for n in worst]
    monkeypatch.setattr(schedules, "Loop", lambda *_: SimpleNamespace(numbers=list))
    monkeypatch.setattr(schedules, "replay", replay)
    monkeypatch.setattr(schedules, "hypotheses", lambda *_: found)
    monkeypatch.setattr(schedules, "port_rates", lambda *_: None)
    monkeypatch.setattr(schedules, "_range", lambda *_: (9, 4, True))
    monkeypatch.setattr(schedules, "_rates", lambda _, training, steps: np.array([[len(training)]]))
    proof: Any = SimpleNamespace(
        port=None, draws=[None], trained=None, torch_side=SimpleNamespace(module=None),
        may_search=lambda _: next(count, None) is not None, reference="torch",
    )  # fmt: skip
    return schedules.cause(proof, Training(sgd, scheduler=by_lambda), 4, share), names


def test_the_only_change_with_which_all_steps_agree_is_the_cause(monkeypatch):
    """Every change is tried; a change that makes torch raise is skipped."""
    worst = {"1": math.nan, "22": 1e-4, "333": 1e-9, "4444": 1.0}
    cause, names = tried(monkeypatch, worst)
    assert cause == ("333 (replaying torch with this change gives JAX's weights)", True)
    assert names == list(worst)


def test_two_schedules_that_explain_the_difference_are_both_possible(monkeypatch):
    """Two changes with equal learning rates count as one, so the first one is the cause."""
    text = "either 333, or 4444 (replaying torch with either of these changes gives JAX's weights)"
    assert tried(monkeypatch, {"333": 0.0, "4444": 0.0})[0] == (text, False)
    assert tried(monkeypatch, {"333": 0.0, "444": 0.0})[0][1]


@pytest.mark.parametrize(
    ("share", "rest", "confirmed"),
    [(1.0, 0.9e-6, True), (1.0, 1.1e-6, False), (2e-6, 1e-7, True), (2e-6, 3e-7, False),
     (math.inf, 0.0, False), (math.nan, 0.0, False)],
)  # fmt: skip
def test_a_change_must_remove_most_of_the_difference(monkeypatch, share, rest, confirmed):
    """What remains must be within the tolerance and at most a tenth of the difference."""
    assert tried(monkeypatch, {"a": rest}, share)[0][1] == confirmed


def test_a_search_ends_when_its_time_is_over(monkeypatch):
    """When its time is over, the search tries no further change and names no cause."""
    cause, names = tried(monkeypatch, {"a": 1.0, "bb": 0.0}, left=1)
    assert cause == ("", False) and names == ["a"]


def hypotheses(training: Training, numbers: Any = (), steps: int = 5) -> dict[str, Any]:
    """Return the learning rates with each change of the schedule."""
    module = torch.nn.Linear(2, 1)
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=module))
    found = schedules.hypotheses(proof, training, numbers, steps, None)
    return {x.text: schedules._rates(proof, x.training, steps)[:, 0] for x in found}


def test_only_a_schedule_with_other_learning_rates_is_blamed():
    """A change that does not show in the compared steps cannot explain a difference in them."""
    training = Training(sgd, scheduler=milestone(9))
    assert hypotheses(training) == {}
    found = hypotheses(training, steps=10)
    assert [text.rpartition(" is ")[2] for text in found] == [
        "one step ahead of torch's", "one step behind torch's", "missing",
    ]  # fmt: skip
    assert hypotheses(Training(sgd)) == {}
    found = hypotheses(Training(sgd, scheduler=milestone(2)), [0.25])
    np.testing.assert_allclose(
        found["gamma of the schedule is 0.25, torch uses 0.5"], [0.1, 0.1, 0.025, 0.025, 0.025]
    )


def test_the_ports_own_schedule_is_a_cause():
    """The port's schedule is tried in torch if its values differ from those of torch's."""
    training = Training(sgd, scheduler=milestone(2), schedule=lambda step: 0.1 / (1 + step // 3))
    found = hypotheses(training)
    text = (
        "the schedules differ first in step 3 (steps count from 1), in which torch's learning rate "
        "is 0.05 and JAX's is 0.1"
    )
    np.testing.assert_allclose(found[text], [0.1, 0.1, 0.1, 0.05, 0.05])
    equal = Training(sgd, scheduler=milestone(2), schedule=halved(2))
    assert not any(text.startswith("the schedules differ") for text in hypotheses(equal))


def test_the_first_step_that_differs_has_a_schedule_as_its_cause_however_many_steps_there_are():
    """The report names the schedule even if training reaches the step that differs."""
    module = torch.nn.Linear(3, 2)
    training = Training(
        sgd, optax.sgd(optax.cosine_decay_schedule(0.1, 3)), total=6,
        schedule=optax.cosine_decay_schedule(0.1, 3),
        scheduler=lambda opt: lr_scheduler.CosineAnnealingLR(opt, 3),
    )  # fmt: skip
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    port: Any = lambda p, x: x @ p["weight"].T + p["bias"]  # noqa: E731
    x = np.random.default_rng(0).normal(size=(8, 3))

    few = prove(module, port, params, (x,), optimizer=training, steps=2)
    assert few.first is not None
    assert "the schedules differ first in step 5 of 6" in few.first.text
    many = prove(module, port, params, (x,), optimizer=training, steps=6)
    assert many.first is not None and many.first.tested
    assert many.first.text.startswith("the weight's change after step 5 is off by")
    assert many.first.cause.startswith(
        "the schedules differ first in step 5 (steps count from 1), in which torch's"
    )
    (_, given) = many.surfaces["updates"].findings
    assert (given.torch, given.jax) == ("the learning rate", "Training(schedule=)")
    assert given.text == few.first.text
    total = sum(many.seconds.values())
    assert many.seconds["locate"] + many.seconds["updates"] < total


def test_a_wrong_number_of_a_schedule_is_one_finding_with_the_place_of_the_schedule(
    evidence: Evidence,
):
    """The weights and the schedules differ by one mistake."""
    wrong = warmed(start=0.02)
    training = Training(sgd, optax.sgd(wrong), scheduler=warmed_up, schedule=wrong, total=20)
    surface = updated(evidence, training)
    (finding,) = surface.findings
    assert finding.tested and finding.text.startswith("the weight's change after step 1")
    assert finding.cause.startswith("start_factor of the schedule is 0.02, torch uses 0.1 (")
    line = warmed.__code__.co_firstlineno + 1
    assert finding.jax.endswith(f", rate (test_schedules.py:{line})")
    assert "the schedules differ in 5 of 20 steps" in surface.text


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_a_warmup_that_is_off_by_a_step_is_named_however_many_steps_there_are(steps):
    """In the first step the port's rate is 0: its weights are constant, which confirms nothing."""

    def warmup(step: Any) -> Any:
        return 1e-2 * jnp.minimum(step / 4, 1.0)

    module = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    port: Any = lambda p, x: x @ p["weight"].T + p["bias"]  # noqa: E731
    training = Training(
        lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1),
        optax.adamw(warmup, weight_decay=0.1), schedule=warmup, total=10,
        scheduler=lambda opt: lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / 4, 1)),
    )  # fmt: skip
    report = prove(module, port, params, (np.random.default_rng(0).normal(size=(5, 3)),),
                   optimizer=training, steps=steps)  # fmt: skip
    findings = report.surfaces["updates"].findings
    given = next(f for f in findings if f.torch == "the learning rate")
    assert "the schedules differ first in step 1 of 10" in given.text
    assert given.cause == "JAX's schedule is one step behind torch's"
    assert given.jax.startswith("warmup (test_schedules.py:")
    weight = next(f for f in findings if f.torch == "weight")
    assert weight.tested == (steps > 1)
    assert findings[0] is (weight if weight.tested else given)
    if weight.tested:
        assert weight.cause.startswith("the schedules differ first in step 1 ")


def test_an_earlier_mistake_comes_before_the_schedules():
    """Another learning rate differs from the first step on, and the schedule from the fifth."""
    module = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    port: Any = lambda p, x: x @ p["weight"].T + p["bias"]  # noqa: E731
    schedule = optax.cosine_decay_schedule(0.1, 3)
    tx = optax.chain(optax.add_decayed_weights(0.1), optax.sgd(schedule))
    training = Training(
        sgd, tx, total=6, schedule=schedule,
        scheduler=lambda opt: lr_scheduler.CosineAnnealingLR(opt, 3),
    )  # fmt: skip
    report = prove(module, port, params, (np.random.default_rng(0).normal(size=(8, 3)),),
                   optimizer=training, steps=6)  # fmt: skip
    first, given = report.surfaces["updates"].findings
    assert first.text.startswith("the weight's change after step 1")
    assert "the schedules differ first in step 5 of 6" in given.text


START = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0]), "c": np.array([5.0])}
GRADS = {"a": np.array([0.5, -1.0]), "b": np.array([2.0, 1.0]), "c": np.array([1.0])}


class Descent:
    """Gradient descent whose learning rate is 0.1 times a factor for a step and a weight."""

    def __init__(self, factors: dict[tuple[int, str], float]):
        self.weights, self.factors, self.count = START, factors, 0

    def step(self, backward: Any) -> None:
        self.count += 1
        leaves = dict(zip(START, backward(0, None).leaves, strict=True))
        self.weights = {
            name: x - 0.1 * self.factors.get((self.count, name), 1.0) * leaves[name]
            for name, x in self.weights.items()
        }

    def parameters(self) -> Any:
        return {name: x for name, x in self.weights.items() if name != "c"}


def replayed(
    monkeypatch: Any, factors: Any, *, merged: Any = (), waived: Any = (), frozen: Any = ()
) -> Any:
    """Replay three steps of descent, in which JAX's learning rates are multiplied by factors."""

    def torchs(training: Any, draw: Any, gradients: Any) -> Any:
        weights = START
        for rate, grads in zip((0.1, 0.2, 0.3), gradients, strict=True):
            weights = {n: x - 0.1 * grads.get(n, 0.0) for n, x in weights.items()}
            yield [rate], weights

    monkeypatch.setattr(schedules, "Loop", lambda *_: Descent(factors))
    weights = SimpleNamespace(
        to_torch=lambda leaves: dict(zip(START, leaves, strict=True)), not_one_to_one=merged
    )
    proof: Any = SimpleNamespace(
        port=SimpleNamespace(program=SimpleNamespace(param_paths=list("abc")), weights=weights),
        draws=[SimpleNamespace(state=START)],
        jax_gradients=[SimpleNamespace(leaves=[*GRADS.values(), np.ones(9)])],
        runs=[SimpleNamespace(grads={n: None if n in frozen else g for n, g in GRADS.items()})],
        trained=None,
        waivers=Waivers({surface: {name: "known"} for surface, name in waived}),
        torch_side=SimpleNamespace(replay=torchs),
    )
    return schedules.replay(proof, Training(sgd), 3)


@pytest.mark.parametrize(
    ("factors", "options", "expected"),
    [
        ({}, {}, None),
        ({(2, "a"): 1 + 0.9e-6 / math.cos(1)}, {}, None),  # the largest update is the first one
        ({(2, "a"): 1 + 1.1e-6 / math.cos(1)}, {}, (2, "a", 1.1e-6, False)),
        ({(2, "a"): 0.5, (2, "b"): 0.5}, {}, (2, "a", 0.5 * math.cos(1), 0.5)),
        ({(2, "a"): 0.5, (2, "b"): 0.25}, {}, (2, "b", 0.75 * math.cos(1), None)),
        ({(2, "a"): 0.5, (2, "b"): 0.5 + 0.9e-6}, {}, (2, "a", 0.5 * math.cos(1), None)),
        ({(2, "a"): 0.5, (2, "b"): 0.5 + 0.4e-6}, {}, (2, "a", 0.5 * math.cos(1), 0.5)),
        ({(2, "a"): 0.5}, {"merged": ["a"]}, None),
        ({(2, "a"): 0.5}, {"waived": [("updates", "a")]}, None),
        ({(1, "a"): 0.5}, {"frozen": ["a"]}, None),
        ({(3, "b"): float("nan")}, {}, (3, "b", float("nan"), None)),
        ({(2, "c"): 0.5}, {}, None),  # the port does not have it
    ],
)
def test_the_first_step_with_another_update_is_found(monkeypatch, factors, options, expected):
    """The gradients change their size and sign; weights that are not compared do not count."""
    found = replayed(monkeypatch, factors, **options)
    if expected is None:
        assert found is None
        return
    step, name, share, factor = expected
    assert (found.step, found.name, found.rates) == (step, name, [pytest.approx(0.1 * step)])
    assert found.share == pytest.approx(share, rel=1e-3, nan_ok=True)
    if factor is not False:
        assert found.factor == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize(
    ("step", "off", "wrong"), [(1, 0.8, 0), (1, 1.3, 1), (3, 2.7, 0), (3, 3.3, 1)]
)
def test_rounding_of_a_large_weight_is_allowed_in_each_step(monkeypatch, step, off, wrong):
    """A weight of size 1e9 may be off by 1e-6 after each step."""
    monkeypatch.setitem(START, "a", np.array([1e9, 1.0]))
    monkeypatch.setitem(GRADS, "a", np.array([0.0, 1e-9]))
    monkeypatch.setattr(
        Descent, "parameters",
        lambda self: {"a": self.weights["a"] + np.array([off * 1e-6 * (self.count == step), 0.0])},
    )  # fmt: skip
    assert (replayed(monkeypatch, {}) is not None) == bool(wrong)


def warmup(optimizer: Any) -> Any:
    return lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=10)


def warmup_and_cosine(optimizer: Any) -> Any:
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    return lr_scheduler.SequentialLR(optimizer, [warmup(optimizer), cosine], milestones=[10])


def joined(start: float) -> Any:
    """Return the port's schedule of `warmup_and_cosine`."""
    parts = [optax.linear_schedule(start, 0.1, 10), optax.cosine_decay_schedule(0.1, 20)]
    return optax.join_schedules(parts, [10])


CONSTANT = "the learning rate is 0.01 in every step, torch's schedule changes it"
RERUN = " (rerunning torch with this change reproduces JAX's weights)"
IN_THE_TRANSFORMATION = {
    "constant": (optax.sgd(0.01), {"scheduler": warmup}, CONSTANT),
    "constant, two phases": (optax.sgd(0.01), {"scheduler": warmup_and_cosine}, CONSTANT),
    "constant Adam": (optax.adam(0.01), {"scheduler": warmup_and_cosine}, CONSTANT),
    "start": (
        optax.sgd(optax.linear_schedule(0.001, 0.1, 10)), {"scheduler": warmup},
        "start_factor of the schedule is 0.01, torch uses 0.1",
    ),
    "start of two phases": (
        optax.sgd(joined(0.001)), {"scheduler": warmup_and_cosine},
        "start_factor of the schedule is 0.01, torch uses 0.1",
    ),
    "two mistakes": (
        optax.sgd(optax.join_schedules([joined(0.001), optax.constant_schedule(0.02)], [15])),
        {"scheduler": warmup_and_cosine},
        "the learning rates differ first in step 1 (steps count from 1), in which torch's is 0.01 "
        "and JAX's is 0.001",
    ),
    "right schedule, constant": (
        optax.sgd(0.01), {"scheduler": warmup_and_cosine, "schedule": joined(0.01)},
        "the optax transformation does not use the rates of schedule=: in step 2 (steps count from "
        "1) it uses 0.01, schedule= gives 0.019",
    ),
    "right schedule, another start": (
        optax.adam(joined(0.001)), {"scheduler": warmup_and_cosine, "schedule": joined(0.01)},
        "the optax transformation does not use the rates of schedule=: in step 1 (steps count from "
        "1) it uses 0.001, schedule= gives 0.01",
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("tx", "fields", "cause"), IN_THE_TRANSFORMATION.values(), ids=IN_THE_TRANSFORMATION
)
def test_a_cause_gives_the_ports_rates_in_all_steps(
    evidence: Evidence, tx: Any, fields: dict[str, Any], cause: str
):
    """torch trains as JAX does with exactly the change that is printed, in later steps too."""
    factory = adam if "Adam" in str(tx.init(np.zeros(1))) else sgd
    training = Training(factory, tx, **fields)
    finding = updated(evidence, training, 4).findings[0]
    assert finding.cause == cause + RERUN
    assert finding.tested


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, 0.1)


def test_a_schedule_that_fits_the_compared_steps_alone_is_not_confirmed(
    evidence: Evidence, monkeypatch: Any
):
    """The report says in which later step the port still differs, if the rates are not known."""
    monkeypatch.setattr(schedules, "port_rates", lambda *_: None)
    tx = optax.sgd(optax.join_schedules([halved(2), optax.constant_schedule(0.02)], [8]))
    training = Training(sgd, tx, scheduler=milestone(3), total=12)
    finding = updated(evidence, training, 4).findings[0]
    assert not finding.tested
    assert finding.cause == (
        "the schedule is one step ahead of torch's (with this change torch gives JAX's weights in "
        "4 steps; given the same gradients, step 9 still differs)"
    )
