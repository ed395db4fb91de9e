"""Every public function is a program: of the records, the cases, or a table."""

from jaxgrad.optim import lr_scheduler
from parity_tests import operators
from parity_tests.devices.programs import SCHEDULES, programs
from tests.jaxgrad.optim.lr_scheduler.shared import NAMES


def test_each_operator_has_a_program_in_both_dtypes():
    """Each operator has a differentiated program in float32 and bfloat16, or in complex64."""
    found: dict[str, tuple[str, ...]] = {}
    for program in programs():
        if program.group == "operators" and program.differentiate:
            found[program.name] = (*found.get(program.name, ()), program.dtype)
    assert found.keys() == operators.load().keys()
    assert set(found.values()) == {("float32", "bfloat16"), ("complex64",)}
    assert found["imag"] == ("complex64",) and found["relu"] == ("float32", "bfloat16")


def test_each_schedule_has_a_program():
    """Each scheduler that the tests compare with torch is lowered."""
    assert SCHEDULES.keys() >= {f.__name__ for f in NAMES.values()}
    assert all(callable(getattr(lr_scheduler, name)) for name in SCHEDULES)


def test_the_ids_of_programs_are_distinct():
    """No program hides another in the table."""
    ids = [p.id for p in programs()]
    assert len(ids) == len(set(ids))
