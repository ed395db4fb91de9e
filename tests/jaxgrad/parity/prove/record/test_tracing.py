"""Pairs whose inputs or outputs have another order of axes in each framework."""

import re
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import PerSide, Report, dump, prove
from jaxgrad.parity.prove.record import tracing
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = draw(2, 3, 4, 5)
LAST = X.transpose(0, 2, 3, 1)
CUBE = draw(2, 3, 3, 3)
IDS = np.array([[1, 2, 0], [3, 1, 2]])


def conv_and_tanh(channels: int = 2) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, channels, 1), nn.Tanh())


def port(p: Any, x: Any, scale: float = 1.0) -> Any:
    """Convolve with a kernel of one pixel, channels last."""
    return jnp.tanh(scale * (x @ p["0.weight"][:, :, 0, 0].T + p["0.bias"]))


def run(fn: Any, inputs: Any, channels: int = 2, **options: Any) -> Report:
    module = conv_and_tanh(channels)
    return prove(module, fn, arrays(module), inputs, **options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        (((X,), (LAST,)), "0"),
        ([[X], [LAST]], "0"),
        (PerSide((X,), (LAST,)), "0"),
        (({"input": X}, (LAST,)), "input"),
    ],
    ids=["pair", "lists", "PerSide", "named"],
)
def test_inputs_may_differ_by_framework(inputs, name):
    """A port with channels last passes, and the report says how its axes are ordered."""
    report = run(port, inputs)

    assert report.verdict == "pass", report
    assert report.notes[:2] == (
        f"the port is given torch's input {name} with its axes permuted by (0, 2, 3, 1)",
        "the port's output 0 is compared with its axes permuted by (0, 3, 1, 2)",
    )
    assert "a batch of 3 instead of 2" in report.surfaces["forward"].text


def test_moved_channels_are_tried_where_the_port_raises():
    """A port that rejects channels first is given channels last, and a note says why."""
    report = run(port, (X,))

    assert report.verdict == "pass"
    assert "permuted by (0, 2, 3, 1); in torch's order of axes it raises" in report.notes[0]
    assert run(lambda p, x: port(p, x, scale=2.0), (X,)).verdict == "fail"
    assert "raised TypeError" in str(run(lambda p, x: jnp.reshape(x, (7, -1)), (X,)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("wrong", "surface"),
    [
        (lambda p, x: port(p, 1.01 * x), "forward"),
        (lambda p, x: port(p, x, scale=1.5), "forward"),
        (lambda p, x: port(p, jnp.concatenate([lax.stop_gradient(x[:1]), x[1:]])), "gradients"),
    ],
    ids=["input", "scale", "gradient of the input"],
)
def test_a_wrong_port_fails_through_the_permutation(wrong, surface):
    """Values, and gradients with respect to inputs, are compared through the permutation."""
    report = run(wrong, ((X,), (LAST,)))

    assert report.verdict == "fail" and report.surfaces[surface].verdict == "fail"
    if surface == "gradients":
        assert "input 0" in str(report.surfaces["gradients"].findings[0])


def test_values_decide_where_every_shape_is_equal():
    """An output of equal axes is moved if only the moved one agrees; torch's own stays."""
    inputs = PerSide((CUBE,), (CUBE.transpose(0, 2, 3, 1),))
    first = run(lambda p, x: port(p, x).transpose(0, 3, 1, 2), inputs, channels=3)
    last = run(port, inputs, channels=3)
    wrong = run(lambda p, x: port(p, x, scale=2.0), inputs, channels=3)

    assert (first.verdict, last.verdict, wrong.verdict) == ("pass", "pass", "fail")
    assert not any("output" in note for note in first.notes)
    assert any("output 0 is compared with its axes permuted" in note for note in last.notes)


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x, y):
        return (self.scale * (x[0] + y[1])).sum(-1)


def test_a_module_of_two_tuples_reads_a_pair_as_its_arguments():
    """A pair is not read per framework where torch accepts it as two arguments."""
    x, y = draw(2, 3, 2)
    report = prove(
        Sum(), lambda p, x, y: (p["scale"] * (x[0] + y[1])).sum(-1), arrays(Sum()), ((x, y), (y, x))
    )

    assert report.verdict == "pass" and not any("axes" in note for note in report.notes)


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.tensor(draw(4, 3)))

    def forward(self, onehot):
        return torch.tanh(onehot @ self.table)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_unrelated_inputs_keep_their_values(scale):
    """One-hot rows in torch and ids in the port are compared on the given values alone."""
    inputs = PerSide((np.eye(4, dtype=np.float32)[IDS],), (IDS,))
    module = Table()
    report = prove(module, lambda p, i: jnp.tanh(scale * p["table"][i]), arrays(module), inputs)

    assert report.verdict == ("pass" if scale == 1 else "fail")
    assert any("all inputs keep their given values in the second draw" in n for n in report.notes)
    assert any("its gradient is not compared" in note for note in report.notes)


