"""Reports can be written as text and as JSON."""

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity import Finding, Report, Surface
from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.report import _plain, headline, overall_verdict, sentence


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
                      cause="the bias is missing", tested=True, op="linear")  # fmt: skip

    assert str(finding).splitlines() == [
        "first divergence: forward, originates here",
        "  torch: fc (linear) | jax: net.py:3",
        "  it differs:",
        "  at [0, 1]: torch gives 1.5, JAX gives 2.5",
        "  likely cause: the bias is missing",
    ]


def test_a_cause_that_no_rerun_confirmed_is_an_observation():
    """A report does not call it a cause."""
    finding = Finding("gradients", "fc", "net.py:3", "it differs", cause="it is torch's times 2")
    assert str(finding).splitlines()[-1] == "  observation: it is torch's times 2"


def test_unmatched_modules_are_listed():
    """At most eight unmatched torch modules are listed by name."""
    text = str(Report("pass", {}, not_visible=tuple("abcdefghij")))

    assert (
        "torch modules without a matching JAX value (a right port may fuse or inline them): "
        "a, b, c, d, e, f, g, h and 2 more"
    ) in text


def test_a_wrong_attribute_of_a_report_has_a_suggestion():
    """A misspelt name, and a name such as `write_html`, lead to the method."""
    report = Report.error("text", "name")
    for name, method in (
        ("write_html", "to_html"), ("save_json", "to_json"), ("to_htm", "to_html"),
        ("surface", "surfaces"), ("verdit", "verdict"), ("objectiv", "objective"),
    ):  # fmt: skip
        with pytest.raises(
            AttributeError, match=f"no attribute '{name}'; did you mean .*'{method}'"
        ):
            getattr(report, name)
    with pytest.raises(AttributeError, match="a Report has no attribute 'zzz'$"):
        getattr(report, "zzz")  # noqa: B009
    assert not hasattr(report, "_repr_html_") and pickle.loads(pickle.dumps(report)) == report


def test_a_report_is_not_written_to_a_missing_folder(tmp_path):
    report = Report.error("text", "name")
    for write in (report.to_html, report.to_json):
        with pytest.raises(FileNotFoundError, match="cannot be written: there is no folder"):
            write(tmp_path / "absent" / "report")


def test_an_error_judges_nothing():
    """An error report has a text, and no surface has a verdict."""
    report = Report.error("fn is int", "int | fn", {"torch": 0.5})

    assert {surface.verdict for surface in report.surfaces.values()} == {"not judged"}
    assert str(report).startswith("ERROR  int | fn\nfn is int")


def test_what_is_not_judged_prints_its_reason_alone():
    """A control of a comparison that was not made says nothing, and neither does an empty line."""
    report = Report(
        "fail",
        {
            "forward": Surface("forward", "fail", "off", control="an error was detected"),
            "backward": Surface("backward", "not judged", "no gradient differs", control="unused"),
            "updates": Surface("updates", "not judged", ""),
        },
    )
    assert str(report).splitlines()[1:] == [
        "  forward    fail         off",
        f"  {'':<10} {'':<12} negative control: an error was detected",
        "  backward   not judged   no gradient differs",
    ]


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


def report(verdict: str, **fields: Any) -> Report:
    return Report(verdict, {}, name="Net", **fields)


PASSES = (
    "PASS: your port has torch's gradients, with your weights and inputs and with redrawn ones."
)
PASS, FAIL, ERROR, OPEN = map(report, ("pass", "fail", "error", "inconclusive"))


@pytest.mark.parametrize(
    ("reports", "text"),
    [
        ([], "There are no proofs."),
        ([PASS], PASSES),
        ([PASS, PASS], "All 2 ports have torch's gradients at the inputs that were compared."),
        ([PASS, FAIL], "1 of 2 ports differs from torch."),
        ([FAIL, FAIL, PASS], "2 of 3 ports differ from torch."),
        ([OPEN, ERROR, ERROR], "2 of 3 ports could not be compared; 1 could not be decided."),
        ([FAIL, OPEN], "1 of 2 ports differs from torch; 1 could not be decided."),
    ],
)
def test_reports_are_summarised_in_one_sentence(reports, text):
    """The sentence counts the ports that do not pass, the worst verdict first."""
    assert headline(reports) == text


def test_a_pass_says_what_was_compared():
    """Each surface names what it compared; several reports name what all of them compared."""
    forward, gradients = (Surface(name, "pass", "") for name in ("forward", "gradients"))
    updates = Surface("updates", "pass", "", compared=("state", "weights after 3 training steps"))
    skipped = Surface("updates", "not judged", "", compared=("state",))
    all_three, two = (
        Report("pass", {x.name: x for x in (forward, gradients, last)})
        for last in (updates, skipped)
    )
    nouns = "outputs, gradients, state and weights after 3 training steps"
    assert headline([all_three]).startswith(f"PASS: your port has torch's {nouns}, with your")
    assert headline([two]).startswith("PASS: your port has torch's outputs and gradients, with")
    assert "All 2 ports have torch's outputs and gradients at" in headline([all_three, two])
    assert Report.from_dict(json.loads(all_three.to_json())) == all_three


