"""The figure of a frozen group shows which layers move."""

import pytest
import torch

from parity_tests.figures import frozen_group
from parity_tests.figures.run import tensors
from tests.parity_tests.figures.reading import words


def test_the_distances_are_those_of_a_plain_run():
    """The trained layer moves as under torch's AdamW; the frozen one moves under `masked` only."""
    net = tensors(frozen_group.CASE)["net"]
    start = {name: value.clone() for name, value in net["l2"].items()}
    given, params = tensors(frozen_group.CASE), [w.requires_grad_() for w in net["l2"].values()]
    adamw, fresh = torch.optim.AdamW(params, lr=0.1, weight_decay=0.1), [0.0]
    for _ in range(3):
        h = torch.nn.functional.linear(given["x"], net["l1"]["weight"], net["l1"]["bias"])
        out = torch.nn.functional.linear(h, net["l2"]["weight"], net["l2"]["bias"])
        adamw.zero_grad()
        torch.nn.functional.mse_loss(out, given["y"]).backward()
        adamw.step()
        moved = [(net["l2"][name] - start[name]).flatten() for name in start]
        fresh.append(torch.cat(moved).norm().item())
    record = frozen_group.record()

    assert record["l2"].torch == pytest.approx(fresh, rel=1e-9)
    assert record["l2"].jax == pytest.approx(fresh, rel=1e-9)
    assert record["l1"].torch == record["l1"].jax == (0.0,) * 4
    assert record["l1"].masked[-1] > 1


def test_the_titles_say_which_layer_moves():
    """A layer is called frozen only if its distances are zero."""
    record = frozen_group.record()
    swapped = {"l1": record["l2"], "l2": record["l1"]}

    assert {"l1, frozen", "l2, trained"} <= set(words(frozen_group.draw(record)))
    assert {"l1, trained", "l2, frozen"} <= set(words(frozen_group.draw(swapped)))
