"""The table of a run lists the results that say most, and names the others."""

import dataclasses
import types
from typing import Any

from jaxgrad.parity.compare import Leaf
from parity_tests.report import leaves


def test_a_change_at_an_element_that_is_not_shown_is_named():
    """If the negative control differs at another element than the table's, the cell says where."""
    leaf = Leaf("g/w", "close", "", "", (0,), torch=1.0, jax=1.0)
    gone = Leaf("g/w", "fail", "value", "", (2,), torch=3.0, jax=0.5)
    result: Any = types.SimpleNamespace(without={"g/w": 1.0, "b": 2.0}, changed=(gone,))

    assert leaves.without(result, leaf) == "at [2] 0.5 instead of 3.0"
    assert leaves.changed(result, dataclasses.replace(leaf, path="b")) is None
    assert leaves.changed(result, dataclasses.replace(leaf, path="g/w/0")) is gone


def test_a_leaf_that_the_control_changes_is_shown():
    """Of many leaves the table lists one that the control changes, then the largest differences."""
    many = tuple(Leaf(f"w{i}", "close", ulp_at_scale=9.0 - i) for i in range(8))
    gone = Leaf("w7", "fail", "value", torch=1.0, jax=0.0)
    result: Any = types.SimpleNamespace(verdict="close", leaves=many, changed=(gone,))

    assert [leaf.path for leaf in leaves.shown_leaves(result)] == ["w7", "w0", "w1", "w2", "w3"]
    assert leaves.largest(result) == "w0, 9 ULP"
    result.changed = ()
    assert [leaf.path for leaf in leaves.shown_leaves(result)] == ["w0", "w1", "w2", "w3", "w4"]


def test_an_equal_array_is_shown_where_the_control_changes_it():
    """An array with torch's bits has no worst element, so that the one that changes is shown."""
    leaf = Leaf("g", "bitwise", index=(0,), torch=0.0, jax=0.0)
    gone = Leaf("g", "fail", "value", index=(2,), torch=0.5, jax=0.0)
    result: Any = types.SimpleNamespace(
        verdict="bitwise", leaves=(leaf,), changed=(gone,), without={"g": 0.0}
    )

    (shown,) = leaves.shown_leaves(result)
    assert (shown.index, shown.torch, shown.jax) == ((2,), 0.5, 0.5)
    assert leaves.without(result, shown) == "0.0"
    result.verdict = "deviation"
    assert leaves.shown_leaves(result) == [leaf]


def test_a_deviation_is_described_by_its_values():
    """The largest difference of a deviation is both values, that of a passed cell is in ULP."""
    leaf = Leaf("w", "fail", "value", "", (1,), torch=0.0, jax=1.2, ulp_at_scale=3e15)
    result: Any = types.SimpleNamespace(verdict="deviation", leaves=(leaf,), changed=())
    passed = dataclasses.replace(leaf, verdict="close", ulp_at_scale=2.0)

    assert leaves.largest(result) == "w[1]: torch 0.0, JAX 1.2"
    assert leaves.judged(result, leaf) == "differs"
    result.verdict, result.leaves = "close", (passed,)
    assert leaves.largest(result) == "w, 2 ULP"
    assert leaves.judged(result, passed) == "equal up to rounding"
    assert leaves.distance(passed) == "2"


def test_the_results_that_are_not_listed_are_named():
    """Up to six results are named, with the verdict that they have in common."""
    few = [Leaf(f"w{i}", "close", ulp_at_scale=9.0 - i) for i in range(5)]
    rest = [Leaf(name, "bitwise") for name in "abcdefgh"]
    result: Any = types.SimpleNamespace(verdict="close", leaves=(*few, *rest), changed=())

    assert leaves.left_out(result) == "a, b, c, d, e, f and 2 more: same bits"
    result.leaves = (*few, Leaf("w9", "close"), Leaf("flag", "bitwise"))
    assert leaves.left_out(result) == "w9: equal up to rounding; flag: same bits"
