"""The engine can be red: a wrong gradient, a None for a zero, a stale pin, each with its text."""

import dataclasses
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from parity_tests.case import Case, CaseError, Deviation, Raises, Tolerance, case, identity
from parity_tests.inputs import document, draw, fixed, integers, linear, normal, nudge
from parity_tests.runner.engine import run


INPUTS = {"w": normal(3, 2), "x": normal(4, 3)}


def reference(w, x):
    w.requires_grad_()
    loss = torch.tanh(x @ w).sum()
    loss.backward()
    return {"loss": loss, "w": w.grad}


def twin(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)
    return {"loss": loss, "w": grad}


def made(monkeypatch, fun=twin, ref=reference, inputs=None, **kwargs) -> Case:
    """A case outside the registry, whose reference lives in a module made for it."""
    module = types.ModuleType("torch_ref.planted")
    vars(module)["twin"] = ref
    monkeypatch.setitem(sys.modules, "torch_ref.planted", module)
    fields = {"source": ("X",), "idiom": ("", ""), "inputs": inputs or INPUTS} | kwargs
    fun.__doc__ = "A planted case."
    return Case(fun=fun, theme="planted", behaviour="twin", **fields)


def wrong(change):
    """The twin with its observation changed."""

    def changed(w, x):
        return change(twin(w, x))

    return changed


@pytest.mark.parametrize("mode", ("eager", "jit"))
@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
def test_right(monkeypatch, dtype, mode):
    """The right twin passes in every cell."""
    result = run(made(monkeypatch), dtype, mode)

    assert result.verdict in ("bitwise", "close"), result


@pytest.mark.parametrize("mode", ("eager", "jit"))
@pytest.mark.parametrize(
    "change, verdict, words",
    (
        (lambda o: o | {"w": o["w"] * (1 + 1e-9)}, "fail", "ULP at leaf scale"),
        (lambda o: o | {"w": None}, "fail", "JAX has None"),
        (lambda o: o | {"w": o["w"].at[0, 0].set(jnp.nan)}, "fail", "JAX has nan"),
        (lambda o: {"loss": o["w"], "w": o["loss"]}, "fail", "torch has shape ()"),
        (lambda o: o | {"w": o["w"].astype(jnp.float32)}, "fail", "JAX has float32"),
        (lambda o: o | {"w": o["w"].T}, "fail", "torch has shape (3, 2), JAX has (2, 3)"),
        (lambda o: {"loss": o["loss"]}, "fail", "JAX has no such leaf"),
        (lambda o: o | {"b": o["w"]}, "fail", "torch has no such leaf"),
        (lambda o: o | {"w": o["w"][::-1]}, "fail", "off by"),
        (lambda o: o | {"w": -o["w"]}, "fail", "where"),
        (lambda o: o | {"w": "a string"}, "fail", "JAX has 'a string'"),
        (lambda o: o | {"loss": 0.5}, "fail", "JAX has 0.5"),
    ),
)
def test_wrong(monkeypatch, change, verdict, words, mode):
    """A wrong observation is red, and the text names the place, the values and the way back."""
    result = run(made(monkeypatch, wrong(change)), "float64", mode)

    assert result.verdict == verdict
    assert words in result.text
    text = str(result)
    assert "A planted case." in text
    assert f"python -m parity_tests planted/twin --dtype float64 --mode {mode}" in text


def test_text_of_a_wrong_value(monkeypatch):
    """A failing value names leaf path, worst index, both values, ULP at leaf scale, the bound."""
    result = run(made(monkeypatch, wrong(lambda o: o | {"w": o["w"].at[2, 1].add(0.5)})))

    assert "w: at [2, 1] torch has" in result.text
    for words in ("JAX has", "ULP at leaf scale", "is allowed"):
        assert words in result.text


def test_float32_is_judged_by_the_oracle(monkeypatch):
    """In float32 an error of 1e-5 is red, and the text says what float64 gives."""
    result = run(made(monkeypatch, wrong(lambda o: o | {"w": o["w"] * 1.00001})), "float32")

    assert result.verdict == "fail"
    assert "the float64 oracle has" in result.text


