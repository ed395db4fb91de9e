"""The figure of FGSM shows the signs and the losses of both frameworks."""

import jax.numpy as jnp
import pytest

from parity_tests.cases import backward
from parity_tests.figures import fgsm
from parity_tests.figures.run import arrays, tensors
from tests.parity_tests.figures.reading import words


def test_the_signs_and_losses_are_those_of_the_case():
    """The figure's losses and signs are those that the case observes in JAX."""
    observed = backward.fgsm(**arrays(fgsm.CASE))
    record = fgsm.record()

    for side in (record.torch, record.jax):
        losses = observed["loss"].item(), observed["loss after"].item()
        assert side.losses == pytest.approx(losses, rel=1e-12)
        assert [list(row) for row in side.signs] == jnp.sign(observed["x"]).tolist()
    assert all(a < b for a, b in zip(record.torch.after, record.torch.before, strict=True))
    assert record.epsilon == tensors(fgsm.CASE)["epsilon"]


def test_a_sign_that_differs_is_named():
    """A sign on which the frameworks disagree is written as `differs`."""
    record = fgsm.record()
    first = tuple(-sign for sign in record.jax.signs[0])
    other = record._replace(jax=record.jax._replace(signs=(first, *record.jax.signs[1:])))

    assert "differs" not in words(fgsm.draw(record))
    assert words(fgsm.draw(other)).count("differs") == len(first)
