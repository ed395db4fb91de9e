"""Compare what the ports of each test are with the test's goldens."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Generator

import pytest

from parity_tests.audits import port_goldens
from tests._helpers import ALL
from tests.jaxgrad.parity.port import _ports


FOLDER = os.environ.get(port_goldens.VARIABLE, "")
PROOFS = port_goldens.NO_PROOFS not in os.environ
if not PROOFS:  # late enough: the test files import it after this file
    _ports.agrees = _ports.written


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests whose goldens are not to be written."""
    patterns = os.environ.get(port_goldens.PATTERNS, "").split("\n") if FOLDER else []
    if any(patterns):
        name = port_goldens.name_of
        items[:] = [x for x in items if port_goldens.matches(name(x.path, x.name), patterns)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test whose ports have another source than its goldens, or write its goldens."""
    name = port_goldens.name_of(item.path, item.name)
    if not FOLDER:
        with port_goldens.listening(both=ALL) as ports:
            yield
        if port_goldens.comparable() and (diff := port_goldens.differences(name, ports)):
            pytest.fail(f"{diff}\n{port_goldens.ADVICE}", pytrace=False)
        return
    raised = False
    with port_goldens.listening(both=True, proofs=PROOFS) as ports:
        try:
            yield
        except Exception:
            if PROOFS:
                raise
            raised = True
    port_goldens.write_test(name, ports, pathlib.Path(FOLDER), ended=raised)