@pytest.mark.parametrize("value", ({}, None, {"w": None}))
def test_nothing_compared(monkeypatch, value):
    """An observation without a value is an error, never a pass."""
    same = lambda w, x: value  # noqa: E731 - the smallest program there is

    result = run(made(monkeypatch, same, lambda w, x: value))

    assert result.verdict == "error"
    assert "nothing was compared" in result.text


def test_only_zeros(monkeypatch):
    """Only zeros is an error unless the case says that zeros are meant."""
    zeros = made(
        monkeypatch,
        wrong(lambda o: {"w": o["w"] * 0}),
        lambda w, x: {"w": torch.zeros_like(w)},
    )

    assert "say zeros=True" in run(zeros).text
    assert run(dataclasses.replace(zeros, zeros=True)).verdict == "blind"


def test_missing_side(monkeypatch):
    """A side that raises is an error that shows where."""

    def broken(w, x):
        raise ValueError("the twin is broken")

    result = run(made(monkeypatch, broken))

    assert result.verdict == "error"
    assert "the JAX case raised ValueError: the twin is broken" in result.text
    assert "in broken" in result.text


def stopped(w, x, *, stop_gradient=lax.stop_gradient):
    return twin(w, stop_gradient(x))


def test_blind(monkeypatch):
    """A case that passes without its tool too is blind."""
    result = run(made(monkeypatch, stopped, control={"stop_gradient": identity}))

    assert result.verdict == "blind"
    assert "stop_gradient taken out" in result.text


def test_perturbation_that_changes_nothing(monkeypatch):
    """A plain case whose inputs change nothing is blind."""
    constant = made(
        monkeypatch,
        lambda w, x: {"one": jnp.ones_like(w)},
        lambda w, x: {"one": torch.ones_like(w)},
    )

    assert "give the case a control= of its own" in run(constant).text


def test_broken_control(monkeypatch):
    """A control that raises does not count as one that differs."""
    result = run(made(monkeypatch, stopped, control={"stop_gradient": None}))

    assert result.verdict == "error"
    assert "the control of planted/twin raised" in result.text


def twice(w, x):
    out = twin(w, x)
    return {"first": out["w"], "second": out["w"]}


def twice_reference(w, x):
    w.requires_grad_()
    loss = torch.tanh(x @ w).sum()
    loss.backward()
    loss.backward()


def by_hand(w, x):
    grad = x.T @ (1 - np.tanh(x @ w) ** 2)
    return {"first": grad, "second": grad}


RAISES = Raises(RuntimeError, "backward through the graph a second time")


@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_deviation(monkeypatch, dtype):
    """Both sides as pinned is a deviation, which passes."""
    pinned = Deviation(why="torch frees the graph", torch_is=RAISES, jax_is=by_hand)

    result = run(made(monkeypatch, twice, twice_reference, deviation=pinned), dtype)

    assert result.verdict == "deviation", result
    assert result.passed


@pytest.mark.parametrize(
    "change, words",
    (
        ({"torch_is": Raises(RuntimeError, "other words")}, "torch moved away from its pin"),
        ({"torch_is": Raises(TypeError)}, "torch moved away from its pin"),
        ({"jax_is": lambda w, x: by_hand(w, 2 * x)}, "JAX moved away from its pin"),
        ({"jax_is": lambda w, x: {"first": by_hand(w, x)["first"]}}, "JAX moved away"),
    ),
)
def test_deviation_that_moved(monkeypatch, change, words):
    """A pin that no longer holds is red and says which side moved."""
    pinned = Deviation(**({"why": "a reason", "torch_is": RAISES, "jax_is": by_hand} | change))

    result = run(made(monkeypatch, twice, twice_reference, deviation=pinned))

    assert result.verdict == "fail"
    assert words in result.text