FIRST = Finding("gradients", "fc", "net.py:3", "it differs", op="linear")


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (OPEN, "INCONCLUSIVE: rounding alone causes too large a difference to decide."),
        (ERROR, "ERROR: the comparison could not be run."),
        (FAIL, "FAIL: your port's gradients differ from torch's."),
        (report("fail", first=FIRST),
         "FAIL: your port differs from torch, first on the gradients surface: "
         "in torch at fc (linear), in the port at net.py:3."),
        (report("fail", first=dataclasses.replace(FIRST, torch_line="m.py:8")),
         "FAIL: your port differs from torch, first on the gradients surface: "
         "in torch at linear, m.py:8, in the port at net.py:3."),
        (report("fail", first=dataclasses.replace(FIRST, jax="")),
         "FAIL: your port differs from torch, first on the gradients surface: "
         "in torch at fc (linear)."),
        (Report("pass", {}), PASSES),
        (Report("pass", {x: Surface(x, "not judged", "") for x in ("backward", "updates")}),
         f"{PASSES[:-1]} (updates: not judged)."),
    ],
)  # fmt: skip
def test_a_verdict_is_one_sentence(one, text):
    """Each verdict has a sentence, and a failing one says where it differs first."""
    assert sentence(one) == text


@pytest.mark.parametrize(("count", "end"), [(8, "g, h"), (9, "g, h and 1 more")])
def test_only_more_than_eight_modules_are_counted(count, end):
    """The eighth name is the last one that is shown."""
    text = str(Report("pass", {}, not_visible=tuple("abcdefghij")[:count]))
    assert text.endswith(f" {end}")


def test_the_seconds_of_short_steps_are_only_summed():
    """A step is listed from a twentieth of a second on."""
    text = str(Report("pass", {}, seconds={"torch": 1.25, "trace": 0.05, "judge": 0.04}))
    assert text.endswith("1.3 s: torch 1.2, trace 0.1")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ((None, None), None),
        ((1.0, None), "  torch gives 1.0, JAX gives None"),
        ((None, 2.0), "  torch gives None, JAX gives 2.0"),
    ],
)
def test_a_value_of_one_framework_is_shown(values, line):
    """The values are left out only if there are none; a scalar has no index."""
    finding = Finding("forward", "fc", "", "x", torch_value=values[0], jax_value=values[1])
    assert str(finding).splitlines()[3:] == ([line] if line else [])


def test_the_code_is_shown_with_a_change_or_alone():
    """A suggested change contains the code, which is shown without it otherwise."""
    finding = Finding("forward", "fc", "net.py:3", "x", source="net.py:3: y = sin(x)",
                      originates=False, torch_line="model.py:8")  # fmt: skip
    assert str(finding).splitlines()[:2] == [
        "difference: forward, follows from the first divergence",
        "  torch: fc, model.py:8 | jax: net.py:3"
    ]  # fmt: skip
    assert str(finding).splitlines()[3:] == ["  JAX code: net.py:3: y = sin(x)"]
    edit = Edit("net.py", 3, "y = sin(x)", "y = cos(x)")
    changed = dataclasses.replace(finding, edit=edit)
    assert str(changed).splitlines()[3:] == [
        "  suggested change in net.py:3", "    - y = sin(x)", "    + y = cos(x)"
    ]  # fmt: skip
    again = dataclasses.replace(changed, edit=dataclasses.replace(edit, complete=False))
    lines = again.headed("next divergence: forward", above=[changed]).splitlines()
    assert lines[3:] == ["  the change in net.py:3 above is for this too"]
    other = dataclasses.replace(changed, edit=dataclasses.replace(edit, line=4))
    assert len(other.headed("next divergence: forward", above=[changed]).splitlines()) == 6


@pytest.mark.parametrize(
    ("x", "plain"),
    [(np.float32(0.5), 0.5), (np.int64(3), 3), (float("nan"), "nan"), ((1, [True]), [1, [True]]),
     ({1: None}, {"1": None}), (np.complex64(1j), "1j"), (FIRST, str(FIRST)), ("a", "a")],
)  # fmt: skip
def test_plain_values_are_those_of_json(x, plain):
    """Numbers of numpy become Python's, and objects their text."""
    assert _plain(x) == plain and type(_plain(x)) is type(plain)


def test_a_wrong_update_is_not_a_place_in_the_model():
    """The sentence names the update of a weight; a learning rate is a place in torch."""
    rows = ({"name": "tok.weight", "verdict": "fail"},)
    for torch, words in (
        ("tok.weight", "first on the updates surface: in the update of tok.weight."),
        ("the learning rate", "in torch at the learning rate, in the port at tok.weight."),
    ):
        first = Finding("updates", torch, "tok.weight", "off")
        report = Report("fail", {"updates": Surface("updates", "fail", "", rows)}, first)
        assert sentence(report).endswith(words)
