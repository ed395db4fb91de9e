"""Reports can be written as text and as JSON."""

import dataclasses
import json

import pytest

from jaxgrad.parity import Finding, Report, Surface
from jaxgrad.parity.prove.report import overall_verdict


def test_a_report_survives_json():
    """`from_dict` restores a report from its JSON."""
    report = Report("fail", {"forward": Surface("forward", "fail", "", ({"name": "w"},))})
    finding = Finding("forward", "fc", "net.py:3", "off", (0, 1), 1.5, 2.5)
    report = dataclasses.replace(report, first=finding, notes=("a note",))

    assert Report.from_dict(json.loads(report.to_json())) == report


def test_a_failing_report_raises_its_text():
    """`check` raises an AssertionError with the whole report."""
    report = Report("fail", {"forward": Surface("forward", "fail", "output is off")}, name="Net")

    with pytest.raises(AssertionError, match="(?s)FAIL  Net.*forward +fail +output is off"):
        report.check()


def test_a_finding_states_both_values_and_the_cause():
    """A finding's text contains its location, both values and the likely cause."""
    finding = Finding("forward", "fc", "net.py:3", "it differs", (0, 1), 1.5, 2.5,
                      cause="the bias is missing", op="linear")  # fmt: skip

    assert str(finding).splitlines() == [
        "first divergence: forward, originates here",
        "  torch: fc (linear) | jax: net.py:3",
        "  it differs",
        "  at [0, 1]: torch gives 1.5, JAX gives 2.5",
        "  likely cause: the bias is missing",
    ]


def test_unmatched_modules_are_listed():
    """At most eight unmatched torch modules are listed by name."""
    text = str(Report("pass", {}, not_visible=tuple("abcdefghij")))

    assert (
        "torch modules without a matching JAX value (fused or inlined; not an error): "
        "a, b, c, d, e, f, g, h and 2 more"
    ) in text


def test_an_error_judges_nothing():
    """An error report has a text, and no surface has a verdict."""
    report = Report.error("fn is int", "int | fn", {"torch": 0.5})

    assert {surface.verdict for surface in report.surfaces.values()} == {"not judged"}
    assert str(report).startswith("ERROR  int | fn\nfn is int")


@pytest.mark.parametrize(
    ("verdicts", "overall"),
    [
        (["pass", "inconclusive", "not judged"], "inconclusive"),
        (["pass", "fail", "inconclusive"], "fail"),
        (["pass", "not judged"], "pass"),
        (["not judged"], "error"),
    ],
)
def test_the_worst_verdict_counts(verdicts, overall):
    """The overall verdict is the worst of the judged surfaces."""
    surfaces = {str(i): Surface(str(i), verdict, "") for i, verdict in enumerate(verdicts)}

    assert overall_verdict(surfaces) == overall


def test_json_holds_infinities_as_words():
    """Infinities and complex numbers become strings in JSON."""
    rows = ({"name": "w", "difference": float("inf"), "torch": 1 + 2j},)
    report = Report("fail", {"forward": Surface("forward", "fail", "", rows)})

    assert report.to_dict()["surfaces"]["forward"]["rows"][0] == {
        "name": "w",
        "difference": "inf",
        "torch": "(1+2j)",
    }
