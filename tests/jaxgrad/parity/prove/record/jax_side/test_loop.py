"""The port's training loop runs the usual optax step, on a small port with two leaves."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgrad.optim import swa_utils
from jaxgrad.parity import ProofError, Training
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.loop import Loop, _nearly_equal
from jaxgrad.parity.prove.record.jax_side.port import Draw, Gradients, Port
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


STATE = {"w": np.array([1.0, 2.0]), "v": np.array([3.0, 4.0])}


def port(*, has_state: bool = False) -> Port:
    """Return a port whose params hold `w`, `v` and a table of integers."""
    params = {"ids": np.arange(2), "v": STATE["v"], "w": STATE["w"]}

    def apply(p: Any, x: Any) -> Any:
        out = p["w"] * x + p["v"]
        return (out, {"v": p["v"] + 1}) if has_state else out

    program = jax_program.program(apply, params, (np.ones(2),), None, None, has_state)
    places = {path: i for i, path in enumerate(program.param_paths)}
    pieces = tuple(Piece(places[n], (slice(None),), n, np.arange(2)) for n in ("w", "v"))
    weights = WeightMap(pieces, tuple(program.params), STATE, tuple(program.param_paths))
    return Port(program, weights, False, has_state, 0)


def loop(tx: Any, *, trainable: Any = None, has_state: bool = False, **options: Any) -> Loop:
    draw = Draw(STATE, ())
    return Loop(port(has_state=has_state), Training(None, tx, **options), draw, trainable)


def constant(*values: Any, outputs: Any = ()) -> Any:
    """Return a backward pass with one constant gradient per micro-batch; None gives no gradient."""

    def backward(number: int, params: list[Any]) -> Gradients:
        g = values[number]
        full = [None if g is None or x.dtype.kind == "i" else np.full(2, g) for x in params]
        return Gradients(list(outputs), [*full, np.ones(2)], {})

    return backward


def test_a_step_moves_all_floating_leaves():
    """Floating leaves get optax's update, and integers do not change."""
    steps = loop(optax.sgd(0.5))
    steps.step(constant(2.0))

    np.testing.assert_array_equal(steps.parameters()["w"], [0.0, 1.0])
    np.testing.assert_array_equal(steps.parameters()["v"], [2.0, 3.0])
    assert [int(x) for x in steps.params[0]] == [0, 1]
    assert steps.averages() == {}


def test_a_leaf_without_a_gradient_gets_zeros():
    """optax's weight decay still applies to a leaf without a gradient."""
    steps = loop(optax.sgd(0.5))
    steps.step(constant(None))
    np.testing.assert_array_equal(steps.parameters()["w"], [1.0, 2.0])
    steps = loop(optax.chain(optax.add_decayed_weights(1.0), optax.sgd(0.5)))
    steps.step(constant(None))
    np.testing.assert_array_equal(steps.parameters()["w"], [0.5, 1.0])


def test_a_leaf_that_is_not_trained_stays():
    """A leaf that is not trained is not passed to the optimizer."""
    steps = loop(optax.sgd(0.5), trainable=[True, False, True])
    steps.step(constant(2.0))

    np.testing.assert_array_equal(steps.parameters()["w"], [0.0, 1.0])
    np.testing.assert_array_equal(steps.parameters()["v"], [3.0, 4.0])


def test_the_transformation_is_called_for_each_micro_batch():
    """`optax.MultiSteps` averages; a plain transformation moves the weights twice."""
    many = loop(optax.MultiSteps(optax.sgd(0.5), 2), accumulate=2)
    many.step(constant(2.0, 4.0))
    np.testing.assert_allclose(many.parameters()["w"], [-0.5, 0.5])
    plain = loop(optax.sgd(0.5), accumulate=2)
    plain.step(constant(2.0, 4.0))
    np.testing.assert_allclose(plain.parameters()["w"], [-2.0, -1.0])


@pytest.mark.parametrize(
    ("average", "expected"),
    [
        (lambda average, new: optax.incremental_update(new, average, 0.25), [0.75, 1.75]),
        (optax.ema(0.75, debias=False), [0.0, 0.25]),
        (swa_utils.averaged_model(multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.75)), [0.0, 1.0]),
    ],
    ids=["function", "optax", "jaxgrad"],
)
def test_the_average_follows_the_weights(average, expected):
    """The average may be a function, optax's or jaxgrad's."""
    steps = loop(optax.sgd(0.5), trainable=[True, False, True], ema=(0.75, average))
    steps.step(constant(2.0))

    np.testing.assert_allclose(steps.averages()["w"], expected)
    np.testing.assert_array_equal(steps.averages()["v"], [3.0, 4.0])


def test_the_ports_own_state_is_stored():
    """The new state replaces the corresponding leaf."""
    steps = loop(optax.sgd(0.5), trainable=[True, False, True], has_state=True)
    steps.step(constant(2.0, outputs=[np.ones(2), np.array([7.0, 8.0])]))

    np.testing.assert_array_equal(steps.parameters()["v"], [7.0, 8.0])
    np.testing.assert_array_equal(steps.parameters()["w"], [0.0, 1.0])
    replayed = loop(optax.sgd(0.5), has_state=True)
    replayed.step(constant(2.0))
    np.testing.assert_array_equal(replayed.parameters()["v"], [2.0, 3.0])


