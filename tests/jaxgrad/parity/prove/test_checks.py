"""Errors in the user's model, inputs and outputs are explained."""

import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove import checks
from jaxgrad.parity.prove.record.adapters import as_function
from jaxgrad.parity.prove.request import Request


def test_inputs_become_float64_arrays():
    """A single input becomes a tuple, floats become float64, and integers stay integers."""
    (x,) = checks.as_arrays(np.ones(2, np.float32))
    named = checks.as_arrays({"ids": jnp.arange(3), "name": "x"})

    assert x.dtype == np.float64
    assert named["ids"].dtype.kind == "i" and named["name"] == "x"


def test_one_step_needs_no_optimizer():
    """`steps=1`, the default, is allowed without an optimizer."""
    checks.check_steps(1, None)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (None, "inputs= is missing: pass a tuple of numpy arrays"),
        (([np.ones(2), np.array([np.nan, 1.0])],), "input 0/1 of shape .* contains 1 NaN"),
    ],
)
def test_unusable_inputs_are_explained(inputs, words):
    """Missing inputs and NaN are explained with the path of the input."""
    with pytest.raises(ProofError, match=words):
        checks.as_arrays(inputs)


def _run_bool() -> object:
    return jax.jit(lambda x: 1 if x > 0 else 2)(1.0)


def _run_key() -> object:
    return {}["w"]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (_run_bool, "fn cannot be traced: it uses numpy.* at .*test_checks.py:.*Use jax.numpy"),
        (_run_key, "JAX: fn raised KeyError at .*test_checks.py:.*: 'w'"),
    ],
)
def test_an_exception_becomes_a_sentence(run, words):
    """An exception in the user's code becomes a sentence that gives the line that raised it."""
    with pytest.raises(ProofError, match=words):
        checks.guarded(run)


def test_outputs_must_have_equal_shapes():
    """Outputs that differ in number or shape are explained, except a loss of shape (1,)."""
    program = types.SimpleNamespace(out_paths=["logits"], state_paths=[])
    outputs = {"logits": np.ones((2, 3))}

    checks.same_outputs(outputs, program, [np.ones((2, 3))])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match="output logits: torch returns shape .2, 3., JAX returns"):
        checks.same_outputs(outputs, program, [np.ones((3, 2))])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match="torch returns 2 outputs .*, JAX returns 1"):
        checks.same_outputs(outputs | {"b": np.ones(1)}, program, [])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("of_torch", "of_jax", "advice"),
    [
        ((2, 3), (3, 2), "if one is a transpose of the other, transpose it with "),
        ((5, 1), (1, 5), "if one is a transpose of the other, transpose it with "),
        ((5, 1), (5,), "JAX's output lacks an axis of size 1, which a squeeze or an index such as "
         "[:, 0] drops: keep it in fn, or reshape it with "),
        ((1, 5, 1), (5,), "JAX's output lacks 2 axes of size 1, which a squeeze or an index such "
         "as [:, 0] drops: keep them in fn, or reshape it with "),
        ((5,), (5, 1), "JAX's output has an axis of size 1 more: drop it in fn, or reshape it "
         "with "),
        ((5, 1), (5, 5), "return the same values from both, or select them with "),
        ((2, 3), (6,), "return the same values from both, or select them with "),
    ],
)  # fmt: skip
def test_a_wrong_shape_has_a_remedy_of_its_own(of_torch, of_jax, advice):
    """A dropped axis, a transpose and a different number of values are different mistakes."""
    program: Any = types.SimpleNamespace(out_paths=[""])
    with pytest.raises(ProofError) as error:
        checks.same_outputs({"": np.ones(of_torch)}, program, [np.ones(of_jax)])

    shapes = f"output 0: torch returns shape {of_torch}, JAX returns {of_jax}"
    assert str(error.value) == f"{shapes}; {advice}outputs=(torch_pick, jax_pick)"


