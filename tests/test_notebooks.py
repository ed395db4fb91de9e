"""The notebooks run, match their scripts, cover every source row, and display correct results."""

import ast
import html
import importlib.util
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest

from parity_tests.case import CaseError, load
from parity_tests.cases import grad_modes
from parity_tests.notebook import plain_session
from parity_tests.notebook import show as shows
from parity_tests.notebook.display import Program, Shown
from parity_tests.notebook.pairs import JAX, TORCH, TRY, agree, pairs
from parity_tests.notebook.practice import exercise, exercises
from parity_tests.notebook.questions import QUESTIONS
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
CELLS, PAIRS, KILOBYTES = 22, 4, 400  # cells that display, pairs of cells to change, size
ids = [script.stem for script in SCRIPTS]


def copy_of(script):
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def code_of(book):
    return [cell.source for cell in book.cells if cell.cell_type == "code"]


def displayed(script):
    """Return the cases that a script shows, as pairs of displaying function and case id."""
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
    notebooks = [
        script.stem
        for script in SCRIPTS
        if any(row in cases[id].source for _, id in displayed(script))
    ]

    assert notebooks, f"no notebook shows a case of {row}; add a comparison to notebooks/"


# What another machine or another run may print: digits, errors, seconds, and which results are
# equal to the last bit.
MACHINE = re.compile(
    r"-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+|(?<=at most )\d+(?= times)|\d+(?= ULP)|\d+(?= µs)"
)
SIGN = re.compile(r"\| [=~] \|")


def printed(cell):
    """Return the lines that a cell printed, without what another machine may print, in any order.

    Callbacks of a compiled program print while other lines are printed. A busy machine may send a
    line in two outputs.
    """
    outputs = [
        "".join(out.get("text", "") or ["\n", *out.get("data", {}).get("text/plain", ""), "\n"])
        for out in cell.outputs
    ]
    text = SIGN.sub("| ~ |", MACHINE.sub("#", "".join(outputs)))
    return sorted(filter(None, re.sub(r"(?<![\w.#-])-0(?![\w.#])", "0", text).splitlines()))


# `make test` runs the notebook that prints most reports. `make parity` runs the cases of the
# others, so only `make test-all` runs all notebooks.
REPORTS = "prove_your_port"


@pytest.mark.parametrize(
    "script",
    [s if s.stem == REPORTS else pytest.param(s, marks=pytest.mark.slow) for s in SCRIPTS],
    ids=ids,
)
def test_a_notebook_prints_what_its_copy_has(script):
    """A notebook runs without an error, and the committed copy has the texts that it prints."""
    fresh = build.executed(build.read(script, build.repository()))

    pairs = zip(copy_of(script).cells, fresh.cells, strict=True)
    stale = [
        (number, printed(old), printed(new))
        for number, (old, new) in enumerate(pairs)
        if new.cell_type == "code" and printed(old) != printed(new)
    ]
    assert not stale, f"python notebooks/build.py {script.stem}\n{stale[0]}"


