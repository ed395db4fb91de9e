"""The notebooks run, agree with their scripts, and show every row; what they display is so."""

import ast
import html
import importlib.util
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from parity_tests.case import CaseError, load
from parity_tests.cases import grad_modes
from parity_tests.notebook import show as shows
from parity_tests.notebook.display import Shown
from parity_tests.report import rows as rows_
from parity_tests.report import source_text as listing
from parity_tests.runner.selection import ROWS
from parity_tests.runner.settings import ROOT
from torch_ref import grad_modes as torch_grad_modes


jupytext = pytest.importorskip("jupytext", reason="pip install '.[notebooks]' to test notebooks")
nbformat = pytest.importorskip("nbformat", reason="pip install '.[notebooks]' to test notebooks")
pytest.importorskip("matplotlib", reason="pip install '.[notebooks]' to test notebooks")

NOTEBOOKS = ROOT / "notebooks"
_spec = importlib.util.spec_from_file_location("notebooks_build", NOTEBOOKS / "build.py")
assert _spec is not None and _spec.loader is not None
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)

SCRIPTS = build.scripts()
CELLS, KILOBYTES = 16, 300
ids = [script.stem for script in SCRIPTS]


def copy_of(script):
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def code_of(book):
    return [cell.source for cell in book.cells if cell.cell_type == "code"]