@pytest.mark.parametrize(
    ("out_paths", "state_paths", "count", "advised"),
    [
        (["0", "1/0", "1/1/0"], [], 1, True),
        (["0/a", "0/b", "1"], [], 2, True),
        (["0", "1", "2"], [], 1, False),  # a tuple of three
        (["0", "1", "1/a"], [], 2, False),
        (["logits", "state"], [], 1, False),
        (["0", "1"], ["mean"], 1, False),
    ],
)
def test_a_pair_of_outputs_and_a_state_is_recognised(out_paths, state_paths, count, advised):
    """The first error of a port that returns its new state says what to pass."""
    program: Any = types.SimpleNamespace(out_paths=out_paths, state_paths=state_paths)
    with pytest.raises(ProofError, match="select the ones to compare") as error:
        checks.same_outputs({str(k): np.ones(2) for k in range(count)}, program, [])
    advice = "if fn returns (outputs, new_state), pass has_state=True; otherwise select"
    assert (advice in str(error.value)) == advised


def same(x: object) -> object:
    return x


SGD = optax.sgd(0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outputs": 3}, r"outputs= needs a pair of functions \(torch_pick, jax_pick\), got 3"),
        ({"loss": same}, r"loss= needs a pair of functions \(torch_loss, jax_loss\)"),
        ({"loss": (same,)}, "loss= needs a pair"),
        ({"loss": (same, 3)}, "loss= needs a pair"),
        ({"loss": {same, None}}, "loss= needs a pair"),
        ({"optimizer": 3}, "optimizer= needs a pair"),
        ({"optimizer": (3, SGD)}, "optimizer=: the torch factory is int, which is not callable"),
        ({"optimizer": (SGD, same)}, "optimizer=: the pair is in the wrong order"),
        ({"optimizer": (same, 4)}, "optimizer=: int is not an optax transformation"),
        ({"accept": 3}, "accept= needs a dict of dicts"),
        ({"weights": 3}, "weights= needs a converter state_dict -> params, or a dict"),
        ({"has_state": 1}, "has_state= needs True or False, got 1"),
        ({"seed": True}, "seed= needs an integer from 0 on, got True"),
        ({"seed": "a"}, "seed= needs an integer from 0 on, got 'a'"),
        ({"seed": -1}, "seed= needs an integer from 0 on, got -1"),
        ({"steps": 1.0}, "steps= needs a positive integer, got 1.0"),
        ({"steps": -1}, "steps= needs a positive integer, got -1"),
        ({"steps": True}, "steps= needs a positive integer, got True"),
        (
            {"optimizer": (same, SGD), "steps": 0},
            "steps=0 compares no step of optimizer=: pass steps=1 or more, or leave optimizer= out",
        ),
        ({"steps": 2}, r"steps=2 needs optimizer=\(torch_factory, optax transformation\)"),
        ({"also": 3}, "also= needs a list of inputs, each like inputs="),
    ],
)
def test_a_wrong_argument_is_named(options, words):
    """The error names the argument and says what it needs."""
    with pytest.raises(ProofError, match=words):
        checks.check_arguments(Request(None, None, **options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"outputs": (None, same), "loss": [same, same]},
        {"weights": same, "has_state": True},
        {"weights": {"w": "kernel"}, "seed": np.int64(3)},
        {"optimizer": (same, SGD), "steps": 2},
        {"optimizer": (same, SGD), "steps": np.int64(1)},
        {"optimizer": (same, SGD)},
        {"steps": 0},
    ],
    ids=["none", "functions", "converter", "dict", "steps", "integer", "one step", "no steps"],
)
def test_right_arguments_are_accepted(options):
    """Either function of a pair may be left out."""
    checks.check_arguments(Request(None, None, **options))


@pytest.mark.parametrize("limit", [True, 0, -1.0, "5", float("nan")])
def test_a_time_limit_is_a_positive_number(limit):
    """The error shows the value; None means no limit."""
    with pytest.raises(ProofError, match="time_limit= needs a positive number of seconds, got"):
        checks.as_limit(limit)
    assert checks.as_limit(None) is None
    assert checks.as_limit(np.float32(1.5)) == 1.5


X = np.ones((2, 3))


