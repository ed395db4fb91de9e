"""Everything that a call of a torch module can leave behind or return is compared with the port.

Each row of the two tables has a right port, which passes, and ports that lack the change or the
output, which do not.
"""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import draw


X = draw(4, 3)
W = draw(3, 2)


class Changing(nn.Module):
    """A linear map whose forward pass changes something, which the next call adds to the output."""

    def __init__(self, start: Callable[[Any], None], change: Callable[[Any, Any], Any]):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(W))
        self.change = change
        start(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.weight
        read = self.change(self, x)
        return y if read is None else y + read


class Left(NamedTuple):
    """What a module leaves behind, and the state of a port that does the same."""

    start: Callable[[Any], None]
    change: Callable[[Any, Any], Any]  # returns what the output contains of the state
    params: dict[str, Any]  # of the port, beside the weight
    new: Callable[[Any, Any], dict[str, Any]]  # the port's new state
    read: Callable[[Any], Any]  # what the port's output contains of the state
    kind: str = "buffer"


def buffer(x: Any, **options: Any) -> Callable[[Any], None]:
    return lambda m: m.register_buffer("b", None if x is None else torch.tensor(x), **options)


def added(m: Any, x: Any) -> Any:
    """Change a buffer in place, after the output has read it."""
    del x
    read = m.b.clone()
    with torch.no_grad():
        m.b += 1
    return read.real if read.is_complex() else read.to(m.weight.dtype)


def assigned(m: Any, x: Any) -> Any:
    del x
    read, m.b = m.b, m.b + 1
    return read


def averaged(m: Any, x: Any) -> Any:
    read = m.t.detach().clone()
    with torch.no_grad():
        m.t.mul_(0.9).add_(x.mean(), alpha=0.1)
    return read


def through_data(m: Any, x: Any) -> Any:
    read = m.t.detach().clone()
    m.t.data = 0.9 * m.t.data + 0.1 * x.mean().to(m.t.dtype)
    return read


def frozen(x: Any) -> Callable[[Any], None]:
    def start(m: Any) -> None:
        m.t = nn.Parameter(torch.tensor(x), requires_grad=False)

    return start


def attribute(name: str, value: Any) -> Callable[[Any], None]:
    return lambda m: setattr(m, name, value())


def remember(m: Any, x: Any) -> Any:
    read, m.h = m.h, x.detach().mean()
    return 0 if read is None else read


def toggle(m: Any, x: Any) -> Any:
    del x
    read = m.b.to(m.weight.dtype)
    m.b = ~m.b
    return read


def appear(m: Any, x: Any) -> Any:
    read = None if m.b is None else m.b
    m.b = x.detach().mean(0)[:2]
    return read


def vanish(m: Any, x: Any) -> Any:
    del x
    read, m.b = m.b, None
    return read


def count(m: Any, x: Any) -> Any:
    del x
    m.n += 1
    return float(m.n - 1)


def append(m: Any, x: Any) -> Any:
    read = sum(m.h) if m.h else 0.0
    m.h.append(x.detach().mean())
    return read


def store(m: Any, x: Any) -> Any:
    read = m.h.get("mean", 0.0)
    m.h["mean"] = x.detach().mean()
    return read


class Cache:
    """An object of the user that a module holds."""

    def __init__(self):
        self.value: Any = 0.0


def keep(m: Any, x: Any) -> Any:
    read, m.h.value = m.h.value, x.detach().mean()
    return read


def plus_one(p: Any, x: Any) -> dict[str, Any]:
    del x
    return {"b": p["b"] + 1}


def mean_of(path: str) -> Callable[[Any, Any], dict[str, Any]]:
    return lambda p, x: {path: x.mean()}


def moved(p: Any, x: Any) -> dict[str, Any]:
    return {"t": 0.9 * p["t"] + 0.1 * x.mean()}


def of_b(p: Any) -> Any:
    return jnp.real(p["b"])


def nothing(p: Any) -> float:
    del p
    return 0.0


def of_t(p: Any) -> Any:
    return lax.stop_gradient(p["t"])


TWO = np.array([2.0, 3.0], np.float32)
NUMBER = np.array(2.5, np.float32)
LEFT = {
    "float buffer": Left(buffer(TWO), added, {"b": TWO}, plus_one, of_b),
    "float buffer without dimensions": Left(buffer(NUMBER), added, {"b": NUMBER}, plus_one, of_b),
    "integer buffer": Left(buffer([2, 3]), added, {"b": np.array([2, 3])}, plus_one, of_b),
    "integer buffer without dimensions": Left(
        buffer(2), added, {"b": np.array(2)}, plus_one, of_b
    ),
    "bool buffer": Left(
        buffer([True, False]), toggle, {"b": np.array([True, False])},
        lambda p, x: {"b": ~p["b"]}, lambda p: p["b"].astype(float),
    ),
    "complex buffer": Left(
        buffer(TWO + 1j * TWO), added, {"b": TWO + 1j * TWO}, plus_one, of_b
    ),
    "buffer that is assigned": Left(buffer(TWO), assigned, {"b": TWO}, plus_one, of_b),
    "buffer that is not saved": Left(
        buffer(TWO, persistent=False), added, {"b": TWO}, plus_one, of_b
    ),
    "buffer that was None": Left(
        buffer(None), appear, {}, lambda p, x: {"b": x.mean(0)[:2]}, nothing
    ),
    "buffer that becomes None": Left(
        buffer(TWO), vanish, {"b": TWO}, lambda p, x: {"weight": p["weight"]}, of_b
    ),
    "parameter": Left(frozen(TWO), averaged, {"t": TWO}, moved, of_t, "parameter"),
    "parameter without dimensions": Left(
        frozen(NUMBER), averaged, {"t": NUMBER}, moved, of_t, "parameter"
    ),
    "parameter changed through its data": Left(
        frozen(TWO), through_data, {"t": TWO}, moved, of_t, "parameter"
    ),
    "tensor attribute": Left(
        attribute("h", lambda: None), remember, {}, mean_of("h"), nothing, "attribute"
    ),
    "number attribute": Left(
        attribute("n", lambda: 0), count, {"n": np.array(0)}, lambda p, x: {"n": p["n"] + 1},
        lambda p: p["n"].astype(float), "attribute",
    ),
    "list attribute": Left(
        attribute("h", list), append, {}, lambda p, x: {"h": [x.mean()]}, nothing, "attribute"
    ),
    "dict attribute": Left(
        attribute("h", dict), store, {}, lambda p, x: {"h": {"mean": x.mean()}}, nothing,
        "attribute",
    ),
    "attribute of an object": Left(
        attribute("h", Cache), keep, {}, lambda p, x: {"h": {"value": x.mean()}}, nothing,
        "attribute",
    ),
}  # fmt: skip


def proof(row: Left, new: Callable[[Any, Any], Any] | None, *, training: bool = True) -> Report:
    """Prove a port that returns this new state, or no state."""

    def port(p: Any, x: Any) -> Any:
        y = x @ p["weight"] + row.read(p)
        return y if new is None else (y, new(p, x))

    module = Changing(row.start, row.change).train(training)
    params = {"weight": W, **row.params}
    return prove(module, port, params, (X,), has_state=new is not None)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("row", LEFT.values(), ids=list(LEFT))
def test_a_port_that_leaves_the_same_behind_passes(row, training):
    """A port that returns the new state is compared by the value of each leaf, and passes."""
    report = proof(row, row.new, training=training)
    surface = report.surfaces["updates"]

    assert report.verdict == surface.verdict == "pass", report
    assert surface.text.startswith(f"1 {row.kind} update agrees"), surface.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", LEFT.values(), ids=list(LEFT))
def test_a_port_without_state_fails(row):
    """A port that returns no state fails, and the report names both values and has_state=."""
    report = proof(row, None)

    assert report.verdict == "fail", report
    finding = report.first
    assert finding is not None and finding.surface == "updates"
    assert finding.torch.split(".")[0] in "bthn"
    assert f"changes the {row.kind}, and fn returns no new state" in finding.text
    assert finding.torch_value != finding.jax_value
    assert "has_state=True" in finding.cause


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "row",
    [row for name, row in LEFT.items() if name not in ("buffer that becomes None",)],
    ids=[name for name in LEFT if name not in ("buffer that becomes None",)],
)
def test_a_port_that_returns_its_old_state_fails(row):
    """A port whose state lacks the change fails, whether it has a leaf for it or not."""
    report = proof(row, lambda p, x: p)

    assert report.verdict == "fail", report
    assert report.first is not None and report.first.surface == "updates"


