"""Tests of the conventions table, and of the page and docstring lines generated from it.

The rows themselves are measured by `test_operator`.
"""

import inspect
import operator as operators
import pydoc
import re

import numpy as np
import pytest

from jaxgrad import functional
from parity_tests.operators import call, load, operator
from parity_tests.operators._harness import conventions
from parity_tests.operators._harness.conventions_page import as_html
from parity_tests.operators._harness.grid import Outcome
from parity_tests.operators._harness.jobs import job
from parity_tests.operators._harness.rows import ConventionRow, measured
from parity_tests.site.api import POINTER


ROWS = conventions.read()
OF = {name: [row for row in ROWS if row.operator == name] for name in {r.operator: 0 for r in ROWS}}
PAGE = conventions.PAGE.read_text(encoding="utf-8")


def _row(at="0", torch="0", jax="1", *, by="input", form="jnp.f(x)", name="f"):
    return ConventionRow(name, form, by, at, torch, jax)


def test_the_page_is_written_from_the_table():
    """docs/operators.md is the page that the table's rows generate."""
    assert conventions.as_markdown(ROWS) == PAGE


def test_exactly_the_operators_of_the_table_name_its_page():
    """An operator's docstring points to the page if and only if the table has rows for it."""
    listed = {operators.attrgetter(name)(functional) for name in OF}
    public = {
        value
        for name in load()
        if inspect.isfunction(value := operators.attrgetter(name)(functional))
    }

    for function in public | listed:
        text = inspect.getdoc(function) or ""
        remedy = "add the sentence to" if function in listed else "remove the sentence from"
        assert text.count(POINTER) == (function in listed), (
            f"{remedy} the docstring of {function.__module__}.{function.__name__}, after "
            f"`Torch:`: {POINTER}"
        )


@pytest.mark.parametrize("name", OF)
def test_the_docs_build_summarizes_the_rows_of_an_operator(name):
    """An operator's summary is short, names the JAX expression, and is found by the function."""
    text = conventions.section(OF[name])
    lines = text.splitlines()

    assert text in conventions.summary(operators.attrgetter(name)(functional))
    assert sum(line[:4].isspace() and line[4] != " " for line in lines) <= conventions.LINES + 1
    assert not any(">>>" in line for line in lines)
    assert OF[name][0].form in text


def test_a_function_with_two_rows_of_names_has_both_summaries():
    """`torch.i0` and `torch.special.i0` are one function here, with a summary for each name."""
    text = conventions.summary(functional.i0)

    assert functional.i0 is functional.special.i0
    assert all(conventions.section(OF[name]) in text for name in ("i0", "special.i0"))


def test_a_function_without_rows_has_no_summary():
    """The docs build adds nothing to a function that the table does not list."""
    assert conventions.summary(functional.add) == ""


def test_help_names_the_page_and_the_docs_show_the_rows():
    """`help(functional.clamp)` points to the page; the API page shows the measured gradients."""
    text = pydoc.plain(pydoc.render_doc(functional.clamp))

    assert f"    Torch: `torch.clamp`. {POINTER}" in text
    assert re.search(
        r"^Measured against `jnp\.clip\(x, low, high\)`:\n"
        r"    at \(1, -1, 1\).*: torch 0, JAX 0\.5\n",
        conventions.summary(functional.clamp),
        re.MULTILINE,
    )


def test_every_operator_is_found_on_the_page():
    """Each operator has a link at the top, and the sections are in alphabetical order."""
    sections = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    links = dict(re.findall(r"\[([\w.]+)\]\(#([\w-]+)\)", PAGE))

    assert sections == sorted(OF) == sorted(links)
    assert all(anchor == name.replace(".", "") for name, anchor in links.items())


def test_the_html_page_has_every_row():
    """The HTML page has one table row for each row of the table, with its text escaped."""
    assert as_html(ROWS).count("<tr><td>") == len(ROWS)
    assert "&lt;" in as_html([_row("[x < 1]")])


def test_the_table_lists_only_recorded_operators_and_expressions():
    """Each row of the table has an operator with a record, and an expression of that record."""
    known = load()

    assert OF.keys() <= known.keys()
    assert all(row.form in known[row.operator].jax_idioms for row in ROWS)


def test_measuring_one_operator_leaves_the_others():
    """Measuring one operator replaces its rows in the table and keeps all others."""
    kept, new = [_row(name="a"), _row(name="c")], [_row(name="b"), _row("1", name="b")]

    assert conventions.merged(kept, [Outcome([], new, 0, 0)]) == [kept[0], *new, kept[1]]


