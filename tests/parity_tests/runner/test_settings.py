"""The suite's programs are compiled quickly, unless TEST_ALL asks for what users get."""

import os

from jaxgrad.parity.compiling import QUICK
from parity_tests.runner.settings import USUAL


def test_the_suite_compiles_quickly():
    """XLA's flags contain every quick option, or none of them with TEST_ALL."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    quick = {f"--{name}={str(value).lower()}" for name, value in QUICK.items()}

    assert quick.isdisjoint(flags) if "TEST_ALL" in os.environ else quick <= set(flags)


def test_the_usual_options_undo_the_quick_ones():
    """Each option that may change a program's bits has another value in `USUAL`."""
    split = "xla_cpu_parallel_codegen_split_count"  # the number of compiler threads

    assert QUICK.keys() - {split} == USUAL.keys()
    assert all(QUICK[name] != value for name, value in USUAL.items())
