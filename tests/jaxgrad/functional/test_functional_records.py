"""Every public operator has a test record whose file path mirrors its implementation's."""

import inspect

import numpy as np
import pytest

from jaxgrad import functional
from parity_tests.operators import load, look_up
from parity_tests.operators._harness.draw import drawn
from parity_tests.operators._harness.suite import public_functions
from parity_tests.runner.settings import ROOT


OPERATORS = load()
PUBLIC = public_functions()
RECORDS = ROOT / "parity_tests" / "operators"
TESTS = ROOT / "tests" / "jaxgrad" / "functional"


def _place(name):
    """Return the path, without suffix, of the file that implements an operator: `linalg/lu`."""
    module = look_up(functional, name).__module__
    return module.removeprefix("jaxgrad.functional.").replace(".", "/")


def _files(folder):
    """Return the public Python files in the subfolders of a folder, such as `linalg/lu.py`."""
    paths = (path.relative_to(folder) for path in folder.glob("*/*.py"))
    return {str(path) for path in paths if not any(part[0] == "_" for part in path.parts)}


def _implementations():
    """Return the files that implement operators, which excludes those in `_core`."""
    return {f"{_place(name)}.py" for name in PUBLIC}


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_the_number_of_operators_is_current(page):
    """The README and the changelog state how many operators there are."""
    assert f"{len(OPERATORS)} operators" in (ROOT / page).read_text()


def test_every_function_has_its_record():
    """Every public function has a test record under one of its names."""
    recorded = {PUBLIC.get(name) for name in OPERATORS}
    missing = [
        f"write a record of {name} in parity_tests/operators/{_place(name)}.py"
        for name, function in PUBLIC.items()
        if function not in recorded
    ]

    assert not set(OPERATORS) - set(PUBLIC), (
        f"remove the records of {set(OPERATORS) - set(PUBLIC)}, which `jaxgrad.functional` lacks"
    )
    assert not missing, "\n".join(missing)


def test_a_record_is_in_the_file_of_its_operator():
    """An operator's test record and its implementation have the same folder and file name."""
    wrong = [
        f"move the record of {name} from parity_tests/operators/{record.place}.py "
        f"to parity_tests/operators/{_place(name)}.py"
        for name, record in OPERATORS.items()
        if record.place != _place(name)
    ]

    assert not wrong, "\n".join(wrong)


def test_every_file_of_operators_has_its_file_of_records():
    """Files of test records and files of implementations have the same folders and names."""
    missing, strays = _implementations() - _files(RECORDS), _files(RECORDS) - _implementations()

    assert not missing, f"write {', '.join(f'parity_tests/operators/{x}' for x in sorted(missing))}"
    assert not strays, (
        f"rename {', '.join(f'parity_tests/operators/{x}' for x in sorted(strays))}: "
        "no file of `jaxgrad/functional` has this room and stem"
    )


@pytest.mark.parametrize("room", sorted({record.room for record in OPERATORS.values()}))
def test_every_room_has_its_test_file(room):
    """Each folder of test records is run by the test file named after it."""
    path = TESTS / f"test_{room}.py"
    line = f'test_operator = agreement_test("{room}")'

    assert path.exists(), f"write {path.relative_to(ROOT)} with the line {line}"
    assert line in path.read_text(), f"add the line {line} to {path.relative_to(ROOT)}"


# Options that no recorded call sets, with the reason.
UNDRAWN = {
    "rrelu": {"training", "key"},  # torch does not accept the noise as an argument
    "scaled_dot_product_attention": {"dropout_p", "dropout_key"},  # nor does it here
    "multi_head_attention_forward": {"dropout_key"},  # nor does it here
    "gumbel_softmax": {"key", "eps"},  # the noise is passed directly; torch ignores eps
    "triplet_margin_with_distance_loss": {"distance_function"},  # it runs in only one framework
    "linalg.lu": {"pivot"},  # pivot=False raises on the CPU
    "linalg.lu_factor": {"pivot"},
    "linalg.lu_factor_ex": {"pivot"},
    "fractional_max_pool2d": {"key"},  # the samples are passed directly
    "fractional_max_pool3d": {"key"},
    "grouped_mm": {"bias", "out_dtype"},  # torch raises for both
    "linear_cross_entropy": {"options"},  # a torch object that changes no result
    "scatter": {"reduce"},  # torch has no derivative of it
    "topk": {"sorted"},  # with sorted=False the order is unspecified
}


@pytest.mark.slow
def test_every_option_is_drawn():
    """At least one recorded call of each operator changes each option from its default."""
    left = {}
    for name, record in OPERATORS.items():
        signature = inspect.signature(PUBLIC[name])
        samples = [*drawn(record), *record.points, *(d.sample for d in record.differences)]
        options = {
            n: p.default for n, p in signature.parameters.items() if p.default is not p.empty
        }
        options.pop("torch_gradient", None)
        for sample in samples:
            for key, value in signature.bind(*sample.args, **sample.kwargs).arguments.items():
                is_static = not isinstance(value, np.ndarray)
                if not (is_static and key in options and value == options[key]):
                    options.pop(key, None)
        if options:
            left[name] = set(options)

    assert left == UNDRAWN, "draw each option in the record, or give the reason in UNDRAWN"
