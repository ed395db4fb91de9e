"""The figure of the version counter shows what torch counts and says."""

import pytest
import torch

from parity_tests.figures import version_counter
from tests.parity_tests.figures.reading import words


def test_the_versions_are_torchs():
    """The versions, the values and the sentence of the error are those of a plain run."""
    a, b, d = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    c = a * b
    e = c * d
    before = f"{c.item():g} · version {c._version}"
    c += 1
    after = f"{c.item():g} · version {c._version}"
    drawn = words(version_counter.draw(version_counter.record()))

    assert [w for w in drawn if " · version" in w] == [before, before, after, after]
    (sentence,) = (w for w in drawn if w.startswith("is at version"))
    with pytest.raises(RuntimeError, match=sentence):
        e.backward()


def test_jax_keeps_the_old_value():
    """JAX's gradient with respect to d is the value of c before `c = c + 1`."""
    record = version_counter.record()

    assert record.array == (6.0, 7.0)
    assert record.grads == (12.0, 8.0, 6.0)


def test_without_the_change_there_is_no_figure(monkeypatch):
    """If torch did not raise, the figure would not be drawn."""
    monkeypatch.setattr(version_counter, "CASE", "mutation/inplace_not_saved")
    monkeypatch.setattr(torch.Tensor, "__iadd__", lambda c, _: c)

    with pytest.raises(AssertionError, match="did not complain about a version"):
        version_counter.record()
