"""`accept=` waives known differences, reports them, and fails once nothing differs any more."""

from typing import Any

import jax.numpy as jnp
import jsonschema
import numpy as np
import optax
import pytest
import torch
from torch import nn

from jaxgrad.parity import REPORT_SCHEMA, Finding, Report, Surface, Training, prove
from jaxgrad.parity.prove.judge import Judged, judge
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.waivers import Waivers, as_waivers, fits
from tests.jaxgrad.parity.prove._helpers import arrays, draw, proved


@pytest.mark.parametrize(
    ("accept", "text"),
    [
        (3, "accept= needs a dict of dicts"),
        ({"updates": "*"}, "accept={'updates': ...} needs a dict from patterns to reasons"),
        ({"backward": {"*": "known"}}, "names the surface 'backward', but differences can be"),
        ({"update": {"*": "known"}}, "structure, forward, gradients, updates and precision"),
        ({"updates": {"*": ""}}, "needs a reason for each pattern"),
        ({"updates": {3: "known"}}, "needs a reason for each pattern"),
        ({"updates": {"*": ("known", 1e-5, 2)}}, "needs a reason for each pattern"),
        ({"updates": {"*": ("known", -1.0)}}, "difference as a positive number after the reason"),
        ({"updates": {"*": ("known", "1")}}, "difference as a positive number after the reason"),
        ({"structure": {"*": ("known", 0.1)}}, "has the bound 0.1, but a difference on this surf"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused(accept: Any, text: str):
    """The sentence names the surface and shows an example."""
    with pytest.raises(ProofError) as error:
        as_waivers(accept)
    assert text in str(error.value)


def test_a_pattern_fits_a_leaf_or_a_compared_value():
    """A pattern may name the leaf, or one of the values that are compared for it."""
    assert fits("head.weight", "exp_avg of head.weight after step 2")
    assert fits("exp_avg of *", "exp_avg of head.weight")
    assert fits("* after step 1", "head.weight after step 1")
    assert not fits("* after step 1", "head.weight after step 2")
    assert not fits("weight", "head.weight")


def test_only_failures_that_are_named_are_accepted():
    """Other failures, and equal values, keep their verdict."""
    x = np.array([1.0, 2.0])
    judged = [judge("a", x, 2 * x), judge("b", x, 2 * x), judge("a.b", x, x)]
    waived = Waivers({"updates": {"a*": "known"}}).apply("updates", judged)
    assert [j.verdict for j in waived] == ["accepted", "fail", "pass"]
    assert Waivers({"forward": {"a*": "known"}}).apply("updates", judged) == judged


def test_a_bound_accepts_no_larger_difference():
    """The largest bound of the patterns that name a value counts."""
    x = np.array([1.0, 2.0])
    judged = [judge("a", x, (1 + off) * x) for off in (1e-6, 1e-4)]
    for bounds, verdicts in (
        ({"a": 1e-5}, ["accepted", "fail"]),
        ({"a": 1e-3}, ["accepted", "accepted"]),
        ({"a": 1e-5, "*": 1e-3}, ["accepted", "accepted"]),
        ({"a": 1e-9}, ["fail", "fail"]),
    ):
        accept = {"updates": {name: ("known", bound) for name, bound in bounds.items()}}
        waivers = as_waivers(accept)
        assert [j.verdict for j in waivers.apply("updates", judged)] == verdicts
        assert waivers.most("updates", "a") == max(bounds.values())
    assert as_waivers({"updates": {"a": "known"}}).most("updates", "a") == np.inf
    assert as_waivers({"updates": {"a": "known"}}).most("updates", "b") == 0.0


def test_a_value_that_is_not_finite_is_accepted_only_without_a_bound():
    """NaN is no larger than a bound, and no smaller."""
    judged = [Judged("a", "fail", float("nan"), 0.0, 1.0)]
    for given, verdict in (("known", "accepted"), (("known", 0.5), "fail")):
        (row,) = as_waivers({"updates": {"a": given}}).apply("updates", judged)
        assert row.verdict == verdict


def clipped(rate: float) -> Report:
    """Return the report of optax's clipping, which lacks torch's 1e-6, at a learning rate."""
    torch.manual_seed(0)
    module = nn.Linear(3, 1)
    return prove(
        module,
        lambda p, x: x @ p["weight"].T + p["bias"],
        arrays(module),
        (draw(5, 3),),
        loss=(lambda y: (y**2).mean(), lambda y: (y**2).mean()),
        optimizer=Training(
            lambda p: torch.optim.SGD(p, 0.1),
            optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(rate)),
            clip=0.1,
        ),
        steps=2,
        accept={"updates": {"*": ("optax clips without torch's 1e-6", 1e-4)}},
    )


def test_what_exceeds_a_bound_fails():
    """The difference of the clipping is accepted, and twice the learning rate is not."""
    right = clipped(0.1)
    assert right.verdict == "pass", str(right)
    text = right.surfaces["updates"].text
    assert "steps agree within the accepted bounds" in text
    (note,) = [note for note in right.notes if note.startswith("accepted")]
    assert "of at most 0.0001, because: optax clips without torch's 1e-6" in note
    wrong = clipped(0.2)
    assert wrong.verdict == "fail" and wrong.first is not None
    assert wrong.first.text.startswith("the weight's change after step 1 is off by 1 "), wrong.first


def structure(*names: str) -> dict[str, Judgement]:
    findings = tuple(Finding("structure", name, "leaf", "is not trained") for name in names)
    verdict = "fail" if names else "pass"
    return {"structure": Judgement(Surface("structure", verdict, "", findings=findings))}


def test_findings_of_the_structure_are_accepted_by_name():
    """A finding that is accepted no longer fails; the others still do."""
    waivers = Waivers({"structure": {"a.*": "frozen on purpose"}})
    judgement = waivers.settle(structure("a.weight"))["structure"]
    assert judgement.surface.verdict == "pass"
    assert "'a.*', 1 value, because: frozen on purpose" in judgement.notes[0]
    judgement = waivers.settle(structure("a.weight", "b"))["structure"]
    assert judgement.surface.verdict == "fail"
    assert [f.torch for f in judgement.surface.findings] == ["b"]
    judgement = waivers.settle(structure())["structure"]
    assert judgement.surface.verdict == "fail"
    assert "nothing like it differs" in judgement.surface.findings[0].text


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def batch_norm(biased: bool) -> Any:
    def apply(p: Any, x: Any) -> Any:
        mean, var = x.mean(0), x.var(0)
        y = (x - mean) / jnp.sqrt(var + 1e-5) * p["norm.weight"] + p["norm.bias"]
        kept = var if biased else var * len(x) / (len(x) - 1)
        state = {
            "norm.running_mean": 0.9 * p["norm.running_mean"] + 0.1 * mean,
            "norm.running_var": 0.9 * p["norm.running_var"] + 0.1 * kept,
        }
        return y, state

    return apply


@pytest.mark.sampled(3)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("pattern", ["*running_var", "*running_mean", "*.running_max", None])
def test_a_known_deviation_of_a_buffer_is_accepted(biased: bool, pattern: str | None):
    """A biased variance passes if it is accepted; a waiver without a difference fails."""
    module = Normed().train()
    params = {k: x for k, x in arrays(module).items() if x.ndim}
    accept = None if pattern is None else {"updates": {pattern: "flax's variance is biased"}}
    report: Any = prove(
        module, batch_norm(biased), params, (draw(8, 3),), has_state=True, accept=accept
    )
    if (biased and pattern == "*running_var") or (not biased and pattern is None):
        assert report.verdict == "pass", report
    else:
        assert report.verdict == ("error" if pattern == "*.running_max" else "fail"), report
    if biased and pattern == "*running_var":
        (note,) = (n for n in report.notes if "accepted" in n)
        assert "'*running_var', 1 value, off by up to" in note
        assert "because: flax's variance is biased" in note and note in str(report)
        assert Report.from_dict(report.to_dict()).notes == report.notes
        jsonschema.validate(report.to_dict(), REPORT_SCHEMA)
        verdicts = {row["name"]: row["verdict"] for row in report.surfaces["updates"].rows}
        assert verdicts["norm.running_var"] == "accepted"
    elif pattern == "*.running_max":
        assert report.text == (
            "accept={'updates': ...}: the pattern '*.running_max' matches no name of this surface. "
            "The nearest names are 'norm.running_var', 'norm.running_mean', "
            "'norm.num_batches_tracked' and 'norm.weight', of 5"
        )
    elif not biased and pattern is not None:
        assert report.first.torch == pattern
        assert "agrees now: remove this pattern" in report.first.text
        assert "accept= is out of date: updates\n" in str(report)
        assert report.surfaces["updates"].text.endswith("accept= is out of date")


@pytest.mark.slow
def test_accepted_updates_are_left_out_of_later_steps(arguments: dict[str, Any]):
    """A weight that JAX does not decay is accepted in every step, replayed steps included."""
    mask = {name: name != "norm.weight" for name in arguments["params"]}
    tx = optax.adamw(1e-3, weight_decay=1e-2, mask=mask)
    optimizer = (lambda p: torch.optim.AdamW(p, 1e-3), tx)
    assert proved(arguments, optimizer=optimizer).first.torch == "norm.weight"
    accept = {"updates": {"norm.weight": "we do not decay norms"}}
    report = proved(arguments, optimizer=optimizer, accept=accept)
    assert report.verdict == "pass", report


def test_accepted_outputs_and_gradients_pass(arguments: dict[str, Any]):
    """An output or a gradient that differs is accepted by its name, and others are not."""
    halved = {"head.bias": "halved on purpose"}

    def scaled(p: Any, x: Any) -> Any:
        bias = 0.5 * p["head.bias"] + 0.5 * np.asarray(arguments["params"]["head.bias"])
        return arguments["fn"](p | {"head.bias": bias}, x)

    report = proved(arguments, fn=scaled, accept={"gradients": halved})
    assert report.first is None or report.first.torch != "head.bias"
    report = proved(arguments, fn=scaled, accept={"gradients": {"inner.bias": "wrong name"}})
    assert report.verdict == "fail"
    report = proved(arguments, fn=scaled, accept={"gradients": {"head.bais": "misspelt"}})
    assert report.verdict == "error" and report.text.startswith(
        "accept={'gradients': ...}: the pattern 'head.bais' matches no name of this surface. The "
        "nearest names are 'head.bias', "
    )


def test_accepted_updates_need_an_update(arguments: dict[str, Any]):
    """A waiver of updates that nothing compares is an error, unless something else fails."""
    accept = {"updates": {"head.bias": "known"}}
    report = proved(arguments, accept=accept)
    assert report.verdict == "error"
    assert report.text == (
        "accept={'updates': ...} names 'head.bias', but no update is compared: the forward pass "
        "changes nothing, and no optimizer= was given. Pass optimizer=, or remove this pattern"
    )
    wrong = proved(arguments, fn=lambda p, x: 2 * arguments["fn"](p, x), accept=accept)
    assert wrong.verdict == "fail"


def test_a_pattern_may_name_a_moment_of_a_weight(arguments: dict[str, Any]):
    """A pattern of a moment that is not compared yet is not misspelt."""
    waivers = Waivers({"updates": {"exp_avg of head.*": "known"}})
    waivers.check("updates", ["head.bias", "head.bias after step 1"])
    with pytest.raises(ProofError, match="The names are 'inner.bias'"):
        waivers.check("updates", ["inner.bias"])
    waivers.check("gradients", ["inner.bias"])


def row(name: str, verdict: str = "accepted", difference: float = 0.5) -> dict[str, Any]:
    return {"name": name, "verdict": verdict, "difference": difference}


def settled(
    *rows: dict[str, Any], verdict: str = "pass", findings: Any = (), **reasons: str
) -> Any:
    surface = Surface("updates", verdict, "text", rows, findings)
    return Waivers({"updates": reasons}).settle({"updates": Judgement(surface)})["updates"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([row("w")], "'w', 1 value, off by up to 0.5 (relative to their scale), because: known"),
        ([row("w"), row("v", difference=0.75), row("w after step 1")],
         "'w', 2 values, off by up to 0.5 (relative to their scale), because: known"),
        ([row("w"), row("w", "pass", 2.0)], "'w', 1 value, off by up to 0.5"),
    ],
    ids=["one", "two", "equal"],
)  # fmt: skip
def test_accepted_values_are_counted(rows, text):
    """The note counts the accepted values that fit, with the largest difference."""
    judgement = settled(*rows, w="known")
    assert judgement.surface.verdict == "pass" and text in judgement.notes[0]


@pytest.mark.parametrize(
    ("verdict", "findings", "count"),
    [("pass", (), 1), ("fail", (), 1), ("fail", (Finding("updates", "x", "x", "differs"),), 1)],
    ids=["pass", "no finding", "another finding"],
)
def test_a_pointless_waiver_fails_unless_something_else_does(verdict, findings, count):
    """A surface with a finding of its own keeps it alone."""
    surface = settled(row("w", "pass"), verdict=verdict, findings=findings, w="known").surface
    assert surface.verdict == "fail" and len(surface.findings) == count
    assert surface.text == ("text" if findings else "text; accept= is out of date")


def test_a_surface_that_was_not_judged_keeps_its_waivers():
    """A waiver of a surface that was not judged is not out of date."""
    assert settled(verdict="not judged", w="known").surface.verdict == "not judged"


def test_a_surface_without_waivers_is_unchanged():
    """Waivers of another surface change nothing, and only listed findings are waived by name."""
    judgements = structure("a")
    waivers = Waivers({"updates": {"a": "known"}})
    assert waivers.settle(judgements) == judgements
    assert waivers.names("updates", "a") and not waivers.names("forward", "a")
    finding = (Finding("updates", "w", "x", "differs"),)
    surface = settled(verdict="fail", findings=finding, w="known").surface
    assert surface.findings == finding and surface.verdict == "fail"


def test_nothing_that_is_accepted_is_said_to_agree():
    """The optimizers have different rates, and no text speaks of equal weights."""
    torch.manual_seed(0)
    module = nn.Linear(3, 1)

    def updates(pattern: str) -> Report:
        return prove(
            module,
            lambda p, x: x @ p["weight"].T + p["bias"],
            arrays(module),
            (draw(5, 3),),
            optimizer=(lambda p: torch.optim.Adam(p, 1e-3), optax.adam(2e-3)),
            steps=2,
            accept={"updates": {pattern: "known"}},
        )

    every = updates("*")
    assert every.verdict == "pass"
    text = every.surfaces["updates"].text
    for part in (
        "2 steps, weights are all accepted; ",
        "given the same gradients, no step is compared, because all weights are accepted",
        "float32 is not compared: every value is zero, or accepted",
    ):
        assert part in text, text
    assert not any("equal in exact arithmetic" in note for note in every.notes)
    assert updates("*weight").verdict == "fail", "the bias is not accepted"


@pytest.mark.parametrize(
    ("factor", "text"),
    [((2, 1), "other outputs are bit-identical; "), ((2, 3), "outputs are all accepted; ")],
)
def test_outputs_that_are_accepted_are_not_said_to_agree(factor, text):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x), x + 1

    def port(p: Any, x: Any) -> Any:
        outputs = x @ p["layer.weight"].T + p["layer.bias"], x + 1
        return tuple(k * y for k, y in zip(factor, outputs, strict=True))

    module = Both()
    report = prove(module, port, arrays(module), (draw(5, 3),), accept={"forward": {"*": "known"}})
    assert report.surfaces["forward"].text.startswith(text)
