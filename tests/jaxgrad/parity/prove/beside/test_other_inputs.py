"""Further inputs: another batch size is tried unasked, and each entry of `also=` is judged."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.beside import other_inputs
from jaxgrad.parity.prove.beside.other_inputs import other_sizes
from jaxgrad.parity.prove.judge import Judged
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Mean(nn.Module):
    """The mean over the batch of a linear layer, which is doubled for rows of three numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x[..., -3:])
        return (y.sum(0) / x.shape[0]) * (2 if x.shape[-1] == 3 else 1)


def port(p: Any, x: Any, *, batch: int = 0, doubles: bool = False, stops: bool = False) -> Any:
    """Port `Mean`; `batch` builds in a batch size, `doubles` decides the `if` for three numbers."""
    y = x[..., -3:] @ p["linear.weight"].T + p["linear.bias"]
    y = lax.stop_gradient(y) if stops and x.shape[-1] != 3 else y
    return y.sum(0) / (batch or x.shape[0]) * (2 if doubles or x.shape[-1] == 3 else 1)


def proved(fn: Any, also: Any = (), rows: int = 4) -> Any:
    torch.manual_seed(0)
    module = Mean()
    return prove(module, fn, arrays(module), (draw(rows, 3),), also=also)


def test_a_second_batch_size_is_tried():
    """A port that divides by a built-in batch size fails with a batch of another size."""
    assert "agree with a batch of 3 instead of 4" in proved(port).surfaces["forward"].text
    report = proved(lambda p, x: port(p, x, batch=4))
    assert report.verdict == "fail"
    assert report.first.surface == "forward" and report.first.op == "div"
    assert report.first.text.startswith(
        "with a batch of 3 instead of 4, every input of torch's div"
    )


