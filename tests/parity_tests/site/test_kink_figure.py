"""The committed figure of docs/kinks.md shows the slopes of a run."""

import re

import torch

from jaxgrad._core.torch_versions import convention
from parity_tests.runner.settings import ROOT
from parity_tests.site import kink_figure


def test_the_figure_is_current():
    """The figure in docs/_static is the one that is drawn, and the page shows it."""
    assert kink_figure.PATH.read_text() == kink_figure.figure(), "run: make pages"
    assert f"_static/{kink_figure.PATH.name}" in (ROOT / "docs" / "kinks.md").read_text()


def test_the_frameworks_differ_at_the_bounds_alone():
    """At a bound torch's slope is 0 and JAX's a half; beside it both have the same."""
    at_bounds = kink_figure.slopes([-1.0, 1.0])
    torch, jax = kink_figure.slopes([-1.5, -0.9, 0.0, 0.9, 1.5])

    assert at_bounds == ([0.0, 0.0], [0.5, 0.5])
    assert torch == jax == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_the_slopes_are_those_of_the_installed_torch():
    """The figure has the newest version; an older torch has the slopes of its own version."""
    points = [-1.5, -1.0, 0.0, 1.0, 1.5]
    x = torch.tensor(points, requires_grad=True)
    x.clamp(-1, 1).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == kink_figure.slopes(points, convention())[0]


def test_a_dot_is_drawn_at_each_slope():
    """The height of a dot is the slope at its bound."""
    dots = re.findall(r'<circle class="(\w+)" cx="(\d+)" cy="(\d+)"', kink_figure.figure())
    heights = {(name, int(y)) for name, _, y in dots}

    assert len(dots) == 4
    assert heights == {("torch", kink_figure._y(0.0)), ("jax", kink_figure._y(0.5))}


def test_a_label_is_above_the_line_of_its_dot():
    """The slope outside of the bounds is drawn at the height of torch's dot, below the label."""
    labels = re.findall(r'<text class="(?:torch|jax)" x="\d+" y="(\d+)">', kink_figure.figure())

    assert [int(y) for y in labels] == [kink_figure._y(0.0) - 9, kink_figure._y(0.5) - 9]
