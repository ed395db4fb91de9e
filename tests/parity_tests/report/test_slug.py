"""A link to a section leads to the anchor that GitHub and the site give it."""

from parity_tests.report.slug import slug


def test_an_anchor_is_that_of_github():
    """A slug has lower case, hyphens for spaces, and no other punctuation than underscores."""
    assert slug(" torch's `no_grad`: a (first) look ") == "torchs-no_grad-a-first-look"
