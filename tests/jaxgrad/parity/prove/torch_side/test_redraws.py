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
from jaxgrad.parity.prove.torch_side.live import Live
from jaxgrad.parity.prove.torch_side.redraws import Range, candidates, edges
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
    labels = np.array([1, 2])
    names, ranges = ["x", "mask", "y"], {2: Range(0, 3, rare=(-100,))}
    masked, ignored, ties = edges(names, [x, padding, labels], ranges)
    assert masked.name == "row 1 of input mask masked altogether"
    np.testing.assert_array_equal(masked.leaves[1], [[True, True, False], [False] * 3])
    assert ignored.name == "-100 in input y" and list(ignored.leaves[2]) == [1, -100]
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
