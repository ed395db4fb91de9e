"""A port is traced once more in the dtypes of its own params."""

import warnings
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.record.jax_side import native
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key
from jaxgrad.parity.prove.record.jax_side.inject import inject, retraced
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.record.torch_side.values import Native
from jaxgrad.parity.prove.weights.map import Piece, WeightMap
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Table(nn.Module):
    """A layer whose bias is looked up in a table, as a relative position bias is."""

    rows: Tensor

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(3))
        self.register_buffer("rows", torch.tensor([[0, 1], [2, 0]]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.table[self.rows]


def test_a_captured_integer_table_does_not_hide_the_precision():
    """A port that indexes with a captured int64 array is judged in its own precision, too."""
    module = Table()
    rows = module.rows.numpy()

    def port(p: Any, x: Any, dtype: Any = None) -> Any:
        return x.astype(dtype or x.dtype) @ p["table"][rows].astype(dtype or x.dtype)

    def low(p: Any, x: Any) -> Any:
        return port(p, x, jnp.bfloat16)

    assert (
        prove(module, port, arrays(module), (draw(2, 2),)).surfaces["precision"].verdict == "pass"
    )
    assert prove(module, low, arrays(module), (draw(2, 2),)).surfaces["precision"].verdict == "fail"
    assert rows.dtype == np.int64


def test_captured_integer_labels_raise_no_warning():
    """A loss of captured int64 labels is retraced without a warning that they become int32."""
    module, labels = nn.Linear(3, 4), np.array([0, 3])

    def torch_loss(logits: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits, torch.tensor(labels))

    def loss(logits: Any) -> Any:
        return optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, 4)).mean()

    def port(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = prove(module, port, arrays(module), (draw(2, 3),), loss=(torch_loss, loss))
    assert report.verdict == "pass", report
    assert [str(warning.message) for warning in caught] == []


def traced(fun: Any, params: Any, *inputs: Any) -> JaxProgram:
    with jax.enable_x64(True):
        return jax_program.program(fun, params, inputs)


HALF = jnp.bfloat16
MIXED = {"a": np.ones(3, np.float32), "b": np.ones(2, HALF), "n": np.arange(9)}


def test_the_dtype_of_a_value_is_the_traced_one():
    """Leaves and the outputs of equations have the dtypes of the trace."""
    program = traced(lambda p, x: (p["w"] * x).astype(jnp.float16), {"w": np.ones(3)}, np.ones(3))
    dtypes = {native.dtype_of(program, (path, 0)) for path in program.equations}
    assert dtypes == {"float64", "float16"}
    assert [native.dtype_of(program, leaf_key(n)) for n in (0, 1)] == ["float64", "float64"]


@pytest.mark.parametrize(
    ("dtype", "inner", "low"),
    [(np.float32, np.float32, False), (HALF, HALF, True), (np.float32, HALF, True),
     (HALF, np.float32, True), (np.float64, np.float16, True)],
)  # fmt: skip
def test_a_port_is_low_if_it_stores_or_computes_below_float32(dtype, inner, low):
    """A stored param and a value inside the program count alike."""
    program = traced(lambda p, x: p.astype(inner) * 2, np.ones(3, dtype), np.ones(3))
    assert native.is_low(program) is low


@pytest.mark.parametrize(
    ("extra", "dtype"), [({}, "float32"), ({"c": np.ones(2, HALF)}, "bfloat16")]
)
def test_the_working_dtype_is_that_of_most_numbers(extra, dtype):
    """Numbers are counted over all leaves of a dtype; integers do not count."""
    assert native.working_dtype(traced(lambda p, x: x, MIXED | extra, np.ones(1))) == dtype
    assert native.working_dtype(traced(lambda p, x: x, {"n": np.arange(3)}, np.ones(1))) == (
        "float32"
    )


def test_weights_are_rounded_as_the_module_stores_them():
    """Real floats are rounded and stay float64; integers and complex numbers stay exact."""
    state = {"w": np.array([0.1]), "n": np.array([3]), "c": np.array([0.1j])}
    dtypes = {"w": "bfloat16", "n": "bfloat16", "c": "bfloat16"}
    stored = native.as_stored(Draw(state, (np.array([0.1]),)), Native("float32", dtypes, True, []))
    assert stored.state["w"] == np.float64(HALF(0.1)) and stored.state["w"].dtype == np.float64
    assert stored.state["n"] is state["n"] and stored.state["c"] is state["c"]
    assert stored.inputs[0] == np.float32(0.1)


@pytest.mark.parametrize(
    ("dtype", "wide", "narrow"),
    [("float64", False, "float32"), ("float64", True, "float64"), ("int64", False, "int32"),
     ("complex128", False, "complex64"), ("bfloat16", False, "bfloat16"), ("int64", True, "int64")],
)  # fmt: skip
def test_a_session_without_64_bits_narrows(dtype, wide, narrow):
    """Only 64-bit numbers are narrowed, and only in such a session."""
    assert native._narrow(jnp.dtype(dtype), wide) == jnp.dtype(narrow)


def test_a_constant_is_restored_from_the_exact_program():
    """The float64 array that rounds to a constant replaces it; integers and others stay."""
    exact = [np.array([0.1, 0.2]), np.array([0.1, 0.3]), np.array([0.1])]
    low = exact[1].astype(HALF)
    assert native._restored(low, exact) is exact[1]
    assert native._restored(exact[2].astype(np.float32), exact) is exact[2]
    other, ids = np.array([0.5, 0.2], HALF), np.array([0, 0])
    assert native._restored(other, exact) is other and native._restored(ids, exact) is ids
    whole = np.array([1, 2])
    assert native._restored(whole, [np.array([1.0, 2.0])]) is whole


def test_only_float64_numbers_are_literals():
    """Numbers of a lower precision are not exact, and integers are not numbers of a layer."""

    def fun(p: Any, x: Any) -> Any:
        return p * 0.37 + (x.astype(np.float32) * np.float32(0.5)).astype(float) + jnp.arange(3) * 2

    program = traced(fun, np.ones(3), np.ones(3))
    assert list(native._literals(program)) == [0.37]


@pytest.mark.parametrize(
    ("dtype", "torch", "avals"),
    [
        (np.float32, "float32", ["float32", "int32", "float32"]),
        (np.float32, "float64", ["float32", "int32", "float32"]),
        (np.float64, "float64", ["float64", "int64", "float64"]),
        (np.float64, "float32", ["float32", "int32", "float32"]),
        (HALF, "bfloat16", ["bfloat16", "int32", "bfloat16"]),
        (HALF, "float32", ["bfloat16", "int32", "float32"]),
        (np.float32, "bfloat16", ["float32", "int32", "float32"]),
    ],
)
def test_a_port_is_retraced_in_its_own_dtypes(dtype, torch, avals):
    """Params keep their dtype, inputs get the wider one of both frameworks, 64 bits need both."""
    params = {"a": np.ones(3, dtype), "n": np.arange(3)}
    table = np.linspace(0, 1, 3)
    program = traced(lambda p, x: p["a"] * x[p["n"]] * 0.37 + table, params, np.ones(3))
    again = native.retraced(program, torch)
    assert [str(aval.dtype) for aval in again.jaxpr.in_avals] == avals
    assert 0.37 in again.numbers
    assert all(np.asarray(x).dtype != np.float32 for x in again.jaxpr.consts)
    assert str(again.jaxpr.out_avals[0].dtype) in ("float32", "float64")


def test_every_value_of_the_port_is_recorded():
    """Floating leaves come first, then the values of the program, one row each."""
    params = {"n": np.arange(2), "w": np.ones(3)}
    program = traced(lambda p, x: p["w"] * x + jnp.sum(p["n"]), params, np.ones(3))
    port = Port(program, WeightMap((), tuple(program.params), {}, ("n", "w")), False, False, 0)
    with jax.enable_x64(True):
        dtypes: dict[str, str] = {}
        found = native.values(port, Native("float64", dtypes, False, []), [Draw({}, (X,))] * 2)
    assert [spot.key for spot in found.spots[:2]] == [leaf_key(1), leaf_key(2)]
    assert len(found.prints) == 2 and found.prints[0].shape == (len(found.spots), SIZE)
    assert found.dtype(found.spots[0].key) == "float64"
    np.testing.assert_allclose(found.prints[0][1], fingerprint(X), rtol=1e-12)


X = np.linspace(1, 2, 3)


def rounded(fun: Any, dtype: Any, noise: Any = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return the output of a port in a working dtype, and of the same in float64."""
    program = traced(fun, {}, NUMBERS)
    with jax.enable_x64(True):
        port = Port(program, WeightMap((), (), {}, ()), False, False, 0)
        given = Draw({}, (NUMBERS,), noise=noise)
        drawn: Any = SimpleNamespace(draw=given, distance=lambda _: 0.0)
        port, _ = inject(port, Flow(program), drawn)
        torch = Native(dtype, {}, True, [])
        own = retraced(port, native.retraced(program, dtype), given)
        (outputs,) = native.outputs(own, torch, [given])
        (exact,) = native.values(own, torch, [given]).exact
    return outputs[0], exact[0]


NUMBERS = np.linspace(0.1, 2.0, 7)


@pytest.mark.parametrize("loops", [False, True])
def test_every_value_is_rounded_as_written(loops):
    """XLA may keep a sum in float32 and skip the casts; here each operation rounds."""

    def port(_: Any, x: Any) -> Any:
        def step(y: Any) -> Any:
            y = y.astype(jnp.bfloat16).astype(jnp.float32)
            return (y * 1.01).astype(jnp.bfloat16).astype(jnp.float32)

        return jax.lax.fori_loop(0, 2, lambda _, y: step(y), x) if loops else step(step(x))

    low, exact = rounded(port, "float32")
    y = NUMBERS.astype(np.float32)
    for _ in range(2):
        y = y.astype(jnp.bfloat16).astype(np.float32)
        y = (y * np.float32(1.01)).astype(jnp.bfloat16).astype(np.float32)
    assert low.dtype == np.float64 and np.array_equal(low, y)
    assert np.allclose(exact, NUMBERS.astype(np.float32).astype(float) * 1.01**2, rtol=1e-12)


def test_a_run_in_the_own_dtypes_draws_torchs_numbers():
    """The casts of the other trace give its draws other paths."""
    keep = np.array([1.0, 0, 0, 1, 1, 0, 1])

    def port(_: Any, x: Any) -> Any:
        x = x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x
        return jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, x.shape), x, 0)

    low, exact = rounded(port, "float32", [Noise("bernoulli", keep, keep)])
    assert np.array_equal(low != 0, keep != 0)
    assert np.array_equal(exact != 0, keep != 0)
    assert np.array_equal(low, np.where(keep, NUMBERS.astype(jnp.bfloat16), 0))


def test_a_port_in_float64_runs_in_float64():
    """Its params have that dtype, and so has torch's module."""
    program = traced(lambda p, x: jnp.exp(x) * p["w"], {"w": np.ones(7)}, NUMBERS)
    tensors = {"w": np.ones(7)}
    piece = Piece(0, (slice(None),), "w", np.arange(7))
    weights = WeightMap((piece,), (np.ones(7),), tensors, ("w",))
    with jax.enable_x64(True):
        port = Port(native.retraced(program, "float64"), weights, False, False, 0)
        torch = Native("float64", {"w": "float64"}, False, [])
        ((out,),) = native.outputs(port, torch, [Draw(tensors, (NUMBERS,))])
    assert np.allclose(out, np.exp(NUMBERS), rtol=1e-14)