KEPT = {
    "float buffer": LEFT["float buffer"]._replace(change=lambda m, x: m.b),
    "integer buffer": LEFT["integer buffer"]._replace(change=lambda m, x: m.b),
    "bool buffer": LEFT["bool buffer"]._replace(change=lambda m, x: m.b.to(m.weight.dtype)),
    "parameter": LEFT["parameter"]._replace(change=lambda m, x: m.t.detach()),
}


@pytest.mark.parametrize("row", KEPT.values(), ids=list(KEPT))
def test_a_value_that_torch_leaves_unchanged_must_stay(row):
    """A port that changes a value which torch keeps fails; one that keeps it passes."""
    assert proof(row, lambda p, x: p).verdict == "pass"
    report = proof(row, row.new)

    assert report.verdict == "fail", report
    assert f"leaves the {row.kind} unchanged, and the port changes it" in str(report.first)


class Counting(nn.Module):
    """A linear map that counts its calls, which nothing reads."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(W))
        self.register_buffer("calls", torch.tensor(0))
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(x.detach())
        return x @ self.weight


def linear(p: Any, x: Any) -> Any:
    return x @ p["weight"]


def test_a_value_that_nothing_reads_is_not_said_to_agree():
    """Without a leaf in the port it is listed in a note; with one it is compared."""
    report = prove(Counting(), linear, {"weight": W}, (X,))
    assert report.verdict == "pass"
    assert report.surfaces["updates"].verdict == "not judged"
    (note,) = (note for note in report.notes if note.startswith("not compared: "))
    assert "calls, seen.0. The port does not return this state, which torch's forward pass" in note

    params = {"weight": W, "calls": np.array(0)}
    report = prove(Counting(), linear, params, (X,))
    assert report.first is not None and report.first.torch == "calls"
    assert (report.first.torch_value, report.first.jax_value) == (1, 0)
    right = prove(Counting(), lambda p, x: (linear(p, x), {"calls": p["calls"] + 1}), params, (X,),
                  has_state=True)  # fmt: skip
    assert right.surfaces["updates"].text.startswith("1 buffer update agrees")


@pytest.mark.parametrize("momentum", [0.1, None])
def test_the_counter_of_a_batch_norm_is_needed_only_where_torch_reads_it(momentum):
    """`num_batches_tracked` decides the update of the statistics only if `momentum` is None."""
    module = nn.BatchNorm1d(3, affine=False, momentum=momentum)
    statistics = {"running_mean": np.zeros(3, np.float32), "running_var": np.ones(3, np.float32)}
    count = {"num_batches_tracked": np.array(0)}

    def port(p: Any, x: Any) -> Any:
        rate = 0.1 if momentum else 1.0
        mean = (1 - rate) * p["running_mean"] + rate * x.mean(0)
        variance = (1 - rate) * p["running_var"] + rate * x.var(0, ddof=1)
        new = {**p, "running_mean": mean, "running_var": variance}
        return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5), new

    for params in (statistics, statistics | count):
        report = prove(module, port, params, (X,), has_state=True)
        assert (report.verdict == "pass") == (momentum is not None), report
        assert momentum or (report.first and report.first.torch == "num_batches_tracked")
    assert momentum is None or any("not compared: num_batches" in note for note in report.notes)


Pair = collections.namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Record:
    """The outputs of a module, as the models of transformers return them."""

    first: Any
    second: Any = None


class Returning(nn.Module):
    def __init__(self, returned: Callable[[Any, Any], Any]):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(W))
        self.returned = returned

    def forward(self, x: torch.Tensor) -> Any:
        y = x @ self.weight
        return self.returned(y, torch)


class Returned(NamedTuple):
    """What a module returns, as a function of its values and of torch or jax.numpy."""

    right: Callable[[Any, Any], Any]
    lacking: Callable[[Any, Any], Any] | None  # without one of the outputs
    wrong: Callable[[Any, Any], Any]  # with another value of one of them


RETURNED = {
    "tuple": Returned(lambda y, np: (y, 2 * y), lambda y, np: (y,), lambda y, np: (y, 3 * y)),
    "nested": Returned(
        lambda y, np: {"a": [y, (2 * y,)], "b": {"c": 3 * y}},
        lambda y, np: {"a": [y, (2 * y,)]},
        lambda y, np: {"a": [y, (2 * y,)], "b": {"c": 4 * y}},
    ),
    "None": Returned(
        lambda y, np: (y, None, 2 * y), lambda y, np: (y, None), lambda y, np: (y, None, y)
    ),
    "named tuple": Returned(
        lambda y, np: Pair(y, 2 * y), lambda y, np: (y,), lambda y, np: Pair(y, y)
    ),
    "without dimensions": Returned(
        lambda y, np: (y, y.sum()), lambda y, np: (y,), lambda y, np: (y, 2 * y.sum())
    ),
    "integers": Returned(
        lambda y, np: (y, y.argmax(1)), lambda y, np: (y,), lambda y, np: (y, y.argmin(1))
    ),
    "bools": Returned(lambda y, np: (y, y > 0), lambda y, np: (y,), lambda y, np: (y, y < 0)),
    "complex": Returned(
        lambda y, np: (y, y + 2j * y), lambda y, np: (y,), lambda y, np: (y, y - 2j * y)
    ),
}


def returned(of_torch: Callable[[Any, Any], Any], of_jax: Callable[[Any, Any], Any]) -> Report:
    return prove(Returning(of_torch), lambda p, x: of_jax(x @ p["weight"], jnp), {"weight": W},
                 (X,))  # fmt: skip


@pytest.mark.parametrize("row", RETURNED.values(), ids=list(RETURNED))
def test_every_output_is_compared(row):
    """A port with the same outputs passes; one that lacks an output, or has another value, not."""
    assert returned(row.right, row.right).verdict == "pass"
    assert returned(row.right, row.wrong).verdict == "fail"
    lacking = returned(row.right, row.lacking)
    assert lacking.verdict == "error"
    assert "torch returns" in lacking.text and "JAX returns" in lacking.text


def test_python_numbers_that_torch_returns_are_noted():
    """A number is not an array, so a port that returns none passes, and the report says so."""
    report = returned(lambda y, _: {"y": y, "aux": {"temperature": 0.5}}, lambda y, _: y)

    assert report.verdict == "pass"
    (note,) = (note for note in report.notes if "Python numbers" in note)
    assert note.startswith("not compared: torch also returns Python numbers (aux/temperature)")


def test_the_tensors_of_a_dataclass_are_outputs():
    """JAX flattens no dataclass, so a port returns a tuple or a dict of its fields."""
    right = returned(lambda y, _: Record(y, 2 * y), lambda y, _: (y, 2 * y))
    wrong = returned(lambda y, _: Record(y, 2 * y), lambda y, _: (y, y))
    lacking = returned(lambda y, _: Record(y, 2 * y), lambda y, _: (y,))

    assert (right.verdict, wrong.verdict, lacking.verdict) == ("pass", "fail", "error")
