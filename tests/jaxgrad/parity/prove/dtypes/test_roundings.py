"""Roundings of a made torch run are compared with those of small JAX programs."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.dtypes import roundings
from jaxgrad.parity.prove.dtypes.roundings import Comparison, Rounding, representative
from jaxgrad.parity.prove.record.jax_side import native as jax_native
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import leaf_of
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.torch_side.values import Native, Stored
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


RNG = np.random.default_rng(0)
W, X = RNG.standard_normal((3, 3)).astype(np.float32), RNG.standard_normal((2, 3))
B16 = jnp.bfloat16


def stored(x: Any, dtype: str = "float32", module: str = "", **options: Any) -> Stored:
    fields: dict[str, Any] = dict(op="op", fits=[], holds=[], constant=False, name="") | options
    return Stored(module, fields.pop("op"), dtype, np.asarray(fingerprint(np.asarray(x))), **fields)


def compare(fn: Callable[..., Any], *values: Stored, inputs: Any = (X,)) -> Comparison:
    """Compare a port of one weight with torch's values, on one draw."""
    program = jax_program.program(fn, {"w": W}, inputs, None, None, False)
    tensors = {"w": program.leaves[0]}
    piece = Piece(0, (slice(None),) * 2, "w", np.arange(9).reshape(3, 3))
    weights = WeightMap((piece,), (tensors["w"],), tensors, tuple(program.param_paths))
    torch = Native("float32", {"w": "float32"}, True, [list(values)])
    own = jax_native.retraced(program, "float32")
    port = Port(own, weights, False, False, 0)
    return Comparison(torch, jax_native.values(port, torch, [Draw(tensors, inputs)]))


def wide(x: Any) -> np.ndarray:
    """Return an input as the comparison rounds it, in float64."""
    return np.asarray(x, np.float32).astype(np.float64)


x, w = wide(X), wide(W)
PRODUCT = x @ w


def primitive(comparison: Comparison, rounding: Rounding) -> str:
    """Return the operation of a rounded JAX value, or "leaf"."""
    if leaf_of(rounding.key) is not None:
        return "leaf"
    return comparison.flow.program.equations[rounding.key[0]].primitive.name


def low_product(p: Any, x: Any) -> Any:
    return jnp.sin(x @ p["w"].astype(B16).astype(jnp.float32))


def test_equal_dtypes_have_no_difference():
    """Values in float32 on both sides are not compared at all."""
    same = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(w), stored(PRODUCT))
    assert same.differences() == []
    assert same.compared == []


def test_a_value_that_jax_alone_rounds_is_found():
    """The rounding has the first of the equal values, and JAX's rounded copy."""
    comparison = compare(low_product, stored(w, name="w"), stored(PRODUCT))
    (rounding,) = comparison.differences()

    assert (rounding.first, rounding.dtype, rounding.in_jax) == (0, "bfloat16", True)
    assert primitive(comparison, rounding) == "convert_element_type"
    assert comparison.compared == [0]
    assert comparison.name(0) == "w"
    assert comparison.name(1) == ""


def test_a_value_that_torch_alone_rounds_is_found():
    """JAX's first computation of the value is its place."""
    comparison = compare(
        lambda p, x: jnp.sin(x @ p["w"]), stored(w, "bfloat16"), stored(PRODUCT, "float16")
    )
    first, second = comparison.differences()

    assert (first.dtype, first.in_jax) == ("bfloat16", False)
    assert (second.dtype, second.in_jax) == ("float16", False)
    assert primitive(comparison, first) == "leaf"
    assert primitive(comparison, second) == "dot_general"
    assert comparison.compared == [0, 1]


def test_equal_roundings_have_no_difference():
    """A value may be stored in both dtypes; several equal torch values count together."""
    values = (stored(w), stored(w, "bfloat16"), stored(PRODUCT))
    comparison = compare(low_product, *values)

    assert comparison.in_torch(0) == {"bfloat16"}
    assert comparison.groups[0] == [0, 1]
    assert comparison.differences() == []
    assert comparison.compared == [0]


