"""`jaxgrad.graph` has no dependencies beyond those of `jaxgrad`."""

import subprocess
import sys

from parity_tests.runner.settings import ROOT


def test_graphs_need_neither_torch_nor_flax():
    """Importing `jaxgrad.graph` loads neither torch, flax nor the PNG renderer."""
    program = "import sys, jaxgrad.graph; print({'torch', 'flax', 'resvg_py'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"