def test_a_changed_report_is_not_the_same():
    """Another digit or another error is no difference; another place or another word is one."""

    def cell(text):
        return nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("stream", text=text)])

    parts = [nbformat.v4.new_output("stream", text=part) for part in ("used ", "[1, 2]\n")]
    assert printed(nbformat.v4.new_code_cell(outputs=parts)) == printed(cell("used [1, 2]\n"))
    old = "an error of 1e-09 at cell 3:2 (add); at most 15 times torch's, 5 of 5\n"
    for same in (old.replace("1e-09", "1e-07"), old.replace("15 times", "0.4 times")):
        assert printed(cell(same)) == printed(cell(old))
    for word, new in (("cell 3:2", "cell 3:12"), ("(add)", "(mul)"), ("5 of 5", "4 of 5")):
        assert printed(cell(old.replace(word, new))) != printed(cell(old))


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_copy_agrees_with_its_script(script):
    """The committed .ipynb has the cells of its script; otherwise run notebooks/build.py."""
    source = build.read(script, build.repository())
    copy = copy_of(script)

    assert [(c.cell_type, c.source) for c in source.cells] == [
        (c.cell_type, c.source) for c in copy.cells
    ], f"python notebooks/build.py {script.stem}"


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_copy_has_its_outputs(script):
    """Every cell of the committed .ipynb ran in order without errors or warnings, with output."""
    cells = [cell for cell in copy_of(script).cells if cell.cell_type == "code"]

    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert "error" not in {out.output_type for out in cell.outputs}
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
def test_a_notebook_is_short(script):
    """A notebook displays few comparisons and is small enough for GitHub to display."""
    short = (TORCH, JAX, TRY, "# Your answer", "check(", "exercise(")
    assert sum(not source.startswith(short) for source in code_of(copy_of(script))) <= CELLS
    assert len(pairs(code_of(copy_of(script)))) <= PAIRS
    assert script.with_suffix(".ipynb").stat().st_size <= 1000 * KILOBYTES


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_notebook_begins_with_the_setup(script):
    """The first code cell is the setup cell of build.py, which installs the project on Colab."""
    assert code_of(build.read(script))[0].startswith(build.setup(build.repository()).rstrip())


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_notebook_shows_cases(script):
    """A notebook shows existing cases by their full ids; one on `prove` or `port` may show none."""
    pairs = displayed(script)

    assert pairs or re.search(r"\b(prove|port)\(", script.read_text())
    assert not {id for _, id in pairs} - set(load())


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_notebook_says_what_it_is_for(script):
    """A notebook begins with what it teaches, its length, level and prerequisites, and ends with
    what to take away; the README gives the same length and level.
    """
    prose = [cell.source for cell in build.read(script).cells if cell.cell_type == "markdown"]
    line = re.search(
        r"^\*\*Time\*\* (\d+) minutes · \*\*Level\*\* ([a-z ]+) ·\s\*\*Read first:\*\* \S",
        prose[0],
        re.M,
    )
    row = next(
        row
        for row in (NOTEBOOKS / "README.md").read_text().splitlines()
        if f"({script.stem}.ipynb)" in row
    )

    assert line and "**You will be able to** " in prose[0]
    assert prose[-1].startswith("## What to take away\n\n- ")
    assert row.endswith(f"| {line[1]} | {line[2]} |")


def test_a_notebook_says_how_to_change_what_it_shows():
    """After its first comparison a notebook says where to edit, and the script is folded there."""
    for script in SCRIPTS:
        cells = copy_of(script).cells
        shows_ = [n for n, cell in enumerate(cells) if cell.source.startswith("show(")]
        if not shows_:
            continue
        assert cells[shows_[0] + 1].source.startswith("**To change these programs,** unfold *the")
        (out,) = cells[shows_[0]].outputs
        assert "<summary>the whole script" in out.data["text/html"], script.stem


