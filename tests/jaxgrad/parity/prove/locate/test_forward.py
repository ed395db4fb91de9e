"""The first torch value that JAX does not compute is found on small made runs."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.locate import forward as locate_forward
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key
from jaxgrad.parity.prove.record.jax_side.program import Spot
from jaxgrad.parity.prove.record.torch_side.values import Call, TorchRun, Value
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


PRINT = fingerprint(np.arange(3.0))


def value(op: str, *inputs: int, module: str = "m", weights: tuple[str, ...] = ()) -> Value:
    return Value(module, op, inputs, (3,), PRINT, weights)


def run(*values: Value, calls: tuple[Call, ...] = ()) -> TorchRun:
    return TorchRun(list(values), list(calls), {}, [], {}, [], {}, None, [], [], {})


def alignment(*matches: Any, trivial: tuple[int, ...] = (), spots: Any = ()) -> Alignment:
    """Return an alignment; each torch value has the JAX values given for it."""
    count = len(matches)
    return Alignment(
        tuple(tuple(m) for m in matches),
        tuple(i in trivial for i in range(count)),
        tuple(spots),
        tuple(range(count)),
        ((),) * count,
    )


# 0 is an input; 1 to 3 are a chain; 4 joins the chain with the input.
CHAIN = run(
    value("input"),
    value("linear", 0, weights=("w",)),
    value("relu", 1),
    value("linear", 2, weights=("v",)),
    value("add", 3, 0),
)
FOUND, LOST = (0,), ()


@pytest.mark.parametrize(
    ("matches", "wrong", "region"),
    [
        ((LOST, FOUND, LOST, LOST, LOST), [4], [2, 3, 4]),
        ((LOST, LOST, LOST, LOST, LOST), [4], [1, 2, 3, 4]),
        ((LOST, FOUND, FOUND, LOST, LOST), [3], [3]),
        ((LOST, FOUND, FOUND, FOUND, FOUND), [4], [4]),
        ((LOST, LOST, FOUND, LOST, LOST), [4, 2], [1, 2, 3, 4]),
    ],
)
def test_the_lost_region_ends_at_matched_values_and_inputs(matches, wrong, region):
    """A wrong output belongs to the region even if its value occurs in JAX."""
    assert locate_forward.lost_in_torch(CHAIN, alignment(*matches), wrong) == region


def test_a_trivial_value_ends_the_region():
    """A constant identifies nothing, and needs no counterpart."""
    aligned = alignment(LOST, FOUND, LOST, LOST, LOST, trivial=(3,))
    assert locate_forward.lost_in_torch(CHAIN, aligned, [4]) == [4]


def test_the_divergence_begins_where_all_inputs_are_matched():
    """Only the first value of a lost chain is an origin."""
    aligned = alignment(FOUND, FOUND, LOST, LOST, LOST)
    assert locate_forward.origins(CHAIN, aligned, [2, 3, 4], {"w", "v"}) == [2]


def test_a_value_of_constants_is_not_an_origin():
    """A mask that is computed from nothing but numbers may be computed otherwise in JAX."""
    masked = run(value("input"), value("arange"), value("cos", 1), value("mul", 0, 2))
    aligned = alignment(FOUND, LOST, LOST, LOST)
    assert locate_forward.origins(masked, aligned, [1, 2, 3], set()) == [3]


def test_a_weight_that_jax_does_not_hold_is_a_constant():
    """A table that the port computes itself is no weight of its params."""
    table = run(value("input"), value("cos", weights=("t",)), value("mul", 0, 1))
    aligned = alignment(FOUND, LOST, LOST)
    assert locate_forward.origins(table, aligned, [1, 2], {"w"}) == [2]
    assert locate_forward.origins(table, aligned, [1, 2], {"t"}) == [1]


def test_a_value_that_reads_only_trivial_values_is_a_poor_origin():
    """A value whose operands are trivial is named only if there is no other origin."""
    chain = run(value("input"), value("sum", 0), value("exp", 1), value("log", 2))
    aligned = alignment(FOUND, LOST, LOST, LOST, trivial=(1,))

    assert locate_forward.origins(chain, aligned, [2], set()) == [2]
    assert locate_forward.origins(chain, aligned, [2, 3], set()) == [2]
    aligned = alignment(FOUND, FOUND, LOST, LOST)
    assert locate_forward.origins(chain, aligned, [2, 3], set()) == [2]


def test_a_value_that_reads_itself_is_an_origin():
    """An in-place call reads the value that it writes."""
    inplace = run(value("input"), value("add_", 0, 1))
    assert locate_forward.origins(inplace, alignment(FOUND, LOST), [1], set()) == [1]
    constant = run(value("ones", 0), value("add_", 1), value("mul", 1))
    assert locate_forward.origins(constant, alignment(LOST, LOST, LOST), [1, 2], set()) == [1]


@pytest.mark.parametrize(
    ("modules", "module"),
    [
        (["a.q"], "a.q"),
        (["a.q", "a.k"], "a"),
        (["a.q", "b.k"], "a.q"),
        (["q", "k"], "q"),
        (["a.q", "a"], "a.q"),
        (["a", "a.q", "a.k"], "a"),
    ],
)
def test_siblings_are_named_by_their_parent(modules, module):
    """Several origins in one parent are the parent's; others are named by the first."""
    values = run(*(value("linear", module=name) for name in modules))
    assert locate_forward.module_of(values, range(len(modules))) == module


