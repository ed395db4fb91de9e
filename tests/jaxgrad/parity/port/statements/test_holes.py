"""With `holes=True` a refused statement becomes a function that raises; the rest is ported."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import proofs
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.prove.report import SURFACES


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
MASK = np.array([True, False, True, False])


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x, mask):
        h = self.fc(x)
        if self.training:
            # the loudest
            loud = h[mask].mean()
            h = h - loud
        return self.out(h.tanh())


class Chooses(nn.Module):
    def forward(self, x, mask):
        low, high = x[mask].aminmax()
        x = x * 2
        x[mask] = x[mask] + high - low
        count = int(mask.sum())
        return x[mask].reshape(count, -1)


class Branches(nn.Module):
    def forward(self, x, mask):
        for row in x:
            if row.max() > mask.sum():
                return row
        return x


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Branches()

    def forward(self, x, mask):
        y = self.inner(x, mask)
        return y * 3


def written(module: nn.Module, **options: Any) -> Any:
    return port(module, (X, MASK), holes=True, prove=False, **options)


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_a_refused_statement_becomes_a_function_that_raises(style):
    """The function has what the statement reads, its line, the reason and its results."""
    ported = written(Reads().train(), style=style)
    for part in (
        "        # the loudest\n",
        "loud = by_hand(h, mask)\n",
        "def by_hand(h, mask):\n",
        "`loud = h[mask].mean()`. It returns loud:",
        "float32[].",
        "To be written by hand: by_hand (test_holes.py:32)",
    ):
        assert part in ported.source, ported.source
    assert max(map(len, ported.source.splitlines())) <= 100
    with pytest.raises(NotImplementedError, match="a mask as an index makes a size"):
        ported.space["by_hand"](X, MASK)
    (hole,) = ported.holes
    assert str(hole).startswith("by_hand is to be written by hand: test_holes.py:32 `loud = h[mask")


def test_a_port_whose_hole_is_filled_has_the_outputs_of_torch():
    """What is written by hand fits in the place of the function that raises."""
    module = Reads().train()
    ported = written(module)
    space = dict(ported.space)
    exec(ported.source, space)
    space["by_hand"] = lambda h, mask: h[jnp.array([0, 2])].mean() if mask is MASK else None
    got = space["reads"](ported.params(module.state_dict()), X, MASK, training=True)
    want = module(torch.tensor(X), torch.tensor(MASK)).detach().numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_results_changes_in_place_numbers_and_returns_are_results_of_the_function():
    """Each statement of a function can be left to be written by hand."""
    source = written(Chooses()).source
    for line in (
        "    low, high = by_hand(x, mask)",
        "    x = by_hand_2(x, mask, low, high)",
        "    count = by_hand_3(mask)",
        "    return by_hand_4(count, x, mask)",
    ):
        assert line in source.splitlines(), source


def test_a_statement_that_cannot_be_a_function_leaves_the_call_around_it():
    """A branch that returns is refused in the entry; in a module inside, its call is the hole."""
    with pytest.raises(PortError, match="one arm of a branch on the value of a tensor returns"):
        written(Branches())
    source = written(Around()).source
    assert "    y = by_hand(p, x, mask)" in source
    assert "Write by hand what line 60 of test_holes.py does: `y = self.inner(x, mask)`." in source


def test_without_holes_the_refusal_stays():
    """`holes=False` refuses, and a module without a refusal has no hole."""
    with pytest.raises(PortError, match="a mask as an index makes a size"):
        port(Reads().train(), (X, MASK), prove=False)
    assert "It is for eval mode only" in port(Reads().eval(), (X, MASK), prove=False).source
    plain = nn.Linear(3, 2)
    ported = port(plain, (X,), holes=True, prove=False)
    assert ported.holes == () and ported.source == port(plain, (X,), prove=False).source
    with pytest.raises(PortError, match="holes= needs True or False, got str"):
        port(plain, (X,), holes="yes")  # pyright: ignore[reportArgumentType]


def test_the_proof_says_what_a_hole_leaves_open(tmp_path):
    """The mode without the hole is proved; the other is proved once the function is written."""
    torch.manual_seed(0)
    ported = port(Reads().eval(), (X, MASK), holes=True)
    assert {mode: r.verdict for mode, r in ported.reports.items()} == {
        "train": "error",
        "eval": "pass",
    }
    (hole,) = ported.holes
    assert hole.open == {"train": SURFACES}
    assert str(hole).endswith("not judged: " + ", ".join(SURFACES) + " in train mode")

    ported.write(tmp_path / "reads.py")
    name = "raise NotImplementedError("
    head, _, rest = ported.source.partition(name)
    filled = (
        f"{head}return jnp.where(mask[:, None], h, 0).sum() / (3 * mask.sum())\n    {name}{rest}"
    )
    (tmp_path / "reads.py").write_text(filled)
    assert main(["verify", str(tmp_path / "reads.py")]) == 0


@pytest.mark.parametrize(
    ("kind", "verdict", "words"),
    [
        (Reads, "fail", ""),
        (Reads, "error", "raised TypeError"),
        (nn.Flatten, "error", "raised NotImplementedError"),
    ],
)
def test_a_hole_excuses_nothing_else(monkeypatch, kind, verdict, words):
    """A wrong gradient, another error, and this error without a hole are still raised."""

    @dataclasses.dataclass(frozen=True)
    class Report:
        verdict: str
        name: str = ""

        def __str__(self) -> str:
            return words

    monkeypatch.setattr(proofs, "prove", lambda *_, **__: Report(verdict=verdict))
    inputs = (X, MASK) if kind is Reads else (X,)
    with pytest.raises(PortError, match="is not proved"):
        port(kind(), inputs, holes=True)


class Twice(nn.Module):
    def forward(self, x):
        found = torch.unique(x.round())
        kept = x[x > 0]
        return x.sum() + found.sum() + kept.mean()


def test_a_refusal_lists_the_other_refused_statements():
    """A reader need not change one statement and port again to learn of the next one."""
    with pytest.raises(PortError) as refusal:
        port(Twice(), (X,))
    first, second = str(refusal.value).splitlines()
    line = Twice.forward.__code__.co_firstlineno
    assert first.startswith(f"test_holes.py:{line + 1} `found = torch.unique(x.round())`: unique()")
    assert first.endswith("and write this statement, or the call around it, by hand")
    assert second == (
        f"also refused: test_holes.py:{line + 2} `kept = x[x > 0]`: a mask as an index makes a "
        "size that depends on values; use torch.where"
    )


class Selects(nn.Module):
    """A module that computes with an index whose size depends on values."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, labels):
        pred = self.fc(x)
        both = [labels, pred]
        keep = (both[0] < 3).nonzero().squeeze(1)
        picked = pred[keep]
        loss = picked.pow(2).sum() / max(1, keep.numel())
        return loss + pred.mean()


