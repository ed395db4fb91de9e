"""Compare what the ports of each test are with the test's goldens."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Generator

import pytest

from parity_tests.audits import golden_ports
from tests._helpers import ALL
from tests.jaxgrad.parity.port import _ports


FOLDER = os.environ.get(golden_ports.VARIABLE, "")
PROOFS = golden_ports.NO_PROOFS not in os.environ
if not PROOFS:  # late enough: the test files import it after this file
    _ports.agrees = _ports.written


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests whose goldens are not to be written."""
    patterns = os.environ.get(golden_ports.PATTERNS, "").split("\n") if FOLDER else []
    if any(patterns):
        name = golden_ports.name_of
        items[:] = [x for x in items if golden_ports.matches(name(x.path, x.name), patterns)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test whose ports differ from its goldens, or write its goldens.

    A test without goldens passes, so that a new one can be tried; `port_goldens --check` names it.
    """
    name = golden_ports.name_of(item.path, item.name)
    if not FOLDER:
        with golden_ports.listening(both=ALL) as ports:
            yield
        compares = golden_ports.comparable() and golden_ports.has_golden(name)
        if compares and (diff := golden_ports.differences(name, ports)):
            pytest.fail(f"{diff}\n{golden_ports.ADVICE}", pytrace=False)
        return
    raised = False
    with golden_ports.listening(both=True, proofs=PROOFS) as ports:
        try:
            yield
        except Exception:
            if PROOFS:
                raise
            raised = True
    golden_ports.write_test(name, ports, pathlib.Path(FOLDER), ended=raised)
