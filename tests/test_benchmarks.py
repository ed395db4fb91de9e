"""What the benchmarks time: the three programs of a row are one step, and the files agree."""

import json
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from benchmarks import functional, growth, results
from benchmarks.__main__ import HERE, SECTIONS
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import over, rounds
from benchmarks.networks import mlp, mobilenet, transformer
from benchmarks.steps import jax_step, one_process, torch_step


SMALL = {
    "MLP": lambda: mlp(depth=4, width=8, batch=8),
    "transformer": lambda: transformer(depth=2, width=8, batch=4, sequence=4, heads=2),
}


@pytest.fixture(autouse=True)
def single():
    """They are timed in float32."""
    with jax.enable_x64(False):
        yield


@pytest.mark.parametrize("network", [*SMALL, "MobileNetV2"])
def test_the_networks_are_one(network):
    """Each stage, given what torch's stage is given, has torch's output."""
    net = SMALL[network]() if network in SMALL else mobilenet(batch=4, size=32)
    modules, params = net.built()
    x, shapes = torch.tensor(net.x), set()
    for module, stage, p in zip(modules.train(), net.stages, params, strict=True):
        given, x = x, module(x).detach()
        shape = given.shape[1:], x.shape[1:]
        if shape in shapes or len(shapes) == 4:  # each is a program to compile
            continue
        shapes.add(shape)
        # Between the stages of an image network JAX has the channels last.
        given = given.movedim(1, -1) if given.ndim == 4 and module is not modules[0] else given
        out = np.asarray(stage(p, jnp.asarray(given.numpy()), jnp.float32))
        out = np.moveaxis(out, -1, 1) if out.ndim == 4 else out
        assert np.allclose(out, x.numpy(), rtol=1e-4, atol=1e-4)
    assert len(shapes) > 1


@pytest.mark.parametrize(
    ("network", "name"), [*(("MLP", name) for name in BEHAVIOURS), ("transformer", "control")]
)
def test_the_steps_are_one(network, name):
    """By hand, with jaxgrad and in torch, the parameters after the step are the same."""
    net, made = SMALL[network](), BEHAVIOURS[name]()
    _, params = net.built()
    with one_process():
        truth = [p.detach().numpy() for p in torch_step(net, made)()]
    ours = jax_step(net, params, made.ours(net), jaxgrad.optim.sgd(1e-2))()[1][0]
    hand = jax_step(net, params, made.by_hand(net), optax.sgd(1e-2))()[1][0]
    before = [p[k] for p, module in zip(params, net.modules(), strict=True) for k in _names(module)]
    wanted = [t - np.asarray(b) for t, b in zip(truth, before, strict=True)]
    scale = max(np.abs(w).max() for w in wanted)
    # A sum of bfloat16 products is rounded in other places by each compiler.
    close = (0.05 if name == "amp" else 1e-3) * scale
    for found in (ours, hand):
        after = [
            p[k] for p, module in zip(found, net.modules(), strict=True) for k in _names(module)
        ]
        for new, old, want in zip(after, before, wanted, strict=True):
            assert np.abs(np.asarray(new) - np.asarray(old) - want).max() <= close
    assert scale > 1e-5


def _names(module):
    return [name for name, _ in module.named_parameters()]


@pytest.mark.parametrize("name", list(functional.ROWS)[:: 1 if "TEST_ALL" in os.environ else 5])
def test_a_convention_costs_nothing(name):
    """An operator with torch's convention has the cost of its natural form, or says why not."""
    row = functional.ROWS[name]
    ours, natural = (functional.counts(fun, *row.args) for fun in (row.ours, row.natural))

    more = max(ours.bytes / natural.bytes, ours.flops / max(natural.flops, 1.0))
    assert more <= functional.BOUND if not row.why else more > functional.BOUND


def test_rounds_take_turns():
    """Each program runs once a round, and not always at the same place in it."""
    order = []
    runs = {name: (lambda name=name: order.append(name)) for name in "abc"}
    found = rounds(runs, budget=0.0, at_least=12)

    assert {len(times) for times in found.values()} == {12}
    firsts = order[3::3]
    assert set(firsts) == set("abc")
    assert over({"a": [1.0, 9.0, 2.0], "b": [2.0, 3.0, 1.0]}, "a", "b") == 2.0


def test_slopes():
    """A square has slope 2, whatever it is multiplied by."""
    sizes = (1, 2, 4, 8, 16, 32)

    assert growth.slope(sizes, [3.0 * n**2 for n in sizes]) == pytest.approx(2.0)


def test_checkpointing_is_sublinear_in_depth():
    """Segments of sqrt(depth): sixteen times the depth keeps about four times the bytes."""
    kept = [
        growth.peak_bytes(net, net.built()[1])
        for net in (mlp(depth=n, width=16, batch=8) for n in (4, 64))
    ]

    assert kept[1] < 8 * kept[0]


def test_the_page_is_what_was_measured(tmp_path):
    """RESULTS.md holds the numbers of results.json and nothing else; so does the page."""
    found = results.load(HERE)
    assert set(found) == set(SECTIONS), "run `make bench`"

    assert results.markdown(found, SECTIONS) == (HERE / "RESULTS.md").read_text()
    results.write(tmp_path, found, SECTIONS)
    assert json.loads((tmp_path / "results.json").read_text()) == found
    page = (tmp_path / "results.html").read_text()
    assert page.count("<svg") == sum(
        len(list(section.figures(found[name]["numbers"])))
        for name, section in SECTIONS.items()
        if hasattr(section, "figures")
    )
    readme = (HERE.parent / "README.md").read_text()
    assert " ".join(results.quote(found).split()) in " ".join(readme.split())
    assert not re.search(r'(src|href)="?https?:', page)
