"""The table of the operators that differ with other versions of torch and JAX."""

import re

import pytest

from parity_tests.audits import version_changes
from parity_tests.audits.environments import ROOT
from parity_tests.audits.version_changes import Change, applying, changes
from parity_tests.operators import load


VERSIONS = ["2.11.0+cu130", "2.13.0", "2.14.1", "2.15.0", "2.16.0.dev2"]


@pytest.mark.parametrize(
    ("versions", "those"), [("<2.14", VERSIONS[:2]), (">=2.14", VERSIONS[2:]), ("<0.9", [])]
)
def test_a_change_applies_to_the_versions_before_or_from_one_on(versions, those):
    change = Change("torch", versions, "clamp", "another gradient")

    assert [version for version in VERSIONS if change.applies(version)] == those


def test_the_installed_versions_decide(monkeypatch):
    """An operator may have one change in older and one in newer versions of a package."""
    older, newer = Change("torch", "<2.12", "abs", "a"), Change("torch", ">=2.14", "abs", "b")
    other = Change("jax", "<0.9", "stft", "c")
    monkeypatch.setattr(version_changes, "changes", lambda: [older, newer, other])

    assert applying({"torch": "2.11.0", "jax": "0.10.2"}) == {"abs": older}
    assert applying({"torch": "2.15.0", "jax": "0.8.1"}) == {"abs": newer, "stft": other}
    assert applying({"torch": "2.13.0+cpu", "jax": "0.12.0.1"}) == {}


def test_with_the_pinned_versions_nothing_differs():
    pins = (ROOT / "constraints.txt").read_text()
    torch, *_ = re.findall(r"^torch==([\d.]+)", pins, re.MULTILINE)
    pinned = re.findall(r"^jax==([\d.]+)", pins, re.MULTILINE)
    assert len(pinned) == 2
    assert [applying({"torch": torch, "jax": version}) for version in pinned] == [{}, {}]


def test_the_table_names_operators_and_reasons():
    """Each line has an operator with a record, a range of versions, and the difference."""
    known = load()
    assert len(set(changes())) == len(changes())
    for change in changes():
        assert change.operator in known and change.package in {"torch", "jax"}
        assert re.fullmatch(r"(<|>=)\d+\.\d+", change.versions)
        assert len(change.difference.split()) >= 3
