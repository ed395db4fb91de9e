"""The command line counts verdicts, shows progress, and returns an exit status."""

import gc
import importlib.util
import json
import pathlib
import signal
import subprocess
import sys
import types
from types import SimpleNamespace
from typing import Any

import pytest

from jaxgrad.parity import Report, Surface, __main__
from jaxgrad.parity.__main__ import main
from parity_tests.runner.settings import ROOT


def report(verdict: Any) -> Report:
    return Report(verdict, {"forward": Surface("forward", verdict, "")})


@pytest.fixture
def proofs(monkeypatch) -> Any:
    """A function that replaces the proofs by reports with some verdicts."""

    def replace(*verdicts: Any) -> None:
        pairs = [
            SimpleNamespace(name=f"pair{n}", verdict=verdict) for n, verdict in enumerate(verdicts)
        ]

        def run(pair: Any, seed: Any, step: Any, time_limit: Any) -> Report:
            del time_limit
            if isinstance(pair.verdict, BaseException):
                raise pair.verdict
            for name in ("torch", "trace", "trace", "reruns", "torch"):
                step(name)
            return report(pair.verdict)

        monkeypatch.setattr(__main__, "load", lambda _: pairs)
        monkeypatch.setattr(__main__, "run", run)

    return replace


@pytest.mark.parametrize(
    ("verdicts", "status", "last"),
    [
        (["pass"], 0, "1 passed, 0 failed"),
        (["pass", "inconclusive", "pass", "pass"], 4, "3 passed, 0 failed, 1 inconclusive"),
        (["fail", "inconclusive", "inconclusive"], 1, "0 passed, 1 failed, 2 inconclusive"),
        (["error", "pass", "fail"], 1, "1 passed, 2 failed (1 with an error)"),
        (["error", "inconclusive"], 1, "0 passed, 1 failed (1 with an error), 1 inconclusive"),
    ],
)
def test_the_last_line_counts_the_verdicts(proofs, capsys, verdicts, status, last):
    """The exit status is that of the worst."""
    proofs(*verdicts)
    assert main(["a.py"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (__main__.UsageError("no such pair"), 2, "no such pair\n"),
        (KeyboardInterrupt(), 130, "interrupted: 0 of 1 proofs are finished\n"),
        (ModuleNotFoundError("x", name="torch"), 3, "torch is not installed; run: pip install"),
        (ModuleNotFoundError("no scipy", name="scipy"), 3, "ModuleNotFoundError: no scipy"),
        (ImportError("broken", name="torch"), 3, "ImportError: broken"),
    ],
)
def test_an_error_has_an_exit_status_of_its_own(proofs, capsys, error, status, words):
    """Only torch has a remedy; other errors are bugs, so they have a traceback."""
    proofs(error)
    assert main(["a.py"]) == status
    err = capsys.readouterr().err
    assert words in err and ("Traceback" in err) == (status == 3 and "pip" not in words)


def test_the_reader_of_the_output_has_ended(proofs, capfd):
    """A pipe that its reader has closed, as in `... | head`, is no error of the program."""
    proofs(BrokenPipeError())
    assert main(["a.py"]) == 130
    assert "Traceback" not in capfd.readouterr().err


def test_a_log_has_one_line_for_each_pair(proofs, capsys):
    """The lines go to stderr; quick steps have none."""
    proofs("pass", "pass")
    main(["a.py"])
    assert capsys.readouterr().err.splitlines() == ["[1/2] pair0", "[2/2] pair1"]


