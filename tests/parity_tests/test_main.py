"""Tests of the command line: options, exit statuses and written files."""

import dataclasses
import importlib.util
import itertools
import json
import os
import signal
import subprocess
import sys
import types
from concurrent.futures.process import BrokenProcessPool
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import pytest

from parity_tests import __main__ as runner
from parity_tests.case import Case
from parity_tests.inputs import normal
from parity_tests.report import text as report
from parity_tests.runner import engine
from parity_tests.runner.settings import ROOT


def square(x):
    """The gradient of a square is twice its argument."""
    value, grad = jax.value_and_grad(lambda x: jnp.sum(x**2))(x)
    return {"value": value, "grad": grad}


def wrong(x):
    """<script>alert("a claim")</script> that is false."""
    value, grad = jax.value_and_grad(lambda x: jnp.sum(x**3))(x)
    return {"value": value, "grad": grad}


def _reference(x):
    x.requires_grad_()
    value = (x**2).sum()
    value.backward()
    return {"value": value, "grad": x.grad}


@pytest.fixture
def planted(monkeypatch):
    """Two cases that replace those of the suite: a correct one and a wrong one."""
    module = types.ModuleType("torch_ref.planted")
    module.__dict__.update(square=_reference, wrong=_reference)
    monkeypatch.setitem(sys.modules, "torch_ref.planted", module)
    cases = {
        f"planted/{fun.__name__}": Case(
            fun=fun,
            theme="planted",
            behaviour=fun.__name__,
            source=(source,),
            inputs={"x": normal(3)},
            idiom=("x.backward()", "jax.grad(f)(x) | twice"),
        )
        for fun, source in ((square, "S0-01"), (wrong, "S0-02"))
    }
    monkeypatch.setattr("parity_tests.case.load", lambda: cases)
    return cases