def test_a_supposed_cast_is_a_difference():
    """The control supposes that JAX rounds another value too."""
    comparison = compare(low_product, stored(w, "bfloat16"), stored(PRODUCT))

    assert [r.first for r in comparison.differences((1, "float16"))] == [1]
    assert comparison.differences((0, "bfloat16")) == []


def test_numbers_that_fit_are_not_rounded():
    """torch's rounding of whole numbers changes nothing, and JAX may round what torch did."""
    one = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(w, "bfloat16", fits=["bfloat16"]))
    assert one.differences() == []
    held = compare(low_product, stored(w, holds=["bfloat16"]))
    assert held.differences() == []
    both = compare(low_product, stored(w, holds=["bfloat16"]), stored(w))
    assert [r.in_jax for r in both.differences()] == [True]


def test_a_value_that_is_not_found_is_not_compared():
    """Constants identify nothing."""
    strange = stored(np.arange(5.0) / 7, "bfloat16")
    constant = stored(np.zeros((3, 3)), "bfloat16")
    comparison = compare(low_product, strange, constant)

    assert comparison.differences() == []
    assert list(comparison.groups) == [0]


def softmax(p: Any, x: Any) -> Any:
    """Compute the exponential in bfloat16, which torch computes in float32 and then rounds."""
    scores = (x.astype(B16) @ p["w"].astype(B16)).astype(B16)
    return jnp.sin(jnp.exp(scores) / 3)


EXP = np.exp(PRODUCT)


def test_numbers_rounded_on_the_way_are_found():
    """torch rounds the result alone: JAX's exponential is rounded before the division."""
    values = (stored(PRODUCT, "bfloat16"), stored(EXP / 3), stored(EXP / 3, "bfloat16"))
    comparison = compare(softmax, *values)
    (rounding,) = comparison.differences()
    assert (rounding.first, rounding.in_jax, rounding.inside) == (1, True, True)
    assert primitive(comparison, rounding) == "exp"

    low = compare(softmax, values[0], stored(EXP / 3, "bfloat16"))
    assert low.differences() == []
    known = compare(softmax, values[0], stored(EXP, "bfloat16"), *values[1:])
    assert known.differences() == []


def later(p: Any, x: Any) -> Any:
    """Round a product before it is transposed."""
    return jnp.sin((x @ p["w"]).astype(B16).T.reshape(-1).astype(jnp.float32))


def test_torch_may_round_later():
    """Nothing is computed between JAX's rounding and torch's, so both round the same numbers."""
    shifted = stored(np.concatenate([PRODUCT.T.ravel(), [1.0]]), "bfloat16")

    def padded(p: Any, x: Any) -> Any:
        flat = (x @ p["w"]).astype(B16).T.reshape(-1)
        return jnp.sin(jnp.concatenate([flat, jnp.ones(1, B16)]).astype(jnp.float32))

    comparison = compare(padded, stored(PRODUCT), shifted)
    (rounding,) = [r for r in comparison.differences() if r.first == 0]
    assert comparison.rounds_later(rounding)

    comparison = compare(later, stored(PRODUCT), shifted)
    (rounding,) = comparison.differences()
    assert not comparison.rounds_later(rounding)
    absent = rounding._replace(dtype="float16")
    assert not comparison.rounds_later(absent)


def test_a_value_is_not_rounded_later_by_the_next_operation():
    """torch rounds the exponential, and JAX the product before it: these are other numbers."""

    def early(p: Any, x: Any) -> Any:
        low = (x @ p["w"]).astype(B16).astype(jnp.float32)
        return jnp.sin(jnp.exp(low).astype(B16))

    comparison = compare(early, stored(PRODUCT), stored(EXP), stored(EXP, "bfloat16"))
    (rounding,) = [r for r in comparison.differences() if r.first == 0]
    assert not comparison.rounds_later(rounding)


def test_a_rounded_output_is_not_rounded_later():
    """The output itself is rounded in JAX."""
    comparison = compare(lambda p, x: (x @ p["w"]).astype(B16).T, stored(PRODUCT))
    (rounding,) = comparison.differences()
    assert not comparison.rounds_later(rounding)