@pytest.mark.parametrize(
    ("inputs", "also", "words"),
    [
        (
            (X,),
            [(X, X)],
            r"also\[0\] contains the inputs \['0', '1'\], but inputs= contains \['0'\]",
        ),
        ((X,), [(X,), {"x": X}], r"also\[1\] contains the inputs \['x'\]"),
        ({"0": X}, [(X,)], r"also\[0\] contains the inputs \['0'\], but inputs= contains \['0'\]"),
        ((X,), [None], r"also\[0\]: inputs= is missing"),
    ],
)
def test_further_inputs_are_like_the_first(inputs, also, words):
    """Each entry of `also=` must have as many inputs as `inputs=`, with the same names."""
    with pytest.raises(ProofError, match=words):
        checks.further_inputs(Request(None, None, None, inputs, also))


def test_further_inputs_become_arrays():
    """A single array is a tuple of one; without `also=` the inputs are not read."""
    (entry,) = checks.further_inputs(Request(None, None, None, (X,), [X.astype(np.float32)]))
    assert entry[0].dtype == np.float64
    assert checks.further_inputs(Request(None, None)) == []
    with pytest.raises(ProofError, match="also= needs the torch module; model.npz is a dump"):
        checks.further_inputs(Request("model.npz", None, None, None, [(X,)]))


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (3, "inputs= needs a tuple of numpy arrays, one for each argument, or a dict"),
        ({1: X}, "inputs= needs a tuple"),
        (jax.random.key, "inputs= contains a random key"),
        ((np.array(["a"]),), r"input 0 of shape \(1,\) has dtype <U1, which holds no numbers"),
        (({"a": X, 1: X},), "inputs= is not a tree that JAX accepts"),
    ],
    ids=["number", "keys", "random key", "text", "tree"],
)
def test_inputs_must_be_arrays_of_numbers(inputs, words):
    """Inputs that are not arrays of numbers are refused in one sentence."""
    with pytest.raises(ProofError, match=words):
        checks.as_arrays((inputs(0),) if inputs is jax.random.key else inputs)


@pytest.mark.parametrize("inputs", [(X,), [X], {"x": X}, X])
def test_inputs_may_be_given_in_several_ways(inputs):
    """A list or a single array becomes a tuple; a dict stays a dict."""
    converted = checks.as_arrays(inputs)

    assert type(converted) is (dict if isinstance(inputs, dict) else tuple)
    (x,) = jax.tree.leaves(converted)
    np.testing.assert_array_equal(x, X)
    assert np.isinf(checks.as_arrays((np.full(2, np.inf),))[0]).all()


@pytest.mark.parametrize(
    ("pick", "words"),
    [(None, "fn returns no floating output"), (same, "outputs=: jax_pick returns no floating")],
)
def test_a_port_without_a_floating_output_is_refused(pick, words):
    """A port needs at least one floating output."""
    model = as_function(lambda p, x: (x > 0, x), {})
    request = Request(None, None, outputs=(None, pick))
    with pytest.raises(ProofError, match=words):
        checks.traced(model, (np.arange(3),), request)
    program, notes = checks.traced(model, (X,), request)
    assert program.out_paths == ["0", "1"]
    assert notes == ()


def test_the_inputs_of_a_failed_call_are_counted():
    """The error says with how many arrays `fn` was called."""
    with pytest.raises(ProofError, match="JAX: fn called with 2 inputs raised KeyError"):
        checks.guarded(_run_key, (X, X))


def test_a_leaked_tracer_is_named():
    """The error says that a port which collects traced values in a list is not pure."""
    kept = []
    jax.jit(kept.append)(1.0)
    with pytest.raises(ProofError, match="fn is not pure: it keeps a traced value after tracing"):
        checks.guarded(lambda: kept[0] + 1)


@pytest.mark.parametrize(
    ("name", "torch", "jax_output", "fits"),
    [("loss", (), (1,), True), ("loss", (), (2,), False), ("y", (), (1,), False),
     ("", (2, 3), (2, 3), True), ("", (2, 3), (3, 2), False)],
)  # fmt: skip
def test_only_a_loss_may_have_another_shape(name, torch, jax_output, fits):
    """A loss of shape (1,) is a number; the first output without a name is number 0."""
    program = types.SimpleNamespace(out_paths=[""])

    def check() -> None:
        outputs = {name: np.ones(torch)}
        checks.same_outputs(outputs, program, [np.ones(jax_output)])  # pyright: ignore[reportArgumentType]

    if fits:
        check()
    else:
        with pytest.raises(ProofError, match=f"output {name or 0}: torch returns shape"):
            check()
