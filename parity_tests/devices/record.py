"""Run on a GPU or TPU what compares JAX with torch, and record the results (`make device`).

    python -m parity_tests.devices.record [gpu|tpu] [--run PART ...] [--workers N]

Each part is a process of its own: the cells of the parity grid, the operators, the layers, the
ports that `jaxgrad.port` writes, the tests of `prove`, and on a GPU the benchmarks. The records are
written to benchmarks/gpu or benchmarks/tpu, and from them the table of docs/versions.md. Exit
status: 0 if all passed, else 1.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from parity_tests.audits.environments import ROOT
from parity_tests.audits.version_matrix import counts, crash, keep, outcome, succeeded
from parity_tests.site import versions as page


# The command of each part that writes a JUnit file: a module, and its arguments.
TESTS: dict[str, Sequence[str]] = {
    "parity": ("parity_tests", "--device", "{device}", "--json", "{json}"),
    "operators": ("pytest", "-n", "{workers}", "tests/jaxgrad/functional", "-k", "test_operator"),
    "layers": ("pytest", "-n", "{workers}", "tests/jaxgrad/nnx"),
    "ports": ("pytest", "-n", "{workers}", "tests/parity_tests/devices/test_written_ports.py"),
    "prove": ("pytest", "-n", "{workers}", "tests/jaxgrad/parity", "-k", "prove or lint"),
}
BENCHMARKS = "benchmarks"
# Float32 products in float32, as torch's; and several processes share the memory of one GPU.
SETTINGS = {
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "OPERATOR_SEED": "",  # every drawn call of each operator
}
_TEXT: dict[str, Any] = {"capture_output": True, "text": True}
_ABOUT = """\
import json, sys
from parity_tests.runner import environment
try:
    environment.require_device(sys.argv[1])
except environment.DeviceMissing as error:
    sys.exit(str(error))
print(json.dumps(environment.versions(0, sys.argv[1])))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts of the command line and return the exit status."""
    words = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="make device", description=words)
    parser.add_argument("device", nargs="?", choices=("gpu", "tpu"), default="gpu")
    parser.add_argument("--run", nargs="+", choices=(*TESTS, BENCHMARKS), metavar="PART")
    parser.add_argument("--workers", type=int, help="processes of the tests (gpu: 4, tpu: 1)")
    options = parser.parse_args(arguments)
    device = options.device
    about = subprocess.run([sys.executable, "-c", _ABOUT, device], cwd=ROOT, **_TEXT)
    if about.returncode:
        print(about.stderr.strip().splitlines()[-1], file=sys.stderr)
        return 1
    known = json.loads(about.stdout.splitlines()[-1])
    folder = ROOT / "benchmarks" / device
    folder.mkdir(exist_ok=True)
    workers = options.workers or (4 if device == "gpu" else 1)
    status = 0
    for part in options.run or (*TESTS, *([BENCHMARKS] if device == "gpu" else [])):
        if part == BENCHMARKS:
            done = _run(BENCHMARKS, "--device", device)
            status |= done.returncode != 0
            print(part, crash(done)["error"] if done.returncode else "done", flush=True)
            continue
        result = _measure(part, device, workers, folder)
        keep(folder / "records.json", record(part, device, known, result))
        page.write()
        print(part, result.get("error") or outcome(result), flush=True)
        status |= not succeeded(result)
    return status


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, env={**SETTINGS, **os.environ}, **_TEXT)


def _measure(part: str, device: str, workers: int, folder: pathlib.Path) -> dict[str, Any]:
    """Run a part and return its counts, or the last line of a crash.

    The verdicts of the cells are written to parity.json.
    """
    with tempfile.TemporaryDirectory() as reports:
        report, results = pathlib.Path(reports, "report.xml"), pathlib.Path(reports, "results.json")
        values = {"device": device, "workers": workers, "json": results}
        module, *words = (word.format_map(values) for word in TESTS[part])
        done = _run(module, *words, "--junit-xml", str(report))
        if not report.exists():
            return crash(done)
        if results.exists():
            cells = verdicts(json.loads(results.read_text()))
            (folder / "parity.json").write_text(json.dumps(cells, indent=1) + "\n")
        return counts(report)


def verdicts(document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the verdict of each cell by case, of a file that the runner's `--json` wrote."""
    cells: dict[str, dict[str, str]] = {}
    for cell in document["results"]:
        cells.setdefault(cell["id"], {})[f"{cell['dtype']} {cell['mode']}"] = cell["verdict"]
    return cells


def record(
    part: str, device: str, known: Mapping[str, Any], result: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the record of a part: the command, the versions, the device, and the counts."""
    names = ("python", "jax", "jaxlib", "optax", "numpy", "torch")
    return {
        "target": part,
        "command": f"make device DEVICE={device} ARGS='--run {part}'",
        "versions": {**{name: known[name] for name in names}, "flax": _flax()},
        "device": known["device_kind"],
        "date": known["date"][:10],
        "commit": known["commit"],
        **result,
    }


def _flax() -> str:
    try:
        return importlib.metadata.version("flax")
    except importlib.metadata.PackageNotFoundError:
        return "-"


if __name__ == "__main__":
    sys.exit(main())
