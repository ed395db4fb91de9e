"""`compare` rejects and describes differences beyond rounding, and `interop` copies every bit."""

import math

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

from jaxgrad.parity import interop
from jaxgrad.parity.compare import Raises, Tolerance, compare, flatten, spacing
from jaxgrad.parity.ulp import BINS, histogram
from tests._helpers import ALL


FLOATS = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
finite = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: x if abs(x) > 1e-3 else 1.0)
arrays = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=finite)
leaves = st.one_of(arrays, st.none(), st.booleans(), st.integers(1, 9), st.text(max_size=3))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
quick = hypothesis.settings(max_examples=150 if ALL else 50, deadline=None)


@quick
@hypothesis.given(trees)
def test_identical_passes(tree):
    """Identical trees of any structure are reported as bitwise equal."""
    result = compare(tree, interop.to_numpy(tree))

    empty = all(leaf is None for leaf in flatten(tree).values())
    assert result.verdict == ("error" if empty else "bitwise")


@quick
@hypothesis.given(trees, trees)
def test_structure_errors_are_symmetric(left, right):
    """Swapping the two observations changes neither the verdict nor the kind of the failure."""
    there, back = compare(left, right), compare(right, left)

    assert (there.verdict in ("bitwise", "close")) == (back.verdict in ("bitwise", "close"))
    kinds = [result.first.kind if result.first else "" for result in (there, back)]
    assert kinds[0] == kinds[1]


@quick
@hypothesis.given(arrays, st.data())
def test_perturbed_never_passes(array, data):
    """A change of one element by 1e-9 of the scale fails the comparison."""
    index = tuple(data.draw(st.integers(0, n - 1)) for n in array.shape)
    changed = array.copy()
    changed[index] += 1e-9 * np.max(np.abs(array))

    result = compare({"g": array}, {"g": changed})

    assert result.verdict == "fail"
    assert result.first is not None
    assert result.first.index == index


@quick
@hypothesis.given(arrays, st.randoms())
def test_permuted_never_passes(array, random):
    """The same numbers in a different order fail the comparison."""
    flat = array.ravel().tolist()
    random.shuffle(flat)
    changed = np.asarray(flat).reshape(array.shape)
    hypothesis.assume(np.max(np.abs(changed - array)) > 1e-9 * np.max(np.abs(array)))

    assert compare(array, changed).verdict == "fail"


@quick
@hypothesis.given(st.lists(arrays, min_size=2, max_size=4), st.randoms())
def test_swapped_leaves_never_pass(values, random):
    """Swapping the names of leaves fails the comparison."""
    left = {str(i): value for i, value in enumerate(values)}
    order = list(left)
    random.shuffle(order)
    right = {name: left[other] for name, other in zip(left, order, strict=True)}
    hypothesis.assume(any(not np.array_equal(left[n], right[n]) for n in left))
    hypothesis.assume(
        any(
            left[n].shape != right[n].shape
            or np.max(np.abs(left[n] - right[n])) > 1e-9 * np.max(np.abs(left[n]))
            for n in left
        )
    )

    assert compare(left, right).verdict == "fail"


