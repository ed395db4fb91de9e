"""The table of what a newer torch changed."""

import pytest

from parity_tests.audits.newer_torch import Change, changes
from parity_tests.operators import load


@pytest.mark.parametrize(
    ("version", "applies"),
    [("2.13.0+cpu", False), ("2.14.1", False), ("2.15.0", True), ("2.16.0.dev2", True)],
)
def test_a_change_applies_from_a_version_on(version, applies):
    assert Change("2.15", "clamp", "another gradient").applies(version) == applies


def test_the_table_names_operators_and_reasons():
    """Each line has an operator that has a record, a version, and what torch has since."""
    known = load()
    for name, change in changes().items():
        assert name == change.operator and name in known
        assert change.since.count(".") == 1 and len(change.torch_has.split()) >= 3
