"""List the operators that older versions of torch or JAX lack or compute differently.

jaxgrad always computes the newest convention for them, and the test of such an operator asserts
that the older version still differs. `jaxgrad/_core/torch_versions.py` also contains changes that
`jaxgrad.functional` can follow, which are not listed here.

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
    difference: str  # the behaviour of older versions

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
    """Return the globals of `jaxgrad/_core/torch_versions.py` without importing jaxgrad or JAX."""
    return runpy.run_path(str(ROOT / "jaxgrad" / "_core" / "torch_versions.py"))


def torch_changes() -> tuple[Any, ...]:
    """Return the changes of torch, in the order of the file."""
    return torch_versions()["CHANGES"]


def changes() -> list[Change]:
    """Return the behaviours of an older torch or JAX that jaxgrad does not reproduce."""
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