def test_an_edit_for_another_batch_size_is_proved_too():
    """`jnp.sigmoid` does not exist, so a suggestion to write it must not be printed."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())

    def port(p: Any, x: Any) -> Any:
        y = x @ p["0.weight"].T + p["0.bias"]
        return jax.nn.sigmoid(y) if x.shape[0] == 4 else jnp.tanh(y)

    first = prove(module, port, arrays(module), (draw(4, 3),)).first
    assert first is not None and first.surface == "forward"
    assert first.edit is None or "jnp.sigmoid" not in str(first.edit)


def test_a_port_for_one_batch_size_is_noted():
    """A port that raises on another batch size passes, and a note says which size it rejects."""
    report = proved(lambda p, x: port(p, x.reshape(4, 3)))
    assert report.verdict == "pass"
    assert "torch accepts a batch of 3 instead of 4, the port does not" in report.notes[0]


def test_a_port_that_returns_another_shape_fails():
    """A port whose output keeps the first batch size fails without raising."""
    module = nn.Linear(3, 2)

    def fixed(p: Any, x: Any) -> Any:
        return x[jnp.arange(4)] @ p["weight"].T + p["bias"]

    report = prove(module, fixed, arrays(module), (draw(4, 3),))
    assert report.verdict == "fail" and report.first is not None
    assert report.first.torch_value == [3, 2] and report.first.jax_value == [4, 2]


def test_each_entry_of_also_is_judged():
    """A port that decides an `if` on a size differs only on inputs that take the other branch."""
    other = draw(4, 5)
    assert "agree with also[0]" in proved(port, [(other,)]).surfaces["forward"].text
    wrong = proved(lambda p, x: port(p, x, doubles=True), [(draw(2, 3),), (other,)])
    assert wrong.first.surface == "forward" and wrong.first.text.startswith("with also[1], ")
    stopped = proved(lambda p, x: port(p, x, stops=True), [(other,)])
    assert stopped.verdict == "fail" and stopped.first.text.startswith("with also[0], ")
    raises = proved(lambda p, x: port(p, x.reshape(-1, 3)[:, :3] if x.size == 12 else x[0, :2, 0]),
                    [(other,)])  # fmt: skip
    assert raises.verdict == "fail" and "the port rejects also[0]" in str(raises)


def test_further_inputs_that_rounding_decides_do_not_agree(monkeypatch):
    """An undecided comparison makes `also=` inconclusive, and is a note for sizes of `prove`."""
    noisy = [("gradients", Judged("linear.weight", "inconclusive", 1e-3, 1e-2, 1.0))]
    monkeypatch.setattr(other_inputs, "_judged", lambda *_: noisy)
    words = f"rounding alone changes linear.weight too much to compare ({noisy[0][1].doubt})"

    report = proved(port, [(draw(4, 5),)])
    assert report.verdict == report.surfaces["gradients"].verdict == "inconclusive"
    assert report.surfaces["gradients"].text == f"with also[0], {words}"
    report = proved(port)
    assert f"with a batch of 3 instead of 4, {words}" in report.notes
    assert "also agree" not in report.surfaces["forward"].text


@pytest.mark.parametrize(
    ("also", "words"),
    [
        (3, "also= needs a list of inputs"),
        ([(np.ones((4, 3)), np.ones(2))], "also[0] contains the inputs ['0', '1']"),
        ([(np.ones((4, 2)),)], "also[0]: torch: a forward and backward run of Mean raised"),
        ([(np.full((4, 3), np.nan),)], "also[0]: input 0 of shape (4, 3) contains 12 NaN"),
    ],
)
def test_unusable_further_inputs_are_errors(also, words):
    """Further inputs that are not like the first ones give a sentence that names the entry."""
    report = proved(port, also)
    assert report.verdict == "error" and words in report.text


def test_another_batch_keeps_rows_and_scalars():
    """A batch loses its last row; one of two or fewer rows gets a row of the redrawn inputs."""
    x, y = np.arange(6.0).reshape(3, 2), np.ones((3, 2))
    (smaller,) = other_sizes((x, np.float64(2.0)), (y, np.float64(3.0)))
    (larger,) = other_sizes({"a": x[:1]}, {"a": y[:1]})
    np.testing.assert_array_equal(smaller.inputs[0], x[:2])
    assert smaller.ratios == {(3, 2)} and smaller.inputs[1] == 2.0
    np.testing.assert_array_equal(larger.inputs["a"], [[0, 1], [1, 1]])
    assert not list(other_sizes((x, y[:2]), (x, y[:2])))
    assert not list(other_sizes((np.float64(1.0),), (np.float64(2.0),)))


def test_sequences_are_shortened_with_their_masks():
    """Tokens, vectors, labels and masks lose their last element; other axes keep their sizes."""
    inputs = np.ones((2, 5), int), np.ones((2, 5, 3)), np.ones((2, 1, 5, 5), bool), np.ones((2, 7))
    both, batch = other_sizes(inputs, inputs)

    assert [x.shape for x in both.inputs] == [(3, 4), (3, 4, 3), (3, 1, 4, 4), (3, 7)]
    assert both.name == "a batch of 3 instead of 2 and a length of 4 instead of 5"
    assert both.ratios == {(2, 3), (5, 4), (10, 12)}
    assert [x.shape[:2] for x in batch.inputs[:2]] == [(3, 5), (3, 5)]
    for unclear in (np.ones((4, 5, 5)), np.ones((4, 2, 3)), np.ones((4, 5)), np.ones((4, 3, 8, 8))):
        (only,) = other_sizes((unclear,), (unclear,))
        assert only.name == "a batch of 3 instead of 4"


def test_an_input_without_dimensions_stays_an_array():
    """A 0-d array remains an array, because torch would get a Python number otherwise."""
    inputs = np.ones((2, 5), int), np.array(2.0)
    for variant in other_sizes(inputs, inputs):
        assert isinstance(variant.inputs[1], np.ndarray) and variant.inputs[1].shape == ()


class Mixed(nn.Module):
    """A layer that adds the mean over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.linear = nn.Embedding(7, 3), nn.Linear(3, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.table(ids)
        return self.linear(h + h.sum(1, keepdim=True) / ids.shape[1])


def mixed(length: int = 0, least: int = 0) -> Any:
    torch.manual_seed(0)
    module = Mixed()

    def apply(p: Any, ids: Any) -> Any:
        assert ids.shape[1] >= least, "too short"
        h = p["table.weight"][ids]
        h = h + h.sum(1, keepdims=True) / (length or ids.shape[1])
        return h @ p["linear.weight"].T + p["linear.bias"]

    ids = np.array([[0, 4, 2, 6, 1], [3, 5, 6, 1, 0], [2, 2, 4, 3, 1]])
    return prove(module, apply, arrays(module), (ids,))


def test_a_second_length_is_tried():
    """A port that divides by a built-in sequence length fails with sequences of another length."""
    at = "a batch of 2 instead of 3 and a length of 4 instead of 5"
    assert f"also agree with {at}" in mixed().check().surfaces["forward"].text
    report = mixed(length=5)

    assert report.verdict == "fail" and (report.first.surface, report.first.op) == (
        "forward",
        "div",
    )
    assert report.first.text.startswith(f"with {at}, every input of torch's div")


def test_a_port_for_one_length_is_noted_and_its_batch_size_is_varied():
    """A port that raises on another length passes with a note, and with another batch size."""
    report = mixed(least=5).check()

    assert "also agree with a batch of 2 instead of 3" in report.surfaces["forward"].text
    (note,) = [note for note in report.notes if "a length of 4 instead of 5, the port" in note]
    assert note.startswith("torch accepts a batch of 2") and "too short" in note


class Pool(nn.Module):
    """The sums of the rows of each group, whose number depends on the inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        count = int(group.max()) + 1
        return torch.zeros(count, 2, dtype=x.dtype).index_add(0, group, self.linear(x))


def test_outputs_that_do_not_grow_with_the_batch_are_not_compared():
    """A port with a fixed number of groups passes, although torch returns fewer groups."""
    module = Pool()

    def pooled(p: Any, x: Any, group: Any) -> Any:
        y = x @ p["linear.weight"].T + p["linear.bias"]
        return jax.ops.segment_sum(y, group, num_segments=3)

    inputs = (draw(4, 3), np.array([0, 1, 1, 2]))
    report = prove(module, pooled, arrays(module), inputs)
    assert report.verdict == "pass" and "batch" not in report.surfaces["forward"].text


class Masked(nn.Module):
    """The mean of the rows that a mask keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        y = self.linear(x).relu() * mask[..., None]
        return y.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("least", [1, 0])
def test_an_edge_case_is_noted(least):
    """A port that differs only where a whole row is masked passes, and a note says so."""
    torch.manual_seed(0)
    module = Masked()

    def masked(p: Any, x: Any, mask: Any) -> Any:
        y = jax.nn.relu(x @ p["linear.weight"].T + p["linear.bias"]) * mask[..., None]
        return y.sum(1) / jnp.maximum(mask.sum(1, keepdims=True), least)

    inputs = (draw(2, 3, 3), np.array([[True, True, False], [True, True, True]]))
    report = prove(module, masked, arrays(module), inputs)
    assert report.verdict == "pass"
    noted = [n for n in report.notes if "row 1 of input 1 masked altogether" in n]
    assert len(noted) == 1 - least and all("torch gives 0.0, JAX gives nan" in n for n in noted)


class Causal(nn.Module):
    """A loss of the next token, in which a token at the end of a row has no part."""

    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(7, 4, padding_idx=0), nn.Linear(4, 7)

    def forward(self, ids):
        logits = self.out(torch.tanh(self.words(ids[:, :-1])))
        return nn.functional.cross_entropy(
            logits.transpose(1, 2), ids[:, 1:], ignore_index=0, reduction="sum"
        )


@pytest.mark.parametrize("pads", [True, False])
def test_padding_that_has_no_part_in_the_loss_is_tried_at_the_start_of_a_row(pads):
    module = Causal()

    def port(p: Any, ids: Any) -> Any:
        table = p["words.weight"]
        table = table.at[0].set(jax.lax.stop_gradient(table[0])) if pads else table
        logits = jnp.tanh(table[ids[:, :-1]]) @ p["out.weight"].T + p["out.bias"]
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits, -1), ids[:, 1:, None], -1)
        return -(logp[..., 0] * (ids[:, 1:] != 0)).sum()

    report = prove(module, port, arrays(module), (np.array([[3, 4, 1, 0], [2, 5, 1, 6]]),))
    assert report.verdict == "pass"
    start = "not judged: with 0 at the start of a row of input 0, which your inputs do not contain"
    found = [note for note in report.notes if note.startswith(start)]
    assert bool(found) != pads
    assert pads or "the gradient of words.weight differs" in found[0]
