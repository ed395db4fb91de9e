"""The engine rejects wrong results: a wrong gradient, None instead of zero, a stale deviation."""

import dataclasses
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from parity_tests.case import (
    Case,
    CaseError,
    Deviation,
    Raises,
    Tolerance,
    _registry,
    case,
    identity,
    load,
)
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


def planted_case(monkeypatch, fun=twin, ref=reference, inputs=None, **kwargs) -> Case:
    """Return an unregistered case whose reference is in a temporary module."""
    module = types.ModuleType("torch_ref.planted")
    vars(module)["twin"] = ref
    monkeypatch.setitem(sys.modules, "torch_ref.planted", module)
    fields = {"source": ("X",), "idiom": ("", ""), "inputs": inputs or INPUTS} | kwargs
    fun.__doc__ = "A planted case."
    return Case(fun=fun, theme="planted", behaviour="twin", **fields)


def wrong(change):
    """Return the JAX program with a change applied to its observation."""

    def changed(w, x):
        return change(twin(w, x))

    return changed


@pytest.mark.parametrize("mode", ("eager", "jit"))
@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
def test_right(monkeypatch, dtype, mode):
    """A correct JAX program passes in every cell."""
    result = run(planted_case(monkeypatch), dtype, mode)

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
    """A wrong observation fails, and the text names the leaf, the values and the command."""
    result = run(planted_case(monkeypatch, wrong(change)), "float64", mode)

    assert result.verdict == verdict
    assert words in result.text
    text = str(result)
    assert "A planted case." in text
    assert f"python -m parity_tests planted/twin --dtype float64 --mode {mode}" in text


def test_text_of_a_wrong_value(monkeypatch):
    """The text of a wrong value has its path, index, both values, the ULP error and the bound."""
    result = run(planted_case(monkeypatch, wrong(lambda o: o | {"w": o["w"].at[2, 1].add(0.5)})))

    assert "w: at [2, 1] torch has" in result.text
    for words in ("JAX has", "ULP at leaf scale", "is allowed"):
        assert words in result.text


def test_float32_is_judged_by_the_oracle(monkeypatch):
    """In float32 a relative error of 1e-5 fails, and the text has the float64 oracle's value."""
    result = run(planted_case(monkeypatch, wrong(lambda o: o | {"w": o["w"] * 1.00001})), "float32")

    assert result.verdict == "fail"
    assert "the float64 oracle has" in result.text


@pytest.mark.parametrize("value", ({}, None, {"w": None}))
def test_nothing_compared(monkeypatch, value):
    """An observation that contains no value gives an error."""
    same = lambda w, x: value  # noqa: E731 - the smallest program there is

    result = run(planted_case(monkeypatch, same, lambda w, x: value))

    assert result.verdict == "error"
    assert "nothing was compared" in result.text


def test_only_zeros(monkeypatch):
    """An observation that holds only zeros gives an error unless the case sets `zeros=True`."""
    zeros = planted_case(
        monkeypatch,
        wrong(lambda o: {"w": o["w"] * 0}),
        lambda w, x: {"w": torch.zeros_like(w)},
    )

    assert "pass zeros=True" in run(zeros).text
    assert run(dataclasses.replace(zeros, zeros=True)).verdict == "blind"


def test_missing_side(monkeypatch):
    """A program that raises gives an error whose text has the traceback."""

    def broken(w, x):
        raise ValueError("the twin is broken")

    result = run(planted_case(monkeypatch, broken))

    assert result.verdict == "error"
    assert "the JAX case raised ValueError: the twin is broken" in result.text
    assert "in broken" in result.text


def stopped(w, x, *, stop_gradient=lax.stop_gradient):
    return twin(w, stop_gradient(x))


def test_blind(monkeypatch):
    """A case that still passes when its tool is removed is blind."""
    result = run(planted_case(monkeypatch, stopped, control={"stop_gradient": identity}))

    assert result.verdict == "blind"
    assert "the case still passes with stop_gradient removed" in result.text


def test_eager_and_jit_share_a_control(monkeypatch):
    """The program without its tool runs once, and each cell compares its observation."""
    runs = []

    def counted(x):
        runs.append(x)
        return 2 * x

    def doubled(w, x, *, scale=identity):
        return twin(w, scale(x))

    planted = planted_case(monkeypatch, doubled, control={"scale": counted})

    assert run(planted, mode="eager").passed
    assert run(planted, mode="jit").passed
    assert len(runs) == 1


def test_perturbation_that_changes_nothing(monkeypatch):
    """A case is blind if perturbing its inputs does not change the observation."""
    constant = planted_case(
        monkeypatch,
        lambda w, x: {"one": jnp.ones_like(w)},
        lambda w, x: {"one": torch.ones_like(w)},
    )

    assert "give the case a control=" in run(constant).text


