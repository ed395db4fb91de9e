"""A port is traced in float64, with the paths of its leaves and its casts."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad import functional
from jaxgrad.parity import prove
from jaxgrad.parity.prove.record.adapters import Held
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.users import ProofError
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def test_an_associative_scan_matches_a_loop():
    """An associative scan of odd length, which slices empty arrays, matches torch's loop."""
    torch.manual_seed(0)

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            decay, h, out = torch.sigmoid(self.gate(x)), torch.zeros(2, 3, dtype=x.dtype), []
            for t in range(x.shape[1]):
                h = decay[:, t] * h + x[:, t]
                out.append(h)
            return torch.stack(out, 1)

    module = Loop()
    p = arrays(module)

    def apply(p: Any, x: Any) -> Any:
        decay = jax.nn.sigmoid(x @ p["gate.weight"].T + p["gate.bias"])

        def joined(a: Any, b: Any) -> Any:
            return a[0] * b[0], b[0] * a[1] + b[1]

        return lax.associative_scan(joined, (decay, x), axis=1)[1]

    prove(module, apply, p, (draw(2, 5, 3),)).check()


def test_a_complex_parameter_is_compared():
    """The gradient of a complex parameter is compared, and a detached imaginary part is found."""
    torch.manual_seed(0)

    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, dtype=torch.cfloat))

        def forward(self, x: Tensor) -> Tensor:
            return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=x.shape[-1])

    module = Spectral()

    def apply(p: Any, x: Any, stop: Callable[[Any], Any] = identity) -> Any:
        return jnp.fft.irfft(jnp.fft.rfft(x) * stop(p["weight"]), n=x.shape[-1])

    def halved(w: Any) -> Any:
        return w.real + 1j * lax.stop_gradient(w.imag)

    inputs = (draw(2, 4),)
    prove(module, apply, arrays(module), inputs).check()
    first = prove(module, lambda p, x: apply(p, x, halved), arrays(module), inputs).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "weight")


def traced(fun: Callable[..., Any], *inputs: Any) -> jax_program.JaxProgram:
    with jax.enable_x64(True):
        return jax_program.program(fun, {"w": np.ones(3)}, inputs)


def test_arrays_of_a_tree_are_flattened_and_replaced():
    """Arrays of a tree become float64 and can be replaced; other leaves stay or become None."""
    paths, leaves, fill = jax_program.flat({"f": abs, "w": np.ones(2, np.float32), "n": 3})

    assert paths == ["w"] and leaves[0].dtype == np.float64
    assert fill(["x"]) == {"f": abs, "w": "x", "n": 3}
    assert fill(["x"], None) == {"f": None, "w": "x", "n": None}


def test_the_numbers_in_a_program_are_listed_once():
    """Real constants are listed in program order; integers, infinities and arrays are not."""

    def apply(p: Any, x: Any) -> Any:
        y = jnp.clip(p["w"] * 0.37 + 2 * x, -0.5, jnp.inf)
        return jax.lax.cond(x[0] > 0.25, lambda: y * 0.37, lambda: jnp.arange(3.0) - y)

    assert jax_program.literals(traced(apply, np.ones(3)).jaxpr) == [0.37, 2.0, -0.5, 0.25]


def test_an_integer_that_is_converted_is_a_number_of_the_program():
    """The bounds of `jnp.clip` are converted to the dtype of its operand; a size is not."""

    def apply(p: Any, x: Any) -> Any:
        return jnp.tile(jnp.clip(p["w"] * x, -3, 7), 2)

    assert jax_program.literals(traced(apply, np.ones(3)).jaxpr) == [-3.0, 7.0]


def test_leaves_without_a_derivative_path_are_unreachable():
    """A leaf behind a stop_gradient is unreachable."""
    program = traced(lambda p, x, y: p["w"] * x + lax.stop_gradient(y), np.ones(3), np.ones(3))

    assert jax_program.derivatives(program).reached == [True, True, False]


def test_a_loss_may_take_the_inputs():
    """A loss is called with the outputs, and with the inputs if it takes them."""
    assert jax_program.call_loss(lambda out: out, 2, (3,)) == 2
    assert jax_program.call_loss(lambda out, x: out * x, 2, (3,)) == 6
    assert jax_program.call_loss(lambda out, x: out * x, 2, {"x": 3}) == 6