def test_the_first_notebook_has_one_name():
    """`00_ten_minutes` is First steps; its title has its time, and the README the parts of it."""
    script = NOTEBOOKS / "00_ten_minutes.py"
    first = " ".join(build.read(script).cells[0].source.split())
    readme = (NOTEBOOKS / "README.md").read_text()
    (row,) = [line for line in readme.splitlines() if "(00_ten_minutes.ipynb)" in line]
    (titled,) = re.findall(r"^# First steps \((\d+) minutes\)", first)
    (total,) = re.findall(r"\*\*Time\*\* (\d+) minutes", first)
    top = re.search(r"Reading takes about (\d+) minutes and the two exercises another (\d+)", first)
    listed = re.search(r"(\d+) minutes to read, (\d+) for the exercises", row)

    assert top and listed and top.groups() == listed.groups()
    assert sum(map(int, top.groups())) == int(total) == int(titled)
    pages = [*NOTEBOOKS.glob("*.py"), *NOTEBOOKS.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    names = {n for p in pages for n in re.findall(r"\[([^\]]*)\]\([^)]*00_ten_m", p.read_text())}
    assert names <= {"First steps", "First steps (25 minutes)", "00_ten_minutes.ipynb"}


def test_every_question_and_exercise_is_in_a_notebook():
    """Every question and every exercise is asked once, and the core notebooks have exercises."""
    texts = {script.stem: script.read_text() for script in SCRIPTS}
    asked = re.findall(r'question\("(.+)"\)', "".join(texts.values()))
    set_ = {name: re.findall(r'exercise\("(.+)"\)', text) for name, text in texts.items()}

    assert sorted(asked) == sorted(QUESTIONS)
    assert sorted(itertools.chain(*set_.values())) == sorted(exercises())
    for name in "00_ten_minutes grad_modes backward none_or_zero freezing clipping hooks".split():
        assert len(set_[name]) >= 2 and "question(" in texts[name]


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_cells_to_change_print_the_same(script):
    """In the copy, a cell of torch and its counterpart in JAX printed the same values."""
    cells = [cell for cell in copy_of(script).cells if cell.cell_type == "code"]
    printed = {cell.source: "".join(out.get("text", "") for out in cell.outputs) for cell in cells}
    for pair in pairs([cell.source for cell in cells]):
        assert agree(printed[pair.torch], printed[pair.jax]) != pair.differs, pair.torch


@pytest.mark.slow  # it runs every cell that a reader may paste
def test_the_cells_to_change_print_the_same_values_in_a_plain_session():
    """A new session, in float32, prints the values that the copies have."""
    copies = {
        f"{script.stem}-{number}": ("".join(out.get("text", "") for out in cell.outputs), cell)
        for script in SCRIPTS
        for number, cell in enumerate(copy_of(script).cells)
        if cell.cell_type == "code" and cell.source.startswith((TORCH, JAX))
    }
    outputs = plain_session.printed({name: cell.source for name, (_, cell) in copies.items()})

    page = " ".join((NOTEBOOKS / "README.md").read_text().split())
    assert "They print the same values there. The notebooks run JAX in float64" in page
    differ = [name for name, (text, _) in copies.items() if not agree(outputs[name], text)]
    assert not differ, f"these cells print other values in a plain session: {differ}"


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_the_answers_of_the_copy_are_unfinished(script):
    """In the copy, each check says what is missing or differs, and names no missing definition."""
    for cell in copy_of(script).cells:
        if cell.cell_type == "code" and cell.source.startswith("check("):
            (out,) = cell.outputs
            assert out.text.startswith("Not yet: ") and "NameError" not in out.text


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_a_copy_for_a_class_has_the_tasks_and_no_solution(script):
    """`--without-solutions` changes exercises alone, and no text promises a solution."""
    book, copy = build.read(script), build.without_solutions(build.read(script))

    changed = [
        (old, new)
        for old, new in zip(code_of(book), code_of(copy), strict=True)
        if old != new or old.startswith("exercise(")
    ]
    assert all(new == old.replace(")", ", solution=False)") for old, new in changed)
    assert len(changed) == sum(cell.startswith("exercise(") for cell in code_of(book)) > 0
    texts = [cell.source for cell in copy.cells if cell.cell_type == "markdown"]
    assert not any("solution is folded" in text or "](README.md)" in text for text in texts)


@pytest.mark.slow
def test_a_copy_for_a_class_runs_in_a_folder_of_its_own(monkeypatch, tmp_path):
    """The executed copy shows each task, and no cell of it has the code of a solution."""
    (script,) = [path for path in SCRIPTS if path.stem == "custom"]
    monkeypatch.setattr(build, "FOR_CLASS", tmp_path / "class")

    path = build.build(script, for_class=True)

    text = path.read_text(encoding="utf-8")
    assert path.parent == tmp_path / "class"
    for name in exercises():
        if name.startswith("custom/"):
            task = exercise(name, solution=False)
            assert repr(task)[:60] in text and "<summary>solution" not in text
            assert f'exercise(\\"{name}\\", solution=False)' in text


def test_a_hook_prints_the_gradient_at_every_call_under_jit():
    """The notebook on hooks shows that `jax.debug.print` prints numbers in a compiled program."""
    outputs = [
        out.get("text", "")
        for cell in copy_of(NOTEBOOKS / "hooks").cells
        for out in cell.get("outputs", [])
    ]

    (text,) = [text for text in outputs if "gradient of h: [4. 8.]" in text]
    assert re.sub(r"\s+", " ", text) == (
        "gradient of h: [4. 8.] gradient of w: [ 8. 16.] "
        "gradient of h: [12. 16.] gradient of w: [24. 32.] "
    )


def test_the_readme_lists_every_notebook():
    """The README of the notebooks lists exactly the existing notebooks."""
    listed = re.findall(r"\]\((\w+)\.ipynb\)", (NOTEBOOKS / "README.md").read_text())

    assert sorted(listed) == ids


@pytest.mark.parametrize("script", SCRIPTS, ids=ids)
def test_links_between_notebooks(script):
    """Links between notebooks lead to existing files."""
    for target in re.findall(r"\]\((\w+\.\w+)\)", script.read_text()):
        assert (NOTEBOOKS / target).is_file(), f"{script.name} links to {target}"


@pytest.mark.parametrize("command", (("check",), ("format", "--check")), ids=" ".join)
def test_ruff(command):
    """The notebooks and their scripts pass ruff."""
    pytest.importorskip("ruff", reason="pip install '.[dev]' to lint")
    process = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "notebooks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert process.returncode == 0, process.stdout


# ---- building


def test_the_badge_needs_a_repository():
    """The Colab badge and the clone command are written only if the repository URL is known."""
    url = "https://github.com/someone/jaxgrad"

    assert build.badge("", "hooks") == ""
    assert f"{url[19:]}/blob/HEAD/notebooks/hooks.ipynb" in build.badge(url, "hooks")
    assert "git" not in build.setup("")
    assert f'"git", "clone", "--depth=1", "{url}"' in build.setup(url)


def test_the_repository_is_read_from_the_project(monkeypatch, tmp_path):
    """A repository in `[project.urls]`, under any label of PyPI's, gives a notebook its badge."""
    monkeypatch.setattr(build, "HERE", tmp_path / "notebooks")
    for label in ("Repository", "Source Code", "source", "GitHub"):
        urls = f'[project]\nname = "p"\n[project.urls]\n"{label}" = "https://github.com/a/b/"\n'
        (tmp_path / "pyproject.toml").write_text(urls)
        assert build.repository() == "https://github.com/a/b"
    first = build.read(SCRIPTS[0], build.repository()).cells[0].source
    assert f"colab.research.google.com/github/a/b/blob/HEAD/notebooks/{ids[0]}.ipynb" in first

    for urls in ("", '[project.urls]\nDocumentation = "https://example.org"\n'):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "p"\n{urls}')
        assert build.repository() == ""
    assert "colab" not in build.read(SCRIPTS[0], build.repository()).cells[0].source.lower()


def test_the_setup_fetches_and_installs_the_project_outside_of_a_checkout(monkeypatch, tmp_path):
    """Without a checkout above, the setup clones the repository, installs it and finds it."""
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command[-2:]))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.chdir(tmp_path)
    exec(build.setup("https://example.org/jaxgrad"), {})

    assert commands == [
        ["https://example.org/jaxgrad", "jaxgrad"],
        ["--quiet", "./jaxgrad[notebooks]"],
    ]
    assert sys.path == ["jaxgrad"]