def test_all_passed(planted, capsys):
    """If every cell passes, the exit status is 0 and the last two lines count rows and cells."""
    assert runner.main(["planted/square"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[-2] == "source rows covered 1 of 62"
    assert lines[-1] == "4 passed, 0 failed"
    assert any(line.startswith("planted/square") and "f64 eager" in line for line in lines)


@pytest.mark.parametrize("defaults", [False, True])
def test_xla_defaults(planted, monkeypatch, defaults):
    """`--xla-defaults` sets no option of XLA; a run without it sets some."""
    monkeypatch.setenv("XLA_FLAGS", "")
    runner.main(["planted/square", *["--xla-defaults"] * defaults])

    assert bool(os.environ["XLA_FLAGS"]) != defaults


def test_a_failure(planted, capsys):
    """If a cell fails, the exit status is 1 and the output has its claim and its command."""
    assert runner.main(["--dtype", "float64", "--mode", "jit"]) == 1
    out = capsys.readouterr().out

    assert "FAIL planted/wrong (float64 jit cpu)" in out
    assert "rerun  python -m parity_tests planted/wrong --dtype float64 --mode jit" in out
    assert out.splitlines()[-2:] == ["source rows covered 1 of 62", "1 passed, 1 failed"]


@pytest.mark.parametrize("pattern", ("square", "planted/*are", "S0-01", "planted/square"))
def test_patterns(planted, capsys, pattern):
    """A case can be selected by its id, a part of it, a glob or a source row."""
    assert runner.main([pattern, "--list"]) == 0
    assert capsys.readouterr().out.split()[0] == "planted/square"


def test_nothing_selected(planted, capsys):
    """If nothing is selected, the exit status is 5 and the message lists similar ids."""
    assert runner.main(["planted/sqare"]) == 5
    assert "no case matches 'planted/sqare'; nearest: planted/square" in capsys.readouterr().err
    assert runner.main(["--dtype", "bfloat16"]) == 5
    assert "none of the 2 selected cases runs with --dtype bfloat16" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, words",
    (
        (["--dtype", "float8"], "'float8' is not one of float64, float32"),
        (["--mode", "eager,lazy"], "'lazy' is not one of eager, jit"),
        (["--device", "npu"], "invalid choice"),
        (["--seed", "x"], "invalid int value"),
        (["--nonsense"], "unrecognized arguments"),
    ),
)
def test_usage(planted, capsys, arguments, words):
    """An invalid option gives exit status 2 and a message that names the invalid value."""
    with pytest.raises(SystemExit, match="2"):
        runner.main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("device", ("gpu", "tpu"))
def test_a_device_that_is_not_there(planted, monkeypatch, capsys, device):
    """A missing device gives exit status 2 and a message that lists the existing devices."""

    def no_device(name):
        raise RuntimeError("no such backend")

    monkeypatch.setattr("jax.devices", no_device)

    assert runner.main(["--device", device]) == 2
    words = f"--device {device}: JAX finds no {device} here, only cpu"
    assert words in capsys.readouterr().err


def test_without_torch(planted, monkeypatch, capsys):
    """Without torch, the exit status is 3 and the message has the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert runner.main([]) == 3
    assert "pip install torch==2.13.0" in capsys.readouterr().err


def test_an_internal_error(planted, monkeypatch):
    """An error in the runner itself gives exit status 3."""
    monkeypatch.setattr("parity_tests.runner.selection.grid", lambda *args: 1 / 0)

    assert runner.main([]) == 3


def test_the_written_files_are_named_before_the_summary(planted, tmp_path, capsys):
    """stdout names each file that a complete run writes, above the summary."""
    data, junit = str(tmp_path / "out.json"), str(tmp_path / "out.xml")

    runner.main(["--json", data, "--junit-xml", junit])
    lines = capsys.readouterr().out.splitlines()
    named = lines.index(f"written: {data}, {junit}")
    assert lines[named + 1].startswith("verdicts: ")


def test_interrupted(planted, monkeypatch, tmp_path, capsys):
    """Ctrl-C gives exit status 130, and the results so far are written."""
    real, count = engine.run, iter(range(9))

    def run(*args, **kwargs):
        if next(count) == 3:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr("parity_tests.runner.engine.run", run)

    assert runner.main(["--json", str(tmp_path / "out.json")]) == 130
    written = json.loads((tmp_path / "out.json").read_text())
    assert len(written["results"]) == 3
    assert written["interrupted"] is True
    captured = capsys.readouterr()
    assert f"interrupted: 3 of 8 cells are in {tmp_path / 'out.json'}\n" in captured.err
    assert any(line.startswith("planted/square") for line in captured.out.splitlines())
    assert captured.out.splitlines()[-1] == "3 passed, 0 failed"


def test_the_last_line_of_an_interrupted_run_says_how_many_cells_ran(planted, monkeypatch, capsys):
    """The line with "interrupted" follows the summary, where a user sees it."""
    monkeypatch.setattr(sys, "stderr", sys.stdout)

    def results(cells, seed, workers, finished):
        """Interrupt the run before its first result."""
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("parity_tests.runner.workers.results", results)

    assert runner.main([]) == 130
    assert capsys.readouterr().out.splitlines()[-1] == "interrupted: 0 of 8 cells ran"


def test_an_interrupted_run_writes_every_file_but_no_table(planted, monkeypatch, tmp_path, capsys):
    """JUnit skips the missing cells, the page says so, and a table keeps its rows."""
    names = ("out.json", "out.xml", "out.html", "README.md")
    data, junit, page, table = (str(tmp_path / name) for name in names)
    text = "<!-- parity-table:begin -->\nrows\n<!-- parity-table:end -->"
    (tmp_path / "README.md").write_text(text)

    def results(cells, seed, workers, finished):
        """Finish the second case first, as another process may, and interrupt the first one."""
        for index in range(4, 8):
            finished[index] = engine.run(*cells[index][:3], seed=seed)
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("parity_tests.runner.workers.results", results)
    arguments = ["--json", data, "--junit-xml", junit, "--html", page, "--markdown", table]

    assert runner.main(arguments) == 130
    captured = capsys.readouterr()
    assert captured.err == (
        f"interrupted: 4 of 8 cells are in {data}, {junit}, {page}; not written: {table}\n"
    )
    assert [x["id"] for x in json.loads((tmp_path / "out.json").read_text())["results"]] == [
        *4 * ["planted/wrong"]
    ]
    assert (tmp_path / "README.md").read_text() == text
    assert "The run is incomplete: interrupted." in (tmp_path / "out.html").read_text()
    root = ElementTree.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("8", "4", "4")
    assert len(root.findall("testsuite/testcase/skipped")) == 4
    assert any(line.startswith("planted/wrong") for line in captured.out.splitlines())


def test_an_interruption_before_the_first_result_writes_nothing(
    planted, monkeypatch, tmp_path, capsys
):
    """An earlier file is not replaced by an empty one."""
    path = tmp_path / "out.json"
    path.write_text("earlier")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("parity_tests.runner.engine.run", interrupt)
    assert runner.main(["--json", str(path)]) == 130
    assert path.read_text() == "earlier"
    assert f"interrupted: 0 of 8 cells ran; not written: {path}\n" in capsys.readouterr().err

    monkeypatch.setattr("parity_tests.case.load", interrupt)
    assert runner.main([]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_ctrl_c_on_several_processes(tmp_path):
    """A signal ends a run on two processes; the finished cells are written, without a traceback."""
    path = tmp_path / "out.json"
    command = [sys.executable, "-m", "parity_tests", "hooks", "-n", "2", "--json", str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("hooks/"):
                break
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process of the run
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    written = json.loads(path.read_text())
    assert written["interrupted"] is True
    count = len(written["results"])
    assert f"interrupted: {count} of " in err and str(path) in err
    assert "Traceback" not in err
    assert out.splitlines()[-1] == f"{count} passed, 0 failed"


def test_an_error_counts_as_an_error(planted, monkeypatch, tmp_path, capsys):
    """A cell that raises is an error in the last line, in JUnit, on the page and in the table."""

    def broken(x):
        """A program that raises."""
        raise RuntimeError("no such thing")

    case = planted["planted/wrong"]
    monkeypatch.setitem(planted, "planted/wrong", dataclasses.replace(case, fun=broken))
    data, junit, page = (tmp_path / name for name in ("a.json", "a.xml", "a.html"))
    arguments = ["--json", str(data), "--junit-xml", str(junit), "--html", str(page)]

    assert runner.main(arguments) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "4 passed, 4 failed (4 with an error)"
    records = json.loads(data.read_text())["results"]
    assert [x["verdict"] for x in records if x["id"] == "planted/wrong"] == 4 * ["error"]
    root = ElementTree.parse(junit).getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "4")
    assert len(root.findall("testsuite/testcase/error")) == 4
    text = page.read_text()
    assert "2 behaviours: 0 failed, 1 raised an error, 1 agree with torch" in text
    assert 'data-term="status:error">errors</button>' in text


OPTIONS = ("--json", "--html", "--junit-xml", "--markdown", "--against", "-o")


@pytest.mark.parametrize("option", OPTIONS)
def test_a_path_that_cannot_be_written_is_refused_before_the_run(
    planted, monkeypatch, tmp_path, capsys, option
):
    """The message names the option, the path and the reason; no case runs."""
    monkeypatch.setattr("parity_tests.runner.engine.run", lambda *args, **kwargs: 1 / 0)
    path = str(tmp_path / "absent" / "file")
    mode = ["--picture", "planted/square"] if option == "-o" else []
    reads = option in ("--markdown", "--against")
    reason = "cannot be read: no such file" if reads else "cannot be written: there is no folder"

    assert runner.main([*mode, option, path]) == 2
    assert capsys.readouterr().err.startswith(f"{option} {path}: {reason}")

    assert runner.main([*mode, option, str(tmp_path)]) == 2
    assert f"{option} {tmp_path}: cannot be" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--list", "--json", "a"], "--json a: has no effect with --list"),
        (["--kill-table", "--html", "a"], "--html a: has no effect with --kill-table"),
        (["--conventions", "--json", "a"], "--json a: has no effect with --conventions"),
        (
            ["--conventions", "--markdown", "a", "--markdown", "b"],
            "--markdown b: --conventions writes one page only",
        ),
        (["--picture", "planted/square", "--html", "a"], "--html a: has no effect with --picture"),
        (["-o", "a"], "-o a: needs --picture"),
        (["--html", "a", "--json", "a"], "--html a: --json writes the same file"),
    ],
)
def test_a_file_that_would_not_be_written_is_refused(
    planted, monkeypatch, tmp_path, capsys, arguments, words
):
    """An option that a mode ignores is a usage error."""
    monkeypatch.chdir(tmp_path)
    assert runner.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_a_page_without_markers_is_refused_before_the_run(planted, monkeypatch, tmp_path, capsys):
    """`--markdown` needs the markers of a table, and says so before a case runs."""
    monkeypatch.setattr("parity_tests.runner.engine.run", lambda *args, **kwargs: 1 / 0)
    path = tmp_path / "README.md"
    path.write_text("no markers")
    assert runner.main(["--markdown", str(path)]) == 2
    assert f"--markdown {path}: needs the marker lines" in capsys.readouterr().err


def test_a_file_that_fails_costs_no_other_file(planted, monkeypatch, tmp_path, capsys):
    """If the disk is full when the JSON is written, the page is written and the status is 3."""

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write_json", full)
    data, page = tmp_path / "a.json", tmp_path / "a.html"
    assert runner.main(["planted/square", "--json", str(data), "--html", str(page)]) == 3
    assert f"--json {data}: not written: [Errno 28] No space left" in capsys.readouterr().err
    assert "<h1>" in page.read_text()


def test_the_list_has_a_legend_and_stays_easy_to_parse(planted, monkeypatch, capsys):
    """Each line of stdout is a case with three fields; the header and its legend go to stderr."""
    case = dataclasses.replace(planted["planted/wrong"], source=())
    monkeypatch.setitem(planted, "planted/wrong", case)
    assert runner.main(["--list"]) == 0
    captured = capsys.readouterr()
    assert [line.split()[:2] for line in captured.out.splitlines()] == [
        ["planted/square", "S0-01"],
        ["planted/wrong", "-"],
    ]
    legend, header = captured.err.splitlines()
    assert "P rows (of the catalogue of differences)" in legend
    assert header.split() == ["case", "rows", "dtypes"]
    assert header.index("rows") == captured.out.index("S0-01")


def test_the_reader_of_the_output_has_ended():
    """If the pipe is closed, as in `--list | head -1`, the status is 130, without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "parity_tests", "--list"]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)


