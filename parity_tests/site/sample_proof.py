"""Write docs/_static/proof.html, a sample of the page that `prove` writes: a port that trains.

    python -m parity_tests.site.sample_proof

The pair is the first program of the README.
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


def proof() -> Report:
    """Run the README's first program, and return its report without the times."""
    (block, *_) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    reports: list[Report] = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "example.py")
        path.write_text(block, encoding="utf-8")
        names: dict[str, Any] = {"print": reports.append}
        exec(compile(block, path, "exec"), names)
    return dataclasses.replace(reports[0], seconds={})


if __name__ == "__main__":
    from parity_tests.runner.settings import configure

    configure()
    PAGE.write_text(render([proof()]), encoding="utf-8")
