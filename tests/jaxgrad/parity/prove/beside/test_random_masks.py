"""Each random mask of the port is drawn once more, from numbers near torch's probability."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.beside import random_masks
from jaxgrad.parity.prove.judge import Judged
from jaxgrad.parity.prove.record.jax_side.sites import Injection, Site
from jaxgrad.parity.prove.record.noise import Noise


ONES = np.ones(2)


def site(number: int) -> Site:
    return Site((number,), "uniform", (2,), (), ())


@dataclasses.dataclass
class Port:
    """A port whose output is wrong if the given sites are drawn from tight numbers."""

    injection: Injection
    wrong: set[int]
    program: Any = dataclasses.field(default_factory=lambda: SimpleNamespace(jaxpr=None))

    def replacing(self, **fields: Any) -> "Port":
        return dataclasses.replace(self, **fields)

    def outputs(self, draw: Any, scales: Any) -> bool:
        assert draw.inputs == "first" and scales == {}
        assert self.injection.tight is not None
        return self.injection.tight[0] in self.wrong


def evidence(*wrong: int) -> Any:
    """Return the evidence for a port with three masks of two layers, and normal numbers."""
    kinds = ("normal", "bernoulli", "bernoulli")
    noise = [Noise(k, ONES, ONES, 0.5, f"drop{n} (dropout)") for n, k in enumerate(kinds)]
    sources = tuple(np.array(s) for s in ([0], [2, 1], [1]))
    injection = Injection((site(0), site(1), site(2)), sources)
    draws = [SimpleNamespace(inputs=name, noise=noise) for name in ("first", "second")]

    def judge_outputs(number: int, failed: bool) -> list[Judged]:
        right = Judged("a", "pass", 0.0, 1.0, 1.0)
        verdict = "fail" if failed and number == 0 else "pass"
        return [right, Judged("y", verdict, 1.0, 0.0, 1.0, (1,), 2.0, 3.0)]

    port = Port(injection, set(wrong))
    return SimpleNamespace(reference="torch", port=port, draws=draws, judge_outputs=judge_outputs)


@pytest.mark.parametrize(("wrong", "where"), [((1,), "drop2"), ((2,), "drop1"), ((1, 2), "drop2")])
def test_the_first_mask_with_another_probability_is_reported(monkeypatch, wrong, where):
    """The finding has the module, the call and the worst element."""
    monkeypatch.setattr(random_masks, "quoted", lambda _, finding, *__: finding)
    monkeypatch.setattr(random_masks, "place", lambda _, key: f"line of {key}")
    monkeypatch.setattr(random_masks, "literals", lambda _: [])
    surface = random_masks.surface(evidence(*wrong))
    assert surface is not None
    (finding,) = surface.surface.findings

    assert surface.surface.verdict == "fail"
    assert (finding.torch, finding.op, finding.index) == (where, "dropout", (1,))
    assert finding.jax == f"line of {((wrong[0],), 0)}"
    assert (finding.torch_value, finding.jax_value) == (2.0, 3.0)


@pytest.mark.parametrize("wrong", [(), (0,)])
def test_right_masks_and_other_numbers_are_no_finding(wrong):
    """Normal numbers have no probability. The port's numbers are what they were."""
    case = evidence(*wrong)
    assert random_masks.surface(case) is None
    assert case.port.injection.tight is None


@pytest.mark.parametrize(("shape", "fails"), [((2,), False), ((1,), False), ((3, 1), True)])
def test_one_number_of_torch_may_not_stand_for_several(monkeypatch, shape, fails):
    """Numbers of every kind count, and the sentence has both shapes."""
    monkeypatch.setattr(random_masks, "quoted", lambda _, finding, *__: finding)
    monkeypatch.setattr(random_masks, "place", lambda _, key: f"line of {key}")
    case = evidence()
    first, *others = case.port.injection.sites
    wider = (dataclasses.replace(first, shape=shape), *others)
    case.port.injection = dataclasses.replace(case.port.injection, sites=wider)
    surface = random_masks.surface(case)

    assert (surface is not None) == fails
    if surface is not None:
        (finding,) = surface.surface.findings
        assert finding.text.startswith(
            "torch draws [2] normal numbers in drop0 (dropout), the port"
        )
        assert "the port draws [3, 1] numbers" in finding.text
        assert finding.jax == "line of ((0,), 0)"
