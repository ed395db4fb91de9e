"""`make device` runs each part on a GPU or TPU and records what passed."""

import json
import subprocess
import sys

import pytest

from parity_tests.audits.environments import ROOT
from parity_tests.devices import record
from parity_tests.site import versions as page


KNOWN = dict.fromkeys(("python", "jax", "jaxlib", "optax", "numpy", "torch"), "1.0")
KNOWN |= {"device_kind": "NVIDIA X", "date": "2026-11-24 10:00:00 UTC", "commit": "abc"}
JUNIT = """<testsuites><testsuite><testcase classname="a.b" name="c"/>
<testcase classname="a.b" name="d"><failure message="no"/></testcase></testsuite></testsuites>"""


def done(stdout: str = "", stderr: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, stdout, stderr)


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """A machine whose every part finishes, and the commands that were run on it."""
    commands = []

    def run(command, **options):
        commands.append((command[1:], options.get("env", {})))
        if command[1] == "-c":
            return done(json.dumps(KNOWN))
        words = [str(word) for word in command]
        if "--junit-xml" in words:
            _write(words[words.index("--junit-xml") + 1], JUNIT)
        if "--json" in words:
            cell = {"id": "hooks/a", "dtype": "float32", "mode": "jit", "verdict": "close"}
            _write(words[words.index("--json") + 1], json.dumps({"results": [cell]}))
        return done()

    (tmp_path / "benchmarks").mkdir()
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record.subprocess, "run", run)
    monkeypatch.setattr(page, "write", lambda: None)
    return commands


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def test_each_part_is_run_and_recorded(runs, tmp_path, capsys):
    """Every part runs in a process with torch's precision; failures are named; status 1."""
    assert record.main(["gpu"]) == 1

    folder = tmp_path / "benchmarks" / "gpu"
    records = json.loads((folder / "records.json").read_text())
    assert [r["target"] for r in records] == ["parity", "operators", "layers", "ports", "prove"]
    assert records[1]["failed"] == ["a.b::d"] and records[1]["device"] == "NVIDIA X"
    assert records[1]["command"] == "make device DEVICE=gpu ARGS='--run operators'"
    cells = json.loads((folder / "parity.json").read_text())
    assert cells == {"hooks/a": {"float32 jit": "close"}} and "verdicts" not in records[0]
    modules = [command[1] for command, _ in runs[1:]]
    assert modules == ["parity_tests", *["pytest"] * 4, "benchmarks"]
    parity, env = runs[1]
    assert parity[2:4] == ["--device", "gpu"]
    assert env["JAX_DEFAULT_MATMUL_PRECISION"] == "highest"
    assert "operators 1 of 2 pass" in capsys.readouterr().out


def test_a_part_replaces_its_own_record(runs, tmp_path):
    """One part can be run again; the benchmarks, which need CUDA, are left out on a TPU."""
    record.main(["tpu"])
    record.main(["tpu", "--run", "layers"])

    path = tmp_path / "benchmarks" / "tpu" / "records.json"
    targets = [r["target"] for r in json.loads(path.read_text())]
    assert targets == ["parity", "operators", "ports", "prove", "layers"]
    workers = {words[words.index("-n") + 1] for words, _ in runs if "-n" in words}
    assert workers == {"1"} and not any("benchmarks" in words for words, _ in runs)


def test_a_crash_is_recorded_with_its_last_line(runs, monkeypatch, tmp_path, capsys):
    """A part that writes no report did not finish, and its last line says why."""
    crash = "first\nCUDA_ERROR_OUT_OF_MEMORY"
    answers = iter([done(json.dumps(KNOWN)), done(stderr=crash, code=1)])
    monkeypatch.setattr(record.subprocess, "run", lambda *a, **k: next(answers))

    assert record.main(["gpu", "--run", "layers"]) == 1

    assert "layers CUDA_ERROR_OUT_OF_MEMORY" in capsys.readouterr().out
    path = tmp_path / "benchmarks" / "gpu" / "records.json"
    (kept,) = json.loads(path.read_text())
    assert kept["error"] == "CUDA_ERROR_OUT_OF_MEMORY"
    assert page.result(kept) == "did not finish: CUDA_ERROR_OUT_OF_MEMORY"


def test_a_missing_device_is_one_sentence():
    """Where there is no TPU, the command says what JAX finds, and records nothing."""
    command = [sys.executable, "-m", "parity_tests.devices.record", "tpu"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert out.returncode == 1 and out.stderr.strip() == "JAX finds no tpu here, only cpu"
    assert not (ROOT / "benchmarks" / "tpu").exists()
