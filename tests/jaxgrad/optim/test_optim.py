"""Random options of every optimizer agree with torch, and every docstring is complete."""

from __future__ import annotations

import doctest
import inspect

import numpy as np
import pytest

from jaxgrad import optim
from parity_tests.audits.optimizers import ELEMENTWISE, OPTIMIZERS
from tests.jaxgrad.optim.shared import FUZZ, HALF, assert_matches_torch, draw_learning_rate


@pytest.mark.parametrize("seed", range(FUZZ))
def test_drawn_options(seed):
    """Random combinations of options, learning rates and missing gradients match torch."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(ELEMENTWISE)))
    options = OPTIMIZERS[name].draw(rng)
    live = rng.random((30, 2 * HALF)) < 0.8 if rng.random() < 0.5 else None
    ours, theirs, schedule = draw_learning_rate(rng, float(10 ** rng.uniform(-4, -0.5)), 30)
    options = {**options, "lr": ours}, {**options, "lr": theirs}
    assert_matches_torch(name, *options, seed, 30, schedule, live)


@pytest.mark.parametrize(
    "name", sorted(n for n in vars(optim) if n[:2] != "__" and callable(getattr(optim, n)))
)
def test_every_public_name_is_documented(name):
    """A public name documents its arguments and result, torch's name for it, and an example."""
    value = getattr(optim, name)
    doc = inspect.getdoc(value) or ""
    sections = ("Torch:",) if inspect.isclass(value) else ("Args:", "Returns:", "Torch:")

    assert doctest.DocTestParser().get_examples(doc), f"jaxgrad.optim.{name} has no example"
    assert all(section in doc for section in sections), f"of jaxgrad.optim.{name}: {sections}"
