"""Gradients that agree in float64 may have large float32 errors, which a note reports."""

import contextlib
import dataclasses
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.dtypes import single_precision
from jaxgrad.parity.prove.dtypes.single_precision import Float32Error
from jaxgrad.parity.prove.report import Judgement, Surface
from jaxgrad.parity.prove.waivers import Waivers
from tests.jaxgrad.parity.prove._helpers import arrays, proved


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fast", [True, False])
def test_a_formula_that_loses_digits_in_float32_gets_a_note(fast):
    """A variance as E[x^2] - E[x]^2 passes in float64 and gets a note about float32."""

    def norm(params, x):
        mean = jnp.mean(x, -1, keepdims=True)
        square = jnp.mean(x**2, -1, keepdims=True) - mean**2
        var = square if fast else jnp.var(x, -1, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5) * params["weight"] + params["bias"]

    module = nn.LayerNorm(16)
    params = arrays(module)
    x = (5 + 0.1 * np.random.default_rng(0).standard_normal((4, 16))).astype(np.float32)
    report = prove(module, norm, params, (x,))
    assert report.verdict == "pass", report
    assert any("loses digits" in note for note in report.notes) == fast, report.notes
    assert "in float32, JAX's error is at most" in report.surfaces["gradients"].text


def test_outputs_and_gradients_have_a_statement(arguments: dict[str, Any]):
    """The forward and gradients surfaces state float32 errors; JAX's are not above torch's."""
    report = proved(arguments)
    for name in ("forward", "gradients"):
        assert "in float32, JAX's error is at most" in report.surfaces[name].text, name
    assert not any("float32" in note for note in report.notes)


def test_an_output_that_loses_digits_gets_a_note(arguments: dict[str, Any]):
    """An output that is computed by cancellation passes in float64 and gets a note."""

    def cancelling(p: Any, x: Any) -> Any:
        large = 2.0**12 + jnp.sum(x)
        return (arguments["fn"](p, x) + large) - large

    report = proved(arguments, fn=cancelling)
    assert report.verdict == "pass", report
    assert any(n.startswith("in float32, the output is off by") for n in report.notes), report.notes


def test_a_large_model_says_why_float32_is_not_compared(
    arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    """The statement is never missing in silence."""
    monkeypatch.setattr(single_precision, "_LARGEST", 10)
    optimizer = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1))
    report = proved(arguments, optimizer=optimizer)
    for name in ("forward", "gradients", "updates"):
        text = report.surfaces[name].text
        assert "float32 is not compared: the model has 0 million weights, more than 0" in text


def test_a_port_that_needs_float64_is_mentioned(arguments: dict[str, Any]):
    """A port that raises in float32 passes, and the report has its message."""

    def picky(p: Any, x: Any) -> Any:
        if x.dtype == np.float32:
            raise TypeError("I need float64")
        return arguments["fn"](p, x)

    report = proved(arguments, fn=picky)
    assert "float32 is not compared: the port" in report.surfaces["gradients"].text, report
    assert "I need float64" in report.surfaces["forward"].text


def test_a_module_that_needs_float64_is_mentioned():
    """A module with a float64 constant cannot run in float32, and its port still passes."""

    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.table = nn.Linear(3, 2), torch.arange(6.0).double().reshape(2, 3)

        def forward(self, x):
            return self.linear(x) + x @ self.table.T

    module = Constant().double()

    def port(p: Any, x: Any) -> Any:
        table = jnp.arange(6.0).reshape(2, 3)
        return x @ p["linear.weight"].T + p["linear.bias"] + x @ table.T

    x = np.random.default_rng(0).standard_normal((4, 3))
    report = prove(module, port, arrays(module), (x,))
    assert report.verdict == "pass", report
    assert "float32 is not compared: torch rejects it: " in report.surfaces["forward"].text


def test_nan_in_both_precisions_is_no_error():
    """NaN equals NaN, and where torch's own error is infinite there is nothing to compare."""
    nan = np.array([np.nan, 1.0])

    assert single_precision.relative_error(nan, nan) == 0
    assert single_precision.relative_error(np.ones(2), nan) == float("inf")
    assert single_precision.Float32Error("x", float("inf"), float("inf")).ratio == 1


FLOOR = single_precision.FLOOR


