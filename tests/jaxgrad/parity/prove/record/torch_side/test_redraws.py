"""New inputs stay within what the module accepts, and visit padding, ignored labels and masks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import prove
from jaxgrad.parity.prove.record.torch_side import redraws
from jaxgrad.parity.prove.record.torch_side.live import Live
from jaxgrad.parity.prove.record.torch_side.redraws import Range, candidates, edges
from tests.jaxgrad.parity.prove._helpers import arrays, draw


IDS = np.array([[1, 2, 3, 4], [2, 5, 6, 1], [3, 3, 1, 2]])


def drawn(x: Any, accepted: Range | None = None) -> list[np.ndarray]:
    ranges = {} if accepted is None else {0: accepted}
    return candidates([np.asarray(x)], ranges, np.random.default_rng(0))[0]


def test_indices_stay_in_their_range_and_visit_the_padding():
    """New indices lie in the range; the padding is at the end of some rows, but not of all."""
    first, plain, *_, given = drawn(IDS, Range(0, 7, (0,)))
    assert (first >= 0).all() and (first < 7).all() and given is not first
    np.testing.assert_array_equal((first == 0).any(-1), [True, False, True])
    assert (first[:, -1] == 0).any() and (first[:, 0] != 0).all()
    assert (plain < 7).all()
    np.testing.assert_array_equal(given, IDS)


@pytest.mark.parametrize("number", [np.float64(0.3), np.array(0.3), np.array(2), np.array(True)])
def test_a_number_without_axes_stays_an_array(number):
    """New values of a 0-d input are arrays, which torch and JAX receive alike."""
    assert all(isinstance(x, np.ndarray) for x in drawn(number, None)[:-1])


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_number_without_axes_is_an_input(scale):
    """A model that mixes its rows by a 0-d input is proved, and a wrong factor is found."""
    module = nn.Linear(3, 2)
    port = lambda p, x, lam: scale * lam * x @ p["weight"].T + p["bias"]  # noqa: E731

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = module

        def forward(self, x, lam):
            return functional.linear(lam * x, module.weight, module.bias)

    report = prove(Mixed(), port, arrays(module), (draw(4, 3), np.array(0.3)))
    assert report.verdict == ("pass" if scale == 1 else "fail"), report


def test_padding_keeps_its_places():
    """Where the given indices contain padding, each row gets the padding of another row."""
    padded = np.where(np.arange(4) < [[1], [4], [2]], IDS, 0)
    first = drawn(padded, Range(0, 7, (0,)))[0]
    np.testing.assert_array_equal(first == 0, np.roll(padded == 0, 1, 0))


def test_sorted_and_distinct_values_stay_so():
    """Group numbers stay sorted, and the targets of a scatter stay distinct."""
    groups = drawn(np.array([0, 0, 1, 2, 2, 3]), Range(0, 9))[0]
    assert (np.diff(groups) >= 0).all()
    targets = drawn(np.array([4, 1, 3]), Range(0, 5, distinct=True))[0]
    assert len(set(targets)) == 3 and max(targets) < 5
    permuted = drawn(np.array([4, 1, 3]), Range(0, 2, distinct=True))[0]
    assert sorted(permuted) == [1, 3, 4]


def test_integers_without_a_range_take_given_values():
    """An integer input whose use is unknown gets the given values in another order."""
    lengths = np.array([9, 4, 6, 4])
    assert all(set(x) <= {4, 6, 9} for x in drawn(lengths))


def test_masks_keep_their_form():
    """Padding masks stay at one end and hide no whole row; causal masks are kept."""
    padding = np.arange(4) < np.array([[3], [2], [4]])
    new = drawn(padding)[0]
    assert new.any(-1).all() and (np.diff(new.astype(int), axis=-1) <= 0).all()
    hidden = drawn(~padding)[0]
    assert not hidden.all(-1).any() and (np.diff(hidden.astype(int), axis=-1) >= 0).all()
    scattered = np.array([[True, False, True, False, False]])
    assert all(x.sum() == 2 for x in drawn(scattered))
    causal = np.tril(np.ones((3, 3), bool))
    assert len(drawn(causal)) == len(drawn(~causal)) == len(drawn(np.ones((2, 3)))) == 1
    np.testing.assert_array_equal(drawn(np.array([[1.0], [0.0]]))[0], [[0.0], [1.0]])


def test_edge_cases_that_the_given_inputs_lack_are_listed():
    """A masked row, a label with torch's default of `ignore_index`, zeros and ties are edges."""
    x, padding = draw(2, 4), np.array([[True, True, False], [True, True, True]])
    labels = np.array([[1, 2]])
    names, ranges = ["x", "mask", "y"], {2: Range(0, 3, rare=(-100,))}
    masked, ignored, ties = edges(names, [x, padding, labels], ranges)
    assert masked.name == "row 1 of input mask masked altogether"
    np.testing.assert_array_equal(masked.leaves[1], [[True, True, False], [False] * 3])
    assert ignored.name == "-100 (the ignore_index of torch's losses) in input y"
    assert ignored.leaves[2].tolist() == [[1, -100]]
    assert ties.name == "zeros and ties in input x"
    assert (ties.leaves[0] == 0).any(-1).all() and len(np.unique(ties.leaves[0])) < 7
    given = [x[:, :1] * 0, masked.leaves[1], ignored.leaves[2]]
    assert not list(edges(names, given, ranges))
    (hidden,) = edges(["mask"], [~padding], {})
    assert hidden.leaves[0][1].all()


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(7, 3, padding_idx=0), nn.Linear(3, 7)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(ids))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pads", [True, False])
def test_a_port_without_padding_fails(pads):
    """A port without `padding_idx` fails even if the given indices contain no padding."""
    torch.manual_seed(0)
    module = Tokens()

    def port(p: Any, ids: Any) -> Any:
        x = p["table.weight"][ids]
        x = jnp.where((ids == 0)[..., None], lax.stop_gradient(x), x) if pads else x
        return x @ p["head.weight"].T + p["head.bias"]

    report = prove(module, port, arrays(module), (IDS,))
    assert report.verdict == ("pass" if pads else "fail")
    if report.first is not None:
        assert report.first.torch == "table.weight" and report.first.index[0] == 0