def test_broken_control(monkeypatch):
    """A negative control that raises gives an error, because it did not produce a difference."""
    result = run(planted_case(monkeypatch, stopped, control={"stop_gradient": None}))

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
    """If both frameworks match their pins, the verdict is a deviation, which passes."""
    pinned = Deviation(why="torch frees the graph", torch_is=RAISES, jax_is=by_hand)

    result = run(planted_case(monkeypatch, twice, twice_reference, deviation=pinned), dtype)

    assert result.verdict == "deviation", result
    assert result.passed


def test_a_deviation_lists_what_both_did(monkeypatch):
    """The leaves of a deviation pair torch's exception with each of JAX's values, not with pins."""
    pinned = Deviation(why="torch frees the graph", torch_is=RAISES, jax_is=by_hand)

    leaves = run(planted_case(monkeypatch, twice, twice_reference, deviation=pinned)).leaves

    assert {leaf.path for leaf in leaves} == {"first", "second"}
    assert all(isinstance(leaf.torch, RuntimeError) and leaf.jax.shape for leaf in leaves)
    assert all("a second time" in leaf.text for leaf in leaves)


@pytest.mark.parametrize(
    "change, words",
    (
        ({"torch_is": Raises(RuntimeError, "other words")}, "torch no longer matches its pin"),
        ({"torch_is": Raises(TypeError)}, "torch no longer matches its pin"),
        ({"jax_is": lambda w, x: by_hand(w, 2 * x)}, "JAX no longer matches its pin"),
        ({"jax_is": lambda w, x: {"first": by_hand(w, x)["first"]}}, "JAX no longer matches"),
    ),
)
def test_a_changed_deviation_fails(monkeypatch, change, words):
    """A pin that no longer matches fails, and the text names the framework that changed."""
    pinned = Deviation(**({"why": "a reason", "torch_is": RAISES, "jax_is": by_hand} | change))

    result = run(planted_case(monkeypatch, twice, twice_reference, deviation=pinned))

    assert result.verdict == "fail"
    assert words in result.text


def test_stale_deviation(monkeypatch):
    """A documented deviation fails if torch and JAX agree."""
    same = lambda w, x: {"loss": np.tanh(x @ w).sum(), "w": by_hand(w, x)["first"]}  # noqa: E731
    pinned = Deviation(why="once there was one", torch_is=same, jax_is=same)

    result = run(planted_case(monkeypatch, deviation=pinned))

    assert result.verdict == "fail"
    assert "stale deviation" in result.text


def test_tolerance_carries_its_reason(monkeypatch):
    """A case's own tolerance is applied, and its reason is part of the result."""
    loose = planted_case(
        monkeypatch,
        wrong(lambda o: o | {"w": o["w"] * (1 + 1e-9)}),
        tolerance=Tolerance(1e-8, "planted"),
    )

    result = run(loose)

    assert result.verdict == "close"
    assert "planted" in result.why


def test_a_tolerance_may_be_for_one_dtype(monkeypatch):
    """The cells in other dtypes have the usual rules, and no reason."""
    loose = planted_case(
        monkeypatch,
        wrong(lambda o: o | {"w": o["w"] * (1 + 1e-9)}),
        tolerance=Tolerance(1e-8, "planted", "float32"),
    )

    result = run(loose)

    assert (result.dtype, result.verdict, result.why) == ("float64", "fail", "")


def test_expected_numbers(monkeypatch):
    """The values of `expect=` are checked in both frameworks, for seed 0 only."""
    inputs = {"w": document([[2.0]]), "x": document([[0.5]])}
    right = planted_case(monkeypatch, inputs=inputs, expect={"loss": np.tanh(1.0)})
    wrong = dataclasses.replace(right, expect={"loss": 1.0})

    assert "loss: expect= states 1.0, torch has 0.76159" in run(wrong).text
    assert run(right).text == ""
    assert run(wrong, seed=1).text == ""


def test_float64_needs_x64(monkeypatch):
    """A float64 cell gives an error with a remedy if 64-bit types are disabled in JAX."""
    with jax.enable_x64(False):
        result = run(planted_case(monkeypatch), "float64")

    assert result.verdict == "error"
    assert "JAX_ENABLE_X64=1" in result.text


def test_branch_taken_by_rounding_is_redrawn(monkeypatch):
    """Inputs are resampled if float32 rounding makes torch take a different branch."""
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
    result = run(planted_case(monkeypatch, twin, count, inputs=inputs), "float32")

    assert result.redraws == 1
    assert result.verdict == "bitwise", result


def test_inputs_are_drawn_once_per_case():
    """Inputs are reproducible from the case's id and the seed, and differ between ids and seeds."""
    spec = {"a": normal(3), "b": linear(2, 3), "n": integers(4, high=9)}
    first, again = draw(spec, "a/b", 1), draw(spec, "a/b", 1)

    np.testing.assert_equal(first, again)
    assert not np.array_equal(first["a"], draw(spec, "a/c", 1)["a"])
    assert not np.array_equal(first["a"], draw(spec, "a/b", 2)["a"])


