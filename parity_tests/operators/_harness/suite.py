"""The parts of the operators' suite that several test files of `tests/jaxgrad/functional` share."""

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import pytest
import torch

from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST, at_least
from jaxgrad.parity import interop
from parity_tests.audits.version_changes import Change, applying
from parity_tests.operators import Operator, jax_side, load, torch_side
from parity_tests.operators._harness.conventions import COMMAND, pinned
from parity_tests.operators._harness.grid import check
from parity_tests.operators._harness.jobs import jobs
from parity_tests.operators._harness.rows import ConventionRow


# `make test` runs each 32nd drawn call. All run with `make test-all`, and where `OPERATOR_SEED`
# is set, even to nothing, as by `make operators`.
EVERY = 1 if {"TEST_ALL", "OPERATOR_SEED"} & set(os.environ) else 32
INSTALLED = {"torch": torch.__version__, "jax": jax.__version__}
NAMESPACES = ("distributions", "fft", "linalg", "special")
OTHERS = {"at"}  # functions of `jaxgrad.functional` that are not operators


def agreement_test(room: str) -> Callable[..., None]:
    """Return the test `test_operator[NAME]` for each operator that has its record in the folder."""
    records = {name: record for name, record in load().items() if record.room == room}
    changes = applying(INSTALLED)

    @pytest.mark.parametrize("record", records.values(), ids=records)
    def test_operator(record: Operator) -> None:
        """The operator has torch's values, gradients, second derivatives, tangents and errors."""
        if record.too_new:
            pytest.skip(record.too_new)
        if change := changes.get(record.name):
            still_differs(record, change)
            return
        if record.is_removed:
            both_refuse(record)
            return
        outcome = check(record, EVERY)
        rows = [row for row in _pinned() if row.operator == record.name]

        assert not outcome.problems, "\n".join(["", *outcome.problems, *unknown_torch()])
        assert outcome.leaves > record.num_samples / EVERY, "too few values were compared"
        assert sorted(outcome.rows) == sorted(rows), (
            "the measured rows of the conventions table changed; check them, then update the table "
            f"with `make operator NAME={record.name}` or `{COMMAND.format(record.name)}`"
        )

    return test_operator


def unknown_torch() -> list[str]:
    """Return what to do about a difference if the installed torch is newer than `NEWEST`."""
    if at_least(NEWEST, INSTALLED["torch"]):
        return []
    return [
        f"torch {INSTALLED['torch']} is newer than {NEWEST}: if it has moved this operator, add "
        "its version to SUPPORTED and a Change to jaxgrad/_core/torch_versions.py"
    ]


def still_differs(record: Operator, change: Change) -> None:
    """Raise AssertionError if an operator passes although the table says that it differs here."""
    try:  # all its calls, since it may differ in few of them
        problems = [text for text in check(record).problems if "JAX raises" not in text]
    except (AttributeError, RuntimeError, ValueError) as error:  # torch refuses or lacks it
        problems = [str(error)]
    assert problems, (
        f"{record.name} passes with {change.package} {INSTALLED[change.package]}, but "
        f"that torch and older ones are listed with a difference ({change.difference}): correct "
        "that line of jaxgrad/_core/torch_versions.py or parity_tests/audits/version_changes.py"
    )


def both_refuse(record: Operator) -> None:
    """Raise AssertionError if an operator that torch has removed does not raise in both."""
    for j in jobs(record):
        for side, convert in ((torch_side, interop.to_torch), (jax_side, interop.to_jax)):
            args, kwargs = j.rebuild(convert(j.arrays))
            with pytest.raises(RuntimeError, match="removed"):
                side(dataclasses.replace(record, invariant=None))(*args, **kwargs)


@functools.cache
def _pinned() -> Sequence[ConventionRow]:
    return tuple(pinned())


def public_functions() -> dict[str, Any]:
    """Return the public functions of `jaxgrad.functional`, keyed by the names of their records."""
    namespaces = {"": functional, **{f"{n}.": getattr(functional, n) for n in NAMESPACES}}
    return {
        prefix + name: value
        for prefix, namespace in namespaces.items()
        for name, value in vars(namespace).items()
        if not name.startswith("_") and callable(value) and not inspect.isclass(value)
        if name not in OTHERS
    }
