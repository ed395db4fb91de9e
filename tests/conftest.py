"""Configure JAX as the runner does, and install the mutant that an environment variable names."""

import gc
import itertools
import math
import os
import shutil
import signal
from collections.abc import Iterator

import jax
import pytest

from parity_tests.audits import mutants
from parity_tests.runner.settings import compile_with, configure


collect_ignore = ["goldens"]  # files that the tests compare
if mutant := os.environ.get(mutants.VARIABLE):
    mutants.install(mutant)
configure()
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A background job of a shell ignores Ctrl-C, and so would the programs that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until the tests are collected: nothing of them is garbage
if "TEST_ALL" not in os.environ:
    from jaxgrad.parity.compiling import QUICK  # late: a mutant of jaxgrad is installed first

    compile_with(QUICK)
jax.config.update("jax_traceback_filtering", "off")  # filtering takes longer than most exceptions


def pytest_collection_finish() -> None:
    """Leave the modules and the tests, which live to the end, out of garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # tracing makes many objects, few of which are garbage
    gc.enable()


_FORGET = 200  # clear JAX's compiled programs after this many tests; later tests rarely reuse them
_done = itertools.count(1)


@pytest.fixture(autouse=True)
def _forget_compiled() -> Iterator[None]:
    """Clear JAX's caches now and then, or a worker grows to 7 GiB."""
    yield
    if next(_done) % _FORGET == 0:
        jax.clear_caches()


@pytest.fixture(scope="session", autouse=True)
def _searches_without_end() -> Iterator[None]:
    """Let a search for a cause end however busy the machine is."""
    from jaxgrad.parity.prove import clock  # late: a mutant of jaxgrad is installed first

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "LEAST", math.inf)
        yield


@pytest.fixture(scope="module")
def browser():
    """A Chromium browser; without one, tests that need it are skipped, except on CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("CI has no chromium; .ci/run installs it")
        pytest.skip("no chromium here: install Debian's chromium to test the page in a browser")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()