@pytest.mark.parametrize(
    ("torchs", "jaxs", "ratio"),
    [(1.0, 3.0, 3.0), (2.0, 1.0, 0.5), (0.0, FLOOR, 1.0), (FLOOR / 2, 3 * FLOOR, 3.0)],
)
def test_the_ratio_of_errors_has_a_floor(torchs, jaxs, ratio):
    """torch's own error may be small by luck, but not below a few units in the last place."""
    error = Float32Error("x", torchs, jaxs)
    assert error.ratio == pytest.approx(ratio)
    assert error.clause == f"in float32, JAX's error is at most {ratio:.2g} times torch's"
    assert Float32Error("x", 1.0, 0.0).clause.endswith("at most 0.01 times torch's")


@pytest.mark.parametrize(("ratio", "noted"), [(29, False), (30, False), (31, True)])
def test_an_error_of_thirty_times_torchs_is_noted(ratio, noted):
    """The note has both errors, and smaller ratios have none."""
    error = Float32Error("the output", 1.0, float(ratio))
    assert bool(error.note) is noted
    assert single_precision.notes(error) == ((error.note,) if noted else ())
    assert single_precision.notes("reason") == ()
    assert error.note.startswith("in float32, the output is off by 3e+01 in JAX and by 1") is noted


def test_the_largest_ratio_is_stated():
    """Without an error there is a reason in its place."""
    small, large = Float32Error("a", 1.0, 1.0), Float32Error("b", 0.1, 0.5)
    assert single_precision.largest([small, large]) is large
    assert single_precision.largest([]) == "every value is zero, or accepted"
    assert single_precision.clause("r") == "float32 is not compared: r"
    assert single_precision.clause(large) == large.clause


def available(**fields: Any) -> Any:
    """Return evidence for which float32 is compared, with some fields changed."""
    made = {
        "rerunnable": True,
        "reference": "torch",
        "native_program": SimpleNamespace(),
        "native": SimpleNamespace(low=False),
        "port": SimpleNamespace(
            program=SimpleNamespace(repeatable=True), injection=SimpleNamespace(sites=())
        ),
        "draws": [SimpleNamespace(state={"w": np.ones(6), "v": np.ones(4)})],
    }
    return SimpleNamespace(**made | fields)


def port(repeatable: bool, sites: Any) -> Any:
    program = SimpleNamespace(repeatable=repeatable)
    return SimpleNamespace(program=program, injection=SimpleNamespace(sites=sites))


@pytest.mark.parametrize(
    ("fields", "low", "reason"),
    [
        ({}, False, ""),
        ({"rerunnable": False}, False, "a dump contains only float64"),
        ({"native_program": ValueError("no")}, False, "the port cannot be traced in its own prec"),
        ({"native": SimpleNamespace(low=True)}, False, "the models compute below float32"),
        ({}, True, "the models compute below float32"),
        ({"port": port(False, ())}, False, "another call of the port gives another program"),
        ({"port": port(True, ("s",))}, False, "the port draws its own random numbers there"),
    ],
)
def test_each_reason_against_float32_is_said(monkeypatch, fields, low, reason):
    """Both models must run again in float32, with the same numbers."""
    monkeypatch.setattr(single_precision.jax_native, "is_low", lambda program: low)
    actual = single_precision.unavailable(available(**fields))
    assert actual.startswith(reason) and bool(actual) == bool(reason)


@pytest.mark.parametrize(("most", "large"), [(9, True), (10, False)])
def test_weights_are_counted_for_float32(monkeypatch, most, large):
    """The number of weights, not of tensors, is limited."""
    monkeypatch.setattr(single_precision, "_LARGEST", most)
    assert bool(single_precision.too_large(available())) is large
    monkeypatch.setattr(single_precision, "_LARGEST", 40_000_000)
    state = {"w": np.broadcast_to(1.0, (41_000_000,))}
    text = single_precision.too_large(available(draws=[SimpleNamespace(state=state)]))
    assert text == "the model has 41 million weights, more than 40 million"


@pytest.mark.parametrize(
    ("x", "exact", "error"),
    [
        (np.array([1.0, 2.5]), np.array([1.0, 2.0]), 0.25),
        (np.array([[1.0], [2.5]]), np.array([1.0, 2.0]), 0.25),
        (np.array([0.5]), np.array([0.0]), 0.5),
        (np.array([np.inf]), np.array([1.0]), np.inf),
        (None, np.ones(2), 0.0),
        (np.ones(2), None, 0.0),
        (np.zeros(0), np.zeros(0), 0.0),
    ],
)
def test_an_error_is_relative_to_the_scale(x, exact, error):
    """A gradient that one framework lacks has no error, and zeros have the scale 1."""
    assert single_precision.relative_error(x, exact) == pytest.approx(error)


