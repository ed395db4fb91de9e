"""Weights are computed when they are read, and never stored together."""

import numpy as np
import pytest

from jaxgrad.parity.prove.record.lazy import Lazy, LazyList, replaced, stored


def test_an_array_is_computed_when_it_is_read():
    read = []

    def compute(name: str) -> np.ndarray:
        read.append(name)
        return np.full(2, len(name))

    state = Lazy(["a", "bb"], compute)

    assert list(state) == ["a", "bb"]
    assert len(state) == 2
    assert "bb" in state
    assert "c" not in state
    assert read == []
    assert state["bb"].tolist() == [2, 2]
    assert state.get("c") is None
    assert read == ["bb"]


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError, match="b"):
        Lazy(["a"], lambda _: np.zeros(1))["b"]


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(np.float32, np.float64), (np.complex64, np.complex128), (np.int32, np.int32)],
)
def test_new_numbers_take_the_place_of_old_ones_in_float64(dtype, wide):
    old = {"a": np.zeros(2), "b": np.ones(2)}
    state = replaced(old, {"b": np.array([1, 3], dtype)})

    assert state["a"] is old["a"]
    assert state["b"].dtype == wide
    assert state["b"].tolist() == [1, 3]
    assert list(state) == ["a", "b"]


def test_an_item_of_a_list_is_computed_once():
    """Slices are lists, and an item that does not exist is an IndexError, so that a loop ends."""
    made = []
    items = LazyList(3, lambda k: made.append(k) or 10 * k)

    assert len(items) == 3 and made == []
    assert (items[1], items[-2], items[1:]) == (10, 10, [10, 20])
    assert made == [1, 2]
    assert list(items) == [0, 10, 20] and items[:1] == [0]
    with pytest.raises(IndexError):
        items[3]


def test_an_array_is_read_in_the_dtype_in_which_it_is_stored():
    """A float32 array that is only read once need not become float64 first."""
    half = np.array([1, 3], np.float32)
    state = replaced({"a": np.zeros(2), "b": np.ones(2)}, {"b": half})

    assert state["b"].dtype == np.float64
    assert stored(state, "b") is half
    assert stored(state, "a").dtype == np.float64
    assert stored({"c": half}, "c") is half