def test_the_setup_says_in_one_sentence_what_to_do_outside_of_a_checkout(tmp_path):
    """With an installed jaxgrad alone the first cell prints one sentence, without a traceback."""
    script = tmp_path / "setup.py"
    script.write_text(build.setup(""))
    process = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)

    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert process.stderr.startswith("Open this notebook in a checkout of jaxgrad")
    assert process.stderr.count(". ") == 0 and process.stderr.count("\n") == 1


@pytest.mark.parametrize("folder", (".", "notebooks", "docs/traps"))
def test_the_setup_adds_the_checkout_to_the_path(monkeypatch, folder):
    """Anywhere in the checkout, the setup fetches nothing."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.chdir(ROOT / folder)
    exec(build.setup(""), {})

    assert sys.path == [str(ROOT)]


def test_a_script_is_read_the_same_twice():
    """Converting a script twice gives the same bytes, because cell ids are not random."""
    first, second = (nbformat.writes(build.read(SCRIPTS[0])) for _ in range(2))

    assert first == second


# ---- what is displayed


def test_show_displays_both_programs_and_results():
    """`show` displays both programs, both results, the verdict, and JAX without the tool."""
    shown = shows.show("grad_modes/detach")
    text = html.unescape(re.sub("<[^>]*>", "", shown._repr_html_()))

    for program in shown.programs:
        assert all(line.strip() in text for line in program.text.splitlines())
        assert program.text in program.script
    torch_side, jax_side = (program.text.splitlines() for program in shown.programs)
    assert torch_side[1] == "h = net.l1(x).detach()"
    assert jax_side[1] == "    return lax.stop_gradient(linear(l1, x))"
    assert [program.marked for program in shown.programs] == [{1}, {1}]
    rows = {row[0]: row[1:] for row in shown.rows}
    assert rows["grads/l1/weight"][:3] == ("None", "=", "None")
    assert rows["grads/l1/weight"][3].startswith("norm ")
    assert rows["loss"][3] == rows_.SAME
    assert shown.columns[-1] == "JAX without stop_gradient"
    assert shown.verdict.startswith("✓ ")


def test_show_marks_a_pinned_difference():
    """A documented deviation is shown with its sign, torch's error and the reason."""
    shown = shows.show("mutation/inplace_after_use")
    rows = {row[0]: row[1:] for row in shown.rows}

    assert rows["backward"][0].startswith("RuntimeError: ")
    assert rows["backward"][1] == "≠"
    assert shown.verdict.startswith("≠ ")
    assert "JAX saved the array that was used" in shown.verdict