def test_modules_without_a_counterpart_are_listed_once():
    """A module without outputs is not listed, and the outermost one is the root."""
    calls = (
        Call("a", (0,), (1,), 0, 2), Call("b", (1,), (2,), 0, 3), Call("b", (1,), (2,), 0, 3),
        Call("c", (1,), (), 0, 3), Call("", (0,), (2,), 0, 3), Call("d", (0,), (2, 1), 0, 3),
    )  # fmt: skip
    record = run(value("input"), value("a"), value("b"), calls=calls)

    assert locate_forward.hidden(record, alignment(FOUND, FOUND, LOST)) == ["b", "(root)"]


def traced(fn: Any, params: Any, *inputs: Any) -> Flow:
    return Flow(jax_program.program(fn, params, inputs, None, None, False))


def key(flow: Flow, name: str) -> Any:
    """Return the first result of an operation."""
    return next(
        (path, 0) for path, eqn in flow.program.equations.items() if eqn.primitive.name == name
    )


W, X = np.ones((3, 3)), np.ones((2, 3))
FLOW = traced(lambda p, x, n: jnp.exp(jnp.sin(x @ p) * jnp.cos(n * 2.0)), W, X, np.arange(3))


def test_lost_jax_values_depend_on_a_weight_or_a_matched_value():
    """Values of integers alone are left out, and a matched value ends the region."""
    known = {"dot": Spot(*key(FLOW, "dot_general"))}
    lost = locate_forward.lost_in_jax(FLOW, alignment((0,), spots=known.values()), FLOW.outputs[0])
    names = [FLOW.program.equations[k[0]].primitive.name for k in lost.in_order()]

    assert names == ["sin", "mul", "exp"]
    assert lost.matched(0) == {known["dot"].key}
    assert lost.first([known["dot"].key]) == [key(FLOW, "sin")]
    assert lost.first([key(FLOW, "sin")]) == []


def test_without_matched_values_the_region_begins_at_the_weights():
    """A product with a floating leaf is the first lost value."""
    lost = locate_forward.lost_in_jax(FLOW, alignment(LOST), FLOW.outputs[0])
    names = [FLOW.program.equations[k[0]].primitive.name for k in lost.in_order()]

    assert names[0] == "dot_general"
    assert "cos" not in names
    assert lost.first([leaf_key(0)]) == [key(FLOW, "dot_general")]


def weights(*names: str) -> WeightMap:
    """Return a map from one leaf for each tensor."""
    arrays = dict.fromkeys(names, W)
    index = np.arange(9).reshape(3, 3)
    pieces = tuple(Piece(i, (slice(None),) * 2, name, index) for i, name in enumerate(names))
    return WeightMap(pieces, tuple(arrays.values()), arrays, tuple(names))


