"""The differences of helpers are grouped by what their sentences say about torch."""

import pytest

from parity_tests.site import api
from parity_tests.site.differences import (
    NAMESPACES,
    OPERATORS,
    ORDER,
    Difference,
    differences,
    group,
    sections,
)


ALL = differences(api.entries())


@pytest.mark.parametrize(
    ("name", "start", "title"),
    [
        ("functional.relu", "At NaN the gradient is 1", "Kinks, ties and zeros"),
        ("functional.atan2", "At (0, 0) the gradient", "Kinks, ties and zeros"),
        ("functional.maximum", "Where either input is NaN", "NaN and infinity"),
        ("functional.gather", "An index out of range", "Errors"),
        ("functional.put", "All elements for a repeated", "Repeated indices"),
        ("functional.linalg.eig", "The eigenvectors are", "Derivatives that JAX lacks"),
        ("functional.tanh", "The gradient is torch's", "Rounding and large or tiny inputs"),
        ("functional.std", "The default divisor", "Defaults and definitions"),
        ("functional.std", "For a constant input", "Kinks, ties and zeros"),
        ("optim.adam", "`weight_decay` is added", "Optimizers, schedules and clipping"),
        ("hook", "With nested hooks", "Helpers"),
    ],
)
def test_a_difference_is_grouped_by_what_torch_does(name, start, title):
    """A point is in the group of its subject, whatever its parentheses say about JAX."""
    (found,) = (x for x in ALL if x.entry.path == f"jaxgrad.{name}" and x.text.startswith(start))

    assert group(found) == title


def test_parentheses_with_words_are_about_the_other_framework():
    """Parentheses with words or code are removed; a pair of numbers is part of the sentence."""
    (first, *_) = ALL
    text = "At (0, 0) it is 0 (`jnp.log(jnp.abs(x))`: NaN). So is b (flax: 1)."

    assert Difference(first.entry, "jax", text).about_torch == "At (0, 0) it is 0. So is b."


def test_each_difference_is_in_one_row():
    """The page has a row for each point, and no group is empty."""
    page = "\n".join(sections(api.entries()))
    rows = [line for line in page.splitlines() if line.startswith(("| {py:obj}", "|  |"))]

    assert len(rows) == len(ALL) > 200
    assert {group(x) for x in ALL} == {*(one.title for one in OPERATORS), *NAMESPACES.values()}


def test_the_page_begins_with_the_choices_of_mathematics():
    """Kinks come first on the page, and every title of the order is a group."""
    titles = [part[4:] for part in sections(api.entries()) if part.startswith("### ")]

    assert tuple(titles[: len(ORDER)]) == ORDER
    assert sorted(titles) == sorted(one.title for one in OPERATORS)