def test_a_trained_leaf_that_the_forward_pass_changes_is_updated_from_its_new_value():
    """The optimizer updates the value that the forward pass has written, as in torch."""
    steps = loop(optax.sgd(0.5), has_state=True)
    steps.step(constant(2.0, outputs=[np.ones(2), np.array([7.0, 8.0])]))

    np.testing.assert_array_equal(steps.parameters()["v"], [6.0, 7.0])


def test_a_schedule_in_float32_is_lifted():
    """float32 rounding of a schedule does not count as the port's error; that of an update does."""
    steps = loop(optax.sgd(lambda step: jnp.float32(0.1)))
    steps.step(constant(1.0))
    np.testing.assert_allclose(steps.parameters()["w"], STATE["w"] - 0.1, rtol=1e-15)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        return {**updates, "w": updates["w"].astype(jnp.float16).astype(jnp.float64)}, state

    rounded = loop(optax.GradientTransformation(lambda params: (), update))
    rounded.step(constant(1 / 3))
    moved = rounded.parameters()["w"] - STATE["w"]
    np.testing.assert_allclose(moved, np.float64(np.float16(1 / 3)), rtol=1e-12)


@pytest.mark.parametrize(
    ("tx", "words"),
    [
        (3, "optimizer=: int is not an optax transformation"),
        (optax.GradientTransformation(lambda p: 1 / 0, lambda *x: x),  # pyright: ignore[reportArgumentType]
         "optimizer=: the init of the optax transformation raised ZeroDivisionError"),
    ],
    ids=["number", "init"],
)  # fmt: skip
def test_a_wrong_transformation_is_one_sentence(tx, words):
    """The error names an argument that raises or is not a transformation."""
    with pytest.raises(ProofError, match=words):
        loop(tx)


def test_a_wrong_update_and_average_are_one_sentence():
    """An error in the user's update, or in the user's average, is reported in one sentence."""
    update: Any = lambda *_: 1 / 0  # noqa: E731
    broken = optax.GradientTransformation(lambda params: (), update)
    with pytest.raises(ProofError, match="the update of the optax transformation raised Zero"):
        loop(broken).step(constant(1.0))
    steps = loop(optax.sgd(0.5), ema=(0.5, lambda average, new: 1 / 0))
    with pytest.raises(ProofError, match=r"Training\(ema=\): the port's average raised Zero"):
        steps.step(constant(1.0))


@pytest.mark.parametrize("name", ["init", "update"])
def test_an_optimizer_with_half_of_the_functions_is_named(name):
    """An optax transformation has both `init` and `update`."""
    half = type("Half", (), {name: print})()
    with pytest.raises(ProofError, match="optimizer=: Half is not an optax transformation"):
        loop(half)


@pytest.mark.parametrize(("off", "near"), [(0.9e-4, True), (1.1e-4, False), (1.9e-4, False)])
def test_an_update_may_be_rounded_by_a_ten_thousandth_of_its_scale(off, near):
    """The tolerance is relative to the largest number of a leaf; an empty leaf is always equal."""
    lifted = {"a": np.array([1.0, 0.0]), "b": np.ones(0)}
    given = {"a": np.array([1.0, off]), "b": np.ones(0)}
    assert _nearly_equal(given, lifted) is near


def test_the_users_function_changes_weights_after_a_step():
    """`after=` gets all params, trained or not, and the average uses the params that it returns."""
    average = (None, lambda average, params: params)
    steps = loop(
        optax.sgd(0.5), trainable=[False, False, True], ema=average,
        after=(None, lambda p: p | {"v": p["v"] + p["w"]}),
    )  # fmt: skip
    steps.step(constant(2.0))
    np.testing.assert_array_equal(steps.parameters()["w"], [0.0, 1.0])
    np.testing.assert_array_equal(steps.parameters()["v"], [3.0, 5.0])
    np.testing.assert_array_equal(steps.averages()["w"], [0.0, 1.0])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda p: {"v": p["v"], "w": p["w"]}, "returned lacks 'ids': return all params"),
        (lambda p: p | {"z": p["w"]}, "returned has another leaf, 'z': return all params"),
        (lambda p: None, "returned lacks 'ids'"),
        (lambda p: p | {"w": p["w"][:1]}, r"changed the shape of 'w' from \(2,\) to \(1,\)"),
        (lambda p: p["x"], r"Training\(after=\): the port's function raised KeyError"),
    ],
)
def test_a_wrong_change_of_the_params_is_one_sentence(function, words):
    """The error names the leaf."""
    steps = loop(optax.sgd(0.5), after=(None, function))
    with pytest.raises(ProofError, match=words):
        steps.step(constant(2.0))


def test_numbers_are_exact_or_rounded():
    """A float32 number is tried as a short decimal; a float64 number, also as it is."""
    changed: Any = lambda grads: [x * np.float32(0.93) + 1 / 3 for x in grads]  # noqa: E731
    with adapters.float64_on_cpu():
        steps = loop(optax.sgd(0.5))
        steps.update = lambda grads, state, params: (changed([grads["w"]]), state)
        numbers = steps.numbers()
    assert {0.93, 1 / 3, 0.3333333} <= set(numbers)
    assert float(np.float32(0.93)) not in numbers