def test_stale_deviation(monkeypatch):
    """A deviation whose two sides agree is red."""
    same = lambda w, x: {"loss": np.tanh(x @ w).sum(), "w": by_hand(w, x)["first"]}  # noqa: E731
    pinned = Deviation(why="once there was one", torch_is=same, jax_is=same)

    result = run(made(monkeypatch, deviation=pinned))

    assert result.verdict == "fail"
    assert "stale deviation" in result.text


def test_tolerance_carries_its_reason(monkeypatch):
    """A tolerance of its own is applied and its reason travels with the result."""
    loose = made(
        monkeypatch,
        wrong(lambda o: o | {"w": o["w"] * (1 + 1e-9)}),
        tolerance=Tolerance(1e-8, "planted"),
    )

    result = run(loose)

    assert result.verdict == "close"
    assert "planted" in result.why


def test_expected_numbers(monkeypatch):
    """The document's own numbers are checked on both sides, for seed 0 only."""
    inputs = {"w": document([[2.0]]), "x": document([[0.5]])}
    right = made(monkeypatch, inputs=inputs, expect={"loss": np.tanh(1.0)})
    wrong = dataclasses.replace(right, expect={"loss": 1.0})

    assert "loss: the document has 1.0, torch has 0.76159" in run(wrong).text
    assert run(right).text == ""
    assert run(wrong, seed=1).text == ""


def test_float64_needs_x64(monkeypatch):
    """float64 with 64-bit values off is an error that says what to do."""
    with jax.enable_x64(False):
        result = run(made(monkeypatch), "float64")

    assert result.verdict == "error"
    assert "JAX_ENABLE_X64=1" in result.text


def test_branch_taken_by_rounding_is_redrawn(monkeypatch):
    """Inputs on which float32 rounding flips a branch are drawn again."""
    # 1 + tiny is 1 in float32: the oracle sees x > 1 where torch does not.
    planted = iter([np.array([1.0]), np.array([3.0])])

    def count(x):
        return (
            {"n": (x.double() * (1 + 1e-9) > 1).sum(), "x": x * 2}
            if x.dtype == torch.float64
            else {"n": (x > 1).sum(), "x": x * 2}
        )

    inputs = {
        "x": dataclasses.replace(normal(1), sample=lambda rng: next(planted, np.array([3.0])))
    }
    twin = lambda x: {"n": jnp.sum(x > 1), "x": x * 2}  # noqa: E731
    result = run(made(monkeypatch, twin, count, inputs=inputs), "float32")

    assert result.redraws == 1
    assert result.verdict == "bitwise", result


def test_inputs_are_drawn_once_per_case():
    """The same id and seed give the same inputs; another id or seed does not."""
    spec = {"a": normal(3), "b": linear(2, 3), "n": integers(4, high=9)}
    first, again = draw(spec, "a/b", 1), draw(spec, "a/b", 1)

    np.testing.assert_equal(first, again)
    assert not np.array_equal(first["a"], draw(spec, "a/c", 1)["a"])
    assert not np.array_equal(first["a"], draw(spec, "a/b", 2)["a"])


def test_nudge_moves_what_is_continuous_by_one_ulp():
    """Only continuous inputs are moved: an integer, a mask, a point at a kink stay."""
    spec = {"a": normal(100), "n": integers(4, high=9), "kink": fixed([0.0])}
    inputs = draw(spec, "a/b")
    moved = nudge(spec, inputs, 0)

    steps = np.abs(moved["a"] - inputs["a"]) / np.spacing(np.abs(inputs["a"]))
    assert np.all((steps > 0.4) & (steps < 1.1))
    np.testing.assert_equal([moved["n"], moved["kink"]], [inputs["n"], inputs["kink"]])


