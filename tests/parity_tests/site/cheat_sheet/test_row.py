"""The rows of the cheat sheet hold: each program gives torch's result, each trap another one."""

import re

import numpy as np
import pytest

from jaxgrad._core.torch_versions import convention
from parity_tests.site.cheat_sheet import page
from parity_tests.site.cheat_sheet.row import Row, array, jax_result, run, same, torch_result


DIGITS = re.compile(r"(?<=\d\.)\d+")


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # torch.func.jvp calls it
@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", page.ROWS, ids=lambda row: row.name)
def test_a_row_holds_and_its_line_is_current(row):
    """A row's JAX programs give torch's result, its trap does not, and the page shows both."""
    torch = torch_result(row)
    wrong = jax_result(row, row.wrong or "0 * x")

    programs, shown = row.programs, torch
    if row.since and not row.since.holds(convention()):
        programs, shown = [row.jaxgrad], jax_result(row, row.jax)  # that of the page's torch
        assert not same(shown, torch)
    assert programs
    for code in programs:
        assert same(jax_result(row, code), torch), f"{row.name}: {code}"
    assert not (row.wrong and same(wrong, torch)), f"{row.name}: the trap is none: {row.wrong}"
    # The last digits depend on how XLA compiles; `same` has compared the numbers above.
    lines = DIGITS.sub("#", page.PATH.read_text()).splitlines()
    assert DIGITS.sub("#", page.line(row, shown, wrong)) in lines, "run: make pages"


def test_a_wrong_row_does_not_hold():
    """A JAX program with another gradient than torch's is told apart from torch's."""
    row = Row(name="", torch="x**2", jax="x**3")

    assert not same(jax_result(row, row.jax), torch_result(row))


def test_results_with_none_and_with_zero_differ():
    """None differs from an array of zeros, and NaN equals NaN."""
    assert not same(None, array(0.0))
    assert same({"a": None}, {"a": None})
    assert same(array(np.nan), array(np.nan))
    assert not same(array(1.0), np.float32(1))


def test_the_last_line_is_the_value_of_a_program():
    """A program whose last line is an assignment has no value."""
    names = {"x": 2}

    assert run("y = x\ny + 1", names) == 3
    assert run("z = x + 3", names) is None
    assert names["z"] == 5
