"""The public weight map converts values, gradients and moments by its blocks."""

import json
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.blocks import Block
from jaxgrad.parity.prove.weights.checkpoints import WeightMap
from jaxgrad.parity.prove.weights.template import Template


def made(
    leaves: dict[str, Any], tensors: dict[str, Any], *blocks: Block, **options: Any
) -> WeightMap:
    """Return a map for leaves and tensors of these shapes."""
    params = {path: np.zeros(shape, np.float32) for path, shape in leaves.items()}
    params |= options.pop("constants", {})
    fields: dict[str, Any] = dict(tied={}, computed={}, parameters=tuple(tensors), others={})
    return WeightMap(leaves, tensors, blocks=blocks, template=Template(params), **fields | options)


W, B = np.arange(6.0).reshape(2, 3), np.array([7.0, 8.0, 9.0])
KERNEL = Block("dense", ((0, 3), (0, 2)), "w", 0, (1, 3))
BIAS = Block("dense", ((3, 4), (0, 2)), "b", 0, (0, 1), scale=2.0, offset=1.0)
FUSED = made({"dense": (4, 2)}, {"w": (2, 3), "b": (3,)}, KERNEL, BIAS)


def array(x: Any) -> np.ndarray:
    return np.asarray(x)


def test_values_are_scaled_and_shifted_to_jax_and_back():
    """A transposed weight and a scaled, shifted part of a bias share one leaf."""
    params = FUSED.to_jax({"w": W, "b": B})
    np.testing.assert_array_equal(params["dense"], [*W.T, [15.0, 17.0]])

    state = FUSED.to_torch(params)
    np.testing.assert_array_equal(array(state["w"]), W)
    np.testing.assert_array_equal(array(state["b"]), [7.0, 8.0, 0.0])


def test_gradients_are_scaled_and_added():
    """The gradient of an element is the sum over the blocks that hold it, times their scales."""
    twice = made(
        {"x": (2,), "y": (2,)}, {"w": (2,), "free": (1,)},
        Block("x", ((0, 2),), "w", 0, (1,)), Block("y", ((0, 2),), "w", 1, (-1,), 3.0),
    )  # fmt: skip
    grads = {"x": np.array([1.0, 2.0]), "y": np.array([10.0, 20.0])}
    np.testing.assert_array_equal(array(twice.gradients_to_torch(grads)["w"]), [61.0, 32.0])
    assert twice.gradients_to_torch(grads)["free"] is None

    repeated = made({"x": (2,)}, {"w": (1,)}, Block("x", ((0, 2),), "w", 0, (0,)))
    total = repeated.gradients_to_torch({"x": np.array([1.0, 2.0])})["w"]
    np.testing.assert_array_equal(array(total), [3.0])


def test_a_leaf_without_a_gradient_is_left_out():
    """A gradient of None adds nothing; a missing leaf of a dict is like None."""
    both = made(
        {"x": (1,), "y": (1,)}, {"v": (1,), "w": (1,)},
        Block("x", ((0, 1),), "v", 0, (0,)), Block("y", ((0, 1),), "w", 0, (0,)),
    )  # fmt: skip
    for grads in ({"x": None, "y": np.ones(1)}, {"y": np.ones(1)}):
        gradients = both.gradients_to_torch(grads)
        assert gradients["v"] is None
        np.testing.assert_array_equal(array(gradients["w"]), [1.0])
    with pytest.raises(ValueError, match="missing: 'x'"):
        both.to_torch({"y": np.ones(1)})


@pytest.mark.parametrize(("power", "divisor"), [(1, 2.0), (2, 4.0)])
def test_moments_are_divided_by_the_scale(power, divisor):
    """An average of gradients is divided by the scale, one of squares by its square."""
    moments = {"w": W, "b": B}
    leaves = FUSED.moments_to_jax(moments, power)

    np.testing.assert_array_equal(leaves["dense"], [*W.T, B[:2] / divisor])
    assert FUSED.moments_to_jax({"w": W})["dense"][3].tolist() == [0, 0]
    np.testing.assert_array_equal(FUSED.moments_to_jax(moments)["dense"][3], B[:2] / 2)


def test_moments_of_a_repeated_tensor_are_refused():
    """torch's average of a sum of two gradients cannot be divided."""
    block = Block("x", ((0, 2),), "w", 0, (0,))
    repeated = made({"x": (2,)}, {"w": (1,)}, block)

    with pytest.raises(ValueError, match="the params hold 'w' more than once"):
        repeated.moments_to_jax({"w": np.ones(1)})
    assert repeated.moments_to_jax({}) == {}
    assert made({"x": (0,)}, {"w": (0,)}, Block("x", ((0, 0),), "w", 0, (1,))).moments_to_jax(
        {"w": np.ones(0)}
    )["x"].shape == (0,)


def test_a_block_with_scale_zero_holds_an_offset_alone():
    """A leaf with scale zero is the offset, and says nothing about the tensor."""
    fixed = made({"x": (2,)}, {"w": (2,)}, Block("x", ((0, 2),), "w", 0, (1,), 0.0, 5.0))
    params = fixed.to_jax({"w": np.ones(2)})

    np.testing.assert_array_equal(params["x"], [5.0, 5.0])
    np.testing.assert_array_equal(array(fixed.to_torch(params)["w"]), [0.0, 0.0])
    assert fixed.moments_to_jax({"w": np.ones(2)}) == {}


