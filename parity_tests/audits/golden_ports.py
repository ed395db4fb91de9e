"""The files with what `jaxgrad.port` writes, and how a port is recorded and compared with them.

A golden is the source of a port as functions (`NAME.functions.py`) or as flax classes
(`NAME.nnx.py`), or the reason why it cannot be written. A test with several ports has one file, in
which `SEPARATOR` stands between them. The numbers of lines are 0, since they change with a file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import importlib
import importlib.metadata
import json
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from unittest import mock

import torch

from jaxgrad.parity.port.modes.modes import MODES
from jaxgrad.parity.port.port import Request, write_and_prove
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.verifying import STYLES, silent
from jaxgrad.parity.port.values.static_inputs import has_numbers
from jaxgrad.parity.prove.report import Report
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / "tests" / "goldens" / "port"
TESTS = ROOT / "tests" / "jaxgrad" / "parity" / "port"
SEPARATOR = "\n# ---- the next port of this test ----\n"
VARIABLE = "PORT_GOLDENS"  # the folder in which the tests write their goldens, instead of comparing
PATTERNS = "PORT_GOLDENS_PATTERNS"  # parts of the names of the goldens that are written
NO_PROOFS = "PORT_GOLDENS_WITHOUT_PROOFS"
ADVICE = (
    "If this diff is better, write the goldens again: python -m parity_tests.audits.port_goldens "
    "NAME for some, `make goldens` for all."
)
_ENDED = "\n# ---- the test ended here ----\n"
_LINE = re.compile(
    r"(?<=\.py:)\d+|(?<=\bline )\d+(?= of )"
    r"|(?<=\blines )\d+(?= to \d+ of )|(?<= to )\d+(?= of \S+\.py)"
)
Sources = dict[str, str]  # the text of one port by its style


def versions() -> dict[str, str]:
    """Return the versions on which a written source depends."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = {name: importlib.metadata.version(name) for name in ("torch", "jax", "flax")}
    return {"python": python} | {name: x.partition("+")[0] for name, x in packages.items()}


def kept_versions() -> dict[str, str]:
    """Return the versions with which the goldens were written."""
    return json.loads((FOLDER / "versions.json").read_text())


@functools.cache
def comparable() -> bool:
    """Return whether the goldens were written with the versions that are installed."""
    return kept_versions() == versions()


def path_of(name: str, style: str, folder: pathlib.Path | None = None) -> pathlib.Path:
    """Return the file of a golden, by default in `FOLDER`."""
    return (folder or FOLDER) / f"{name}.{style}.py"


def has_golden(name: str) -> bool:
    """Return whether a module or a test has goldens."""
    return any(path_of(name, style).exists() for style in STYLES)


def text_of(request: Request) -> str:
    """Return the source of a port, or the reason why it is not written, as a comment."""
    with torch.random.fork_rng(devices=[]):
        try:
            return write_and_prove(request).source
        except Exception as error:
            return _refusal(error)


def _refusal(error: Exception) -> str:
    return f"# {type(error).__name__}: {str(error).partition(chr(10))[0]}\n"


@contextlib.contextmanager
def listening(*, both: bool, proofs: bool = True) -> Iterator[list[Sources]]:
    """Yield a list that gets the texts of every port that is written in this block.

    Args:
        both: Whether each port is written in the style that was not asked for too.
        proofs: Whether ports are proved. Without it only those are whose source depends on the
            proof, and the others get an empty report.
    """
    ports: list[Sources] = []

    def write(request: Request) -> Ported:
        texts: Sources = dict.fromkeys(STYLES, "")
        ports.append(texts)
        try:
            ported = write_and_prove(request) if proofs else _without_proof(request)
            texts[request.style] = ported.source
        except Exception as error:
            texts[request.style] = _refusal(error)
            raise
        finally:
            if both:
                other = dataclasses.replace(request, prove=False, scan=False, show=silent)
                for style in set(STYLES) - {request.style}:
                    texts[style] = text_of(dataclasses.replace(other, style=style))
        return ported

    module = importlib.import_module("jaxgrad.parity.port.port")
    with mock.patch.object(module, "write_and_prove", write):
        yield ports


def _without_proof(request: Request) -> Ported:
    """Write a port, and say that it is proved; prove it only if its source depends on that."""
    ported = write_and_prove(dataclasses.replace(request, prove=False))
    if not request.prove:
        return ported
    if has_numbers(request.inputs) or ported.witnesses:
        return write_and_prove(request)
    reports = {MODES[mode]: Report("pass", {}) for mode in ported.modes}
    return dataclasses.replace(ported, reports=reports)


def name_of(file: pathlib.Path, test: str) -> str:
    """Return the name of a test's goldens."""
    place = file.relative_to(TESTS).with_suffix("").as_posix()
    return f"tests/{place}/{re.sub(r'[^A-Za-z0-9_.=+-]+', '-', test).strip('-')}"


