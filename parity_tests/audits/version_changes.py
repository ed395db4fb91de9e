"""The operators that other versions of torch or JAX change: tables/version_changes.tsv.

This file needs only the standard library, because `make matrix` runs it outside of any environment.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import NamedTuple

from parity_tests.audits.environments import ROOT


TABLE = ROOT / "parity_tests" / "tables" / "version_changes.tsv"


class Change(NamedTuple):
    """A difference between an operator of jaxgrad and torch, with other versions than the pins."""

    package: str  # "torch" or "jax"
    versions: str  # as `<2.12` or `>=2.14`
    operator: str
    difference: str  # what these versions have

    def applies(self, version: str) -> bool:
        """Return whether a version of the package, such as `2.15.0+cpu`, is one of these."""
        is_older = _numbers(version) < _numbers(self.versions.lstrip("<>="))
        return is_older == self.versions.startswith("<")


def changes() -> list[Change]:
    """Return the rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)  # the names of the columns
        return [Change(*row) for row in rows]


def applying(installed: Mapping[str, str]) -> dict[str, Change]:
    """Return the changes that apply to the installed versions, keyed by the operator's name.

    Args:
        installed: The version of each package.
    """
    found = (change for change in changes() if change.applies(installed[change.package]))
    return {change.operator: change for change in found}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:2])
