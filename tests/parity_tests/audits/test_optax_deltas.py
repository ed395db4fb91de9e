"""The delta table: every row is measured again, and the page says what was measured."""

import math
import pathlib

import pytest

from parity_tests.audits import optax_deltas as deltas


PAGE = pathlib.Path(__file__).parents[3] / "benchmarks" / "OPTIM_DELTAS.md"


@pytest.mark.parametrize("delta", deltas.DELTAS, ids=lambda delta: delta.name)
def test_a_delta(delta):
    """As far apart as when it was pinned: else torch or optax moved."""
    found = delta.measure()

    assert delta.agrees(found), f"{found:.4g} apart, pinned {delta.apart:.4g}: {delta.why}"


def test_a_row_can_fail():
    """What moves by more than a hundredth is noticed, and what should be nothing is nothing."""
    far, rounding, nothing = (deltas.DELTAS[0]._replace(apart=x) for x in (0.5, 3e-8, 0.0))

    assert far.agrees(0.501) and not far.agrees(0.51) and not far.agrees(0.49)
    assert rounding.agrees(1e-7) and not rounding.agrees(1e-6)
    assert nothing.agrees(1e-15) and not any(d.agrees(math.nan) for d in (far, rounding, nothing))
    assert not nothing.agrees(1e-10)


def test_the_page():
    """Has every row with its number, in order; `make deltas` writes it."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    pinned = deltas.table([(delta, delta.apart) for delta in deltas.DELTAS]).splitlines()

    assert rows == [line for line in pinned if line.startswith("| `")]
