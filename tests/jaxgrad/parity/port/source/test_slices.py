"""Slices have the spaces that ruff gives them."""

import pytest

from jaxgrad.parity.port.source.slices import with_spaces


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x[:n, 1:-1, ::2]", "x[:n, 1:-1, ::2]"),
        ("x[:y.shape[1]]", "x[: y.shape[1]]"),
        ("x[n + 1:, a:b]", "x[n + 1 :, a:b]"),
        ("x[1:n + 1]", "x[1 : n + 1]"),
        ("f({a: b[0]}, lambda x: x[:len(x)])", "f({a: b[0]}, lambda x: x[: len(x)])"),
    ],
)
def test_a_slice_has_spaces_where_a_bound_is_more_than_a_name(source, wanted):
    """A colon of a dict or a lambda is no slice."""
    assert with_spaces(source) == wanted
