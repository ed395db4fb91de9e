"""The committed page of traps has every card, and a reader can run what it shows."""

import re

import pytest

from parity_tests.case import load
from parity_tests.runner.settings import ROOT
from parity_tests.site.traps import page
from tests._helpers import ALL


TEXT = page.PATH.read_text()
DRAWN = [card for card in page.CARDS if card.name in page.PICTURES]
VERSIONS = re.compile(r'\b(torch|JAX) \d.*\n<text x="[\d.]+"|\bjaxgrad-[0-9a-f]{8}\b')


def test_the_page_has_every_card_under_its_room():
    """The headings of the page are the rooms and their cards, in order."""
    wanted = [
        line
        for room, cards in page.ROOMS.items()
        for line in (f"## {room}", *(f"### {card.name}" for card in cards))
    ]

    assert re.findall(r"^###? .+$", TEXT, re.MULTILINE) == [*wanted, "## Run a card"]
    assert len(page.CARDS) >= 25


def test_the_contents_lead_to_the_cards():
    """Each link of the contents has the anchor of a card."""
    last, *anchors = re.findall(r"\]\(#([^)]+)\)", TEXT)

    assert last == "run-a-card"
    assert anchors == [page.slug(card.name) for card in page.CARDS]
    assert len(set(anchors)) == len(anchors)


def test_a_card_can_be_pasted_into_a_session():
    """The imports, the blocks of a card and the call, as the page shows them, print the report."""
    imports, call, _ = re.findall(r"```python\n(.*?)```", TEXT.partition("## Run a card")[2], re.S)
    (section,) = re.findall(r"^### two hooks in.*?(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
    model, wrong, right = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    reports = []
    for port in (wrong, right):
        exec(imports + model + port + call, {"print": reports.append})

    assert [report.verdict for report in reports[::2]] == ["fail", "pass"]
    quoted = re.findall(r"```text\n(.*?)\n```", section, re.DOTALL)[0].splitlines()
    assert quoted[1:3] == str(reports[0].first).splitlines()[1:3]


def test_links_lead_to_behaviours_on_the_site():
    """On GitHub a behaviour links to its table, on the site to its two programs."""
    site = page.within_site(TEXT)
    ids = re.findall(r"\]\(#(\w+/\w+)\)", site)

    assert len(ids) > 25 and set(ids) <= set(load())
    assert "behaviours.md" not in site and "../README" not in site


@pytest.mark.parametrize("path", ["README.md", "docs/index.md", "docs/cheat_sheet.md"])
def test_other_pages_link_to_the_traps(path):
    """A reader finds the page from the README, the start page and the cheat sheet."""
    folder = "docs/" if path == "README.md" else ""

    assert f"]({folder}traps.md)" in (ROOT / path).read_text()


@pytest.mark.parametrize("card", DRAWN, ids=lambda card: card.name)
def test_a_picture_is_current(card):
    """A picture of the page is the one that is drawn from the programs of its card."""
    path = re.findall(rf"^### {re.escape(card.name)}$.*?\]\((_static/\S+)\)", TEXT, re.M | re.S)[0]
    kept = (page.PATH.parent / path).read_text()

    assert f"{card.name.replace('`', '')}: torch, a wrong port" in kept
    if ALL or card is DRAWN[0]:
        assert VERSIONS.sub("", kept) == VERSIONS.sub("", page.picture(card)), "run: make pages"
