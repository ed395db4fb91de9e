"""What a notebook displays: folded answers, rounded numbers, and plots that fit a dark page."""

import nbformat
import numpy as np
import pytest

from parity_tests.notebook import show as shows
from parity_tests.report import rows as rows_
from parity_tests.runner.settings import ROOT


COPIES = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_the_results_that_answer_a_question_are_folded_and_have_all_digits_below():
    """A case with a question folds its table; a table of rounded numbers has the exact ones."""
    asked, open_ = (
        shows.show(id)._repr_html_() for id in ("grad_modes/detach", "backward/simple_nn")
    )

    assert "<summary>the results</summary>" in asked
    assert "<summary>the results</summary>" not in open_
    assert "<summary>all digits</summary>" in open_


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