class Returns(Selects):
    def forward(self, x, labels):
        pred = self.fc(x)
        keep = (labels < 3).nonzero().squeeze(1)
        return pred[keep]


class InOneArm(Selects):
    def forward(self, x, labels):
        pred = self.fc(x)
        if self.training:
            keep = (labels < 3).nonzero().squeeze(1)
        else:
            keep = torch.arange(2)
        return pred[keep].mean()


class Early(Selects):
    def forward(self, x, labels):
        keep = (labels < 3).nonzero().squeeze(1)
        for row in self.fc(x)[keep]:
            if row.sum() > 0:
                return row
        return x[0]


LABELS = np.array([0, 1, 5, 2])


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_statements_that_use_an_array_of_varying_size_are_one_function(style):
    """JAX traces no function that returns the index, and one that returns the loss."""
    ported = port(Selects(), (X, LABELS), holes=True, prove=False, style=style)
    assert "    loss = by_hand(both, pred)\n" in ported.source
    about = " ".join(ported.space["by_hand"].__doc__.split())
    first = Selects.forward.__code__.co_firstlineno + 3
    assert f"what lines {first} to {first + 2} of test_holes.py do: `keep = (both[0] < 3)." in about
    assert about.endswith(
        "keep.numel())`. It returns loss: float32[]. Inside of it, sizes that depend on values: "
        "keep: int64[3], picked: float32[3, 3] in the example."
    )
    (hole,) = ported.holes
    assert hole.statements == 3


def test_a_function_for_several_statements_can_be_traced_and_is_proved(tmp_path):
    """A mask in place of the index has torch's gradients."""
    ported = port(Selects(), (X, LABELS), holes=True)
    ported.write(tmp_path / "selects.py")
    head, _, rest = ported.source.partition("raise NotImplementedError(")
    body = "mask = both[0] < 3\n    return (mask[:, None] * pred**2).sum() / mask.sum()\n    "
    (tmp_path / "selects.py").write_text(f"{head}{body}raise NotImplementedError({rest}")
    assert main(["verify", str(tmp_path / "selects.py")]) == 0


def test_a_result_whose_size_depends_on_values_is_named():
    ported = port(Returns(), (X, LABELS), holes=True, prove=False)
    about = " ".join(ported.space["by_hand"].__doc__.split())
    assert about.endswith(
        "It returns result: float32[3, 3] for the example inputs; the size depends on values. "
        "Inside of it, sizes that depend on values: keep: int64[3] in the example."
    )


def test_an_array_that_is_read_after_its_block_leaves_the_statement_around_it():
    """The reason says that a function cannot return it, and what to write in torch."""
    ported = port(InOneArm().train(), (X, LABELS), holes=True, prove=False)
    (hole,) = ported.holes
    assert hole.statements == 2 and "return by_hand(p, labels, pred)" in ported.source
    assert hole.reason.endswith(
        "a function by hand cannot return `keep` either, because its size depends on values: "
        "use a mask instead of an index, such as torch.where(mask, x, 0)"
    )
    with pytest.raises(PortError, match="cannot return `keep` either"):
        port(Early(), (X, LABELS), holes=True, prove=False)
    with pytest.raises(PortError, match="on the whole tensor$"):  # holes=True is not offered
        port(Early(), (X, LABELS), prove=False)
