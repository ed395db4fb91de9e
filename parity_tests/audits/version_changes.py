"""The operators that older versions of torch or JAX lack or compute otherwise.

jaxgrad computes the newest convention there always, and the test of such an operator asserts that
it still differs. Changes that `jaxgrad.functional` can follow are in
`jaxgrad/_core/torch_versions.py` as well; there is no difference to list for them.

This file needs only the standard library, because `make matrix` runs it outside of any environment.
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from typing import Any, NamedTuple

from parity_tests.audits.environments import ROOT


class Change(NamedTuple):
    """A difference between an operator of jaxgrad and an older version of torch or JAX."""

    package: str  # "torch" or "jax"
    since: str  # the first version that agrees with jaxgrad
    operator: str
    difference: str  # what older versions have

    def applies(self, version: str) -> bool:
        """Return whether a version of the package, such as `2.15.0+cpu`, is an older one."""
        return _numbers(version) < _numbers(self.since)


JAX = (
    Change(
        "jax",
        "0.9",
        "stft",
        "the second derivative at an infinite window is torch's; newer versions of JAX have NaN",
    ),
)


def torch_versions() -> dict[str, Any]:
    """Return the names of `jaxgrad/_core/torch_versions.py`, without importing jaxgrad and JAX."""
    return runpy.run_path(str(ROOT / "jaxgrad" / "_core" / "torch_versions.py"))


def torch_changes() -> tuple[Any, ...]:
    """Return the changes of torch, in the order of the file."""
    return torch_versions()["CHANGES"]


def changes() -> list[Change]:
    """Return the differences that an older torch or JAX has and jaxgrad does not follow."""
    listed = [change for change in torch_changes() if change.kind == "listed"]
    return [Change("torch", c.since, op, c.before) for c in listed for op in c.operators] + [*JAX]


def applying(installed: Mapping[str, str]) -> dict[str, Change]:
    """Return the changes that apply to the installed versions, keyed by the operator's name.

    Args:
        installed: The version of each package.
    """
    found = (change for change in changes() if change.applies(installed[change.package]))
    return {change.operator: change for change in found}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:2])