def test_casts_below_float64_are_listed():
    """The source lines of casts to float32 are listed."""
    assert not traced(lambda p, x: p["w"] * x, np.ones(3)).casts
    (line,) = traced(lambda p, x: p["w"] * x.astype(jnp.float32), np.ones(3)).casts
    assert "test_program.py:" in line


@pytest.mark.parametrize(
    ("loss", "result"),
    [
        (lambda *a: a, ([1], 3)),
        (lambda out, *a: a, (3,)),
        (lambda out, scale=2: scale, 2),
        (lambda out, *, scale=2: scale, 2),
        (lambda out, x, scale=2: (x, scale), (3, 2)),
        (max, 1),  # has no signature
    ],
    ids=["all", "rest", "default", "keyword", "two", "built-in"],
)
def test_a_loss_gets_as_many_arguments_as_it_needs(loss, result):
    """Arguments with a default are not inputs; `*args` are."""
    assert jax_program.call_loss(loss, [1], (3,)) == result


STATE = {"mean": np.ones(1)}


@pytest.mark.parametrize(
    ("out", "has_state", "expected"),
    [
        (1, False, (1, None)),
        ((1, STATE), False, ((1, STATE), None)),
        ((1, STATE), True, (1, STATE)),
        ([1, STATE], True, (1, STATE)),
        (Held(1, STATE, False), False, (1, STATE)),
        (Held((1, 2), STATE, False), True, (1, 2)),
        (Held((1, 2), STATE, True), True, ((1, 2), STATE)),
        (Held((1, 2, 3), STATE, False), True, ((1, 2, 3), STATE)),
    ],
)
def test_the_state_is_the_modules_or_the_second_of_a_pair(out, has_state, expected):
    """A module that holds its state may still return its outputs in a pair."""
    assert jax_program._with_state(out, has_state) == expected


@pytest.mark.parametrize(
    ("out", "text"), [(1, "returned an int: "), ((1, 2, 3), "returned a tuple of length 3: ")]
)
def test_a_missing_state_is_one_sentence(out, text):
    """What is not a pair is described by its type and length."""
    with pytest.raises(ProofError, match=text):
        jax_program._with_state(out, True)


@pytest.mark.parametrize("loss", [1.5, 2, np.float32(1), np.ones((1, 1))])
def test_a_loss_is_one_number(loss):
    """A number and an array of one number are losses."""
    assert jax_program._one_number(loss) is loss


@pytest.mark.parametrize(
    ("loss", "text"),
    [(np.ones(2), r"returned an array of shape \(2,\);"), ("a", "returned a str;")],
)
def test_another_loss_is_one_sentence(loss, text):
    """Two numbers and a text are refused, with the shape of an array."""
    with pytest.raises(ProofError, match=text):
        jax_program._one_number(loss)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [(np.ones(1, np.float32), "float64"), (np.ones(1, jnp.bfloat16), "float64"),
     (np.ones(1, np.complex64), "complex128"), (np.ones(1, int), "int64"), ([True], "bool")],
)  # fmt: skip
def test_floats_are_widened(x, dtype):
    """Floats and complex numbers are widened in a copy, integers and bools stay."""
    assert jax_program.widened(x).dtype == dtype and jax_program.widened(x) is not x


def test_random_keys_are_not_numbers():
    """Typed keys are neither arrays nor leaves; a raw key is an array."""
    key = jax.random.key(0)
    assert jax_program.is_key(key) and not jax_program.is_array(key)
    assert jax_program.is_array(jax.random.key_data(key)) and not jax_program.is_key(np.ones(1))
    assert jax_program.is_array(np.float32(1)) and not jax_program.is_array(1.0)
    assert jax_program.flat({"k": key, "w": np.ones(1)})[0] == ["w"]


def test_only_the_loss_is_differentiated():
    """With a loss, a leaf that only other outputs read is unreachable; the new state never is."""
    x = np.ones(3)

    def fun(p: Any, x: Any, y: Any) -> Any:
        return (jnp.sum(p["w"] * x), jnp.sum(y)), {"mean": p["v"] * 2}

    params = {"v": x, "w": x}
    with jax.enable_x64(True):
        both = jax_program.program(fun, params, (x, x), has_state=True)
        loss = jax_program.program(fun, params, (x, x), loss=lambda out: out[0], has_state=True)
    assert jax_program.derivatives(both).reached == [False, True, True, True]
    assert jax_program.derivatives(loss).reached == [False, True, True, False]
    assert loss.out_paths == ["0", "1", "loss"] and loss.state_paths == ["mean"]


