"""The figure of port C shows a loss below torch's, and weights away from the true values."""

import re

import numpy as np

from parity_tests.runner.settings import ROOT
from parity_tests.site import one_lesson
from parity_tests.site.learned_values import PATH, TITLE, Curves, draw, true_values


def test_the_figure_is_current():
    """The committed figure is what `make pages` writes, and the answers and the plan show it."""
    assert PATH.read_text(encoding="utf-8") == one_lesson.figure(), "run `make pages`"
    pages = [ROOT / "docs" / name for name in ("one_lesson.md", "one_lesson_answers.md")]
    assert all(f"_static/{PATH.name}" in page.read_text(encoding="utf-8") for page in pages)


def test_the_true_values_are_those_that_the_answers_derive():
    """State B is worth its reward of 1, and state A the mean of its two returns."""
    s = np.array([[1, 0], [1, 0], [0, 1]])
    reward, next_s = np.array([[0], [-3], [1]]), np.array([[0, 1], [0, 0], [0, 0]])

    np.testing.assert_allclose(true_values(s, reward, next_s), [[-1.05], [1]], rtol=1e-6)


def test_the_title_is_true():
    """At the end the port has the lower loss, and torch alone has the true values."""
    of_torch, of_port = one_lesson.trained("C")
    true = np.array([[-1.05], [1]])
    distances = [np.linalg.norm(run.weights["w"] - true) for run in (of_torch, of_port)]

    assert "falls lower" in TITLE and of_port.last < of_torch.last
    assert "stay away" in TITLE and distances[0] < 0.01 and distances[1] > 1


def test_a_curve_has_a_point_for_each_step():
    """Both columns have torch's curve and the port's, each with all steps."""
    svg = draw(Curves([3, 2, 1], [2, 1, 0]), Curves([3, 1, 0], [2, 1, 1]))
    # the first two paths of a colour are its sign in the key and the loss
    lines = re.findall(r'class="line (torch|jax) wide" d="([^"]+)"', svg)

    assert [name for name, _ in lines] == ["torch", "jax", "torch", "jax", "torch", "jax"]
    assert [path.count("L") for _, path in lines] == [1, 1, 2, 2, 2, 2]
