"""A wrong cotangent is reported upstream of the last copy of the value that has torch's."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.locate import cotangents as wrong_cotangent


X = np.random.default_rng(0).standard_normal(6)


def spot(number: int) -> Any:
    return SimpleNamespace(key=((number,), 0), path=(number,), iteration=(1,))


def test_the_copies_of_a_value_are_at_most_nine():
    """Leaves and closed programs have no cotangent, and equal keys are requested once."""
    asked: list[Any] = []

    def gradients(_: Any, keys: Any) -> Any:
        asked.append(keys)
        return SimpleNamespace(cotangents={k: np.array([0.0, float(k[0][0])]) for k in keys})

    spots = [spot(n) for n in (1, 2, 2, -1, 4, 5, 6, 7, 8, 9, 10)]
    fake: Any = SimpleNamespace(
        alignments=[SimpleNamespace(spots=spots, candidates={0: list(range(11)), 1: [3, 4]})],
        port=SimpleNamespace(program=SimpleNamespace(closed={(4,)}), gradients=gradients),
        draws=["draw"],
    )
    copies = wrong_cotangent.copies(fake, 0, 0)
    assert [(k[0][0], float(g)) for k, g in copies] == [(n, n) for n in (1, 2, 2, 5, 6, 7, 8)]
    assert asked == [tuple(((n,), 0) for n in (1, 2, 5, 6, 7, 8))]
    assert [k[0][0] for k, _ in wrong_cotangent.copies(fake, 0, 0, 1)] == [2, 2, 5, 6, 7, 8]
    assert wrong_cotangent.copies(fake, 0, 1) == [] and len(asked) == 2


def test_a_copy_that_jax_cannot_differentiate_by_is_left_out():
    """The other copies keep their cotangents."""

    def gradients(_: Any, keys: Any) -> Any:
        if ((2,), 0) in keys:
            raise ValueError("no derivative")
        return SimpleNamespace(cotangents={k: np.array([0.0, float(k[0][0])]) for k in keys})

    fake: Any = SimpleNamespace(
        alignments=[SimpleNamespace(spots=[spot(1), spot(2), spot(3)], candidates={0: [0, 1, 2]})],
        port=SimpleNamespace(program=SimpleNamespace(closed=()), gradients=gradients),
        draws=["draw"],
    )

    assert [k[0][0] for k, _ in wrong_cotangent.copies(fake, 0, 0)] == [1, 3]


@pytest.mark.parametrize(
    ("copies", "arrives", "expected"),
    [
        ([("mul", X)], True, 0),
        ([("mul", X + 1e-7)], True, None),
        ([("mul", 2 * X), ("add", X)], False, 1),
        ([("stop_gradient", X), ("add", X)], True, 1),
        ([("stop_gradient", X), ("add", X)], False, 0),
        ([], True, None),
    ],
)
def test_a_copy_with_a_correct_cotangent_is_below_the_error(monkeypatch, copies, arrives, expected):
    """A stop_gradient is not, if a wrong gradient arrives."""
    equations = {
        (n,): SimpleNamespace(primitive=SimpleNamespace(name=name))
        for n, (name, _) in enumerate(copies)
    }
    fake: Any = SimpleNamespace(port=SimpleNamespace(program=SimpleNamespace(equations=equations)))
    found = [((((n,), 0)), g) for n, (_, g) in enumerate(copies)]
    monkeypatch.setattr(
        wrong_cotangent, "copies", lambda *arguments: found if arguments[3] == 1 else []
    )
    key = wrong_cotangent._correct_copy(fake, 0, 0, fingerprint(X), arrives)
    assert key == (None if expected is None else ((expected,), 0))
    assert wrong_cotangent._correct_copy(fake, 0, 0, None, arrives) is None


def test_only_the_floating_results_of_an_index_are_counted():
    """An index into integers is not among the values, so the text does not count calls."""
    values = [SimpleNamespace(name=f"({op})", op=op) for op in ("getitem", "mul", "getitem", "mul")]
    run: Any = SimpleNamespace(values=[*values, SimpleNamespace(name="(exp)", op="exp")])
    assert wrong_cotangent.calls(run) == [
        "floating result 1 of 2", "call 1 of 2", "floating result 2 of 2", "call 2 of 2", ""
    ]  # fmt: skip


class TwoStops(nn.Module):
    """Two detached values, of which the second is only compared."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.linear(x)
        top = h.max(1, keepdim=True).values.detach()
        e = (h - top).exp()
        w = e / (e.sum(1, keepdim=True) + 1e-3)
        hard = h.detach().argmax(0)
        return (w[hard] * h).sum()


def test_the_place_is_the_stop_that_the_cause_names():
    """torch's line is that of the detach that the port lacks, not of another detach."""
    torch.manual_seed(0)
    module = TwoStops()

    def port(p: Any, x: Any) -> Any:
        h = x @ p["linear.weight"].T + p["linear.bias"]
        e = jnp.exp(h - h.max(1, keepdims=True))
        w = e / (e.sum(1, keepdims=True) + 1e-3)
        hard = lax.stop_gradient(h).argmax(0)
        return (w[hard] * h).sum()

    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    report = prove(module, port, params, (np.random.default_rng(0).normal(size=(4, 3)),))
    assert report.first is not None and report.first.op == "detach"
    line = TwoStops.forward.__code__.co_firstlineno + 2
    assert report.first.torch_line == f"test_cotangents.py:{line}"
    assert f"torch stops the gradient at {report.first.torch_line} (detach)" in report.first.cause
