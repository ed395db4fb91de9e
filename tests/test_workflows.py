"""The workflows of GitHub run targets of the Makefile, on every supported Python."""

import re
import tomllib

from parity_tests.audits.version_matrix import ENTRIES
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / ".github" / "workflows"
CI = (FOLDER / "ci.yml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_target_exists():
    """Each `make` in a workflow names a target of the Makefile."""
    used = {
        t for path in FOLDER.iterdir() for t in re.findall(r"- run: make (\S+)", path.read_text())
    }

    assert used >= {"test", "parity", "lint", "release-check", "matrix"}
    assert used <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_the_parts_of_the_suite_are_complete():
    """The jobs of `make test` and `make test-all` run part 1 of n to part n of n."""
    parts = re.findall(r"shard: \[(.*)\]", CI)
    counts = re.findall(r"SHARD=\$\{\{ matrix.shard \}\}/(\d+)", CI)

    assert len(parts) == 2
    assert parts == [", ".join(map(str, range(1, int(count) + 1))) for count in counts]


def test_every_supported_python_is_tested():
    """The tests and the cells run on each Python in the classifiers."""
    pythons = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))

    assert re.findall(r"python: (\[.*?\])", CI) == [str(pythons).replace("'", '"')] * 2


def test_every_entry_of_the_matrix_runs():
    """CI runs the entries that are not pins, and the nightly builds once a week."""
    (weekly, always) = re.findall(r"'(\[.*?\])'", CI)
    others = [name for name, entry in ENTRIES.items() if entry.allowed != "pins"]

    assert weekly == str(others).replace("'", '"')
    assert always == str([n for n in others if n != "nightly"]).replace("'", '"')