def test_jax_may_be_more_precise_inside_a_module():
    """torch rounds a value within a module, and JAX rounds what leaves it."""

    def kept(p: Any, x: Any) -> Any:
        return jnp.sin(jnp.exp(x @ p["w"]).astype(B16))

    values = (stored(PRODUCT, "bfloat16", "m"), stored(EXP, "bfloat16", "m.n"))
    comparison = compare(kept, *values)
    assert [r.first for r in comparison.differences()] == [0]
    assert comparison.kept_within(comparison.differences()[0])


@pytest.mark.parametrize(
    ("module", "inside"), [("m", True), ("m.n", True), ("mn", False), ("", False)]
)
def test_a_value_outside_of_the_module_must_be_rounded(module, inside):
    """JAX keeps the exponential in float32, too: only inside torch's module may it do so."""

    def kept(p: Any, x: Any) -> Any:
        return jnp.sin((jnp.exp(x @ p["w"]) / 3).astype(B16))

    values = stored(PRODUCT, "bfloat16", "m"), stored(EXP, "float32", module)
    comparison = compare(kept, *values)
    (rounding,) = comparison.differences()
    assert comparison.kept_within(rounding) == inside


@pytest.mark.parametrize(
    ("port", "kept"),
    [
        (lambda p, x: x @ p["w"], False),
        (lambda p, x: (x @ p["w"] @ p["w"]).astype(B16), False),
        (lambda p, x: jnp.sum(x @ p["w"] > 0) + x.astype(B16).sum(), True),
    ],
    ids=["output", "product", "mask"],
)
def test_a_precise_value_must_not_leave_its_module(port, kept):
    """An output and the operand of a product are used elsewhere; a mask has no precision."""
    comparison = compare(port, stored(PRODUCT, "bfloat16", "m"))
    assert comparison.kept_within(comparison.differences()[0]) == kept


def accumulated(p: Any, x: Any) -> Any:
    """Multiply rounded operands, and keep the result in float32."""
    y = jax.lax.dot(x.astype(B16), p["w"].astype(B16), preferred_element_type=jnp.float32)
    return jnp.sin(jnp.exp(y + p["w"][0]))


@pytest.mark.parametrize("bias", [True, False])
def test_a_product_may_be_accumulated_in_float32(bias):
    """The operands are rounded, and a bias may be added before the result is rounded."""
    result = PRODUCT + w[0] if bias else PRODUCT
    comparison = compare(accumulated, stored(result, "bfloat16", "m"))
    (rounding,) = comparison.differences()
    assert comparison.kept_within(rounding)


def test_other_results_are_not_accumulated():
    """A function of a product, a sum of two products and an input are computed in float32."""
    comparison = compare(accumulated, stored(np.exp(PRODUCT + w[0]), "bfloat16", "m"))
    assert not comparison._wide_product(comparison.differences()[0].key)

    def twice(p: Any, x: Any) -> Any:
        y = jax.lax.dot(x.astype(B16), p["w"].astype(B16), preferred_element_type=jnp.float32)
        return jnp.sin(y + jnp.exp(y))

    comparison = compare(twice, stored(PRODUCT + EXP, "bfloat16", "m"))
    assert not comparison._wide_product(comparison.differences()[0].key)
    comparison = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(PRODUCT, "bfloat16", "m"))
    assert not comparison._wide_product(comparison.differences()[0].key)
    leaf = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(w, "bfloat16", "m"))
    assert not leaf._wide_product(leaf.differences()[0].key)


def test_a_constant_may_be_more_precise():
    """A table is no result of the module."""
    comparison = compare(lambda p, x: x @ p["w"], stored(PRODUCT, "bfloat16", constant=True))
    assert comparison.kept_within(comparison.differences()[0])