def masked(text: str) -> str:
    """Return a text without the numbers of lines, which change when a test above is edited."""
    return _LINE.sub("0", text)


def write_test(name: str, ports: Sequence[Sources], folder: pathlib.Path, *, ended: bool) -> None:
    """Write the goldens of a test.

    Args:
        name: The name of the goldens.
        ports: The texts of its ports by style.
        folder: The folder in which they are written.
        ended: Whether the test raised, so that it may have further ports.
    """
    for style in STYLES:
        texts = [masked(texts[style]) for texts in ports]
        path = path_of(name, style, folder)
        path.unlink(missing_ok=True)
        if texts or ended:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SEPARATOR.join(texts) + (_ENDED if ended else ""))


def differences(name: str, ports: Sequence[Sources]) -> str:
    """Return how the ports of a test differ from its goldens; empty if they do not.

    A text that was not written, because no one asked for its style, is not compared.
    """
    diffs = []
    for style in STYLES:
        golden = _golden(path_of(name, style)).split(SEPARATOR)
        texts = [masked(texts[style]) for texts in ports]
        kept = [new if new else old for old, new in zip(golden, texts, strict=False)]
        new = SEPARATOR.join(kept + texts[len(golden) :])
        diffs.append(_diff(f"{name}.{style}.py", SEPARATOR.join(golden), new))
    return "\n".join(filter(None, diffs))


def _golden(path: pathlib.Path) -> str:
    return path.read_text() if path.exists() else ""


def _diff(name: str, old: str, new: str) -> str:
    labels = f"golden {name}", "written now"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *labels, lineterm="", n=2)
    return "\n".join(lines) or ("" if old == new else f"{name}: the ends of lines differ")


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name has one of the patterns; every name matches if there are none."""
    return not patterns or any(pattern in name for pattern in patterns)


def files(folder: pathlib.Path, patterns: Sequence[str] = ()) -> list[str]:
    """Return the names of the files with goldens in a folder."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    return [name for name in paths if matches(name, patterns)]


def ended(folder: pathlib.Path) -> list[str]:
    """Return the names of the tests that ended early."""
    names = {name for name in files(folder) if (folder / name).read_text().endswith(_ENDED)}
    return sorted({re.sub(r"\.\w+\.py$", "", name) for name in names})


def compare(new: pathlib.Path, patterns: Sequence[str], old: pathlib.Path | None = None) -> int:
    """Print how written goldens differ from those that are kept, and return how many files do.

    Args:
        new: The folder with the written goldens.
        patterns: Parts of the names of the goldens that were to be written.
        old: The folder with those that are kept; `FOLDER` by default.
    """
    old = old or FOLDER
    changed = reached = total = 0
    for name in sorted({*files(new), *files(old, patterns)}):
        wanted, texts = _golden(old / name).split(SEPARATOR), _golden(new / name)
        total += len(wanted)
        if texts.endswith(_ENDED):
            wanted, found = _as_far_as(wanted, texts.removesuffix(_ENDED))
        else:
            found = texts.split(SEPARATOR)
        reached += len(wanted)
        if diff := _diff(name, SEPARATOR.join(wanted), SEPARATOR.join(found)):
            print(diff, flush=True)
            changed += 1
    print(f"{reached} of {total} sources are compared; {changed} files differ from their goldens")
    return changed


def _as_far_as(wanted: list[str], text: str) -> tuple[list[str], list[str]]:
    """Return the goldens and the texts of a test that ended early, for the ports that it reached.

    The test may have ended because only a proof refuses its last port, which is not compared then.
    """
    found = text.split(SEPARATOR) if text else []
    last = len(found) - 1
    if 0 <= last < len(wanted) and wanted[last].startswith("# ") and found[last][:2] != "# ":
        found = found[:last]
    return wanted[: len(found)], found


def keep(new: pathlib.Path, patterns: Sequence[str], old: pathlib.Path | None = None) -> None:
    """Replace the goldens by those that were written; those of a test that fails stay.

    Args:
        new: The folder with the written goldens.
        patterns: Parts of the names of the goldens that were to be written.
        old: The folder with those that are kept; `FOLDER` by default.
    """
    old = old or FOLDER
    failed = ended(new)
    for name in set(files(old, patterns)) - set(files(new)):
        (old / name).unlink()
    for name in files(new):
        if not (new / name).read_text().endswith(_ENDED):
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new / name, old / name)
    for name in failed:
        print(f"{name}: the test fails, so that its goldens stay")
    (old / "versions.json").write_text(json.dumps(versions(), indent=1) + "\n")
    print(f"{len(files(old))} goldens in {old}")