def test_a_slow_step_has_a_line_in_a_log(proofs, capsys, monkeypatch):
    """A step that begins long after the last line is printed, so that a log shows where it is."""
    clock = iter([0, 3, 10, 12, 13, 14])  # at the start and at each step
    monkeypatch.setattr(__main__, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    proofs("pass")
    main(["a.py"])
    assert capsys.readouterr().err.splitlines() == ["[1/1] pair0", "[1/1] pair0: trace"]


@pytest.mark.parametrize(("rich", "lines"), [(True, 0), (False, 1)])
def test_a_terminal_has_a_bar_if_rich_is_installed(proofs, capsys, monkeypatch, rich, lines):
    """Otherwise it has lines too."""
    if rich:
        pytest.importorskip("rich")
    proofs("pass")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    find = __main__.importlib.util.find_spec
    monkeypatch.setattr(
        __main__.importlib.util, "find_spec", lambda name: find(name) if rich else None
    )
    assert main(["a.py"]) == 0
    assert sum(x.startswith("[1/1] pair0") for x in capsys.readouterr().err.splitlines()) == lines


def test_a_bar_never_goes_back(monkeypatch):
    """A step that is not in the list counts as no progress."""
    progress = pytest.importorskip("rich.progress")
    completed = []

    class Progress(progress.Progress):
        def update(self, task_id: Any, *arguments: Any, **changes: Any) -> None:
            super().update(task_id, *arguments, **changes)
            completed.append(self.tasks[task_id].completed)

    monkeypatch.setattr(progress, "Progress", Progress)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with __main__._bar("title") as step:
        for name in ("reruns", "torch", "trace", "torch", "align", "reruns"):
            step(name)
    assert completed == [0, 0, 2, 2, 4, 4]


def test_the_reports_are_written_as_json_and_as_a_page(proofs, tmp_path):
    """Nothing else is written."""
    proofs("pass")
    document, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main(["a.py", "--json", str(document)]) == 0 and not page.exists()
    text = document.read_text()
    assert json.loads(text)["proofs"][0]["verdict"] == "pass" and '\n "proofs": [\n  {' in text
    assert main(["a.py", "--html", str(page)]) == 0 and "pass" in page.read_text()


def test_the_written_files_are_named_before_the_summary(proofs, tmp_path, capsys):
    """stdout names each file that is written, and a run without files names none."""
    proofs("pass")
    document, page = str(tmp_path / "a.json"), str(tmp_path / "a.html")
    assert main(["a.py", "--json", document, "--html", page]) == 0
    last = capsys.readouterr().out.splitlines()[-2:]
    assert last == [f"written: {document}, {page}", "1 passed, 0 failed"]
    main(["a.py"])
    assert "written" not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent/a", "there is no folder {}/absent"),
        ("", "it is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_proofs(
    proofs, tmp_path, capsys, option, name, reason
):
    """The message names the option, the path and the reason."""
    proofs(AssertionError("a proof ran"))
    path = f"{tmp_path}/{name}"
    assert main(["a.py", option, path]) == 2
    words = f"{option} {path}: cannot be written: {reason.format(tmp_path)}\n"
    assert capsys.readouterr().err == words


def test_a_page_without_jinja2_is_refused_before_the_proofs(proofs, tmp_path, capsys, monkeypatch):
    """The page needs jinja2, which the message says how to install."""
    monkeypatch.setattr(__main__.importlib.util, "find_spec", lambda name: None)
    proofs(AssertionError("a proof ran"))
    assert main(["a.py", "--html", str(tmp_path / "a.html")]) == 2
    assert "jinja2 is missing; run: pip install jinja2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted: "),
        (BrokenPipeError(), 130, "ended early: "),
        (RuntimeError("a bug"), 3, "ended early: "),
    ],
)
def test_the_finished_proofs_are_written_if_a_later_one_ends_the_run(
    proofs, tmp_path, capfd, error, status, words
):
    """The files say that the run is incomplete, and stderr says what is in them."""
    proofs("pass", "fail", error, "pass")
    document, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main(["a.py", "--json", str(document), "--html", str(page)]) == status
    captured = capfd.readouterr()
    assert f"{words}2 of 4 proofs are in {document}, {page}\n" in captured.err
    written = json.loads(document.read_text())
    assert written["interrupted"] is True
    assert [proof["verdict"] for proof in written["proofs"]] == ["pass", "fail"]
    assert "The run ended early: 2 of 4 proofs are finished." in page.read_text()
    if isinstance(error, KeyboardInterrupt):
        assert captured.out.splitlines()[-1] == "1 passed, 1 failed"


