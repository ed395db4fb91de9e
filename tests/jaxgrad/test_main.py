"""`python -m jaxgrad` says where the command line is."""

import subprocess
import sys

from parity_tests.runner.settings import ROOT


def test_the_package_names_the_module_with_the_command_line():
    """The package itself has no command line, and exits with 1."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxgrad"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "jaxgrad itself has no command line; `python -m jaxgrad.parity --help` explains how to "
        "prove, port and verify\n"
    )