def test_values_that_jax_alone_has_are_listed_in_order():
    """Only floats that depend on floating leaves count."""
    comparison = compare(softmax, stored(x, "bfloat16"), stored(w, "bfloat16"))
    names = [comparison._primitive(key) for key in comparison.unmatched()]
    assert names == ["dot_general", "exp", "div", "sin"]

    comparison = compare(softmax, stored(x), stored(w), stored(PRODUCT), stored(EXP))
    assert [comparison._primitive(key) for key in comparison.unmatched()] == ["div", "sin"]
    wide_port = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(x))
    assert wide_port.unmatched() == []

    def masked(p: Any, x: Any, n: Any) -> Any:
        return x @ p["w"] + (n * 2).astype(B16).astype(jnp.float32)

    mask = compare(masked, stored(x), inputs=(X, np.arange(3)))
    assert mask.unmatched() == []


def test_only_new_numbers_are_rounded():
    """A transpose, a maximum and a wider dtype change no number; a cast and a sum do."""

    @jax.jit
    def summed(y: Any) -> Any:
        return y.sum(-1)

    def port(p: Any, x: Any) -> Any:
        y = jnp.maximum(x.astype(B16).T, 0).reshape(-1, 2).astype(jnp.float32)
        return summed((y * 3).astype(B16))

    comparison = compare(port, stored(x))
    names = [comparison._primitive(key) for key in comparison.rounded_alone()]
    assert names == ["convert_element_type"] * 2  # jnp.sum adds in float32
    assert "max" in [comparison._primitive(key) for key in comparison.unmatched()]


def test_the_next_torch_value_names_the_place():
    """The first value in torch's order that depends on a JAX value."""
    comparison = compare(softmax, stored(EXP / 3, op="div"), stored(EXP, op="exp"))
    dot = next(k for k in comparison.unmatched())
    value = comparison.next_value(dot)
    assert value is not None
    assert value.op == "exp"
    sin = comparison.unmatched()[-1]
    assert comparison.next_value(sin) is None
    exp = comparison.keys(1)[0]
    found = comparison.next_value(exp)
    assert found is not None
    assert found.op == "div"


def test_a_table_in_float32_changes_what_follows():
    """Values are aligned with the tolerance of a float32 table if that finds more."""
    rough = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(PRODUCT * (1 + 1e-8), "bfloat16"))
    assert [r.first for r in rough.differences()] == [0]
    far = compare(lambda p, x: jnp.sin(x @ p["w"]), stored(PRODUCT * (1 + 1e-5), "bfloat16"))
    assert far.differences() == []


def test_a_result_or_a_weight_names_the_place():
    """The cast of an operand is worse than a result; a rounding of torch's is taken as it is."""
    comparison = compare(softmax, stored(x, name="input"), stored(w, name="w"), stored(PRODUCT))
    operand, weight, result = comparison.differences()

    assert representative([operand, result], comparison) == result
    assert representative([operand, weight, result], comparison) == weight
    assert representative([operand], comparison) == operand
    later = operand._replace(in_jax=False)
    assert representative([later, result], comparison) == result
    computed = later._replace(dtype=later.value.dtype)
    assert representative([computed, result], comparison) == computed
    named = weight._replace(in_jax=False)
    assert representative([named, result], comparison) == named
    leaf = operand._replace(key=((-1,), 0))
    assert representative([leaf, result], comparison) == result


@pytest.mark.parametrize(("sizes", "aligned"), [((2, 2), [2, 2]), ((2, 3), [2]), ((2,), [2])])
def test_runs_of_other_lengths_are_not_aligned(monkeypatch, sizes, aligned):
    """The draws may take different branches; the first one is compared then."""
    seen: list[int] = []
    alignment = SimpleNamespace(first=(), trivial=())
    monkeypatch.setattr(
        roundings, "_aligned", lambda prints, jax: seen.extend(map(len, prints)) or alignment
    )
    monkeypatch.setattr(roundings, "Flow", lambda program: SimpleNamespace(outputs=()))
    runs = [[stored(X)] * size for size in sizes]
    own: Any = SimpleNamespace(port=SimpleNamespace(program=None))
    comparison = Comparison(Native("float32", {}, True, runs), own)

    assert seen == aligned and comparison.values is runs[0]