@dataclasses.dataclass
class Numbers:
    """Gradients as numbers for two names; the second one has a scale of zero."""

    leaves: Any


def measured(verdicts: str = "pass pass") -> Any:
    """Return evidence of two outputs and two gradients, whose float32 errors are known."""
    exact = {"w": np.array([1.0, 2.0]), "v": np.array([4.0])}
    off = {"w": np.array([1.0, 2.5]), "v": np.array([4.0])}
    runs = [
        SimpleNamespace(outputs={"": np.array([1.0 + x]), "n": np.array([1])}, grads=g)
        for x, g in ((0.25, exact), (0.5, off))
    ]
    judged = [
        SimpleNamespace(name=n, verdict=v, scale=s)
        for n, v, s in zip("wv", verdicts.split(), (1.0, 1.0), strict=True)
    ]
    return SimpleNamespace(
        waivers=Waivers(),
        jax_gradients=[Numbers([1.0, None])],
        torch_side=SimpleNamespace(single_precision=lambda draw: runs),
        draws=[None],
        torch_gradients=lambda run: run.grads,
        by_torch_name=lambda g: {"w": 2 * np.array([1.0, g.leaves[0]]), "v": np.ones(1)},
        runs=[SimpleNamespace(outputs={"": np.ones(1), "n": np.array([1])}, grads=exact)],
        judged_gradients=[judged],
        jax_runs=[SimpleNamespace(outputs=[np.ones(1), np.array([1]), np.zeros(9)])],
    )


@pytest.mark.parametrize(("verdicts", "names"), [("pass pass", "wv"), ("pass zero", "w")])
def test_the_largest_error_of_torchs_runs_counts(monkeypatch, verdicts, names):
    """Integers and gradients that were not compared in float64 have no float32 error."""
    rounded = [3.0, 7.0], [np.array([1.125]), np.array([1])]
    monkeypatch.setattr(single_precision, "_in_float32", lambda evidence: rounded)
    outputs, gradients = single_precision._errors(measured(verdicts))
    assert [(e.what, e.torch, e.jax) for e in outputs] == [("the output", 0.5, 0.125)]  # pyright: ignore[reportAttributeAccessIssue]
    expected = [("the gradient of w", 0.25, 2.0), ("the gradient of v", 0.0, 0.0)]
    assert [(e.what, e.torch, e.jax) for e in gradients] == expected[: len(names)]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive"])
def test_float32_is_compared_if_both_surfaces_pass(monkeypatch, verdict):
    """A reason is stated in both surfaces, and errors in their own."""
    judged = {
        "forward": Judgement(Surface("forward", "pass", "f"), ("n",)),
        "gradients": Judgement(Surface("gradients", verdict, "g")),
    }
    proof: Any = SimpleNamespace(clock=lambda name: contextlib.nullcontext())
    errors = [Float32Error("x", 1.0, 2.0)], [Float32Error("y", 1.0, 99.0)]
    monkeypatch.setattr(single_precision, "unavailable", lambda evidence: "")
    monkeypatch.setattr(single_precision, "_errors", lambda evidence: errors)
    stated = single_precision.surfaces(proof, judged)
    if verdict != "pass":
        assert stated == {}
        return
    text = "in float32, JAX's error is at most 2 times torch's"
    assert stated["forward"].surface.text == f"f; {text}"
    assert stated["forward"].notes == ("n",)
    assert stated["gradients"].surface.text.endswith("at most 99 times torch's")
    assert len(stated["gradients"].notes) == 1
    monkeypatch.setattr(single_precision, "unavailable", lambda evidence: "no")
    stated = single_precision.surfaces(proof, judged)
    assert stated["gradients"].surface.text == "g; float32 is not compared: no"


class Positions(nn.Module):
    """A module with a table of integers, such as the `position_ids` of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(6, 3)
        self.ids: torch.Tensor
        self.register_buffer("ids", torch.arange(5, -1, -1)[None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.arange(x.shape[1])
        return x * self.positions(self.ids[0, first])


def test_a_table_of_integers_is_read_in_float32():
    """The port indexes a buffer of integers by a traced index, which numpy rejects."""

    def fn(p: Any, x: Any) -> Any:
        first = jnp.arange(x.shape[1])
        return x * p["positions.weight"][p["ids"][0, first]]

    module = Positions()
    report = prove(module, fn, arrays(module), (np.ones((2, 4, 3), np.float32),))
    assert "in float32, JAX's error is at most" in report.surfaces["gradients"].text, report
