"""The operators that a newer torch changed: parity_tests/tables/newer_torch.tsv.

This file needs only the standard library, because `make matrix` runs it outside of any environment.
"""

from __future__ import annotations

import csv
from typing import NamedTuple

from parity_tests.audits.environments import ROOT


TABLE = ROOT / "parity_tests" / "tables" / "newer_torch.tsv"


class Change(NamedTuple):
    """What an operator of torch has since a version; jaxgrad has what torch had before."""

    since: str
    operator: str
    torch_has: str

    def applies(self, version: str) -> bool:
        """Return whether a version of torch, such as `2.15.0+cpu`, has the change."""
        return _numbers(version) >= _numbers(self.since)


def changes() -> dict[str, Change]:
    """Return the changes, keyed by the name of the operator."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)  # the names of the columns
        return {name: Change(since, name, has) for since, name, has in rows}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:2])