def test_named_inputs_are_passed_by_name():
    """A mapping of inputs is passed as keyword arguments, to the loss too."""
    x = np.ones(3)
    with jax.enable_x64(True):
        found = jax_program.program(
            lambda p, *, a, b: {"y": a - b, "s": "text"}, {}, {"b": x, "a": 3 * x},
            loss=lambda out, a, b: jnp.sum(out["y"] * a),
        )  # fmt: skip
    assert found.input_paths == ["a", "b"] and found.out_paths == ["y", "loss"]
    assert [np.asarray(y).tolist() for y in found.fun(*found.leaves)] == [[2.0] * 3, 18.0]


def test_forgotten_leaves_are_zeros():
    """A forgotten leaf keeps its shape and dtype."""
    program = traced(lambda p, x: p["w"] * x, 2 * np.ones(3))
    program.forget({1})
    assert [x.tolist() for x in program.leaves] == [[1.0] * 3, [0.0] * 3]
    assert program.leaves[1].strides == (0,) and program.params[0] is program.leaves[0]
    assert len(program.params) == 1


def test_a_cast_of_integers_is_not_listed():
    """Only a float that is rounded, or numbers that are counted in float32, are casts."""
    assert not traced(lambda p, x: p["w"] * jnp.arange(3).astype(jnp.float32), np.ones(3)).casts
    assert len(traced(lambda p, x: x * lax.iota(jnp.float32, 3), np.ones(3)).casts) == 1
    low = traced(lambda p, x: x * np.ones(3, np.float32), np.ones(3))
    assert not low.casts and not low.rejects_float64


def test_another_trace_replaces_the_equations():
    """The equations, scan lengths and closed paths are those of the new trace."""
    first = traced(lambda p, x: lax.scan(lambda c, y: (c + y, jnp.sin(c)), 0.0, x)[1], np.ones(4))
    inside = [path for path in first.equations if len(path) == 3]
    assert inside and all(first.lengths[path] == (4,) for path in inside)
    plain = traced(lambda p, x: jnp.cos(x), np.ones(4))
    again = jax_program.with_jaxpr(first, plain.jaxpr, numbers=[2.0])
    assert [e.primitive.name for e in again.equations.values()] == ["cos"]
    assert again.lengths == {(0,): ()} and again.closed == set() and again.numbers == [2.0]


@pytest.mark.parametrize("error", [TypeError, RuntimeError, ValueError, AssertionError])
def test_a_port_that_raises_in_float64_is_traced_in_float32(error):
    """A port may raise anything for float64, as `functional.linear` does for mixed dtypes."""

    def strict(p: Any, x: Any) -> Any:
        if x.dtype != jnp.float32 or p["w"].dtype != jnp.float32:
            raise error("float32 only")
        return p["w"] * x

    program = traced(strict, np.ones(3))

    assert program.rejects_float64 and program.jaxpr.in_avals[0].dtype == np.float32


def test_a_port_of_params_of_two_dtypes_is_traced_in_these():
    """Params in bfloat16 and in float32 keep their dtypes if the port rejects any other."""

    def strict(p: Any, x: Any) -> Any:
        if (p["a"].dtype, p["b"].dtype) != (jnp.bfloat16, jnp.float32):
            raise RuntimeError("mixed dtypes")
        return p["a"] * p["b"] * x

    params = {"a": jnp.ones(3, jnp.bfloat16), "b": np.ones(3)}
    program = jax_program.program(strict, params, (np.ones(3),))

    assert [str(a.dtype) for a in program.jaxpr.in_avals[:2]] == ["bfloat16", "float32"]


def test_a_port_that_raises_in_every_dtype_raises_its_first_error():
    """The error is that of the trace in float64."""

    def broken(p: Any, x: Any) -> Any:
        raise RuntimeError(f"{x.dtype} is wrong")

    with pytest.raises(RuntimeError, match="float64 is wrong"):
        traced(broken, np.ones(3))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stop", [identity, lax.stop_gradient])
def test_a_port_that_casts_before_a_strict_layer_is_compared(stop):
    """A cast to float32 before `functional.linear` passes; with a stop_gradient it fails."""
    module = nn.Linear(3, 2)

    def apply(p: Any, x: Any) -> Any:
        return functional.linear(x.astype(jnp.float32), stop(p["weight"]), p["bias"])

    report = prove(module, apply, arrays(module), (draw(4, 3),))

    assert report.verdict == ("pass" if stop is identity else "fail")
