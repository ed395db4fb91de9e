"""Axes: round ticks that hold all values, and points where they belong."""

import pytest

from parity_tests.figures import axes


@pytest.mark.parametrize("values", [(0.3, 0.7), (-8.0, 42.0), (1e-5, 3e-5), (5.0, 5.0)])
def test_a_linear_scale_holds_its_values(values):
    """All values lie between the first and the last tick, of which there are a few."""
    scale = axes.linear(values, "y")
    rounding = 1e-12 * (scale.high - scale.low)

    assert scale.low <= min(values) + rounding
    assert max(values) <= scale.high + rounding
    assert 2 <= len(scale.ticks) <= 8


def test_a_scale_with_zero_starts_at_zero():
    """Bars need a scale that contains zero; without it the scale starts near the values."""
    assert axes.linear([5, 9], "y", zero=True).low == 0
    assert axes.linear([5, 9], "y").low == 5


def test_a_logarithmic_scale_has_powers_of_ten():
    """The ends are powers of ten, and equal factors are equal distances."""
    scale = axes.logarithmic([0.4, 37.0], "y")

    assert list(scale.ticks) == pytest.approx([0.1, 1, 10, 100])
    assert scale.share(1) == pytest.approx(1 / 3)


def test_a_point_is_where_its_values_are():
    """The corner of the plot is the low end of x and the high end of y."""
    plot = axes.Axes(10, 20, 100, 50, axes.linear([0, 4], "x"), axes.linear([0, 4], "y"))

    assert plot.at(0, 4) == (10, 20)
    assert plot.at(2, 0) == (60, 70)
    assert axes.bar(plot, 0, 1, 4, "torch").startswith('<rect class="box torch" x="10" y="20"')
