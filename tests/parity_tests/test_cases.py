"""Run one cell of every 40th case as a pytest test, judged by the engine."""

import pytest

from parity_tests.case import load
from parity_tests.runner.engine import run
from parity_tests.runner.selection import Cell, grid
from tests._helpers import ALL, sampled


def _cells() -> list[Cell]:
    """Return a cell of every 40th case, in varying dtypes and modes; `make parity` runs all."""
    cells = grid(load().values(), (), (), "cpu")
    if ALL:
        return cells
    cases: dict[str, list[Cell]] = {cell.case.id: [] for cell in cells if not cell.case.heavy}
    for cell in cells:
        cases.get(cell.case.id, []).append(cell)
    return [own[number % len(own)] for number, own in sampled(list(enumerate(cases.values())), 40)]


def _cell_id(cell: Cell) -> str:
    return f"{cell.case.id}-{cell.dtype}-{cell.mode}"


@pytest.mark.parametrize("cell", _cells(), ids=_cell_id)
def test_cell(cell: Cell):
    """The JAX program has torch's gradients in this cell."""
    result = run(cell.case, cell.dtype, cell.mode)

    assert result.passed, f"\n{result}"
