"""A weight map may be written by the user."""

import numpy as np
import pytest

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove.weights.given import from_mapping


TENSORS = {"w": np.arange(6.0).reshape(2, 3)}
LEAVES, PATHS = [np.zeros((3, 2))], ["kernel"]


@pytest.mark.parametrize("target", [("kernel", (1, 0)), ("kernel", np.transpose)])
def test_a_target_may_permute_axes(target):
    """A target may permute axes with a tuple or with a function."""
    weights = from_mapping({"w": target}, TENSORS, LEAVES, PATHS)

    assert np.array_equal(weights.to_jax(TENSORS)[0], TENSORS["w"].T)


def test_a_path_alone_reshapes():
    """A target that is only a path reshapes the tensor to the leaf."""
    weights = from_mapping({"w": "kernel"}, TENSORS, [np.zeros(6)], PATHS)

    assert np.array_equal(weights.to_jax(TENSORS)[0], np.arange(6.0))


@pytest.mark.parametrize("target", ["kernel", ("kernel", (0, 1))])
def test_a_transposed_leaf_needs_the_order_of_the_axes(target):
    """Reshaping a matrix to its transpose would mix its elements."""
    with pytest.raises(ProofError) as caught:
        from_mapping({"w": target}, TENSORS, LEAVES, PATHS)

    assert str(caught.value) == (
        "weights= sends 'w' to 'kernel', but its axes have the sizes (2, 3) and the leaf's "
        "(3, 2): give the order of torch's axes too, as in ('kernel', (1, 0)) for a transposed "
        "matrix"
    )


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (
            {"v": "kernel"},
            "weights= contains 'v', which is not a tensor of the module. The names are 'w'",
        ),
        (
            {"w": "bias"},
            "weights= sends 'w' to 'bias', which matches no leaf. The paths are 'kernel'",
        ),
        ({"w": ("kernel", (0, 1, 2))}, "which does not fit"),
    ],
)
def test_an_impossible_map_is_explained(mapping, words):
    """An unknown name, an unknown path and a wrong shape are explained."""
    with pytest.raises(ProofError, match=words):
        from_mapping(mapping, TENSORS, LEAVES, PATHS)


@pytest.mark.parametrize(
    "function",
    [
        lambda w: 2 * w.T,
        lambda w: np.cumsum(w, 1).T,
        lambda w: (w - 1).T,
        lambda w: (w + w[::-1]).T,
        lambda w: w.T * 1.0,
    ],
    ids=["scaled", "sums", "offset", "symmetric", "copied"],
)
def test_a_function_may_be_linear(function):
    """A function that scales, adds or shifts is recovered, and its transpose maps gradients."""
    weights = from_mapping({"w": ("kernel", function)}, TENSORS, LEAVES, PATHS)
    x, y, g = np.random.default_rng(0).standard_normal((3, 2, 3))
    (grad,) = weights.to_torch([g.T]).values()
    change = function(x + y) - function(x)

    assert np.allclose(weights.to_jax({"w": x})[0], function(x), rtol=1e-12)
    assert grad is not None and np.isclose(np.sum(g.T * change), np.sum(grad * y), rtol=1e-12)


def test_two_names_of_one_leaf_are_added():
    """A leaf that two tensors are sent to is the sum of both."""
    tensors = {"a": np.ones(3), "b": np.arange(3.0)}
    weights = from_mapping({"a": "x", "b": ("x", lambda b: -b)}, tensors, [np.zeros(3)], ["x"])

    assert np.array_equal(weights.to_jax(tensors)[0], [1, 0, -1])


def test_a_function_that_is_not_linear_is_explained():
    """A square has no map; the error suggests a converter."""
    with pytest.raises(ProofError, match="the function for 'w' neither rearranges .* converter"):
        from_mapping({"w": ("kernel", lambda w: w.T**2)}, TENSORS, LEAVES, PATHS)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda w: w.ravel()[[0, 5]], [0.0, 5.0]),
        (lambda w: w.ravel()[[5, 5]], [5.0, 5.0]),
        (lambda w: w.ravel()[[1, 2]] - w.ravel()[[2, 1]], [-1.0, 1.0]),  # indices below 0
        (lambda w: w.ravel()[[5, 4]] + 1, [6.0, 5.0]),  # an index of the size
    ],
    ids=["ends", "repeated", "negative", "beyond"],
)
def test_a_function_may_select_any_elements(function, expected):
    """The first and the last element are in range; numbers outside are not indices."""
    weights = from_mapping({"w": ("x", function)}, TENSORS, [np.zeros(2)], ["x"])

    assert weights.to_jax(TENSORS)[0].tolist() == pytest.approx(expected)


def test_an_error_of_a_function_is_reported():
    """An exception in the user's function is one sentence with its type."""
    with pytest.raises(ProofError, match="the function for 'w' raised ZeroDivisionError"):
        from_mapping({"w": ("kernel", lambda w: 1 / 0)}, TENSORS, LEAVES, PATHS)