def test_the_results_are_written_if_the_reader_of_the_output_has_ended(tmp_path):
    """`... --json FILE | head -1` writes the cells that ran before `head` ended."""
    path = tmp_path / "out.json"
    command = [sys.executable, "-m", "parity_tests", "hooks", "-n", "1", "--json", str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while not process.stdout.readline().startswith("hooks/"):
            pass
        process.stdout.close()
        err = process.stderr.read()

    count = len(json.loads(path.read_text())["results"])
    assert process.returncode == 130 and count > 0
    assert f"the reader of the output has ended: {count} of " in err
    assert "Traceback" not in err


def test_a_worker_that_died(planted, monkeypatch, tmp_path, capsys):
    """If a worker process dies, the exit status is 3 and the results so far are written."""

    def results(cells, seed, workers, finished):
        del workers
        finished[0] = engine.run(*cells[0][:3], seed=seed)
        yield finished[0]
        raise BrokenProcessPool

    monkeypatch.setattr("parity_tests.runner.workers.results", results)

    assert runner.main(["--json", str(tmp_path / "out.json")]) == 3
    assert len(json.loads((tmp_path / "out.json").read_text())["results"]) == 1
    words = "a worker process died, perhaps out of memory (try --workers 1): 1 of 8 cells are in"
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_workers(tmp_path):
    """Several processes give the same results in the same order as a single one."""
    runs = []
    for count in "12":
        path = tmp_path / f"{count}.json"
        runner.main(["tensor_hook", "clip_grad_value", "--workers", count, "--json", str(path)])
        runs.append(json.loads(path.read_text())["results"])
    for record in itertools.chain(*runs):
        del record["seconds"], record["phases"]

    assert runs[0] == runs[1]
    assert len({record["id"] for record in runs[0]}) > 1


def test_no_workers(capsys):
    with pytest.raises(SystemExit, match="2"):
        runner.main(["--workers", "0"])
    assert "'0' is not a positive number of processes" in capsys.readouterr().err


KEYS = (
    "id theme claim source dtype mode device verdict leaves max_ulp_at_scale max_rel oracle_ratio "
    "control seconds"
).split()


def test_json(planted, tmp_path):
    """The JSON contains the versions, and every documented field of each cell."""
    path = tmp_path / "out.json"
    runner.main(["--json", str(path), "--seed", "7"])
    written = json.loads(path.read_text())

    assert {"versions", "results", "kill_table"} <= set(written)
    assert {"python", "torch", "jax", "optax", "cpu", "seed", "commit"} <= set(written["versions"])
    assert written["versions"]["seed"] == 7
    for record in written["results"]:
        assert set(KEYS) <= set(record)
    assert {record["control"] for record in written["results"]} == {"perturbation"}
    assert written["results"][0]["leaves"][0]["path"] == "grad"


def test_json_has_no_nan(planted, tmp_path):
    """NaN and infinities are written as strings, because JSON has no such numbers."""
    path = tmp_path / "out.json"
    report.write_json(str(path), {"a": [float("nan"), float("-inf"), 1.0], "b": jnp.ones(2)})

    assert json.loads(path.read_text())["a"] == ["nan", "-inf", 1.0]


def test_junit(planted, tmp_path):
    """The JUnit file has one test per cell, with the escaped text of each failure."""
    path = tmp_path / "out.xml"
    runner.main(["--junit-xml", str(path)])
    (suite,) = ElementTree.parse(path).getroot()

    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("8", "4", "0")
    failures = suite.findall("testcase/failure")
    assert len(failures) == 4
    assert '<script>alert("a claim")</script>' in (failures[0].text or "")


def test_against(planted, tmp_path, capsys, monkeypatch):
    """`--against` lists the changed, the new and the missing cells."""
    path = tmp_path / "old.json"
    runner.main(["--json", str(path), "--dtype", "float64"])
    old = json.loads(path.read_text())
    old["results"][0]["verdict"] = "fail"
    old["results"][1]["id"] = "planted/lost"
    path.write_text(json.dumps(old))
    capsys.readouterr()

    runner.main(["--against", str(path), "--dtype", "float64"])
    out = capsys.readouterr().out

    assert "changed  planted/square (float64 eager cpu): fail -> " in out
    assert "new      planted/square (float64 jit cpu)" in out
    assert "gone     planted/lost" in out


@pytest.mark.parametrize("content", ("no json", "[]", "{}", '{"results": [{"id": "a"}]}'))
def test_against_something_else(planted, tmp_path, capsys, content):
    """`--against` gives exit status 2 if the file was not written by `--json`."""
    path = tmp_path / "old.json"
    path.write_text(content)

    assert runner.main(["--against", str(path)]) == 2
    assert "not a file written by --json" in capsys.readouterr().err


def test_explain(planted, capsys):
    """`--explain` prints both sources side by side, the verdicts and the largest differences."""
    assert runner.main(["--explain", "planted/wrong", "--mode", "eager"]) == 1
    out = capsys.readouterr().out

    assert "torch_ref/planted.py" in out
    assert "parity_tests/cases/planted.py" in out
    assert any("value.backward()" in line and " | " in line for line in out.splitlines())
    assert "largest differences:" in out
    assert "ULP at leaf scale" in out


def test_durations(planted, capsys):
    """`--durations` prints the seconds that each phase took."""
    runner.main(["--durations"])

    assert "including XLA compilation" in capsys.readouterr().out


def test_markdown(planted, tmp_path):
    """`--markdown` writes each table between its markers and leaves the rest of the file alone."""
    path = tmp_path / "README.md"
    tables = "<!-- parity-table:begin -->\nold\n<!-- parity-table:end -->\nbetween\n"
    tables += "<!-- parity-themes:begin -->\n<!-- parity-themes:end -->"
    path.write_text(f"before\n{tables}\nafter\n")
    runner.main(["--markdown", str(path)])
    text = path.read_text()

    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    idioms = "`` x.backward() `` | `` jax.grad(f)(x) \\| twice ``"
    assert f"| planted/square | {idioms} | identical |" in text
    assert "| fail |" in text
    assert "2 behaviours in 1 themes: 1 identical, 1 fail." in text
    assert "How many there are of each theme: [planted](#planted) 2." in text

    path.write_text("no markers")
    with pytest.raises(ValueError, match="needs the marker lines"):
        report.write_markdown(str(path), (), ())


def test_in_a_pipe():
    """When the output is a pipe, it is plain text without control characters."""
    command = [sys.executable, "-m", "parity_tests", "grad_modes/detach", "--mode", "jit"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert "\x1b" not in out.stdout + out.stderr
    assert out.stdout.splitlines()[-1] == "2 passed, 0 failed"


def test_a_case_that_cannot_be_drawn_is_a_usage_error(capsys):
    """`--picture` gives exit status 2 and a reason if the case cannot be drawn."""
    assert runner.main(["--picture", "graph/saved_tensors"]) == runner.USAGE
    assert "graph/saved_tensors has no picture: its torch program" in capsys.readouterr().err


def test_the_file_of_a_picture_is_named(tmp_path, capsys):
    """`-o` writes the picture, and stdout says where."""
    path = tmp_path / "detach.svg"
    assert runner.main(["--picture", "grad_modes/detach", "-o", str(path)]) == runner.OK
    assert capsys.readouterr().out == f"written: {path}\n"
    assert path.read_text().startswith("<svg")
