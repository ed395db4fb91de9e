"""Tests of the optax differences table: every row is measured again, and the page is current."""

import dataclasses
import math
import pathlib

import pytest

from parity_tests.audits import optax_deltas as deltas


PAGE = pathlib.Path(__file__).parents[3] / "benchmarks" / "OPTIM_DELTAS.md"


@pytest.mark.sampled(9)
@pytest.mark.parametrize("delta", deltas.DELTAS, ids=lambda delta: delta.name)
def test_delta(delta):
    """The measured difference equals the recorded one; otherwise torch or optax has changed."""
    difference = delta.measure()

    assert delta.agrees(difference), (
        f"the difference is {difference:.4g}, recorded was {delta.difference:.4g}: {delta.why}"
    )


def test_a_row_can_fail():
    """A row fails if its difference changed by more than 1 %, or should be rounding and is not."""
    large, rounding, zero = (
        dataclasses.replace(deltas.DELTAS[0], difference=x) for x in (0.5, 3e-8, 0.0)
    )

    assert large.agrees(0.501) and not large.agrees(0.51) and not large.agrees(0.49)
    assert rounding.agrees(1e-7) and not rounding.agrees(1e-6)
    assert zero.agrees(1e-15) and not any(d.agrees(math.nan) for d in (large, rounding, zero))
    assert not zero.agrees(1e-10)


def test_the_page():
    """The page lists every row in order with its difference; `make deltas` writes it."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    recorded = deltas.table([(delta, delta.difference) for delta in deltas.DELTAS]).splitlines()

    assert rows == [line for line in recorded if line.startswith("| `")]
