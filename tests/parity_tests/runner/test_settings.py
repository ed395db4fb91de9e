"""The suite's programs are compiled quickly, unless TEST_ALL asks for what users get."""

import os

from jaxgrad.parity.compiling import QUICK
from parity_tests.runner.settings import LIGHT, USUAL, compile_with


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


def test_options_that_the_environment_sets_are_kept(monkeypatch):
    """`compile_with` adds the options that XLA_FLAGS does not set, once."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_llvm_disable_expensive_passes=false")
    compile_with({"xla_llvm_disable_expensive_passes": True, "xla_backend_optimization_level": 1})
    once = os.environ["XLA_FLAGS"].split()
    compile_with({"xla_backend_optimization_level": 1})

    assert os.environ["XLA_FLAGS"].split() == once
    assert sorted(once) == [
        "--xla_backend_optimization_level=1",
        "--xla_llvm_disable_expensive_passes=false",
    ]


def test_the_runner_optimizes_as_xla_does():
    """The options of the runner leave XLA's optimization level alone, which changes rounding."""
    assert "xla_backend_optimization_level" not in LIGHT