def test_a_loss_takes_the_inputs_of_its_framework():
    """torch's loss gets the input with channels first, the port's loss with channels last."""
    losses = lambda y, x: (y * x[:, :2]).sum(), lambda y, x: (y * x[..., :2]).sum()
    report = run(port, ((X,), (LAST,)), loss=losses)

    assert report.verdict == "pass", report


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_further_inputs_may_differ_by_framework(scale):
    """An entry of also= is a pair like inputs=, and a difference on it is located."""
    more = draw(1, 3, 2, 6)
    also = [((more,), (more.transpose(0, 2, 3, 1),))]

    def wrong_on_two_rows(p: Any, x: Any) -> Any:
        return port(p, x, scale if x.shape[1] == 2 else 1.0)

    for inputs in (((X,), (LAST,)), PerSide((X,), (LAST,))):
        entry = also if isinstance(inputs, tuple) else [PerSide(*also[0])]
        report = run(wrong_on_two_rows, inputs, also=entry)

        assert report.verdict == ("pass" if scale == 1 else "fail"), report
        if scale != 1:
            assert "with also[0], output is off" in report.surfaces["forward"].text
            assert "conv2d" in str(report.first) or "tanh" in str(report.first)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (PerSide((X,)), r"inputs=PerSide\(...\) needs jax="),
        (PerSide(jax=(X,)), "inputs= is missing"),
        (PerSide(("x",), (X,)), "torch"),
        (PerSide((0 * X[..., :4],), (0 * LAST[:, :, :4],)), "values that do not repeat"),
        (((X,), (X[0],)), "JAX: fn called with 1 input raised"),
    ],
)
def test_unusable_inputs_per_side_are_one_sentence(inputs, words):
    """A missing side and values that repeat are errors that say what to give."""
    report = run(port, inputs)

    assert report.verdict == "error"
    assert re.search(words, str(report)), report


def test_a_dump_takes_the_inputs_of_the_port(tmp_path):
    """With a dump, which contains torch's inputs, only those of the port are given."""
    module = conv_and_tanh()
    dump(module, (X,), tmp_path / "torch.dump")
    options = tmp_path / "torch.dump", port, arrays(module)

    assert prove(*options, PerSide(jax=(LAST,))).verdict == "pass"
    assert "pass the torch module" in str(prove(*options, PerSide(jax=(LAST + 1,))))
    assert "leave inputs= out, or pass inputs=PerSide(jax=...)" in str(prove(*options, (X,)))


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> Any:
        h = self.layer(x)
        return OrderedDict(wide=h, flat=torch.tanh(h))


@pytest.mark.parametrize("swapped", [False, True])
def test_outputs_are_paired_by_name(swapped):
    """A port that returns torch's names in another order passes; exchanged outputs fail."""
    module = Named()

    def port(p: Any, x: Any) -> Any:
        wide = x @ p["layer.weight"].T + p["layer.bias"]
        flat = jnp.tanh(wide)
        return {"flat": wide, "wide": flat} if swapped else {"flat": flat, "wide": wide}

    report = prove(module, port, arrays(module), (draw(4, 3),))
    assert report.verdict == ("fail" if swapped else "pass"), report


@pytest.mark.parametrize(
    ("paths", "wanted", "order"),
    [("ab", "ab", ""), ("ab", "ba", "ba"), ("ab", "ac", ""), ("abc", "ab", ""), ("", "", "")],
)
def test_only_the_same_names_are_reordered(paths, wanted, order):
    """Outputs of other names, or already in torch's order, stay in the port's order."""
    assert tracing._order(paths, wanted) == tuple(order)


@pytest.mark.parametrize(
    ("shapes", "wanted", "moved", "axes"),
    [
        ([(2, 4, 5, 3)], [(2, 3, 4, 5)], False, {"y": (0, 3, 1, 2)}),
        ([(2, 3, 4, 5)], [(2, 3, 4, 5)], False, {}),
        ([(2, 3, 3, 3)], [(2, 3, 3, 3)], False, {}),  # the inputs have torch's order
        ([(2, 3, 3, 3)], [(2, 3, 3, 3)], True, {"y": (0, 3, 1, 2)}),
        ([(2, 4, 5, 3)], [(2, 3, 4, 5), (1,)], False, {}),
    ],
)
def test_the_axes_of_an_output_are_found(shapes, wanted, moved, axes):
    """Shapes decide where they differ; values decide where the inputs were moved."""
    arrays = [np.random.default_rng(0).standard_normal(shape) for shape in wanted]
    right = [np.moveaxis(x, 1, -1) for x in arrays if x.ndim > 1]
    avals = [SimpleNamespace(shape=shape) for shape in shapes]
    program: Any = SimpleNamespace(
        jaxpr=SimpleNamespace(out_avals=avals), out_paths=["y"], fun=lambda: right, leaves=(),
        params=(), layout=SimpleNamespace(moved=moved),
    )  # fmt: skip
    outputs = {str(n): x for n, x in enumerate(arrays)}
    assert tracing._output_axes(program, outputs, {}) == axes
    if moved:  # values that are already torch's stay
        program.fun = lambda: arrays
        assert tracing._output_axes(program, outputs, {}) == {}


@pytest.mark.parametrize(("off", "near"), [(0.9e-3, True), (2.5e-3, False)])
def test_outputs_are_near_relative_to_their_largest_number(off, near):
    """The bound is a thousandth of the number and of the largest one."""
    y = np.array([0.0, 2.0])
    assert tracing._is_close(y + np.array([2 * off, 0]), y) is near
    assert tracing._is_close(np.zeros(0), np.zeros(0))


def test_numbers_of_python_that_torch_does_not_return_are_not_compared():
    def counting(p: Any, x: Any) -> Any:
        return port(p, x), x.shape[0], 0.5

    report = run(counting, ((X,), (LAST,)))
    assert report.verdict == "pass", report
    assert "the port also returns Python numbers, for which torch has no tensor" in report.notes

    more = run(lambda p, x: (port(p, x), x), ((X,), (LAST,)))
    assert more.verdict == "error" and "torch returns 1 output" in more.text
