"""The sample pages that the README and the site link to."""

import re

import pytest
import torch

from jaxgrad.parity.prove.report import render
from parity_tests.case import load
from parity_tests.runner.settings import ROOT
from parity_tests.site.sample_proof import FIXED, PAGE, fixed, program, proof, proof_and_names
from tests._browser import problems


REPORT = ROOT / "docs" / "_static" / "report.html"
VOLATILE = re.compile(r"-?\d+\.\d+(e-\d+)?|(?<= · )\w+ \S+$", re.MULTILINE)  # numbers, versions

# JAX releases and CPUs round differently: a difference of a few ulp, and where it is largest.
ROUNDING = re.compile(
    r'(<td data-of="relative difference">)(?:0|[\d.]+e-1[5-9])'
    r'(</td><td data-of="allowed">1e-1[02]</td>)'
    r'(?:<td data-of="largest at">[^<]*</td>)?'
)


def _text(page: str) -> str:
    rounded = ROUNDING.sub(r"\1rounding\2", page)
    rounded = re.sub(r"within (?:0\b|[\d.]+e-1[5-9])", "within rounding", rounded)
    return VOLATILE.sub("#", re.sub(r"<p class=\"dim\">.*?</p>", "", rounded, flags=re.DOTALL))


def test_the_sample_proof_is_current():
    """The committed pages are what `prove` writes now, before and after the suggested change."""
    report = proof(program())
    mended = proof(fixed(program(), report))

    assert report.verdict == "fail" and set(report.listings) == {"torch", "jax"}
    assert mended.verdict == "pass"
    assert _text(PAGE.read_text(encoding="utf-8")) == _text(render([report])), "run: make pages"
    assert _text(FIXED.read_text(encoding="utf-8")) == _text(render([mended])), "run: make pages"


def test_the_gradients_of_a_scalar_output_are_its_own():
    """The page shows the gradients of the loss that the program returns."""
    report, names = proof_and_names(program())
    model = names["model"].double()
    state, next_state = map(torch.tensor, (names["state"], names["next_state"]))
    model(state, torch.ones(5, 1), next_state).backward()
    rows = {row["name"]: row for row in report.surfaces["gradients"].rows}

    assert rows["l2.bias"]["torch"] == pytest.approx(model.l2.bias.grad.item(), rel=1e-12)
    assert rows["input 2"]["torch"] is None and rows["input 2"]["argument"] == "next_state"


def test_the_sample_proof_lists_the_cotangents_from_the_loss_backwards():
    """torch has none in the detached branch, whose first one differs in a right port too."""
    rows = proof(program()).surfaces["backward"].rows
    verdicts = [row["verdict"] for row in rows]

    assert verdicts == ["pass"] * 6 + ["harmless"] + ["fail"] * 3
    assert [row["torch"] is None for row in rows] == [False] * 6 + [True] * 4
    assert rows[0]["name"] == "pow, example.py:26 (integer_pow)"
    assert (
        rows[7]["name"]
        == "l2 (linear), call 1 of 2, example.py:21, called from example.py:25 (add)"
    )


def test_the_numbers_of_the_first_divergence_are_those_of_a_row():
    """The box names the call that the gradient comes from; the text and the table name its value.

    The table counts its verdicts, and says why a cotangent may differ in a right port.
    """
    report, page = proof(program()), PAGE.read_text(encoding="utf-8")
    row = report.surfaces["backward"].rows[7]
    assert report.first is not None and report.first.jax_value is not None
    assert row["jax"] == pytest.approx(abs(report.first.jax_value))
    assert "l2 (linear), call 1 of 2" in report.first.text and "l2 (linear), call 1" in row["name"]
    assert "The numbers are those of the element of this gradient that differs most" in page
    assert "cotangent of the output of" in page
    start = "gradient in JAX only (start of the wrong path)"
    assert f"backward: 10 values compared: 6 pass, 1 {start}, 3 fail" in page
    assert f"1 more: {start}" in page
    assert "torch does not record the operation, so it has no cotangent" in page


def test_a_consequence_is_not_an_origin():
    """The wrong gradient of `l2.bias` follows from the first divergence, and 5 gradients differ."""
    report, page = proof(program()), PAGE.read_text(encoding="utf-8")
    (finding,) = report.surfaces["gradients"].findings

    assert report.first is not None and report.first.originates
    assert finding.torch == "l2.bias" and not finding.originates
    assert str(finding).startswith("difference: gradients, follows from the first divergence")
    assert page.count("originates here") == page.count("follows from the first divergence") == 1
    assert "gradients: details of 1 of the 5 values that differ" in page


def test_the_row_that_the_headline_names_is_the_start_of_the_wrong_path():
    """torch has no gradient at the place that the headline names, so its row is not harmless."""
    page = PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(r'<tr class="v-inconclusive"><td>(.*?)</td><td [^>]*>(.*?)</td>', page)

    assert row == ("mul, example.py:25 (mul)", "gradient in JAX only (start of the wrong path)")
    assert "in the port at example.py:25 (mul)" in page and ">harmless<" not in page


def test_the_gradients_of_a_right_port_and_the_programs_of_a_wrong_one_are_open():
    """A reader of the right port sees the numbers that agree, and of a wrong one the lines."""
    opened, wrong = (
        re.findall("<details open><summary>([^<]*)</summary>", page.read_text(encoding="utf-8"))
        for page in (FIXED, PAGE)
    )

    assert opened[0].startswith("gradients: 6 values compared") and "both programs" not in opened
    assert wrong == ["both programs, with the lines that it names marked"]


def test_the_sample_report_has_every_behaviour_of_its_themes():
    """The committed report page shows each behaviour of the themes in `make pages`."""
    page = REPORT.read_text(encoding="utf-8")
    (themes,) = re.findall(r"-m parity_tests (.*) --html docs/_static/report", _makefile())
    ids = [id for id, case in load().items() if case.theme in themes.split()]

    assert len(ids) > 10
    assert [id for id in ids if id not in page] == []
    assert "deviation" in page


@pytest.mark.parametrize("path", [PAGE, FIXED, REPORT], ids=lambda path: path.name)
def test_a_sample_is_small_and_linked_from_both_entrances(path):
    """A sample has less than a megabyte; the README and the site's start page link to it."""
    assert path.stat().st_size < 1_000_000
    assert f"](docs/_static/{path.name})" in (ROOT / "README.md").read_text()
    assert f"_static/{path.name}" in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", [PAGE, FIXED], ids=lambda path: path.name)
def test_the_sample_proof_can_be_read(browser, path):
    """The page fits each width, has contrast, and is reached by keyboard."""
    assert problems(browser, path) == []


def _makefile() -> str:
    return (ROOT / "Makefile").read_text()