@pytest.mark.parametrize("table", ["", "newer"])
def test_ctrl_c_writes_the_measured_operators(monkeypatch, tmp_path, capsys, table):
    """Ctrl-C updates the rows of measured operators and keeps the other rows of the table."""
    names = [name for name, record in conventions.load().items() if not record.too_new][:3]

    def check(name):
        if name == names[2]:
            raise KeyboardInterrupt
        return Outcome([], [_row(name=name)], 1, 1)

    other, page = tmp_path / f"{table}.tsv", tmp_path / "operators.md"
    monkeypatch.setattr(conventions, "_check", check)
    monkeypatch.setattr(conventions, "TABLE", tmp_path / "table.tsv")
    monkeypatch.setattr(conventions, "_tables", lambda *_: [other] if table else [])
    before = [_row("7", name=names[0]), _row("7", name=names[2])]
    monkeypatch.setattr(conventions, "read", lambda *_: before)

    assert conventions.main(names, str(page), None, 1) == 130
    assert f"interrupted: 2 of 3 operators are in {page}\n" in capsys.readouterr().err
    written = (other if table else tmp_path / "table.tsv").read_text()
    rows = [line.split("\t") for line in written.splitlines()]
    assert [row[0] for row in rows] == sorted(names)
    assert {row[0] for row in rows if row[3] == "7"} == {names[2]}, "the one that was not measured"


def test_the_written_page_is_named(monkeypatch, tmp_path, capsys):
    """A complete run says which page it has written."""
    page = tmp_path / "operators.html"
    monkeypatch.setattr(conventions, "_check", lambda name: Outcome([], [_row(name=name)], 1, 1))

    assert conventions.main(["abs"], None, str(page), 1) == 0
    assert capsys.readouterr().out == f"written: {page}\n" and page.is_file()


def test_rows_with_the_same_gradients_are_joined():
    """Rows with equal gradients become one row that lists the points of all of them."""
    rows = [_row("0; -0"), _row("1", jax="2"), _row("0; 5")]

    assert conventions.united(rows) == [_row("0; -0; 5"), _row("1", jax="2")]


def test_one_row_represents_each_kind_of_difference():
    """Numbers are chosen before NaN and short calls before long ones; zero is a kind of its own."""
    nan, long, short, zero = (
        _row("(nan, 2)", "3", "1"), _row("(1, 2, 3)", "3", "2"), _row("(1, 2)", "3", "1"),
        _row("(17, 17)", "3", "0"),
    )  # fmt: skip

    assert conventions.representative([nan, long, zero, short], 1) == [short, zero]
    assert conventions.representative([nan, long, zero, short], 2) == [short, long, zero]


def test_arguments_whose_gradients_differ_alike_share_a_row():
    """Arguments whose gradients differ alike share a row; rows of numbers stay separate."""
    x, y = _row(torch="[0, 1]", jax="[nan, 1]"), _row(torch="[0, 3]", jax="[nan, 3]", by="other")

    z = y._replace(by="third", torch="[0, 4]", jax="[nan, 4]")

    assert conventions.representative([x, y, z], 2) == [
        x._replace(by="input, likewise other, third")
    ]
    assert len(conventions.representative([_row(), _row(by="other")], 1)) == 2


def test_each_expression_has_a_line():
    """Each JAX expression gets one line before any expression gets a second."""
    rows = [_row(), _row("1"), _row("2"), _row(form="other")]

    assert conventions.spread(rows, 2) == [rows[0], rows[3]]
    assert conventions.spread(rows, 3) == [rows[0], rows[1], rows[3]]


def test_a_long_array_is_shown_where_it_differs():
    """A long array is cut to the elements from the first that differs."""
    before, after = [f"{x}.25" for x in range(9)], [f"{x}.75" for x in range(9)]
    torch = f"[{', '.join([*before, '1', *after])}]"
    jax = f"[{', '.join([*before, 'nan', *after])}]"

    assert conventions.window(_row(torch=torch, jax=jax)) == (
        "[… 1, 0.75, 1.75 …]",
        "[… nan, 0.75, 1.75 …]",
    )
    assert conventions.window(_row(torch="[0, 1]", jax="[0, 2]")) == ("[0, 1]", "[0, 2]")


def test_a_long_call_is_cut_in_its_arrays():
    """A call that does not fit into a line keeps its options and shortens its arrays."""
    text = conventions.shortened(f"([{', '.join('0.125' for _ in range(16))}], dim=0)")

    assert text == "([0.125, 0.125, 0.125, 0.125, …], dim=0)"
    assert conventions.shortened("([1, 2], dim=0)") == "([1, 2], dim=0)"

    matrix = "[[0.1257, -0.1321], [0.6404, 0.1049]]"
    assert conventions.shortened(f"({matrix}, {matrix}, {matrix}, [[True]], is_causal=True)") == (
        "([…], […], […], [[True]], is_causal=True)"
    )