@quick
@hypothesis.given(arrays, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_non_finite_values_must_be_the_same(array, value, data):
    """NaN equals only NaN, and an infinity equals only itself."""
    index = tuple(data.draw(st.integers(0, n - 1)) for n in array.shape)
    special = array.copy()
    special[index] = value

    assert compare([special, array], [special.copy(), array]).verdict == "bitwise"
    assert compare([special, array], [array, array]).verdict == "fail"
    assert compare([array, array], [special, array]).verdict == "fail"
    assert compare(
        [special, array], [np.where(special == value, -value, special), array]
    ).verdict in (("bitwise", "close") if math.isnan(value) else ("fail",))


@pytest.mark.parametrize("dtype", FLOATS)
def test_without_an_oracle_small_floats_get_four_ulp(dtype):
    """Without an oracle, 4 ULP at leaf scale pass and 5 fail; for float64 the bound is 1e-12."""
    ones = np.ones(3, dtype)
    step = spacing(1.0, dtype) if dtype != np.float64 else 2.4e-13
    near, far = ones.copy(), ones.copy()
    near[1] += np.asarray(4 * step, dtype)
    far[1] += np.asarray(5 * step, dtype)

    assert compare(ones, near).verdict == "close"
    assert compare(ones, far).verdict == "fail"


def test_the_oracle_allows_three_times_torchs_error():
    """The error of a value is its distance to the oracle, not to torch."""
    oracle = np.array([1.0, 2.0])
    by_torch = np.array([1.0, 2.0 + 1e-5], np.float32)  # torch is off by 1e-5
    good, bad = (np.array([1.0, 2.0 - e], np.float32) for e in (2.5e-5, 4e-5))

    assert compare(by_torch, good, oracle=oracle).verdict == "close"
    result = compare(by_torch, bad, oracle=oracle)
    assert result.verdict == "fail"
    assert result.first is not None
    assert result.first.oracle_ratio == pytest.approx(4, abs=0.5)
    lucky = oracle.astype(np.float32)
    assert compare(lucky, good, oracle=oracle).verdict == "fail"
    assert compare(lucky, good, oracle=oracle, reruns=[by_torch]).verdict == "close"


def test_structurally_zero_leaves_are_not_compared_relatively():
    """Values below 1e-13 of the tree's scale pass against each other; larger ones fail."""
    tree = {"w": np.ones(2), "b": np.array([1e-17, -2e-17])}

    result = compare(tree, tree | {"b": np.array([-5e-17, 3e-16])})
    assert result.verdict == "close"
    assert [leaf.structural_zero for leaf in result.leaves] == [True, False]
    assert compare(tree, tree | {"b": np.array([0.0, 1e-9])}).verdict == "fail"
    small = {"w": np.ones(2, np.float32), "b": np.full(2, 1e-7, np.float32)}
    noise = small | {"b": np.array([-3e-7, 2e-7], np.float32)}
    assert compare(small, noise, oracle=tree).verdict == "close"
    assert (
        compare(small, small | {"b": np.full(2, 1e-3, np.float32)}, oracle=tree).verdict == "fail"
    )


def test_signed_zero_is_close_not_bitwise():
    """0.0 and -0.0 are close but not bitwise equal."""
    assert compare([np.array([0.0, 1.0])], [np.array([-0.0, 1.0])]).verdict == "close"


def test_complex_by_parts():
    """Real and imaginary parts are compared separately, and a conjugate fails."""
    z = np.array([1 + 2j, 3 - 1j])

    assert compare(z, z.copy()).verdict == "bitwise"
    assert compare(z, z.conj()).verdict == "fail"
    assert compare(z * np.nan, z * np.nan, zeros=True).verdict == "bitwise"
    infinite = np.array([complex(np.inf, 0)])
    assert compare(infinite, np.array([complex(np.inf, np.inf)])).verdict == "fail"


@pytest.mark.parametrize(
    "left, right, kind, words",
    (
        (np.ones(2), None, "structure", "torch has an array float64[2] = [1.0, 1.0], JAX has None"),
        (None, np.zeros(1), "structure", "torch has None, JAX has an array"),
        (np.ones(2), np.ones(2, np.float32), "dtype", "torch has dtype float64, JAX has float32"),
        (np.ones(2), np.ones((2, 1)), "shape", "torch has shape (2,), JAX has (2, 1)"),
        (np.arange(3), np.array([0, 1, 3]), "value", "at [2] torch has 2, JAX has 3"),
        (np.array([True]), np.array([False]), "value", "at [0] torch has True, JAX has False"),
        ("a", "b", "value", "torch has 'a', JAX has 'b'"),
        (True, 1, "value", "torch has True, JAX has 1"),
        (ValueError("no"), np.ones(1), "structure", "torch has ValueError: no, JAX has an array"),
        (1.5, 1.5, "structure", "a Python float has no dtype"),
    ),
)
def test_what_the_text_says(left, right, kind, words):
    """The text names the leaf and both values, and `kind` is the first failing category."""
    result = compare({"loss": np.ones(1), "g": left}, {"loss": np.ones(1), "g": right})

    assert result.verdict == "fail"
    assert result.first is not None
    assert result.first.kind == kind
    assert result.text.startswith("g: ")
    assert result.first.differs
    assert words in result.text


def test_structure_is_reported_before_values():
    """A structural failure is reported before a failing value, wherever it is in the tree."""
    left = {"a": np.ones(2), "z": None}

    result = compare(left, {"a": np.zeros(2), "z": np.ones(1)})

    assert result.first is not None
    assert result.first.path == "z"


def test_exceptions():
    """`Raises` matches by type and words; two exceptions must agree in type and text."""
    error = RuntimeError("backward through the graph a second time")

    assert compare(Raises(RuntimeError, "second time"), error).verdict == "bitwise"
    assert compare(Raises(RuntimeError, "third"), error).verdict == "fail"
    assert compare(Raises(TypeError), error).verdict == "fail"
    assert compare({"a": error}, {"a": RuntimeError(str(error))}).verdict == "bitwise"
    assert compare({"a": error}, {"a": TypeError(str(error))}).verdict == "fail"


def test_tolerance_replaces_the_rules():
    """A tolerance is relative to the leaf's scale and replaces the usual rules."""
    ones = np.array([1.0, 100.0])

    assert compare(ones, ones + 0.5, tolerance=Tolerance(1e-2, "why")).verdict == "close"
    assert compare(ones, ones + 2, tolerance=Tolerance(1e-2, "why")).verdict == "fail"


def test_histogram_counts_every_element():
    """The histogram of ULP distances counts every element."""
    base = np.ones(6, np.float32)
    changed = base.copy()
    for i, steps in enumerate((0, 1, 2, 5, 9, 200)):
        changed[i] += np.float32(steps) * np.spacing(np.float32(1))

    (leaf,) = compare(base, changed, tolerance=Tolerance(1.0, "why")).leaves
    assert leaf.histogram == (1, 1, 1, 1, 1, 0, 0, 0, 1)
    assert leaf.ulp_at_scale == 200


def test_empty_arrays():
    """Empty arrays of equal shape agree, but comparing only empty arrays is an error."""
    assert (
        compare([np.zeros((0, 3)), np.ones(1)], [np.zeros((0, 3)), np.ones(1)]).verdict == "bitwise"
    )
    assert compare([np.zeros((0, 3))], [np.zeros((0, 2))]).verdict == "fail"
    assert compare([np.zeros((0, 3))], [np.zeros((0, 3))]).verdict == "error"


ODD = {
    "non-contiguous": np.arange(12.0).reshape(3, 4)[:, ::2].T,
    "0-d": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "bool": np.array([True, False]),
    "int": np.arange(3),
    "int32": np.arange(3, dtype=np.int32),
    "bfloat16": np.array([1.5, np.nan, np.inf, -0.0], ml_dtypes.bfloat16),
    "0-d bfloat16": np.array(1.5, ml_dtypes.bfloat16),
    "float16": np.array([1.5, np.nan, -np.inf, -0.0], np.float16),
    "complex64": np.array([1 + 2j, np.nan], np.complex64),
    "special": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
}


@pytest.mark.parametrize("name", ODD)
def test_copies_keep_every_bit(name):
    """Copying from numpy to torch or JAX and back keeps dtype, shape and every bit."""
    array = ODD[name]
    for there in (interop.to_torch, interop.to_jax):
        back = interop.to_numpy(there(array))

        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tobytes() == np.ascontiguousarray(array).tobytes()
        assert not np.shares_memory(back, array)


def test_all_sorts_of_torch_tensors_are_copied():
    """Leaves, views, conjugates, negatives, sparse and inference tensors become plain arrays."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = torch.tensor([1 + 2j]).conj()
    with torch.inference_mode():
        inference = torch.ones(2) * 3
    back = interop.to_numpy(
        {
            "t": x.T,
            "z": z,
            "neg": z.imag,
            "sparse": x.detach().to_sparse(),
            "i": inference,
            "n": None,
        }
    )

    np.testing.assert_array_equal(back["t"], [[1, 3], [2, 4]])
    np.testing.assert_array_equal(back["z"], [1 - 2j])
    np.testing.assert_array_equal(back["neg"], [-2.0])
    np.testing.assert_array_equal(back["sparse"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(back["i"], [3.0, 3.0])
    assert back["n"] is None


def test_x64_off_is_an_error_not_a_silent_float32():
    """A 64-bit input with 64-bit values switched off raises an error that names the remedy."""
    with (
        jax.enable_x64(False),
        pytest.raises(ValueError, match="float64 was asked for.*JAX_ENABLE_X64=1"),
    ):
        interop.to_jax({"x": np.ones(2)})
    with jax.enable_x64(False):
        assert interop.to_jax(np.ones(2, np.float32)).dtype == jnp.float32


def test_cast_touches_floating_leaves_only():
    """`cast` changes floating and complex leaves, and keeps labels, masks and strings."""
    tree = {"x": np.ones(2), "n": np.arange(2), "z": np.ones(2, complex), "s": "a", "none": None}

    out = interop.cast(tree, np.float32)

    assert [out[k].dtype.name for k in "xnz"] == ["float32", "int64", "complex64"]
    assert (out["s"], out["none"]) == ("a", None)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_neighbours_are_one_ulp_apart(dtype):
    """Floats that are n steps apart are counted at n ULP in the histogram."""
    x = np.array([1.0, -1.0, 0.0, 3e-7, -2.0], dtype)
    near = x
    for apart in range(1, 5):
        near = np.nextafter(near, np.array(np.inf, dtype))
        counts = histogram(x, near)
        # -0.0 and 0.0 count as neighbours as well.
        expected = [0] * len(BINS)
        expected[max(i for i, edge in enumerate(BINS) if edge <= apart)] = len(x)
        assert list(counts) == expected
    assert sum(histogram(np.array([-np.inf]), np.array([np.inf]))) == 1