def test_nudge_changes_continuous_values_by_one_ulp():
    """`nudge` changes only continuous inputs; integers, masks and fixed points stay the same."""
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
        ({"dtypes": ("float8",)}, "x", "choose from"),
        ({"deviation": Deviation("", RAISES, by_hand)}, "x", "without a reason"),
        ({"tolerance": Tolerance(1.0, " ")}, "x", "without a reason"),
    ),
)
def test_case_that_does_not_load(kwargs, doc, words):
    """An invalid case raises when it is registered, and the message names what is wrong."""

    def planted(w, x):
        return twin(w, x)

    planted.__doc__ = doc
    fields = {"source": "X", "idiom": ("", ""), "inputs": INPUTS} | kwargs
    with pytest.raises(CaseError, match=words):
        case(**fields)(planted)


def test_tool_without_control_does_not_load():
    """A case that uses a tool must define a control that replaces the tool."""

    def planted(w, x):
        """A claim."""
        return twin(w, lax.stop_gradient(x))

    with pytest.raises(CaseError, match="uses stop_gradient but has no control="):
        case(source="X", idiom=("", ""), inputs=INPUTS)(planted)


def test_missing_reference_names_the_file():
    """A missing reference raises, and the message names the file and the function to write."""
    lost = Case(
        fun=twin, theme="nowhere", behaviour="lost", source=("X",), idiom=("", ""), inputs=INPUTS
    )

    with pytest.raises(CaseError, match="there is no torch_ref/nowhere.py"):
        _ = lost.reference
    with pytest.raises(CaseError, match="write `def lost` in torch_ref/_net.py"):
        _ = dataclasses.replace(lost, theme="_net").reference


def test_statics_under_jit(monkeypatch):
    """None, strings and flags in an observation are read at trace time and compared exactly."""
    both = lambda w, x: {"none": None, "name": "a", "flag": True, "w": w}  # noqa: E731

    assert run(planted_case(monkeypatch, both, both), "float64", "jit").verdict == "bitwise"
    other = lambda w, x: both(w, x) | {"flag": False}  # noqa: E731
    assert "torch has True, JAX has False" in run(planted_case(monkeypatch, other, both)).text


def test_static_inputs_reach_both_sides(monkeypatch):
    """Strings and numbers among the inputs are passed unchanged, even under `jit`."""
    inputs = {"x": normal(3), "power": 2}
    power = lambda x, power: {"y": x**power}  # noqa: E731

    result = run(planted_case(monkeypatch, power, power, inputs=inputs), "float64", "jit")

    assert result.passed, result


def test_shown_is_not_compared(monkeypatch):
    """Values under the key `shown` are part of the result but are not compared."""
    left = lambda w, x: reference(w, x) | {"shown": {"bytes": 1}}  # noqa: E731
    right = lambda w, x: twin(w, x) | {"shown": {"bytes": 2}}  # noqa: E731

    result = run(planted_case(monkeypatch, right, left))

    assert result.passed, result
    assert result.shown == {"torch": {"bytes": 1}, "jax": {"bytes": 2}}


def test_reference_leaves_torch_as_it_was(monkeypatch):
    """torch's default dtype and grad mode are restored after a reference that raises."""

    def rude(w, x):
        torch.set_grad_enabled(False)
        raise ValueError

    before = torch.get_default_dtype()
    run(planted_case(monkeypatch, twin, rude), "float64")

    assert torch.get_default_dtype() == before
    assert torch.is_grad_enabled()


def test_an_optimizer_step_in_torch_leaves_jax_alone():
    """torch gets a copy of the inputs, so its in-place updates do not change the JAX array."""
    from jaxgrad.parity import interop

    source = np.ones(3)
    ours, theirs = interop.to_jax(source), torch.nn.Parameter(interop.to_torch(source))
    back = interop.to_numpy(theirs)
    theirs.grad = torch.ones(3, dtype=torch.float64)
    torch.optim.SGD([theirs], lr=0.5).step()

    np.testing.assert_array_equal(theirs.detach().numpy(), [0.5, 0.5, 0.5])
    for kept in (ours, source, back, interop.to_numpy(ours)):
        np.testing.assert_array_equal(kept, [1.0, 1.0, 1.0])


def test_cases_with_the_same_inputs_can_share_their_numbers():
    """`inputs_of` gives a case the numbers of another, so that their losses can be compared."""
    cases = load()
    shared = [each for each in cases.values() if each.inputs_of == "grad_modes/detach"]
    weights = [draw(each.inputs, each.seed_name)["net"]["l1"]["weight"] for each in shared]

    assert len(shared) > 4
    for weight in weights:
        np.testing.assert_array_equal(
            weight,
            draw(cases["grad_modes/detach"].inputs, "grad_modes/detach")["net"]["l1"]["weight"],
        )


def test_inputs_of_another_shape_cannot_be_shared(monkeypatch):
    """`load` names a case whose inputs differ from those of the case that it names."""
    wrong_case = planted_case(monkeypatch, inputs_of="grad_modes/detach")
    load()
    monkeypatch.setitem(_registry, wrong_case.id, wrong_case)

    with pytest.raises(CaseError, match="planted/twin has inputs_of='grad_modes/detach', which is"):
        load()
