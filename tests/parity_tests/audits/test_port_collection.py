"""The collection of torch modules is ported and proved, and what is not is reported."""

import pytest
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from parity_tests.audits import port_collection
from parity_tests.port_collection.entry import Entry, normal
from tests._helpers import ALL


NAMES = list(port_collection.entries())
if not ALL:  # `make test-all` and `make port-collection` run every one
    NAMES = ["style_modulation", "dense_moe", "hypernetwork"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_the_collection_is_ported_and_proved(name):
    """The port has torch's gradients at two sizes, and its variables have the author's names."""
    row = port_collection.judge(name)

    assert row.written and row.proved, row.reason
    assert row.measured is not None
    assert row.measured.numbered == 0
    assert row.measured.widest <= 100


class Positions(nn.Module):
    def forward(self, x):
        return x[x > 0]


def test_a_module_that_is_refused_is_reported_with_its_reason(monkeypatch):
    """A refusal is a row of the table with its reason, and counts against the share."""
    entries = {"positions": ("here", Entry(Positions, (normal(3),)))}
    monkeypatch.setattr(port_collection, "entries", lambda: entries)

    row = port_collection.judge("positions")

    assert not row.written
    assert "a mask as an index" in row.reason
    assert "**positions**" in port_collection.table([row])
    assert "0 proved (0%)" in port_collection.summary([row])[0]


def test_a_wrong_port_is_not_counted_as_proved(monkeypatch):
    """A port that the proof rejects is written but not proved."""

    def rejects(*_):
        raise PortError("the port is not proved: gradients differ")

    monkeypatch.setattr(port_collection, "proved", rejects)

    row = port_collection.judge("highway")

    assert row.written and not row.proved
    assert "gradients differ" in row.reason
