"""Every test runs under the settings of the runner, and under a mutant when one is named."""

import itertools
import os
import shutil
from collections.abc import Iterator

import jax
import pytest

from parity_tests.audits import mutants
from parity_tests.runner.settings import configure


configure()
if mutant := os.environ.get(mutants.VARIABLE):
    mutants.install(mutant)

_FORGET = 50  # tests; what JAX compiled for a model is of no use to the next, and is kept
_done = itertools.count(1)


@pytest.fixture(autouse=True)
def _forget_compiled() -> Iterator[None]:
    """A worker that keeps every program it compiled grows to 7 GiB."""
    yield
    if next(_done) % _FORGET == 0:
        jax.clear_caches()


@pytest.fixture(scope="module")
def browser():
    """Chromium; its tests are skipped where there is none, but not on CI."""
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