def test_a_proof_without_a_page_costs_no_other_page(proofs, tmp_path, capsys):
    """A proof whose page cannot be rendered is an error, which quotes the report of that proof."""
    proofs("pass", "verdict without a sign", "pass")
    document, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main(["a.py", "--json", str(document), "--html", str(page)]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "2 passed, 1 failed (1 with an error)"
    text = page.read_text()
    for words in (
        "1 of 3 ports could not be compared",
        "the page of this proof could not be rendered: this is a bug in jaxgrad",
        "forward    verdict without a sign",
    ):
        assert words in text, f"the page lacks {words!r}"
    verdicts = [proof["verdict"] for proof in json.loads(document.read_text())["proofs"]]
    assert verdicts == ["pass", "error", "pass"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_a_proof_loses_ends_the_run(proofs, monkeypatch, capsys):
    """Ctrl-C in a callback of the garbage collector raises nothing; the next step ends the run."""

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def run(pair: Any, seed: Any, step: Any, time_limit: Any) -> Report:
        del time_limit
        step("torch")
        Finalized()
        if pair.name == "pair1":
            step("trace")
        return report("pass")

    proofs("pass", "pass", "pass")
    monkeypatch.setattr(__main__, "run", run)
    assert main(["a.py"]) == 130
    captured = capsys.readouterr()
    assert captured.err.endswith("interrupted: 1 of 3 proofs are finished\n")


def test_an_interruption_before_the_first_proof_keeps_an_earlier_file(proofs, tmp_path, capsys):
    """An empty list would replace the proofs of the last run."""
    document = tmp_path / "a.json"
    document.write_text("earlier")
    proofs(KeyboardInterrupt())
    assert main(["a.py", "--json", str(document)]) == 130
    message = f"interrupted: 0 of 1 proofs are finished; not written: {document}\n"
    assert capsys.readouterr().err.endswith(message)
    assert document.read_text() == "earlier"


def test_a_full_disk_costs_no_other_file(proofs, tmp_path, capsys, monkeypatch):
    """If the JSON cannot be written after the proofs, the page is, and the status is 3."""
    write = pathlib.Path.write_text

    def full(path: pathlib.Path, text: str, **options: Any) -> int:
        if path.suffix == ".json":
            raise OSError(28, "No space left on device")
        return write(path, text, **options)

    monkeypatch.setattr(pathlib.Path, "write_text", full)
    proofs("pass")
    document, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main(["a.py", "--json", str(document), "--html", str(page)]) == 3
    assert f"--json {document}: not written: [Errno 28]" in capsys.readouterr().err
    assert "pass" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["prot", "x"], "there is no command and no file 'prot'; did you mean 'port'?"),
        (["verfy", "x.py"], "there is no command and no file 'verfy'; did you mean 'verify'?"),
        (["lnt", "x.py"], "there is no command and no file 'lnt'; did you mean 'lint'?"),
        (
            ["prove", "--help"],
            "there is no command and no file 'prove'; prove the pairs of a file with: "
            "python -m jaxgrad.parity pair.py",
        ),
        (["other"], "the file 'other' does not exist; pass pair.py or pair.py::name"),
    ],
)
def test_a_word_that_is_not_a_command_says_what_to_run(
    arguments, text, tmp_path, monkeypatch, capsys
):
    """A misspelt command, or a function of Python, is not taken for a file of pairs."""
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"{text}\n")


def test_a_file_may_have_the_name_of_a_misspelt_command(tmp_path, monkeypatch, proofs, capsys):
    """A file that exists is proved, whatever its name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prot").write_text("")
    proofs("pass")

    assert main(["prot"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("has_triton", [False, True])
def test_the_last_collection_is_skipped_without_triton(monkeypatch, has_triton):
    """Freezing all objects saves a second at exit; triton reports those that are not collected."""
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    if has_triton:
        monkeypatch.setitem(sys.modules, "triton", types.ModuleType("triton"))
    calls = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))

    __main__.skip_last_collection()

    assert calls == ([] if has_triton else ["freeze"])


PAIR = """
import numpy as np, optax, torch
from jaxgrad.parity import Training

def pair():
    model = torch.nn.Linear(2, 1)
    params = {name: p.numpy() for name, p in model.state_dict().items()}
    fn = lambda p, x: x @ p["weight"].T + p["bias"]
    training = Training(torch=lambda p: torch.optim.SGD(p, lr=0.1), optax=optax.sgd(0.1))
    return {"module": model, "fn": fn, "params": params, "inputs": (np.eye(3, 2),),
            "optimizer": training, "steps": 1}
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_the_command_line_leaks_no_objects_of_triton(tmp_path):
    """A proof with an optimizer, which imports triton, ends without a message of nanobind."""
    (tmp_path / "a.py").write_text(PAIR)

    command = [sys.executable, "-m", "jaxgrad.parity", str(tmp_path / "a.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "nanobind" not in done.stderr
