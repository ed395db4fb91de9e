"""Write the pages that `prove` writes about the first program of the README.

    python -m parity_tests.site.sample_proof

docs/_static/proof.html is about the port as it is, docs/_static/proof_fixed.html about the port
with the change that the first page suggests.
"""

import dataclasses
import pathlib
import re
import tempfile
from typing import Any

from jaxgrad.parity import Report
from jaxgrad.parity.prove.report import render
from parity_tests.runner.settings import ROOT


PAGE = ROOT / "docs" / "_static" / "proof.html"
FIXED = ROOT / "docs" / "_static" / "proof_fixed.html"


def program() -> str:
    """Return the README's first program."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(blocks[0])


def fixed(code: str, report: Report) -> str:
    """Return a program with the change that a report suggests."""
    assert report.first is not None and report.first.edit is not None
    edit = report.first.edit
    lines = code.splitlines(keepends=True)
    assert lines[edit.line - 1] == edit.old + "\n"
    lines[edit.line - 1] = edit.new + "\n"
    return "".join(lines)


def proof(code: str) -> Report:
    """Run a program that prints a proof, and return its report.

    The times are left out, and the version of this checkout, which may not be installed.
    """
    return proof_and_names(code)[0]


def proof_and_names(code: str) -> tuple[Report, dict[str, Any]]:
    """Do the same, and return the variables of the program too."""
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "example.py")
        path.write_text(code, encoding="utf-8")
        names: dict[str, Any] = {"print": reports.append}
        exec(compile(code, path, "exec"), names)
    versions = {name: x for name, x in reports[0].versions.items() if name != "jaxgrad"}
    return dataclasses.replace(reports[0], seconds={}, versions=versions), names


if __name__ == "__main__":
    from parity_tests.runner.settings import configure

    configure()
    report = proof(program())
    PAGE.write_text(render([report]), encoding="utf-8")
    FIXED.write_text(render([proof(fixed(program(), report))]), encoding="utf-8")
