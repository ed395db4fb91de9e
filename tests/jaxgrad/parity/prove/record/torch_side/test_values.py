"""The noise of a run is how its reruns differ; runs on other draws must be similar."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.torch_side.values import (
    TorchRun,
    Value,
    amplifying,
    differences,
    rounding,
    similar,
)


X = np.random.default_rng(0).standard_normal(12)


def value(x: np.ndarray, module: str = "m") -> Value:
    return Value(module, "add", (), x.shape, fingerprint(x), cotangent=None)


def run(*values: Value) -> TorchRun:
    return TorchRun(list(values), [], {}, [], {}, [], {}, None, [], [], {})


def noise(*reruns: TorchRun) -> list[float]:
    return rounding(run(value(X), value(X + 1)), reruns, lambda v: v.print).tolist()


def test_the_largest_change_of_each_value_counts():
    """A value that no rerun changes has no noise."""
    near, far = run(value(X * (1 + 1e-9)), value(X + 1)), run(value(X * (1 + 1e-6)), value(X + 1))

    assert noise(near)[0] < 1e-8 < noise(near, far)[0] == noise(far, near)[0] < 1e-5
    assert noise(near, far)[1] == 0
    assert noise() == [0, 0]


def test_the_value_in_which_rounding_errors_grow_most_is_found():
    """A value that only passes a large error on is not the one, and small growth is none."""

    def chain(*errors: float) -> TorchRun:
        values = [value(X * (1 + k) * (1 + e), f"m{k}") for k, e in enumerate(errors)]
        return run(*(dataclasses.replace(v, inputs=(k - 1,) if k else ())
                     for k, v in enumerate(values)))  # fmt: skip

    found = amplifying(chain(0, 0, 0, 0), chain(1e-15, 1e-14, 1e-7, 3e-7))
    assert found is not None and found.module == "m2"
    assert amplifying(chain(0, 0, 0, 0), chain(1e-15, 1e-14, 1e-13, 1e-12)) is None
    assert amplifying(run(), run()) is None


def test_a_rerun_with_other_calls_is_not_compared():
    """A branch on a rounded number makes other calls."""
    assert noise(run(value(X * 2))) == [0, 0]
    assert noise(run(value(X * 2), value(X), value(X))) == [0, 0]


def test_an_infinite_change_counts_as_one():
    """A value that overflows in a rerun is not recognisable."""
    wide = run(value(np.full(12, np.inf)), value(X + 1))
    assert 0 < noise(wide)[0] <= 1


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_cotangent_has_no_noise(missing):
    """A value without a cotangent in either run is left out."""
    whole = dataclasses.replace(value(X), cotangent=fingerprint(X))
    changed = dataclasses.replace(value(X), cotangent=fingerprint(X * 2))
    runs = [run(whole), run(changed)]
    assert rounding(runs[0], runs[1:], lambda v: v.cotangent)[0] > 0
    runs[missing] = run(value(X))
    assert rounding(runs[0], runs[1:], lambda v: v.cotangent)[0] == 0


@pytest.mark.parametrize(("module", "name"), [("block.fc", "block.fc (add)"), ("", "(add)")])
def test_a_value_is_named_by_its_module_and_call(module, name):
    """A call outside of all submodules has no path."""
    assert value(X, module).name == name
    assert value(X, module).in_words == (name if module else "add")


def record(output: Any, grad: Any = None, input_grad: Any = None, name: str = "y") -> TorchRun:
    return TorchRun([], [], {name: output}, [None], {"w": grad}, [input_grad], {}, None, [], [], {})


ONES, NAN = np.ones(2), np.array([1.0, np.nan])


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (record(ONES, ONES, ONES), True),
        (record(ONES, None, None), True),
        (record(ONES, ONES, ONES, "z"), False),
        (record(np.ones(3), ONES, ONES), False),
        (record(NAN, ONES, ONES), False),
        (record(ONES, NAN, ONES), False),
        (record(ONES, ONES, NAN), False),
    ],
)
def test_runs_are_similar_if_their_arrays_have_the_same_shapes_and_are_finite(second, expected):
    """A gradient may be missing in one run."""
    assert similar(record(ONES, ONES, ONES), second) == expected


def test_a_run_may_have_what_the_first_did_not_have():
    """A NaN in the first run excuses one in the second, and a shape is compared all the same."""
    assert similar(record(NAN), record(NAN, ONES, ONES))
    assert similar(record(NAN), record(ONES))
    assert not similar(record(NAN), record(np.ones(3)))


def test_gradients_of_reruns_are_differences():
    """A gradient that one of the runs does not have has no difference."""
    first, again = record(ONES, ONES, ONES), record(ONES + 1, ONES + np.array([0, 0.5]), None)
    off = differences(first, again)
    assert off.grads == {"w": 0.5} and off.input_grads == [None] and off.outputs is again.outputs
    assert differences(again, first).input_grads == [None]
