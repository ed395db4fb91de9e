"""Every operator of `jaxgrad.functional` against torch: one test a record, and the contract."""

import doctest
import inspect

import jax
import jax.numpy as jnp
import pytest

from jaxgrad import functional
from parity_tests.operators import load
from parity_tests.operators._grid import check


OPERATORS = load()
NAMESPACES = ("fft", "linalg", "special")


def _public() -> dict[str, object]:
    """The public functions by the name of their record."""
    places = [("", functional), *((f"{n}.", getattr(functional, n)) for n in NAMESPACES)]
    return {
        prefix + name: value
        for prefix, place in places
        for name, value in vars(place).items()
        if not name.startswith("_") and callable(value) and not inspect.isclass(value)
    }


PUBLIC = _public()


@pytest.mark.parametrize("made", OPERATORS.values(), ids=OPERATORS)
def test_operator(made):
    """An operator has torch's values, gradients, second derivatives, tangents and errors."""
    outcome = check(made)

    assert not outcome.problems, "\n" + "\n".join(outcome.problems)
    assert outcome.leaves > made.drawn


def test_every_function_has_its_record():
    """A public function and a record of the grid are the same name."""
    assert set(PUBLIC) == set(OPERATORS), (
        f"without a record: {sorted(set(PUBLIC) - set(OPERATORS))}; "
        f"records of nothing: {sorted(set(OPERATORS) - set(PUBLIC))}"
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_is_documented(name):
    """A sentence, an example that runs, torch's name."""
    doc = inspect.getdoc(PUBLIC[name]) or ""

    assert doctest.DocTestParser().get_examples(doc), f"functional.{name} has no example that runs"
    assert "Torch:" in doc, f"the docstring of functional.{name} has no line 'Torch:'"
    assert doc.splitlines()[0].endswith("."), f"functional.{name} begins without a sentence"
