"""A dropout that only the port has is located at its own line."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.causes import extra_masks
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.jax_side.sites import Injection, Site
from jaxgrad.parity.prove.record.noise import Noise
from tests.jaxgrad.parity.prove._helpers import arrays, draw


KEY = jax.random.key(3)
RATE = 0.3


def dropped(x: Any, *, above: bool = False) -> Any:
    if above:
        return jnp.where(jax.random.uniform(KEY, x.shape) > RATE, x / (1 - RATE), 0)
    return jnp.where(jax.random.bernoulli(KEY, 1 - RATE, x.shape), x / (1 - RATE), 0)


def proved(first: Any = lambda x: x, last: Any = lambda x: x) -> Report:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(RATE), nn.Linear(8, 4))

    def apply(p: Any, x: Any) -> Any:
        h = first(x @ p["0.weight"].T + p["0.bias"])  # where an extra dropout is called
        return last(dropped(jnp.tanh(h)) @ p["3.weight"].T + p["3.bias"])

    return prove(module, apply, arrays(module), (draw(5, 6),))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("above", [False, True])
def test_an_extra_dropout_names_its_own_line(above):
    """The extra dropout is located after the layer that it drops, whatever keeps an element."""
    first = proved(lambda x: dropped(x, above=above)).first

    assert first is not None
    assert (first.surface, first.torch, first.op) == ("forward", "0", "linear")
    assert "an extra dropout at" in first.cause and "all outputs agree" in first.cause
    assert "jax.random." in first.source


def test_an_extra_dropout_does_not_explain_another_mistake():
    """If the outputs differ without the extra dropout too, it is only noted."""
    report = proved(dropped, lambda x: x + 1)

    assert report.verdict == "fail" and report.first is not None
    assert "extra dropout" not in report.first.cause
    assert any("which torch does not draw" in note for note in report.notes)


SUMS = np.array([8.0, 0.0, 1.0, 2.0, 3.0, 0.5, 2.0, 4.0, 9.0])  # a size, and sums from the fifth on


def scaled(factor: float, **changed: float) -> np.ndarray:
    """Return a fingerprint whose sums are multiplied, with some of its numbers changed."""
    print_ = np.array([*SUMS[:4], *factor * SUMS[4:8], -1.0])
    for at, x in changed.items():
        print_[int(at[1:])] = x
    return print_


@pytest.mark.parametrize(
    ("print_", "found"),
    [
        (scaled(1.0), [(1, 1.0)]),
        (scaled(2.5), [(1, 2.5)]),
        (scaled(2.5, _1=7.0, _3=7.0, _8=7.0), [(1, 2.5)]),  # these are not compared
        (scaled(-1.0), []),
        (scaled(0.0), []),
        (scaled(2.5, _0=9.0), []),  # another size
        (scaled(8.0, _7=32.0 * (1 + 0.9e-9)), [(1, 8.0)]),
        (scaled(8.0, _7=32.0 * (1 + 1.5e-9)), []),
        (scaled(8.0, _4=25.0), []),
        (scaled(8.0, _7=33.0), []),
        (np.stack([SUMS, SUMS]), []),  # one for each iteration of a scan
    ],
)
def test_a_multiple_has_proportional_sums(print_, found):
    """A constant value in torch is never reported as the one that the port drops."""
    values = [SimpleNamespace(print=x) for x in (SUMS, SUMS, SUMS * [2, *[1] * 8])]
    evidence: Any = SimpleNamespace(
        alignments=[None, SimpleNamespace(trivial=[True, False, False])],
        runs=[None, SimpleNamespace(values=values)],
    )
    assert extra_masks._multiples(evidence, 1, print_) == [
        (i, pytest.approx(factor)) for i, factor in found
    ]


@pytest.mark.parametrize(
    ("right", "key"),
    [(((3,), 1.0), ((3,), 0)), (((11,), 0.0), ((11,), 0)), (((12,), 1.0), None)],
)
def test_each_site_keeps_all_elements_in_turn(monkeypatch, right, key):
    """A port keeps what is below or above a threshold; at most twelve ways are tried."""
    ways = [(SimpleNamespace(path=(n,), shape=(2,)), f"way {n}") for n in range(20)]
    monkeypatch.setattr(extra_masks, "_injections", lambda evidence: iter(ways))
    monkeypatch.setattr(extra_masks, "_with_site", lambda way, extra, source: (way, source))

    def dropped(evidence: Any, port: Any, number: int, ones: Any, path: Any) -> int | None:
        assert port.injection == (f"way {path[0]}", 5)
        return 0 if (path, ones.drawn[0]) == right else None

    monkeypatch.setattr(extra_masks, "_dropped", dropped)
    monkeypatch.setattr(extra_masks, "place", lambda program, key: f"line {key[0][0]}")
    port = SimpleNamespace(injection="torch's", program=None)
    port.replacing = lambda **fields: SimpleNamespace(**{**vars(port), **fields})
    draws = [SimpleNamespace(noise=range(5))]
    evidence: Any = SimpleNamespace(
        port=port, draws=draws, may_search=lambda *_: True, reference="torch"
    )
    found = extra_masks.find(evidence, 0)

    assert port.injection == "torch's"
    assert (found and found.key) == key
    if found is not None:
        assert found.value == 0
        assert found.text.startswith(f"an extra dropout at line {right[0][0]}: torch draws no")


def site(number: int, shape: tuple[int, ...] = (2,), lengths: tuple[int, ...] = ()) -> Site:
    return Site((number,), "uniform", shape, lengths, (f"line {number}",))


def test_any_site_of_the_same_size_may_be_the_extra_one(monkeypatch):
    """The extra site takes its numbers, unless one of them is in a loop."""
    extra = site(9)
    listed = (site(0), site(1, (3,)), site(2, lengths=(4,)), site(3))
    monkeypatch.setattr(extra_masks, "sites", lambda program, paths: [extra])
    injection = Injection(listed, extra=((9,), (8,)), reflected=frozenset({("line 0",)}))
    program = SimpleNamespace(lengths={(9,): (), (8,): (4,)})
    evidence: Any = SimpleNamespace(port=SimpleNamespace(program=program, injection=injection))
    found = list(extra_masks._injections(evidence))

    ways = [(9, (0, 1, 2, 3)), (3, (0, 1, 2, 9)), (0, (9, 1, 2, 3))]
    assert [(s.path[0], tuple(o.path[0] for o in way.sites)) for s, way in found] == [
        way for way in ways for _ in range(3)
    ]
    for _, way in found[:3]:
        assert way.extra == injection.extra
    lines = frozenset(s.line for s in listed)
    assert [way.reflected for _, way in found[:3]] == [injection.reflected, frozenset(), lines]


@pytest.mark.parametrize(("right", "found"), [(0, 7), (15, 7), (16, None), (99, None)])
def test_the_values_behind_a_dropout_are_divided_by_its_factor(monkeypatch, right, found):
    """Sixteen values that depend on the random numbers are tried in program order."""
    keys = [((n,), 0) for n in range(40)]
    tried = []

    def outputs(draw: Any, scales: Any) -> Any:
        ((key, scale),) = scales.items()
        tried.append(key)
        return key == keys[20 + right % 20] and right < 20 and scale == 0.25

    monkeypatch.setattr(extra_masks, "explained", lambda _, number, changed: changed(number))
    monkeypatch.setattr(extra_masks, "_multiples", lambda *_: [(7, 4.0)])
    flow = SimpleNamespace(
        order={key: n for n, key in enumerate(keys)},
        ahead=lambda sources, _: {*keys[20:], ((99,), 1)} if sources == [keys[3]] else set(),
    )
    prints = dict.fromkeys(keys, SUMS)
    watched = SimpleNamespace(prints=prints)
    port: Any = SimpleNamespace(watch=lambda draw: watched, outputs=outputs)
    draws = [Draw({}, ()), Draw({}, (), 1)]
    evidence: Any = SimpleNamespace(flow=flow, draws=draws, may_search=lambda *_: True)

    ones: Any = Noise("bernoulli", np.ones(2), np.ones(2))
    assert extra_masks._dropped(evidence, port, 1, ones, (3,)) == found
    assert tried == keys[20 : 20 + (16 if found is None else right + 1)]