def displayed(script):
    """The ids that a script shows, by the function that shows them."""
    return [
        (node.func.id, str(node.args[0].value))
        for node in ast.walk(ast.parse(script.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"show", "without", "graph", "nodes", "programs"}
        and isinstance(node.args[0], ast.Constant)
    ]


# ---- every notebook


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_in_a_notebook(row):
    """Every row of the source documents has a case that a notebook shows."""
    cases = load()
    homes = [
        script.stem
        for script in SCRIPTS
        if any(row in cases[id].source for _, id in displayed(script))
    ]

    assert homes, f"no notebook shows a case of {row}; add a lesson to notebooks/"


# Its cases are run by test_parity too: `make test-all` runs every notebook, the usual run a fifth.
RUN = SCRIPTS if os.environ.get("TEST_ALL") else SCRIPTS[::5]


@pytest.mark.parametrize("script", RUN, ids=lambda script: script.stem)
def test_a_notebook_runs(script, monkeypatch):
    """Every lesson holds: `show` raises where one does not."""
    import matplotlib.pyplot as plt

    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    plt.switch_backend("agg")

    runpy.run_path(str(script))


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_copy_agrees_with_its_script(script):
    """The committed copy was made from this script; if not, run notebooks/build.py."""
    source = build.read(script, build.repository())
    copy = copy_of(script)

    assert [(c.cell_type, c.source) for c in source.cells] == [
        (c.cell_type, c.source) for c in copy.cells
    ], f"python notebooks/build.py {script.stem}"


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_copy_has_its_outputs(script):
    """Every cell was run, in order, without an error or a warning, and every lesson displays."""
    cells = [cell for cell in copy_of(script).cells if cell.cell_type == "code"]

    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = {out.output_type for out in cell.outputs}
        assert "error" not in kinds
        assert not [out.text for out in cell.outputs if out.get("name") == "stderr"]
        types = {kind for out in cell.outputs for kind in out.get("data", {})}
        if re.match(r"(show|without|programs|network)\(", cell.source):
            assert "text/html" in types
        if cell.source.startswith("graph("):
            assert "image/svg+xml" in types
        if cell.source.startswith("nodes("):
            assert "text/markdown" in types
        if "plt.show()" in cell.source:
            assert "image/png" in types


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_notebook_is_read_in_one_sitting(script):
    """Few cells, and a copy that GitHub displays."""
    assert len(code_of(copy_of(script))) <= CELLS
    assert script.with_suffix(".ipynb").stat().st_size <= 1000 * KILOBYTES


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_notebook_begins_with_the_set_up(script):
    """The first cell is what build.py writes: on Colab it installs."""
    assert code_of(build.read(script))[0].startswith(build.setup(build.repository()).rstrip())


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_what_a_notebook_shows_is_a_case(script):
    """Every id is that of a case, in full; only what is proved needs none."""
    found = displayed(script)

    assert found or "prove(" in script.read_text()
    assert not {id for _, id in found} - set(load())


def test_the_readme_lists_every_notebook():
    """Each has its line in the order of reading, and no line leads nowhere."""
    listed = re.findall(r"\]\((\w+)\.ipynb\)", (NOTEBOOKS / "README.md").read_text())

    assert sorted(listed) == ids


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_links_between_notebooks(script):
    """A link leads to a file that is there."""
    for target in re.findall(r"\]\((\w+\.\w+)\)", script.read_text()):
        assert (NOTEBOOKS / target).is_file(), f"{script.name} links to {target}"


@pytest.mark.parametrize("command", (("check",), ("format", "--check")), ids=" ".join)
def test_ruff(command):
    """Scripts and copies are clean."""
    pytest.importorskip("ruff", reason="pip install '.[dev]' to lint")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "notebooks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout


# ---- building


def test_the_badge_waits_for_an_address():
    """No repository, no badge and no clone; with one, both."""
    url = "https://github.com/someone/jaxgrad"

    assert build.badge("", "hooks") == ""
    assert f"{url[19:]}/blob/HEAD/notebooks/hooks.ipynb" in build.badge(url, "hooks")
    assert "git" not in build.setup("")
    assert f'"git", "clone", "--depth=1", "{url}"' in build.setup(url)
    ast.parse(build.setup(url))


def test_a_script_is_read_the_same_twice():
    """The same bytes every time: ids of cells are not drawn."""
    first, second = (nbformat.writes(build.read(SCRIPTS[0])) for _ in range(2))

    assert first == second


# ---- what is displayed


def test_show_displays_what_ran():
    """Both programs, both results, the verdict, and JAX without the tool."""
    shown = shows.show("grad_modes/detach")
    text = html.unescape(shown._repr_html_())

    for _, source in shown.sources:
        assert all(line.strip() in text for line in source.splitlines() if len(line) < listing.FOLD)
    assert "h = net.l1(x).detach()" in shown.sources[0][1]
    assert "return stop_gradient(linear(l1, x))" in shown.sources[1][1]
    rows = {row[0]: row[1:] for row in shown.rows}
    assert rows["grads/l1/weight"][:3] == ("None", "=", "None")
    assert rows["grads/l1/weight"][3].startswith("norm ")
    assert rows["loss"][3] == rows_.SAME
    assert shown.columns[-1] == "JAX without stop_gradient"
    assert shown.verdict.startswith("✓ ")


def test_show_says_where_they_differ():
    """A deviation is no agreement: its sign, torch's error and the reason are there."""
    shown = shows.show("mutation/inplace_after_use")
    rows = {row[0]: row[1:] for row in shown.rows}

    assert rows["backward"][0].startswith("RuntimeError: ")
    assert rows["backward"][1] == "≠"
    assert shown.verdict.startswith("≠ ")
    assert "JAX saved the a that was used" in shown.verdict


def test_show_refuses_what_does_not_hold(monkeypatch):
    """A lesson that is not so stops the notebook, with the command that shows why."""
    shows._observe.cache_clear()
    monkeypatch.setattr(grad_modes, "linear", lambda params, x: x @ params["weight"].T)

    with pytest.raises(AssertionError, match="python -m parity_tests grad_modes/detach"):
        shows.show("grad_modes/detach")


def test_an_id_is_exact():
    """`requires_grad` is not `requires_grad_flag`; a name that is none is an error."""
    assert "requires_grad_(False)" in shows.show("grad_modes/requires_grad").title
    with pytest.raises(CaseError, match="no case 'grad_modes/detatch'; nearest: grad_modes/detach"):
        shows.show("grad_modes/detatch")


def test_show_refuses_to_show_nothing():
    """A glob that no result matches is a mistake in the notebook."""
    with pytest.raises(AssertionError, match="nothing that matches 'no/such/path'"):
        shows.show("grad_modes/detach", only="no/such/path")


def test_without_shows_only_what_changes():
    """L1's gradients change without stop_gradient; L2's and the loss do not."""
    shown = shows.without("grad_modes/detach")

    assert {row[0] for row in shown.rows} == {
        "grads/l1/bias",
        "grads/l1/weight",
        "h_requires_grad",
    }
    assert shown.columns == ("", "with stop_gradient", "without stop_gradient")


def test_without_needs_a_tool():
    """A plain gradient has nothing that could be taken out."""
    with pytest.raises(ValueError, match="backward/cubic has no tool that could be taken out"):
        shows.without("backward/cubic")


def test_a_program_is_shown_with_what_it_uses():
    """Functions of its own module come with it; an attribute of the same name is none of them."""
    text = listing.text_of(torch_grad_modes.detach)

    assert text.startswith("def detach(net, x, y):")
    assert "def no_grad" not in text
    assert "class Regularised" in listing.text_of(torch_grad_modes.eval_mode)
    assert "def regularised" in listing.text_of(grad_modes.eval_mode)
    assert '"""' not in listing.text_of(grad_modes.nothing_stopped)


def test_an_id_is_escaped():
    """Text stays text."""
    evil = "<script>alert(1)</script>"
    shown = Shown(evil, ((evil, evil),), (evil, ""), ((evil, "1"),), f"✓ {evil}")

    assert "<script" not in shown._repr_html_()


def test_it_reads_without_styles():
    """Where GitHub takes the styles away, alignment and code blocks are still there."""
    text = re.sub(r' style="[^"]*"', "", shows.show("backward/cubic")._repr_html_())

    assert "style" not in text
    assert "<pre>def cubic" in text
    assert 'align="left" valign="top"' in text


def test_a_long_line_is_folded():
    """Two columns fit on a page; no line is lost or changed but in its breaks."""
    line = "    value = function(" + ", ".join(f"argument_{n}" for n in range(12)) + ")"
    folded = listing.fold(line)

    assert max(map(len, folded.splitlines())) <= listing.FOLD
    assert "".join(folded.split()) == "".join(line.split())


def test_noise_is_called_zero():
    """A gradient that is zero but for rounding is not printed as two different numbers."""
    scale, noise = np.ones(3), np.array([1e-17, -2e-17, 0.0])
    rows = list(
        rows_.compared([{"a": scale, "b": noise}, {"a": scale, "b": -noise}], "float64", "*")
    )

    assert rows[1] == ("b", rows_.ZERO, "~", rows_.ZERO)


def test_a_graph_fits_the_page():
    """The picture is an SVG that shrinks with the page and says what it is."""
    shown = shows.graph("grad_modes/detach")

    assert re.match(r'<svg [^>]*width="100%" style="max-width:\d', shown._repr_svg_())
    assert "detach" in repr(shown)


def test_nodes_are_listed_side_by_side():
    """torch's nodes and JAX's primitives, by layer."""
    rows = shows.nodes("grad_modes/nothing_stopped").rows

    assert {row.module for row in rows} == {"l1", "l2", "loss"}
    assert "AddmmBackward0" in {row.torch for row in rows}
    assert "dot_general" in {row.jax for row in rows}


def test_what_stands_in_for_a_tool_is_named():
    """`without x`, or what was put in its place."""
    assert shows.show("clipping/clip_grad_norm").columns[-1] == "JAX with clip = only_norm"
    assert shows.show("precision/amp", only="0/scale").columns[-1] == (
        "JAX with scaler = GradScaler(enabled=False)"
    )
