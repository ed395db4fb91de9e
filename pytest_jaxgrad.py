"""A pytest plugin that proves ports in tests, with a summary and an optional page of all proofs.

    def test_my_port(grad_parity):
        grad_parity(torch_module, fn, params, inputs)

The plugin is outside `jaxgrad` because pytest loads it in every run, so it must not import jax.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest


if TYPE_CHECKING:
    from jaxgrad.parity import Report

_PROOFS = pytest.StashKey[list[dict[str, Any]]]()
_COLOURS = {"pass": "green", "inconclusive": "yellow"}
_WORKER = "jaxgrad_proofs"  # the `workeroutput` key of a pytest-xdist worker's proofs


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("jaxgrad", "gradient parity")
    group.addoption(
        "--grad-parity-html", metavar="FILE", help="write one offline page of every proof"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_PROOFS] = []
    page = config.getoption("--grad-parity-html")
    if page is not None and not hasattr(config, "workerinput"):  # pytest-xdist's workers write none
        from jaxgrad.parity import files

        if reason := files.unwritable(config.invocation_params.dir / page):
            raise pytest.UsageError(f"--grad-parity-html {page}: cannot be written: {reason}")


@pytest.fixture
def grad_parity(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Return `jaxgrad.parity.prove`, which fails the test if the proof fails."""

    def proved(*args: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        from jaxgrad.parity import prove

        report = prove(*args, **options)
        proof = report.to_dict()
        proof["name"] = f"{request.node.nodeid}  {report.name}"
        request.config.stash[_PROOFS].append(proof)
        return report.check()

    return proved


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    proofs, page = config.stash[_PROOFS], config.getoption("--grad-parity-html")
    if proofs or page:
        terminalreporter.write_sep("=", "gradient parity")
    for proof in proofs:
        line = f"{proof['verdict'].upper():<12} {proof['name']}"
        if proof["first"]:
            first = proof["first"]
            line += f"  {first['surface']}: torch {first['torch']} | jax {first['jax']}"
        elif proof["text"]:
            line += "  " + proof["text"].split("\n")[0]
        terminalreporter.write_line(line, **{_COLOURS.get(proof["verdict"], "red"): True})
    if page:
        from jaxgrad.parity import Report
        from jaxgrad.parity.prove.report import render, renderable

        path = pathlib.Path(config.invocation_params.dir, page)
        text = render([renderable(Report.from_dict(proof)) for proof in proofs])
        path.write_text(text, encoding="utf-8")
        terminalreporter.write_line(f"{len(proofs)} proof{'s' * (len(proofs) != 1)} in {path}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the proofs of a pytest-xdist worker to the process that prints the summary."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        # xdist sends plain types only; torch's version is an instance of a subclass of `str`
        output[_WORKER] = json.loads(json.dumps(session.config.stash[_PROOFS]))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    del error
    node.config.stash[_PROOFS] += getattr(node, "workeroutput", {}).get(_WORKER, [])