def test_operands_are_matched_values_weights_and_floating_inputs():
    """torch's inputs are numbered without those that hold integers."""
    record = run(
        value("input"), value("linear", 0, weights=("w",)), value("exp", 1), value("mul", 2, 0)
    )
    spots = (Spot(*key(FLOW, "dot_general")),)
    aligned = alignment(LOST, (0,), LOST, LOST, spots=spots)
    lost = locate_forward.lost_in_jax(FLOW, aligned, FLOW.outputs[0])

    assert locate_forward.operands(record, lost, weights("w"), 1) == {leaf_key(0), leaf_key(1)}
    assert locate_forward.operands(record, lost, weights("w"), 2) == {spots[0].key}
    assert locate_forward.operands(record, lost, weights("w"), 3) == {leaf_key(1)}


def test_an_integer_input_before_a_floating_one_is_skipped():
    """The first floating input of torch is the second leaf after the params."""
    flow = traced(lambda p, n, x: x @ p + n.sum(), W, np.arange(3), X)
    record = run(value("input"), value("linear", 0))
    lost = locate_forward.lost_in_jax(flow, alignment(LOST, LOST), flow.outputs[0])

    assert locate_forward.operands(record, lost, weights(), 1) == {leaf_key(2)}


def test_an_origin_that_jax_lacks_too_comes_first():
    """An origin whose operands have no lost consumer in JAX may be computed elsewhere."""
    record = run(
        value("input"), value("cos"), value("other", 1), value("sin", 4), value("linear", 0)
    )
    spots = (Spot(*key(FLOW, "dot_general")), Spot(*key(FLOW, "cos")))
    aligned = alignment(LOST, (1,), LOST, LOST, (0,), spots=spots)
    lost = locate_forward.lost_in_jax(FLOW, aligned, FLOW.outputs[0])._replace(
        region={key(FLOW, "sin"), key(FLOW, "exp")}
    )  # as if torch had the product too

    assert locate_forward.rank(record, aligned, lost, weights(), 2) == 2
    assert locate_forward.rank(record, aligned, lost, weights(), 3) == 0


def test_an_origin_that_reads_a_constant_of_torch_comes_later():
    """A port may mask with another large number than torch, and be right."""
    record = run(value("input"), value("cos"), value("mask"), value("add", 1, 2), value("sin", 1))
    spots = (Spot(*key(FLOW, "dot_general")), Spot(*key(FLOW, "cos")))
    aligned = alignment(LOST, (1,), LOST, LOST, LOST, spots=spots)
    lost = locate_forward.lost_in_jax(FLOW, aligned, FLOW.outputs[0])

    assert locate_forward.rank(record, aligned, lost, weights(), 3) == 1
    assert locate_forward.rank(record, aligned, lost, weights(), 4) == 0


def test_an_origin_whose_operands_no_lost_value_depends_on_is_wrong():
    """A port that pools otherwise reads the last state, and the states of all steps in vain."""

    def port(p: Any, x: Any) -> Any:
        jnp.cos(x)  # computed in vain
        return jnp.exp(jnp.sin(x)[0]) @ p

    flow = traced(port, W, X)
    spots = [Spot(*key(flow, name)) for name in ("cos", "sin", "squeeze")]
    aligned = alignment(LOST, (0,), (1,), (2,), LOST, LOST, spots=spots)
    lost = locate_forward.lost_in_jax(flow, aligned, flow.outputs[0])

    def rank(*reads: int) -> int:
        states = (value("input"), value("cos", 0), value("sin", 0), value("last", 0))
        record = run(*states, value("mean", reads[0]), value("add", *reads[1:]))
        return locate_forward.rank(record, aligned, lost, weights(), 4)

    assert rank(1) == 0
    assert rank(2, 3) == 2, "the control: a port may compute the mean of its last state"
    assert rank(2) == 0, "torch does not read the last state"


def test_a_scan_takes_rows_without_an_equation():
    """An element of a matched value is not lost if the port has a scan; that of another one is."""
    record = run(value("input"), value("getitem", 0), value("exp", 0), value("getitem", 2))
    matched = alignment([0], [], [], [])
    scans = traced(lambda p, x: lax.scan(lambda c, y: (c + y, c), p["w"], x)[1], {"w": W}, W)
    plain = traced(lambda p, x: p["w"] + x, {"w": W}, W)

    assert locate_forward.rows_of_scans(record, matched, scans.program) == {1}
    assert locate_forward.rows_of_scans(record, matched, plain.program) == set()
