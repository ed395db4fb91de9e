"""The pieces of a linear converter are recovered by calling it."""

from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.linear import (
    CALLS,
    NotLinear,
    _digits,
    pieces_of,
    read_names,
)


SHAPES = {"a": (4, 3), "b": (6,), "c": (6,), "d": (2,)}


def recovered(convert: Any) -> None:
    """Check that the pieces of a converter reproduce it on other tensors."""
    pieces = pieces_of(lambda t: {0: convert(t)}, SHAPES)
    rng = np.random.default_rng(5)
    tensors = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    expected = convert(tensors)
    actual = np.zeros(expected.shape)
    for piece in pieces:
        actual[piece.region] += piece.take(tensors[piece.name])
    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "convert",
    [
        lambda t: -t["a"].T / np.sqrt(8.0),
        lambda t: t["b"] + 2 * t["c"],
        lambda t: t["a"].sum(1),
        lambda t: t["a"].mean(0),
        lambda t: t["b"][:3] - t["b"][3:],
        lambda t: np.pad(t["a"], ((0, 1), (2, 0))),
        lambda t: np.repeat(t["b"], 2) - 1,
        lambda t: np.concatenate([t["b"] + t["c"], t["c"][:2]]),
        lambda t: np.outer(np.arange(3.0), t["b"]),
        lambda t: t["d"][:1] + t["d"][1:],
    ],
    ids=["scale", "sum", "axis", "mean", "halves", "pad", "repeat", "part", "outer", "two"],
)
def test_a_linear_converter_is_recovered(convert):
    """Scaled, summed, padded and repeated tensors have exact pieces."""
    recovered(convert)


def test_an_unused_element_has_no_piece():
    """Padding is in no piece: a region covers the tensor's elements only."""
    (piece,) = pieces_of(lambda t: {0: np.pad(t["b"], 2)}, SHAPES)

    assert piece.region == (slice(2, 8),)
    assert piece.scale == 1.0 and list(piece.used) == list(range(6))


def test_a_constant_leaf_has_no_piece():
    """A leaf that depends on no tensor has no piece."""
    assert not pieces_of(lambda t: {0: np.arange(3.0)}, SHAPES)


def test_a_large_tensor_is_numbered_with_two_digits():
    """The elements of a tensor of 5000 are told apart by two calls."""
    order = np.random.default_rng(0).permutation(5000)
    (piece,) = pieces_of(lambda t: {0: 3 * t["w"].astype(np.float32)[order]}, {"w": (5000,)})

    assert np.array_equal(piece.index, order) and piece.scale == 3.0


@pytest.mark.parametrize(
    "convert",
    [
        lambda t: t["b"] ** 2,
        lambda t: t["b"] * t["c"],
        lambda t: t["a"] / np.linalg.norm(t["a"]),
        lambda t: np.abs(t["b"]),
    ],
    ids=["square", "product", "norm", "abs"],
)
def test_a_leaf_that_is_not_linear_is_named(convert):
    """Only the leaf that is not linear is named."""
    with np.errstate(all="ignore"), pytest.raises(NotLinear) as error:
        pieces_of(lambda t: {1: convert(t), 4: 2 * t["b"]}, SHAPES)

    assert error.value.leaves == [1]


@pytest.mark.filterwarnings("error")
def test_a_complex_leaf_has_no_pieces():
    """A complex leaf is left to the derivative of the converter; its imaginary part is not cut."""
    with pytest.raises(NotLinear):
        pieces_of(lambda t: {0: 2j * t["w"]}, {"w": (3,)})


def test_a_dense_map_takes_too_many_calls():
    """A product with a dense matrix is given up after a number of calls."""
    dense = np.random.default_rng(0).standard_normal((200, 200))
    calls = []

    def convert(t: Any) -> Any:
        calls.append(None)
        return {0: dense @ t["w"]}

    with pytest.raises(NotLinear):
        pieces_of(convert, {"w": (200,)})
    assert len(calls) == CALLS


def test_the_tensors_that_a_converter_reads_are_searched_in_halves():
    """Two of 64 tensors are found in far fewer than 64 tests."""
    names, calls = [str(i) for i in range(64)], []

    def changed(part: Any) -> bool:
        calls.append(part)
        return bool({"3", "40"} & set(part))

    assert list(read_names(changed, names)) == ["3", "40"]
    assert len(calls) < 30


@pytest.mark.parametrize(
    ("size", "digits"), [(0, 1), (1, 1), (2, 1), (2048, 1), (2049, 2), (2048**2 - 1, 2)]
)
def test_a_digit_numbers_2048_elements(size, digits):
    """Each digit takes one call of the converter, so there are no more than needed."""
    assert _digits(size) == digits


@pytest.mark.parametrize(
    ("convert", "calls", "count"),
    [
        (lambda t: t["a"].T, 11, 1),
        (lambda t: t["b"] + 2 * t["c"], 16, 2),
        (lambda t: t["a"].sum(1), 27, 3),
        (lambda t: t["a"].sum(0), 35, 4),
        (lambda t: t["a"][:2] + t["a"][2:], 19, 2),
        (lambda t: t["a"][:, :1] + t["a"][:, 1:], 19, 2),
        (lambda t: t["b"][:3] - t["b"][3:], 17, 2),
        (lambda t: t["d"][:1] + t["d"][1:], 17, 2),
    ],
    ids=range(8),
)
def test_a_converter_is_called_as_often_as_its_terms_need(convert, calls, count):
    """A tensor is split along the axis that separates the terms, and no part without terms is."""
    made: list[int] = []
    pieces = pieces_of(lambda t: made.append(1) or {0: convert(t)}, SHAPES)  # pyright: ignore[reportArgumentType]
    assert (len(made), len(pieces)) == (calls, count)


@pytest.mark.parametrize(
    ("dtype", "off", "linear"),
    [(np.float64, 0.6e-13, True), (np.float64, 1.5e-13, False),
     (np.float32, 0.6e-6, True), (np.float32, 1.5e-6, False)],
)  # fmt: skip
def test_a_converter_may_round(dtype, off, linear):
    """A coefficient that depends on the number by more than rounding is not linear."""

    def convert(t: Any) -> Any:
        x = t["b"]
        return {0: (x * (1 + off * (np.abs(x) > 0.5))).astype(dtype)}

    if linear:
        assert len(pieces_of(convert, SHAPES)) == 1
    else:
        with pytest.raises(NotLinear):
            pieces_of(convert, SHAPES)
