"""A module that cannot be run, or not twice alike, is refused in one sentence."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove.record.torch_side.first_run import FirstRun, check_module, check_run


X = (np.ones((2, 3)),)


def filled(value: float) -> nn.Module:
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight[0, :2] = value
    return layer


class Table(nn.Module):
    """A module whose buffers hold infinities and integers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.full((2,), float("-inf")))
        self.register_buffer("count", torch.tensor(3))
        self.ids = nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.eye(2).to_sparse())


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (nn.Linear, r"is the class Linear, not a torch.nn.Module; create one: Linear\(...\)$"),
        (3, "the first argument is an int, not a torch.nn.Module$"),
        (
            lambda p, x: x,
            "the first argument is a function, not a torch.nn.Module; "
            r"call prove\(module, fn, params, inputs\)$",
        ),
        (nn.LazyLinear(2), "the module is lazy: 'weight' has no shape yet"),
        (nn.Linear(2, 2, device="meta"), "'weight' is on the meta device and has no values"),
        (Sparse(), r"'mask' is a sparse tensor \(torch.sparse_coo\), which prove does not read"),
        (filled(float("nan")), r"'weight' of shape \(2, 3\) contains 2 NaN or infinities"),
        (filled(float("inf")), r"'weight' of shape \(2, 3\) contains 2 NaN or infinities"),
    ],
    ids=["class", "number", "function", "lazy", "meta", "sparse", "nan", "inf"],
)
def test_a_module_without_finite_weights_is_refused(module, text):
    """The sentence says what the argument is, or which weight is wrong."""
    with pytest.raises(ProofError, match=text):
        check_module(module)


def test_buffers_may_be_infinite_and_weights_may_be_integers():
    """A mask of infinities is a usual buffer."""
    check_module(Table())
    check_module(nn.Linear(2, 2))


class Function(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, *inputs: Any) -> Any:
        return self.function(self.weight, *inputs)


def checked(function: Any, inputs: Any = X, pick: Any = None) -> FirstRun:
    return check_run(Function(function), inputs, pick, None, lambda: None)


def test_the_outputs_are_returned_and_whether_the_module_draws():
    """A dropout draws random numbers, which both runs are given alike."""
    outputs, draws, attaches = checked(lambda w, x: (w * x, x.long()))
    assert [x.shape for x in outputs.values()] == [(2, 3), (2, 3)]
    assert attaches and not draws
    assert checked(lambda w, x: nn.functional.dropout(w * x)).draws


def test_a_module_may_change_its_inputs():
    """Torch then refuses inputs that require gradients, as it does in training."""
    kept = X[0].copy()
    first = checked(lambda w, x: w * x.sub_(1))
    assert not first.attaches
    np.testing.assert_array_equal(first.outputs[""], kept - 1)
    np.testing.assert_array_equal(X[0], kept)


def test_the_module_is_reset_after_each_run():
    """Whatever the first run changes is put back before the second."""
    resets = []
    check_run(Function(lambda w, x: w * x), X, None, None, lambda: resets.append(1))
    assert len(resets) == 2


COUNT = iter(range(100))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda w, x: w * x + next(COUNT), "the torch module is not deterministic"),
        (lambda w, x: None, "no tensor was found in the torch module's output; extract one"),
        (lambda w, x: x.long(), r"the outputs are not floating \(int64\)"),
        (lambda w, x: (x.long(), x > 0), r"the outputs are not floating \(bool, int64\)"),
        (lambda w, x: w * x / 0 * 0, "every element of torch's output 0 is NaN"),
        (lambda w, x: {"y": x, "z": w * x / 0 * 0}, "every element of torch's output 'z' is NaN"),
        (
            lambda w, x: w[:2] @ x.T @ x.T,
            r"torch: Function called with 1 input \(float64\[2, 3\]\) raised RuntimeError",
        ),
    ],
    ids=["random", "none", "integers", "labels", "nan", "named nan", "raises"],
)
def test_a_run_that_gives_nothing_to_compare_is_refused(function, text):
    """Each sentence says what the module returned or raised."""
    with pytest.raises(ProofError, match=text):
        checked(function)


def test_inputs_without_an_array_are_named():
    """A module that raises because it has no inputs is told so."""
    with pytest.raises(ProofError, match=r"called with no array \(inputs= is empty; pass numpy a"):
        checked(lambda w, x: w, ())


def test_a_pick_without_a_tensor_is_named():
    """torch_pick is given the module's output."""
    with pytest.raises(ProofError, match="outputs=: torch_pick returned no tensor; it is called"):
        checked(lambda w, x: w * x, pick=lambda y: None)


def test_a_nan_that_is_equal_in_both_runs_is_allowed():
    """A NaN among other numbers is compared with JAX's, and an empty output has none."""

    def function(w: Any, x: Any) -> Any:
        return torch.cat([x, w[None] * float("nan")]), x[:0], w

    assert len(checked(function)[0]) == 3