@pytest.fixture
def record():
    """Return a function that builds a record without registering it."""
    from parity_tests import operators

    operators.load()
    name = "maximum"
    kept = operators._RECORDS.pop(name)

    def make(**options):
        operator(name, **options)(lambda draw: call([1.0]))
        return operators._RECORDS.pop(name)

    yield make
    operators._RECORDS[name] = kept


def test_a_row_names_the_argument_and_the_point(record):
    """A row of an elementwise operator lists all arguments of each element that differs."""
    elementwise_record = record(elementwise=True)
    at = job("point", call([1.0, 2.0, -0.0], [1.0, 3.0, 0.0]), None, point=True)
    sides = np.array([0.5, 1.0, 0.5]), np.array([1.0, 1.0, 1.0])

    (row,) = measured(elementwise_record, "jnp.f(x, y)", at, "1", sides, sides[0] != sides[1])

    assert row == ConventionRow("maximum", "jnp.f(x, y)", "other", "(1, 1); (-0, 0)", "0.5", "1")


def test_a_row_has_enough_digits_to_show_its_difference(record):
    """Gradients are written with as many digits as distinguish them."""
    at = job("point", call([1.0], [2.0]), None, point=True)
    sides = np.array([1.0]), np.array([1.00002])

    (row,) = measured(record(), "f", at, "0", sides, np.array([True]))

    assert (row.at, row.torch, row.jax) == ("([1], [2])", "[1]", "[1.00002]")


def test_an_older_jax_has_rows_of_its_own(monkeypatch):
    """With a JAX older than a table's version, the rows of that table replace the page's rows."""
    row = ROWS[0]._replace(operator="abs")
    older = conventions.TABLE.with_stem("older")
    tables = {conventions.TABLE: [row], older: [row._replace(jax="9")]}
    monkeypatch.setattr(conventions, "read", lambda path=conventions.TABLE: tables[path])
    monkeypatch.setattr(conventions, "NEWER", {})
    monkeypatch.setattr(conventions, "OLDER_TORCH", {})

    monkeypatch.setattr(conventions, "OLDER", {(99, 0): older})
    assert conventions.pinned() == [row._replace(jax="9")]
    monkeypatch.setattr(conventions, "OLDER", {(0, 1): older})
    assert conventions.pinned() == [row]


def test_the_table_of_a_newer_jax_holds_only_changes(monkeypatch):
    """The newest table has the operators whose rows changed, and those that lost all rows."""
    known = ROWS[0]._replace(operator="abs"), ROWS[0]._replace(operator="exp")
    first, second, later = (conventions.TABLE.with_stem(name) for name in ("1", "2", "99"))
    tables = {conventions.TABLE: list(known), first: [known[0]._replace(jax="9")], second: []}
    monkeypatch.setattr(conventions, "read", lambda path=conventions.TABLE: tables[path])
    newer = {(0, 1): first, (0, 2): second, (99, 0): later}  # the last is not installed yet
    monkeypatch.setattr(conventions, "NEWER", newer)
    monkeypatch.setattr(conventions, "OLDER", {})
    monkeypatch.setattr(conventions, "OLDER_TORCH", {})
    same, gone = Outcome([], [known[0]._replace(jax="9")], 0, 0), Outcome([], [], 0, 0)
    assert conventions.pinned() == [known[1], known[0]._replace(jax="9")]

    tables[second] = conventions.rows_that_differ({"abs": same, "exp": gone})

    assert [row.operator for row in tables[second]] == ["exp"]
    assert conventions.pinned() == [known[0]._replace(jax="9")]


def test_an_older_torch_has_rows_of_its_own(monkeypatch):
    """The rows of an operator that a newer torch changed are in a table of older versions."""
    clamp, exp = ROWS[0]._replace(operator="clamp"), ROWS[0]._replace(operator="exp")
    older = conventions.TABLE.with_stem("older")
    tables = {conventions.TABLE: [clamp, exp], older: [clamp._replace(torch="9")]}
    monkeypatch.setattr(conventions, "read", lambda path=conventions.TABLE: tables[path])
    for name in ("NEWER", "OLDER"):
        monkeypatch.setattr(conventions, name, {})
    monkeypatch.setattr(conventions, "OLDER_TORCH", {"2.14": older})

    monkeypatch.setattr(conventions, "TORCH", "2.13")
    assert conventions.pinned() == [exp, clamp._replace(torch="9")]
    assert conventions._tables("clamp") == [older] and conventions._tables("exp") == []
    monkeypatch.setattr(conventions, "TORCH", "2.14")
    assert conventions.pinned() == [clamp, exp]