def test_a_sum_of_tensors_is_not_undone():
    """Only the elements that are added make a sum; neighbours in a leaf do not."""
    first, second = (Block("x", ((0, 2),), name, 0, (1,)) for name in ("v", "w"))
    merged = made({"x": (2,)}, {"v": (2,), "w": (2,)}, first, second)

    np.testing.assert_array_equal(merged.to_jax({"v": np.ones(2), "w": np.ones(2)})["x"], [2, 2])
    text = "leaf 'x' holds a sum of tensors, so 'v' cannot be computed from it"
    with pytest.raises(ValueError, match=text):
        merged.to_torch({"x": np.ones(2)})


def test_tied_tensors_are_equal_and_written_under_both_names():
    """A state_dict whose tied tensors differ is refused; NaN equals NaN."""
    block = Block("x", ((0, 2),), "w", 0, (1,))
    tied = made({"x": (2,)}, {"w": (2,)}, block, tied={"head": "w"}, others={"n": 3, "m": None})
    nan = np.array([np.nan, 1.0])

    np.testing.assert_array_equal(tied.to_jax({"w": nan, "head": nan})["x"], nan)
    with pytest.raises(ValueError, match="'w' and 'head' are tied, but their values differ"):
        tied.to_jax({"w": nan, "head": nan + 1})
    state = tied.to_torch({"x": np.ones(2)})
    assert list(state) == ["w", "head", "n"]
    assert state["n"] == 3
    np.testing.assert_array_equal(array(state["head"]), [1.0, 1.0])


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"w": W}, "missing: 'b'"),
        ({"w": W, "b": B, "c": B}, "unexpected: 'c'"),
        ({"w": W, "b": B[:2]}, "'b' has shape [2] instead of [3]"),
        ({"w": W, "c": B}, "missing: 'b'; unexpected: 'c'"),
        ({}, "missing: 'w', 'b'"),
    ],
)
def test_a_state_dict_must_fit(state, text):
    """Missing, unexpected and wrongly shaped tensors are named."""
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole text is compared
        FUSED.to_jax(state)
    assert str(error.value) == f"the state_dict does not fit the weight map: {text}"


def test_at_most_eight_names_are_listed():
    """A state_dict of another model does not fill the screen."""
    with pytest.raises(ValueError, match="unexpected: ") as error:
        FUSED.to_jax({"w": W, "b": B, **{f"x{i}": B for i in range(9)}})
    assert str(error.value).count("'x") == 8
    many = made({}, {f"t{i}": (1,) for i in range(9)})
    with pytest.raises(ValueError, match="missing: ") as error:
        many.to_jax({})
    assert str(error.value).count("'t") == 8
    with pytest.raises(ValueError, match="shape") as error:
        many.to_jax({f"t{i}": B for i in range(9)})
    assert str(error.value).count("shape") == 8


def test_entries_that_no_leaf_holds_may_be_given_or_left_out():
    """Counters of the state_dict, and constants in the params, are optional."""
    block = Block("x", ((0, 1),), "w", 0, (0,))
    options: dict[str, Any] = dict(others={"steps": 3}, constants={"table": np.ones(2, np.float32)})
    optional = made({"x": (1,)}, {"w": (1,)}, block, **options)

    optional.to_jax({"w": np.ones(1)})
    params = optional.to_jax({"w": np.ones(1), "steps": 4})
    np.testing.assert_array_equal(params["table"], [1.0, 1.0])
    assert array(optional.to_torch(params)["w"]) == [1.0]
    assert array(optional.to_torch({"x": np.ones(1)})["w"]) == [1.0]


def test_a_leaf_that_only_the_converter_computes_is_refused():
    """Every conversion says which leaf and which tensors."""
    computed = made({"x": (1,)}, {"w": (1,)}, computed={"x": ("w", "v")})
    for convert in (
        lambda: computed.to_jax({"w": np.ones(1)}),
        lambda: computed.to_torch({"x": np.ones(1)}),
        lambda: computed.gradients_to_torch({"x": np.ones(1)}),
        lambda: computed.moments_to_jax({}),
        computed.to_json,
    ):
        with pytest.raises(ValueError, match="leaf 'x' is computed from w, v in a way that is not"):
            convert()


def test_json_is_readable_and_read_back(tmp_path):
    """Each block is one line; text and file are the same, and read back to the same map."""
    mapped = made(
        {"dense": (4, 2)}, {"w": (2, 3), "b": (3,)}, KERNEL, BIAS,
        tied={"head": "w"}, others={"steps": 3},
    )  # fmt: skip
    path = tmp_path / "map.json"
    text = mapped.to_json(path)
    record = json.loads(text)

    assert path.read_text() == text
    assert record["format"] == 1
    assert record["leaves"]["dense"]["shape"] == [4, 2]
    assert [entry["tensor"] for entry in record["leaves"]["dense"]["holds"]] == ["w", "b"]
    assert record["parameters"] == ["w", "b"]
    assert '\n "leaves"' in text
    assert '"strides": [ 0, 1 ]' in text
    for source in (text, path):
        read = WeightMap.from_json(source, mapped.template.params)
        assert read.blocks == mapped.blocks
        assert (read.tied, read.others) == ({"head": "w"}, {"steps": None})
    with pytest.raises(ValueError, match="params does not fit the weight map: missing: 'dense'"):
        WeightMap.from_json(text, {"other": np.ones((4, 2))})
