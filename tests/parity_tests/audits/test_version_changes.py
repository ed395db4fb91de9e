"""The operators that older versions of torch and JAX compute differently."""

import re

import pytest

from jaxgrad._core import torch_versions
from parity_tests.audits import version_changes
from parity_tests.audits.environments import ROOT
from parity_tests.audits.version_changes import Change, applying, changes, torch_changes
from parity_tests.operators import load


VERSIONS = ["2.11.0+cu130", "2.13.0", "2.14.1", "2.15.0", "2.16.0.dev2"]


@pytest.mark.parametrize(("since", "those"), [("2.14", VERSIONS[:2]), ("2.11", []), ("2.9", [])])
def test_a_change_applies_to_older_versions(since, those):
    change = Change("torch", since, "clamp", "another gradient")

    assert [version for version in VERSIONS if change.applies(version)] == those


def test_the_installed_versions_decide(monkeypatch):
    """Each package decides about its own changes."""
    older, other = Change("torch", "2.12", "abs", "a"), Change("jax", "0.9", "stft", "c")
    monkeypatch.setattr(version_changes, "changes", lambda: [older, other])

    assert applying({"torch": "2.11.0", "jax": "0.10.2"}) == {"abs": older}
    assert applying({"torch": "2.15.0", "jax": "0.8.1"}) == {"stft": other}
    assert applying({"torch": "2.13.0+cpu", "jax": "0.12.0.1"}) == {}


def test_with_the_pinned_and_the_newest_versions_nothing_differs():
    """With the pins and with the newest torch, every operator agrees with its torch."""
    pins = (ROOT / "constraints.txt").read_text()
    torch, *_ = re.findall(r"^torch==([\d.]+)", pins, re.MULTILINE)
    pinned = re.findall(r"^jax==([\d.]+)", pins, re.MULTILINE)
    assert len(pinned) == 2
    for version in (torch, torch_versions.NEWEST):
        assert [applying({"torch": version, "jax": jax}) for jax in pinned] == [{}, {}]


def test_each_change_names_an_operator_and_a_difference():
    known = load()
    assert len(set(changes())) == len(changes())
    for change in changes():
        assert change.operator in known and change.package in {"torch", "jax"}
        assert len(change.difference.split()) >= 3


def test_the_changes_of_torch_are_read_without_importing_jax():
    """`make matrix` reads the table outside of any environment."""
    assert [tuple(c) for c in torch_changes()] == [tuple(c) for c in torch_versions.CHANGES]
