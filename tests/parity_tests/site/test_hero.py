"""The committed picture of the start page is current, and its narrow variant fits a phone."""

import re

from jaxgrad.graph import _panels, side_by_side
from jaxgrad.graph._model import ABSENT, SUM, Equation
from parity_tests.runner.settings import ROOT
from parity_tests.site import hero
from parity_tests.site.traps.drawing import RIGHT, WRONG
from tests._helpers import has_page_release
from tests.jaxgrad.graph.reading import labels, overlaps, rectangles


VERSIONS = re.compile(r"\b(torch|JAX) \d\S*|\bjaxgrad-[0-9a-f]{8}\b")


def test_the_pictures_of_the_start_page_are_current():
    """Both variants are those that the case draws today; only the versions may differ.

    Another release of JAX draws other operations, but the same verdicts.
    """
    for name, svg in hero.pictures().items():
        kept = (hero.FOLDER / name).read_text()
        if has_page_release():
            assert VERSIONS.sub("", kept) == VERSIONS.sub("", svg), "run: make pages"
        for verdict in ("✗ differs from torch", "✓ the same gradients"):
            assert kept.count(verdict) == svg.count(verdict) == 1


def test_the_picture_is_of_the_readmes_programs():
    """The fix changes the target of the port alone, and only the wrong port has red gradients."""
    wrong, right = hero.programs()
    svg = hero.pictures()["critic.svg"]

    assert wrong["critic"].__code__.co_names != right["critic"].__code__.co_names
    assert wrong["params"].keys() == right["params"].keys()
    assert (
        svg.index("detach") < svg.index("✗ differs from torch") < svg.index("✓ the same gradients")
    )


def test_the_readme_quotes_two_numbers_of_the_picture():
    """The README names the gradient norm of the bias of `l2` in torch and in the wrong port."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    quoted = re.findall(r"l2's bias is ([\d.]+) in torch and ([\d.]+) in the port", text)
    biases = re.findall(r"l2 bias ([\d.]+)[.;]", hero.pictures()["critic.svg"])

    assert quoted == [tuple(biases[:2])] and len(biases) == 3


def test_the_narrow_variant_fits_a_phone_and_the_other_does_not():
    """A phone shows 358 of its pixels, so the text of the narrow variant shrinks by a twentieth."""
    narrow, wide = (
        float(re.findall(r'width="([\d.]+)"', (hero.FOLDER / name).read_text())[0])
        for name in ("critic-narrow.svg", "critic.svg")
    )

    assert narrow <= hero.NARROW < wide


def test_the_narrow_variant_shows_the_cut_and_the_wrong_path():
    """On a phone the ports differ at the path: red edges in one, scissors in the other."""
    svg = hero.pictures()["critic-narrow.svg"]
    wrong = svg.index("✗ differs from torch")
    right = svg.index("✓ the same gradients")

    assert svg.count('class="bad"', wrong, right) > 3
    assert 'class="bad"' not in svg[:wrong] + svg[right:]
    assert "stop_gradient" not in svg[wrong:right]
    assert "stop_gradient" in svg[right:]
    assert 'class="cut"' in svg[right:] and 'class="cut"' not in svg[wrong:right]


def test_the_narrow_variant_names_the_operations_of_the_modules():
    """A phone has room for the products and the tanh of both modules, but not for the loss."""
    svg = hero.pictures()["critic-narrow.svg"]
    boxes = re.findall(r'class="t m mid"[^>]*>([^<]*)<', svg[svg.index("✗ differs from torch") :])

    assert boxes.count("dot, tanh") == boxes.count("dot") == 3  # without the outlines
    assert {text for text in boxes if text.endswith("ops")} == {"2 ops", "3 ops"}


def test_the_legend_of_the_start_page_has_one_line():
    """Its marks are explained in few words, beside each other."""
    svg = hero.pictures()["critic.svg"]
    words = re.findall(r'<text x="[\d.]+" y="([\d.]+)" class="dim s"[^>]*>([^<]*)<', svg)

    assert "no backward step" in {text for _, text in words}
    assert len({y for y, _ in words if float(y) < 90}) == 1


def test_the_text_of_the_picture_can_be_read_on_a_projector():
    """The smallest text has at least 14 pixels, and each leaf of torch and a port has a badge."""
    svg = (hero.FOLDER / "critic.svg").read_text()
    shown, drawn = (
        float(re.findall(pattern, svg)[0])
        for pattern in (r'<svg [^>]*width="([\d.]+)"', r'viewBox="0 0 ([\d.]+)')
    )
    smallest = min(map(int, re.findall(r"(?:font|font-size):(\d+)px", svg)))

    assert smallest * shown / drawn > 14 and shown == hero.SHOWN
    assert svg.count("∇bias") == svg.count("∇weight") == 6


def test_the_lines_of_torchs_graph_are_explained_beside_its_title():
    """Each kind of line in torch's graph has a legend, which lies on no text and on no box."""
    for name in hero.pictures():
        svg = (hero.FOLDER / name).read_text()
        graph = svg[svg.index(">torch ") : svg.index("the wrong port in JAX")]
        kinds = set(re.findall(r'<path class="(w|rec|cut|bad)" d="M[\d. -]+[HCQL]', graph))
        texts = [text for text in labels(svg) if text.words in {words for *_, words in hero.LINES}]

        assert kinds == {line for line, *_ in hero.LINES}
        assert len(texts) == len(hero.LINES) and overlaps(svg) == []
        boxes = rectangles(svg, "full thin none solid err")
        assert not any(text.rect.meets(box) for text in texts for box in boxes)


def test_a_picture_without_names_counts_the_operations_of_each_port(monkeypatch):
    """The boxes that are not outlines have the equations of the VJP; their last sums have none."""
    rows = hero.rows()
    monkeypatch.setattr(_panels, "_named", lambda panels, fits: panels)
    svg = side_by_side(rows, width=hero.NARROW)
    start, end = svg.index("✗ differs from torch"), svg.index("✓ the same gradients")

    for name, part in ((WRONG, svg[start:end]), (RIGHT, svg[end:])):
        shown = sum(map(int, re.findall(r'class="t m mid"[^>]*>(\d+) ops<', part)))
        port = rows[name].jax
        assert port is not None
        computed = [each for each in port.equations if each.state != ABSENT]
        last = [each for each in computed if each.names == (SUM,) and _at_leaf(each)]
        assert shown == len(computed) - len(last)
        assert bool(last) == (name == WRONG)


def _at_leaf(equation: Equation) -> bool:
    return all(isinstance(edge.to, str) for edge in equation.edges)
