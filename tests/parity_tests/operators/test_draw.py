"""A record's strategy always yields the same list of calls."""

import dataclasses

import pytest

from parity_tests.operators import load
from parity_tests.operators._harness.draw import drawn


OPERATORS = load()


def test_a_record_may_limit_its_programs(monkeypatch):
    """`max_programs` limits the distinct shapes among the drawn calls, except under a fuzz seed."""
    few, other = OPERATORS["linalg.matrix_exp"], OPERATORS["leaky_relu"]
    monkeypatch.delenv("OPERATOR_SEED", raising=False)

    shapes = [sample.args[0].shape for sample in drawn(few)]
    assert len(shapes) == 10
    assert len(set(shapes)) == few.max_programs == 2
    with pytest.raises(ValueError, match="leaky_relu: `max_programs=2` admits only 2 distinct"):
        drawn(dataclasses.replace(other, max_programs=2))

    monkeypatch.setenv("OPERATOR_SEED", "1")
    assert len({sample.args[0].shape for sample in drawn(few)}) > 2
