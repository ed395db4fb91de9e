"""`prove` names the elements that only one program masks, and where JAX computes its mask."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.report import Finding
from tests.jaxgrad.parity.prove._helpers import arrays, draw


INPUTS = draw(3, 5, 4), np.array([5, 7, 9])


class Net(nn.Module):
    """Attention over the frames that half of a length leaves, and a mask of its outputs."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        hidden = torch.arange(x.shape[1])[None] >= ((lengths + 1) // 2)[:, None]
        scores = self.q(x) @ self.k(x).mT
        scores = scores.masked_fill(hidden[:, None], float("-inf"))
        return torch.where(hidden[..., None], torch.zeros(()), scores.softmax(-1) @ x)


def port(p: Any, x: Any, lengths: Any, floors: str = "", keeps: bool = False) -> Any:
    """Return the port; the masks that `floors` names round half of the length down.

    With `keeps`, the conditions are true where an element is kept.
    """
    frames = jnp.arange(x.shape[1])[None]
    up = frames >= ((lengths + 1) // 2)[:, None]
    down = frames >= (lengths // 2)[:, None]
    hidden = [down if name in floors else up for name in ("scores", "outputs")]
    scores = (x @ p["q.weight"].T + p["q.bias"]) @ (x @ p["k.weight"].T + p["k.bias"]).mT
    fills = -jnp.inf, 0.0
    masks = hidden[0][:, None], hidden[1][..., None]
    values: Any = scores
    for mask, fill in zip(masks, fills, strict=True):
        if keeps:
            values = jnp.where(~mask, values, fill)
        else:
            values = jnp.where(mask, fill, values)
        values = values if fill == 0 else jax.nn.softmax(values, -1) @ x
    return values


def findings(floors: str, keeps: bool) -> list[Finding]:
    module = Net()
    fn = functools.partial(port, floors=floors, keeps=keeps)
    report = prove(module, fn, arrays(module), INPUTS)
    return [f for f in (report.first, *report.further) if f is not None]


@pytest.mark.parametrize("keeps", [False, True])
def test_another_mask_is_named_with_its_elements_and_its_line(keeps):
    """torch's length of 5 leaves 3 frames, and JAX's leaves 2."""
    assert not findings("", keeps)
    (first,) = findings("scores", keeps)
    line = port.__code__.co_firstlineno + 7
    assert first.tested and first.op == "masked_fill"
    assert first.cause == (
        "the masks differ in 15 of 75 elements: at [0, 0, 2], torch's masked_fill keeps the "
        f"element, JAX changes it; JAX computes its mask at test_masks.py:{line} "
        f"({'not' if keeps else 'ge'}) (rerunning torch with JAX's mask reproduces JAX's outputs)"
    ).replace(f"{line} (not)", f"{line + 8} (not)")


def test_the_mask_of_where_is_named():
    (first,) = findings("outputs", keeps=True)
    assert first.tested and first.op == "where"
    text = "the masks differ in 12 of 60 elements: at [0, 2, 0], torch's where keeps the element"
    assert first.cause.startswith(f"{text}, JAX changes it")


def test_two_masks_are_named_one_after_the_other():
    first, second = findings("scores outputs", keeps=False)
    assert (first.op, second.op) == ("masked_fill", "where")
    assert first.cause.startswith("the masks differ in 15 of 75")
    assert second.cause.startswith("the masks differ in 12 of 60")


class Added(Net):
    """A mask that is added to the scores, or that multiplies the outputs."""

    def __init__(self, adds: bool):
        super().__init__()
        self.adds = adds

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        hidden = torch.arange(x.shape[1])[None] >= ((lengths + 1) // 2)[:, None]
        scores = self.q(x) @ self.k(x).mT
        if self.adds:
            scores = scores + torch.where(hidden[:, None], -1e9, 0.0)
        h = scores.softmax(-1) @ x
        return h if self.adds else h * (~hidden)[..., None].to(h.dtype)


@pytest.mark.parametrize("chooses", [True, False])
@pytest.mark.parametrize("adds", [True, False])
def test_a_mask_in_a_sum_or_a_product_is_named(adds, chooses):
    """JAX has a sum and a product too, or chooses with `where`."""

    def wrong(p: Any, x: Any, lengths: Any) -> Any:
        keep = jnp.arange(x.shape[1])[None] < (lengths // 2)[:, None]
        scores = (x @ p["q.weight"].T + p["q.bias"]) @ (x @ p["k.weight"].T + p["k.bias"]).mT
        if adds and chooses:
            scores = jnp.where(keep[:, None], scores, -jnp.inf)
        elif adds:
            scores += jnp.where(keep[:, None], 0.0, -1e9)
        h = jax.nn.softmax(scores, -1) @ x
        if adds:
            return h
        return jnp.where(keep[..., None], h, 0.0) if chooses else h * keep[..., None]

    module = Added(adds)
    first = prove(module, wrong, arrays(module), INPUTS).first
    assert first is not None and first.tested and first.op == ("add" if adds else "mul")
    count, at = ("15 of 75", [0, 0, 2]) if adds else ("12 of 60", [0, 2, 0])
    start = f"the masks differ in {count} elements: at {at}, torch's {first.op} keeps the element"
    assert first.cause.startswith(f"{start}, JAX changes it")
    assert ("JAX computes its mask at" in first.cause) is chooses


def test_a_mask_that_depends_on_the_numbers_is_named():
    """It has other elements on the other draw, where torch is rerun with that mask."""

    class Kept(Net):
        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            h = self.q(x)
            return h.masked_fill(h < 0.2, 3.0)

    def other(p: Any, x: Any, lengths: Any) -> Any:
        h = x @ p["q.weight"].T + p["q.bias"]
        return jnp.where(h < 0.05, 3.0, h)

    module = Kept()
    first = prove(module, other, arrays(module), INPUTS).first
    assert first is not None and first.tested
    h = module.double().q(torch.as_tensor(INPUTS[0]).double()).detach().numpy()
    at = np.argwhere((h >= 0.05) & (h < 0.2))  # with the inputs of the user
    text = f"the masks differ in {len(at)} of 60 elements: at {at[0].tolist()}, torch's masked_fill"
    assert first.cause.startswith(f"{text} changes the element, JAX keeps it")


def test_a_mask_that_differs_with_redrawn_inputs_alone_is_told_with_them():
    """No element of the user's inputs is between the two bounds."""
    module = Net().double()
    h = np.sort(module.q(torch.as_tensor(INPUTS[0]).double()).detach().numpy().ravel())
    widest = int(np.argmax(np.diff(h[20:40]))) + 20
    low, high = (
        float(h[widest + n]) * (1 - share) + share * float(h[widest + 1 - n])
        for n, share in ((0, 0.01), (1, 0.01))
    )

    class Kept(Net):
        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            h = self.q(x)
            return h.masked_fill(h < low, 3.0)

    def other(p: Any, x: Any, lengths: Any) -> Any:
        h = x @ p["q.weight"].T + p["q.bias"]
        return jnp.where(h < high, 3.0, h)

    kept = Kept()
    kept.load_state_dict(module.state_dict())
    first = prove(kept, other, arrays(kept), INPUTS).first
    assert first is not None and first.cause.startswith("the masks differ in ")
    assert " of 60 elements with redrawn inputs: at [" in first.cause


def test_a_mask_is_observed_if_a_mistake_without_a_cause_follows():
    """The outputs differ still, so that the cause is not confirmed."""

    class Sorted(Net):
        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            return torch.special.expit(3 * super().forward(x, lengths))

    def wrong(p: Any, x: Any, lengths: Any) -> Any:
        y = 3 * port(p, x, lengths, "scores")
        return jnp.exp(-jnp.exp(jnp.sin(y)))

    module = Sorted()
    first = prove(module, wrong, arrays(module), INPUTS).first
    assert first is not None and not first.tested and first.op == "masked_fill"
    assert first.cause.startswith("the masks differ in 15 of 75 elements")
    assert first.cause.endswith("reproduces JAX's value here, but not its outputs)")
