"""Links of hand-written pages lead to tracked files on GitHub, and to pages of the built site."""

import pytest

from parity_tests.site.links import within_site


@pytest.mark.parametrize(
    ("github", "site"),
    [
        ("../notebooks/hooks.ipynb", "notebooks/hooks.ipynb"),
        ("../notebooks/hooks.ipynb#exercises", "notebooks/hooks.ipynb#exercises"),
        ("../notebooks/README.md", "notebooks/index.md"),
        ("../README.md#the-helpers", "api/index.md"),
        ("../README.md#prove-your-own-port", "api/parity.md"),
        ("behaviours.md", "behaviours/index.md"),
        ("behaviours.md#deviations", "deviations.md"),
        ("behaviours.md#none_or_zero", "conventions.md"),
        ("operators.md", "operators/index.md"),
        ("kinks.md", "kinks.md"),
        ("https://a.org/behaviours.md", "https://a.org/behaviours.md"),
    ],
)
def test_a_link_is_adapted_to_the_site(github, site):
    """A link to a file that the site shows under another name leads to that page."""
    assert within_site(f"see [the `page`]({github}), and") == f"see [the `page`]({site}), and"
