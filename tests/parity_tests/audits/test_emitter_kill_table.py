"""The proof of a port finds faults of the emitter that writes it."""

import ast
import contextlib

import pytest

from jaxgrad.parity.port.rules import table
from parity_tests.audits import emitter_kill_table
from parity_tests.audits.emitter_faults import FAULTS, Fault
from parity_tests.audits.emitter_plants import rewritten, swapped
from tests._helpers import ALL


SAMPLE = ["detach_dropped", "parameter_hook_dropped", "statistics_lost", "keys_shared", "ties_lost"]
NAMES = [f.name for f in FAULTS] if ALL else SAMPLE


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_of_the_emitter_is_found(name):
    """With the fault, the module that shows it gets no port."""
    row = emitter_kill_table.judge(name)

    assert row.found or row.unseen


def test_a_right_emitter_is_not_blamed():
    """Without a fault the same judge finds nothing, and the source is the same."""
    row = emitter_kill_table.judge_fault(Fault("none", "detach", contextlib.nullcontext))

    assert not row.found
    assert not row.changed
    assert "nothing" in emitter_kill_table.table([row])
    assert "0 found (0%)" in emitter_kill_table.summary([row])[1]


def test_there_are_enough_faults_each_with_its_own_name():
    """The table has at least 40 faults, and each is tried on a module that exists."""
    assert len({f.name for f in FAULTS}) == len(FAULTS) >= 40
    assert all(emitter_kill_table.entry_of(f.on) for f in FAULTS)


def test_a_fault_is_undone_when_its_context_ends():
    """The rules are the emitter's own again after a plant."""
    before = dict(table.RULES)
    with rewritten("where", swapped(1, 2))():
        assert table.RULES["where"] is not before["where"]
    assert before == table.RULES


def test_swapped_arguments_are_swapped():
    """The plant swaps two arguments of a call."""
    assert ast.unparse(swapped(0, 1)(ast.parse("f(a, b)", mode="eval").body)) == "f(b, a)"