class Classifier(nn.Module):
    def __init__(self, ignored: int) -> None:
        super().__init__()
        self.head, self.ignored = nn.Linear(3, 5), ignored

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.head(x), labels, ignore_index=self.ignored)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("ignored", "verdict"), [(2, "fail"), (-100, "pass")])
def test_a_port_without_ignored_labels_fails(ignored, verdict):
    """A port without `ignore_index` fails, unless it is torch's default and no label has it."""
    torch.manual_seed(0)
    module = Classifier(ignored)

    def port(p: Any, x: Any, labels: Any) -> Any:
        scores = jax.nn.log_softmax(x @ p["head.weight"].T + p["head.bias"])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    labels = np.array([0, 1, 3, 4])
    assert prove(module, port, arrays(module), (draw(4, 3), labels)).verdict == verdict


class Rows(nn.Module):
    """A module that accepts only the sum of the given integers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor, order: torch.Tensor, flags: torch.Tensor) -> torch.Tensor:
        assert int(order.sum()) == 6 and bool(flags[0])
        return self.linear(x)[order % 4] * flags[:, None]


def test_values_that_torch_rejects_fall_back_one_by_one():
    """An input that torch rejects keeps its form or its values, and the others are redrawn."""
    inputs = (draw(4, 3), np.array([0, 3, 2, 1]), np.array([True, False, False, False]))
    side = Live(Rows(), inputs, None, None, 0)
    _, second = side.drawn(["linear.weight"])
    x, order, flags = second.draw.inputs
    assert not np.allclose(x, inputs[0])
    assert sorted(order) == [0, 1, 2, 3] and not np.array_equal(order, inputs[1])
    assert flags[0]


def test_two_ranges_are_intersected():
    """Special values of either are kept once, and one call that needs distinct values decides."""
    both = Range(0, 9, (0,), rare=(-100,)).intersect(Range(2, 5, (0, 3), True, (-1,)))
    assert both == Range(2, 5, (0, 3), True, (-100, -1))
    assert not Range(0, 9).intersect(Range(2, 5)).distinct


TRIL = np.tril(np.ones((3, 3), bool))


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("_is_distinct", [[1, 2], [2, 1]], True),
        ("_is_distinct", [[1, 2], [2, 2]], False),
        ("_is_distinct", [[1], [2]], False),
        ("_is_distinct", 3, False),
        ("_is_mask", [0, 1], True),
        ("_is_mask", [0, 2], False),
        ("_is_padding", [[1, 1, 0], [1, 0, 0]], True),
        ("_is_padding", [[0, 1, 1], [0, 0, 1]], True),
        ("_is_padding", [[1, 1, 0], [0, 1, 1]], False),
        ("_is_padding", [[1, 0, 1]], False),
        ("_is_falling", [[1, 1, 0], [1, 1, 1]], True),
        ("_is_falling", [[0, 1, 1]], False),
        ("_is_falling", [[0, 0]], False),
        ("_is_triangular", TRIL, True),
        ("_is_triangular", [[1, 0], [1, 1]], True),
        ("_is_triangular", ~TRIL, True),
        ("_is_triangular", np.tril(TRIL, -1), True),
        ("_is_triangular", TRIL.T, True),
        ("_is_triangular", np.tril(TRIL, -2), False),
        ("_is_triangular", np.stack([TRIL, TRIL]), True),
        ("_is_triangular", np.stack([TRIL, TRIL.T]), False),
        ("_is_triangular", TRIL[:2], False),
        ("_is_triangular", [[1]], False),
        ("_is_triangular", [1, 0], False),
    ],
)
def test_the_form_of_an_input_is_recognised(name, x, expected):
    """Each form is decided along the last axis, for all rows together."""
    assert getattr(redraws, name)(np.asarray(x)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [([0, 0, 1], [1, 2, 3]), ([0, 1, 0], [3, 1, 2]), ([0, 1], [3, 1]), (5, 3)],
)
def test_new_values_are_sorted_like_given_ones(given, expected):
    """Two sorted values may be sorted by chance."""
    new = np.array([3, 1, 2])[: np.size(given)].reshape(np.shape(given))
    arranged = redraws._arranged(np.asarray(given, np.int32), new)
    np.testing.assert_array_equal(arranged, expected)
    assert arranged.dtype == np.int32


@pytest.mark.parametrize(
    ("shape", "places"),
    [
        ((4, 3), [[0, 2], [2, 2]]),
        ((2, 8), [[0, 6], [0, 7]]),
        ((2, 1), []),
        ((5,), [[4]]),
        ((), []),
    ],
)
def test_special_values_take_the_end_of_every_second_row(shape, places):
    """A quarter of a row, at least one value of it, and never the whole of it."""
    x = np.full(shape, 1, np.int64)
    new = redraws._indices(x, Range(1, 5, (0,)), np.random.default_rng(0))
    assert np.argwhere(new == 0).tolist() == places


def test_a_rare_value_is_drawn_only_if_it_is_given():
    """A rare value moves to the next row; the other values of a row stay in the range."""
    x = np.array([[1, -100], [2, 3]])
    new = redraws._indices(x, Range(0, 5, rare=(-100, -1)), np.random.default_rng(0))
    np.testing.assert_array_equal(np.argwhere(new == -100), [[1, 1]])
    assert set(np.unique(new)) <= {-100, *range(5)}


def test_a_range_of_special_values_alone_has_its_first_value():
    """A range that contains only special values yields the first of them."""
    new = redraws._indices(np.zeros(4, int), Range(0, 1, (0,)), np.random.default_rng(0))
    assert set(new) == {0}


def test_a_scatter_with_just_enough_targets_uses_them_all():
    """Three distinct targets of three are a permutation; rows are drawn apart."""
    x = np.array([[2, 0, 1], [0, 1, 2]])
    new = redraws._indices(x, Range(0, 3, distinct=True), np.random.default_rng(3))
    np.testing.assert_array_equal(np.sort(new, -1), [[0, 1, 2], [0, 1, 2]])
    assert new.shape == x.shape


def test_the_first_row_of_a_padding_mask_hides_nothing_and_the_last_one_element():
    """An index of padding in the first row counts; the rows between have any length."""
    given = np.broadcast_to(np.arange(4) < 3, (3, 4))
    first, second = redraws._masks(given, np.random.default_rng(0))
    assert first[0].all()
    assert first[-1].tolist() == [True, True, True, False]
    assert first[:, 0].all()
    assert (second.sum(-1) == 3).all()
    assert list(redraws._masks(np.array(True), np.random.default_rng(0))) == []


@pytest.mark.parametrize(("given", "shortest"), [([7, 4], 4), ([7, 7], 1), ([0, 7], 1)])
def test_no_row_of_a_padding_mask_is_shorter_than_the_given_ones(given, shortest):
    """Torch and a port may differ where a window of attention hides all of a shorter row."""
    mask = np.arange(7) < np.repeat(given, 20)[:, None]
    rows, _ = redraws._masks(mask, np.random.default_rng(0))
    assert rows.sum(-1).min() == shortest


@pytest.mark.parametrize(
    ("x", "names"),
    [
        (np.arange(4.0), ["zeros and ties in input x"]),
        (np.arange(3.0), []),
        (np.ones(5), []),
        (np.array([0.0, 1.0, 0.0, 1.0]), []),
        (np.array([[1, 0], [1, 1]]), ["row 1 of input x masked altogether"]),
        (np.array([[0, 0], [0, 0]]), []),
        (np.array([[True, True], [True, True]]), ["row 1 of input x masked altogether"]),
        (np.array([[True, True]]), []),
        (np.array([[1], [0]]), []),
        (np.array([[1, 0], [0, 1]]), []),
        (np.array([[1, 0], [0, 0]]), []),
    ],
)
def test_each_edge_case_needs_its_form(x, names):
    """A mask has several rows and columns, and a float several different values."""
    assert [edge.name for edge in edges(["x"], [x], {})] == names
    if x.dtype.kind != "f":
        assert list(edges(["x"], [x], {0: Range(0, 2)})) == []


@pytest.mark.parametrize(
    ("labels", "count"), [([[1]], 0), ([[1, 2]], 2), ([[1, -100]], 1), ([1, 2], 0)]
)
def test_each_ignored_label_is_an_edge(labels, count):
    """A label that the inputs contain, or that would be the only one, is not tried.

    Labels of single examples, which are not in rows, are never padding.
    """
    cases = list(edges(["y"], [np.array(labels)], {0: Range(0, 3, rare=(-100, -1))}))
    assert len(cases) == count
    assert all(case.leaves[0][0, -1] < 0 for case in cases)


def test_zeros_and_ties_are_regular():
    """Every fourth element is 0, and in each row the second of three repeats the first."""
    x = np.arange(1.0, 15.0).reshape(2, 7)
    (edge,) = edges(["x"], [x], {})
    flat = x.copy()
    flat.reshape(-1)[::4] = 0
    flat[:, 1], flat[:, 4] = flat[:, 0], flat[:, 3]
    np.testing.assert_array_equal(edge.leaves[0], flat)
    assert x[0, 0] == 1


def test_floats_move_by_a_fifth():
    """A float stays near its value, an empty input and a constant mask stay as they are."""
    x = np.full(4000, 2.0)
    new = drawn(x)[0]
    assert 0.35 < new.std() < 0.45
    assert 1.95 < new.mean() < 2.05
    assert len(drawn(np.zeros((0, 2)))) == len(drawn(np.ones(3))) == 1
    assert len(drawn(np.ones(3, bool))) > 1
    empty = drawn(np.array([0, 3, 5]), Range(2, 2))
    assert all(set(x) <= {0, 3, 5} for x in empty)
