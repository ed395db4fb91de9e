"""The committed picture of the start page is current, and its narrow variant fits a phone."""

import re

from parity_tests.site import hero


VERSIONS = re.compile(r"\b(torch|JAX) \d\S*|\bjaxgrad-[0-9a-f]{8}\b")


def test_the_pictures_of_the_start_page_are_current():
    """Both variants are those that the case draws today; only the versions may differ."""
    for name, svg in hero.pictures().items():
        kept = (hero.FOLDER / name).read_text()
        assert VERSIONS.sub("", kept) == VERSIONS.sub("", svg), "run: make pages"


def test_the_picture_is_of_the_readmes_programs():
    """The fix changes the target of the port alone, and only the wrong port has red gradients."""
    wrong, right = hero.programs()
    svg = hero.pictures()["critic.svg"]

    assert wrong["critic"].__code__.co_names != right["critic"].__code__.co_names
    assert wrong["params"].keys() == right["params"].keys()
    assert (
        svg.index("detach") < svg.index("✗ differs from torch") < svg.index("✓ the same gradients")
    )


def test_the_narrow_variant_fits_a_phone_and_the_other_does_not():
    """A phone shows 358 of its pixels, so the text of the narrow variant shrinks by a twentieth."""
    narrow, wide = (
        float(re.findall(r'width="([\d.]+)"', (hero.FOLDER / name).read_text())[0])
        for name in ("critic-narrow.svg", "critic.svg")
    )

    assert narrow <= hero.NARROW < wide
