"""The noise of a run is the largest change of each value's fingerprint in its reruns."""

import dataclasses

import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.torch_side.values import TorchRun, Value, rounding


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
