"""The table of what changed between the versions of torch."""

import importlib.metadata
import inspect
import operator

import pytest

import jaxgrad
from jaxgrad import functional
from jaxgrad._core import torch_versions
from jaxgrad._core.torch_versions import (
    BOUND_OF_CLAMP,
    CHANGES,
    NEWEST,
    PROPOSALS,
    SUPPORTED,
    at_least,
    convention,
    installed,
    nearest,
    supported,
)
from parity_tests.operators import load


def _function(name):
    return operator.attrgetter(name)(functional)


def test_versions_are_compared_by_their_first_two_numbers():
    assert [supported(v) for v in ("2.13", "2.13.0+cpu", "2.15.0")] == ["2.13", "2.13", "2.15"]
    assert at_least("2.15.0+cu132", "2.15") and not at_least("2.9.1", "2.11")


@pytest.mark.parametrize("version", ["2.10", "2.16.1", "3.0"])
def test_an_unknown_version_raises_and_names_the_known_ones(version):
    words = rf"knows the gradients of torch 2\.11, .*, {NEWEST}, not of torch {version}"
    with pytest.raises(ValueError, match=words):
        supported(version)
    with pytest.raises(ValueError, match=words):
        BOUND_OF_CLAMP.holds(version)


@pytest.mark.parametrize(("version", "example"), [("newest", NEWEST), (2.13, "2.13")])
def test_what_is_no_version_raises(version, example):
    words = f"{version!r} is not a version of torch; write it as '{example}'"
    with pytest.raises(ValueError, match=words):
        supported(version)


def test_the_conventions_of_an_unknown_version_are_those_of_the_nearest(monkeypatch):
    """A nightly build follows the newest version that was measured."""
    assert [nearest(v) for v in ("2.9", "2.13.1", "2.16.0.dev1")] == ["2.11", "2.13", NEWEST]
    assert convention() == nearest(importlib.metadata.version("torch"))

    monkeypatch.setattr(torch_versions, "installed", lambda: None)
    assert convention() == NEWEST


def test_the_installed_version_is_that_of_torch():
    torch = pytest.importorskip("torch")
    assert supported(installed() or "") == supported(torch.__version__)


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: f"{c.since}-{c.operators[0]}")
def test_a_change_is_complete(change):
    """Its version is supported, its operators have records, and both sides are said."""
    assert change.since in SUPPORTED[1:]
    assert set(change.operators) <= load().keys()
    assert change.now != change.before and change.kind in {
        "gradient", "pinned", "listed", "removed",
    }  # fmt: skip


def test_exactly_the_operators_that_changed_take_the_version():
    """An operator takes `torch=` if and only if the table says that its computation changed."""
    listed = {n for c in CHANGES if c.kind in ("gradient", "removed") for n in c.operators}
    takes = {n for n in load() if "torch" in inspect.signature(_function(n)).parameters}

    assert takes == listed


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda p: p.names[0])
def test_a_proposal_names_what_it_would_change(proposal):
    """An open change of torch names functions of jaxgrad, and is not a change yet."""
    for name in proposal.names:
        assert callable(operator.attrgetter(name)(jaxgrad))
        assert not any(name.removeprefix("functional.") in c.operators for c in CHANGES)
    assert proposal.pulls and proposal.then