def test_show_raises_if_a_case_fails(monkeypatch):
    """`show` raises for a case that fails, and the message has the command to rerun it."""
    shows.observe.cache_clear()
    monkeypatch.setattr(grad_modes, "linear", lambda params, x: x @ params["weight"].T)

    with pytest.raises(AssertionError, match="python -m parity_tests grad_modes/detach"):
        shows.show("grad_modes/detach")


def test_an_id_is_exact():
    """`show` finds a case by its exact id only and raises for an unknown id."""
    assert "requires_grad_(False)" in shows.show("grad_modes/requires_grad").title
    with pytest.raises(CaseError, match="no case 'grad_modes/detatch'; similar: grad_modes/detach"):
        shows.show("grad_modes/detatch")


def test_show_raises_if_no_result_matches():
    """`show` raises if no result matches the glob in `only`."""
    with pytest.raises(AssertionError, match="no result of .* matches 'no/such/path'"):
        shows.show("grad_modes/detach", only="no/such/path")


def test_without_shows_only_what_changes():
    """`without` lists only changed results: L1's gradients, but not L2's or the loss."""
    shown = shows.without("grad_modes/detach")

    assert {row[0] for row in shown.rows} == {
        "grads/l1/bias",
        "grads/l1/weight",
        "h_requires_grad",
    }
    assert shown.columns == ("", "with stop_gradient", "without stop_gradient")


def test_without_needs_a_tool():
    """`without` raises for a case that has no tool to remove."""
    with pytest.raises(ValueError, match="backward/cubic has no tool that could be removed"):
        shows.without("backward/cubic")


def test_a_program_is_shown_with_the_functions_that_it_uses():
    """A program is shown with the helpers it calls, but not with helpers named like attributes."""
    text = listing.text_of(torch_grad_modes.detach)

    assert text.startswith("def detach(net, x, y):")
    assert "def no_grad" not in text
    assert "class Regularised" in listing.text_of(torch_grad_modes.eval_mode)
    assert "def regularised" in listing.text_of(grad_modes.eval_mode)
    assert '"""' not in listing.text_of(grad_modes.nothing_stopped)


def test_an_id_is_escaped():
    """Markup in an id or a source text is escaped."""
    evil = "<script>alert(1)</script>"
    program = Program(evil, evil, frozenset([0]), evil)
    shown = Shown(evil, (program,), (evil, ""), ((evil, "1"),), f"✓ {evil}")

    assert "<script" not in shown._repr_html_()


def test_a_result_is_readable_without_styles():
    """Alignment and code blocks survive without styles, which GitHub removes."""
    text = re.sub(r' style="[^"]*"', "", shows.show("backward/cubic")._repr_html_())

    assert "style" not in text
    assert "<pre>" in text
    assert 'align="left" valign="top"' in text


def test_noise_is_displayed_as_zero():
    """A gradient that is rounding noise around zero is displayed as zero for both frameworks."""
    scale, noise = np.ones(3), np.array([1e-17, -2e-17, 0.0])
    rows = list(
        rows_.compared([{"a": scale, "b": noise}, {"a": scale, "b": -noise}], "float64", "*")
    )

    assert rows[1] == ("b", rows_.ZERO, "~", rows_.ZERO)


def test_a_graph_fits_the_page():
    """The picture is an SVG that shrinks with the page and has a title."""
    shown = shows.graph("grad_modes/detach")

    assert re.match(r'<svg [^>]*width="100%" style="max-width:\d', shown._repr_svg_())
    assert "detach" in repr(shown)


def test_nodes_are_listed_side_by_side():
    """`nodes` lists torch's nodes and JAX's primitives by layer."""
    rows = shows.nodes("grad_modes/nothing_stopped").rows

    assert {row.module for row in rows} == {"l1", "l2", "loss"}
    assert "AddmmBackward0" in {row.torch for row in rows}
    assert "dot_general" in {row.jax for row in rows}


def test_the_replacement_of_a_tool_is_named():
    """The last column is named after the removed tool or its replacement."""
    assert shows.show("clipping/clip_grad_norm").columns[-1] == "JAX with clip = only_norm"
    assert shows.show("precision/amp", only="0/scale").columns[-1] == (
        "JAX with scaler = GradScaler(enabled=False)"
    )
