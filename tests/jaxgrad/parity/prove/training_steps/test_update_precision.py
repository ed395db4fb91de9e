"""The float32 error of an optimizer is compared, given the same gradients."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad.parity.prove.dtypes import single_precision
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.training_steps import update_precision
from jaxgrad.parity.prove.waivers import Waivers
from tests.jaxgrad.parity.prove._helpers import proved


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, 1e-3, betas=(0.9, 0.99999))


TRANSFORMATIONS = {
    "optax": (optax.adam(1e-3, b2=0.99999), True),  # 1 - b2 has few digits in float32
    "jaxgrad": (jaxgrad.optim.adam(1e-3, betas=(0.9, 0.99999)), False),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("tx", "noted"), TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_an_optimizer_that_loses_digits_gets_a_note(arguments: Any, tx: Any, noted: bool):
    """optax's Adam corrects its bias in float32, which loses digits; ours does as torch does."""
    report = proved(arguments, optimizer=(adam, tx), steps=2)
    assert report.verdict == "pass", report
    assert "in float32, JAX's error is at most" in report.surfaces["updates"].text
    assert any("float32, the update of" in note for note in report.notes) == noted, report.notes


def test_an_optimizer_that_rejects_float32_is_mentioned(arguments: dict[str, Any]):
    """A transformation that raises in float32 passes, and the report has its message."""

    def scale(updates: Any, _: Any) -> Any:
        if jax.tree.leaves(updates)[0].dtype == jnp.float32:
            raise TypeError("I need float64")
        return jax.tree.map(lambda x: -0.1 * x, updates)

    pair = (lambda p: torch.optim.SGD(p, 0.1), optax.stateless(scale))
    report = proved(arguments, optimizer=pair)
    assert report.verdict == "pass", report
    text = report.surfaces["updates"].text
    assert "float32 is not compared: the optax transformation rejects it: I need" in text


def error(
    monkeypatch: Any, *, merged: Any = (), trained: Any = ("w", "v", "u"), rounded: Any = None
) -> Any:
    """Return the largest error of made updates: `w` by 0.5, `v` by 8, and `u` by nothing."""
    before = {"w": np.array([1.0, 2.0]), "v": np.array([4.0]), "u": np.array([5.0])}
    exact = {"w": np.array([1.5, 2.25]), "v": np.array([-4.0]), "u": np.array([5.0])}
    off = {"w": np.array([1.5, 2.25 + 1e-4]), "v": np.array([-4.0]), "u": np.array([5.5])}
    calls = []

    def replay(training: Any, draw: Any, gradients: Any, *, single: bool) -> Any:
        calls.append((single, [sorted(g) for g in gradients]))
        yield [0.1], before
        yield [0.1], off if single else exact

    monkeypatch.setattr(single_precision, "unavailable", lambda evidence: "")
    found = {"w": np.array([1.5 - 3e-4, 2.25]), "v": np.array([-4.0 + 4e-6]), "u": np.array([9.0])}
    monkeypatch.setattr(
        update_precision, "_jax_rounded", lambda *_: found if rounded is None else rounded
    )
    leaves = list(before.values())
    evidence: Any = SimpleNamespace(
        port=SimpleNamespace(
            weights=SimpleNamespace(
                to_torch=lambda leaves: dict(zip(before, leaves, strict=True)),
                not_one_to_one=merged,
            ),
            program=SimpleNamespace(param_paths=list(before)),
        ),
        draws=[Draw(before, ())],
        jax_gradients=[SimpleNamespace(leaves=[*leaves, np.ones(9)])],
        runs=[SimpleNamespace(grads={n: x if n in trained else None for n, x in before.items()})],
        torch_side=SimpleNamespace(replay=replay),
        waivers=Waivers(),
    )
    result = update_precision.largest_error(evidence, None)  # pyright: ignore[reportArgumentType]
    assert calls == [(single, [sorted(trained)] * 3) for single in (False, True)]
    return result


def test_the_error_of_an_update_is_relative_to_the_weights_change(monkeypatch):
    """A few units in the last place of the weight are allowed, in addition to torch's error."""
    eps = single_precision.EPS
    largest = error(monkeypatch)
    assert largest.what == "the update of w"
    assert (largest.torch, largest.jax) == (pytest.approx(2e-4), pytest.approx(6e-4))
    assert largest.floor == pytest.approx(4 * eps * 2.25 / 0.5)

    other = error(monkeypatch, merged=["w"])
    assert other.what == "the update of v" and other.floor == single_precision.FLOOR
    assert (other.torch, other.jax) == (0.0, pytest.approx(5e-7))


def test_a_weight_that_does_not_move_has_no_error(monkeypatch):
    """Weights that do not move, are not trained, or are not in the port have no error."""
    none = "every value is zero, or accepted"
    assert error(monkeypatch, merged=["w", "v"]) == none
    assert error(monkeypatch, trained=["u"]) == none
    assert error(monkeypatch, rounded={"u": np.ones(1)}) == none


def test_numbers_are_rounded_to_float32_in_their_own_dtype():
    """Integers stay as they are."""
    for x in (np.array([0.1]), np.array([0.1 + 0.2j])):
        rounded = update_precision._rounded(x)
        assert rounded.dtype == x.dtype and 0 < abs(rounded - x)[0] < 1e-7
    assert update_precision._rounded(np.array([2**40 + 1]))[0] == 2**40 + 1
