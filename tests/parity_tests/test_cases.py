"""Run every cell of the grid as a pytest test, judged by the engine."""

import os

import pytest

from parity_tests.case import load
from parity_tests.runner.engine import run
from parity_tests.runner.selection import Cell, grid


CELLS = [
    cell
    for cell in grid(load().values(), (), (), "cpu")
    # CI also runs the whole grid with the runner, so one cell of each slow case is enough here.
    if not cell.case.heavy
    or (cell.dtype, cell.mode) == ("float64", "jit")
    or "TEST_ALL" in os.environ
]


def _cell_id(cell: Cell) -> str:
    return f"{cell.case.id}-{cell.dtype}-{cell.mode}"


@pytest.mark.parametrize("cell", CELLS, ids=_cell_id)
def test_cell(cell: Cell):
    """The JAX program has torch's gradients in this cell."""
    result = run(cell.case, cell.dtype, cell.mode)

    assert result.passed, f"\n{result}"
