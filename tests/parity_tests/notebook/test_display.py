"""What a notebook displays: folded answers, rounded numbers, and plots that fit a dark page."""

import dataclasses

import nbformat
import numpy as np
import pytest

from jaxgrad.parity.compare import Tolerance
from parity_tests.notebook import show as shows
from parity_tests.notebook.display import place
from parity_tests.report import rows as rows_
from parity_tests.runner.observe import observe
from parity_tests.runner.settings import ROOT


COPIES = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_the_results_that_answer_a_question_are_folded_and_have_all_digits_below():
    """Below a question claim, table and verdict are folded; rounded numbers have exact ones."""
    asked = shows.show("grad_modes/detach", asked=True)._repr_html_()
    visible, folded = asked.split("<summary>the results</summary>")
    open_ = shows.show("backward/simple_nn")._repr_html_()

    assert "leaves L1 without gradients" in folded and "leaves L1 without" not in visible
    assert "equal up to rounding" in folded and "equal up to rounding" not in visible
    assert "<summary>the results</summary>" not in open_
    assert "<summary>all digits</summary>" in open_


def test_a_claim_that_the_text_above_says_is_left_out():
    """With `claim=False` neither the claim nor an empty paragraph is shown."""
    shown = shows.show("backward/simple_nn", claim=False)._repr_html_()

    assert shown.startswith("<div") and "<p></p>" not in shown


def test_the_size_of_a_difference_is_folded():
    """A first lesson says "equal up to rounding"; what an ULP is, is folded below the table."""
    visible, folded = shows.show("hooks/gradient_norms")._repr_html_().split("all digits", 1)

    assert "ULP" not in visible and "The largest difference is" in folded
    assert "An ULP is the distance between two adjacent" in folded


def test_a_verdict_names_the_rule_that_was_in_force():
    """A coarse difference is judged by torch's own error or by a tolerance, and is not rounding."""
    shown = shows.show("precision/autocast_scan")
    cell = observe("precision/autocast_scan", None, None, 0)
    loose = dataclasses.replace(cell.case, tolerance=Tolerance(0.02, "an approximate kernel"))

    assert shown.verdict == "✓ within 3 times torch's own bfloat16 error (float32, jit)"
    assert "the rounding to bfloat16 alone is 0.004" in shown.detail and "ULP" not in shown.detail
    assert all(leaf.difference <= leaf.allowed for leaf in cell.result.leaves)
    assert max(leaf.oracle_ratio or 0 for leaf in cell.result.leaves) > 1  # above torch's own error
    assert shows._sentence(cell.result, loose) == (
        "✓ within 0.02 of the largest element (float32, jit): an approximate kernel"
    )


def test_a_place_is_named_as_in_torch():
    """A layer and its parameter are joined by a dot, the other steps by commas."""
    assert place("nothing/recorded/l1/weight") == "nothing, recorded, l1.weight"
    assert place("params/0/l1/bias") == "params, 0, l1.bias"
    assert place("weight") == "weight" and place("grads/bias/0") == "grads, bias, 0"


def test_results_of_one_framework_stand_below_the_error_of_the_other():
    """Where torch raises and JAX returns several results, they follow the row of the error."""
    rows = shows.show("grad_modes/inference_mode").rows
    names = [row[0] for row in rows]
    error = rows[names.index("forward")]

    assert error[1].startswith("RuntimeError") and error[3] == shows.BELOW
    assert names[names.index("forward") + 1] == "forward/loss"
    assert rows[names.index("forward/grads/l2/weight")][3].startswith("[[")


def test_numbers_have_three_digits_unless_different_values_would_look_the_same():
    """Two values that differ in the fifth digit are shown with five."""
    same, near = np.array([1.23456789]), np.array([1.2349])
    texts = [
        next(rows_.compared([{"a": same}, {"a": other}], "float64", "*", 3))
        for other in (same, near)
    ]

    assert texts[0] == ("a", "[1.23]", "=", "[1.23]")
    assert texts[1] == ("a", "[1.2346]", "≠", "[1.2349]")


@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.stem)
def test_no_picture_of_a_notebook_is_white_on_a_dark_page(path):
    """A plot is an SVG that follows the colour scheme; a PNG of matplotlib has a white ground."""
    for cell in nbformat.read(path, as_version=4).cells:
        data = [out.get("data", {}) for out in cell.get("outputs", [])]
        assert not any("image/png" in kinds for kinds in data), cell.source
        if "\nplot(" in cell.source:
            assert any("prefers-color-scheme:dark" in d.get("image/svg+xml", "") for d in data)