@pytest.mark.parametrize(
    "kwargs, doc, words",
    (
        ({}, "", "has no docstring"),
        ({"color": "red"}, "x", "unexpected keyword argument 'color'; `Case` lists the options"),
        ({"inputs": {"y": normal(2)}}, "x", "takes \\('w', 'x'\\), but inputs= gives \\('y',\\)"),
        ({"control": {"nothing": identity}}, "x", "which is not one of its keyword arguments"),
        ({"dtypes": ("float8",)}, "x", "known are"),
        ({"deviation": Deviation("", RAISES, by_hand)}, "x", "without a reason"),
        ({"tolerance": Tolerance(1.0, " ")}, "x", "without a reason"),
    ),
)
def test_case_that_does_not_load(kwargs, doc, words):
    """What a case lacks is said when it is loaded, with the file and the name."""

    def planted(w, x):
        return twin(w, x)

    planted.__doc__ = doc
    fields = {"source": "X", "idiom": ("", ""), "inputs": INPUTS} | kwargs
    with pytest.raises(CaseError, match=words):
        case(**fields)(planted)


def test_tool_without_control_does_not_load():
    """A case about a tool must say how to take it out."""

    def planted(w, x):
        """A claim."""
        return twin(w, lax.stop_gradient(x))

    with pytest.raises(CaseError, match="uses stop_gradient but has no control of its own"):
        case(source="X", idiom=("", ""), inputs=INPUTS)(planted)


def test_missing_reference_names_the_file():
    """A forgotten reference fails with the file and the function to write."""
    lost = Case(
        fun=twin, theme="nowhere", behaviour="lost", source=("X",), idiom=("", ""), inputs=INPUTS
    )

    with pytest.raises(CaseError, match="there is no torch_ref/nowhere.py"):
        _ = lost.reference
    with pytest.raises(CaseError, match="write `def lost` in torch_ref/_net.py"):
        _ = dataclasses.replace(lost, theme="_net").reference


def test_statics_under_jit(monkeypatch):
    """None, strings and flags are read at trace time and compared by equality."""
    both = lambda w, x: {"none": None, "name": "a", "flag": True, "w": w}  # noqa: E731

    assert run(made(monkeypatch, both, both), "float64", "jit").verdict == "bitwise"
    other = lambda w, x: both(w, x) | {"flag": False}  # noqa: E731
    assert "torch has True, JAX has False" in run(made(monkeypatch, other, both)).text


def test_static_inputs_reach_both_sides(monkeypatch):
    """Strings and numbers among the inputs are passed as they are, under jit too."""
    inputs = {"x": normal(3), "power": 2}
    power = lambda x, power: {"y": x**power}  # noqa: E731

    result = run(made(monkeypatch, power, power, inputs=inputs), "float64", "jit")

    assert result.passed, result


def test_shown_is_not_compared(monkeypatch):
    """What is under `shown` travels to the result and decides nothing."""
    left = lambda w, x: reference(w, x) | {"shown": {"bytes": 1}}  # noqa: E731
    right = lambda w, x: twin(w, x) | {"shown": {"bytes": 2}}  # noqa: E731

    result = run(made(monkeypatch, right, left))

    assert result.passed, result
    assert result.shown == {"torch": {"bytes": 1}, "jax": {"bytes": 2}}


def test_reference_leaves_torch_as_it_was(monkeypatch):
    """Default dtype and grad mode survive a reference that raises."""

    def rude(w, x):
        torch.set_grad_enabled(False)
        raise ValueError

    before = torch.get_default_dtype()
    run(made(monkeypatch, twin, rude), "float64")

    assert torch.get_default_dtype() == before
    assert torch.is_grad_enabled()


def test_an_optimizer_step_in_torch_leaves_jax_alone():
    """Inputs are copies: what torch does in place does not reach the JAX array."""
    from jaxgrad.parity import interop

    source = np.ones(3)
    ours, theirs = interop.to_jax(source), torch.nn.Parameter(interop.to_torch(source))
    back = interop.to_numpy(theirs)
    theirs.grad = torch.ones(3, dtype=torch.float64)
    torch.optim.SGD([theirs], lr=0.5).step()

    np.testing.assert_array_equal(theirs.detach().numpy(), [0.5, 0.5, 0.5])
    for kept in (ours, source, back, interop.to_numpy(ours)):
        np.testing.assert_array_equal(kept, [1.0, 1.0, 1.0])
