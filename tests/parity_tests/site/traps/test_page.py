"""The committed page of traps has every card, and a reader can run what it shows."""

import re

import pytest

from parity_tests.case import load
from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT
from parity_tests.site.traps import page, symptoms
from tests._helpers import ALL, has_page_release


TEXT = page.PATH.read_text()
ROOMS = {room: (page.PATH.parent / page.path(room)).read_text() for room in page.ROOMS}
BY_NAME = {card.name: card for card in page.CARDS}
DRAWN = [card for card in page.CARDS if card.name in page.PICTURES]
PLACE = re.compile(r",? (?:(?:model\.py|port\.py|<string>):\d+|\(no line\))")
VERSIONS = re.compile(r'\b(torch|JAX) \d.*\n<text x="[\d.]+"|\bjaxgrad-[0-9a-f]{8}\b')


@pytest.mark.parametrize("room", page.ROOMS)
def test_a_room_has_its_cards(room):
    """The headings of a room's page are its cards, in order, and its contents lead to them."""
    names = [card.name for card in page.ROOMS[room]]
    anchors = re.findall(r"\]\(#([^)]+)\)", ROOMS[room])

    assert re.findall(r"^## (.+)$", ROOMS[room], re.MULTILINE) == names
    assert anchors == list(map(slug, names))


def test_the_index_has_every_card_once_under_a_symptom():
    """Each card is in the table of what a person sees, with a link to its section."""
    links = re.findall(r"^\| \[([^\]]+)\]\(([^)#]+)#([^)]+)\) \|", TEXT, re.MULTILINE)
    wanted = {
        (card.name, page.path(room), slug(card.name))
        for room, cards in page.ROOMS.items()
        for card in cards
    }
    *titles, subject, run = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)

    assert len(links) == len(wanted) >= 25 and set(links) == wanted
    assert {f"{symptom}." for symptom in titles} <= set(symptoms.SYMPTOMS.values())
    assert (subject, run) == ("By subject", "Run a card")
    assert not set(page.PATH.with_suffix("").glob("*.md")) - {
        page.PATH.parent / page.path(room) for room in page.ROOMS
    }


def test_the_index_counts_what_prove_says_about_causes():
    """The numbers of cards with a cause, an observation or neither are those of the rooms."""
    text = "".join(ROOMS.values())
    said = ("likely cause:", "observation:", "without a cause:")
    causes, observations, silent = (text.count(words) for words in said)

    intro = " ".join(TEXT.partition("**Find a card**")[0].split())
    assert f"On {causes} of the {len(page.CARDS)} cards it adds a *likely cause*" in intro
    assert f"On {observations} cards it adds an *observation*" in intro
    assert f"On the other {silent} it prints no cause" in intro
    assert causes + observations + silent == len(page.CARDS)


def _blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def _section(card):
    """Return the section of a card, of the page of its room."""
    (room,) = (ROOMS[room] for room, cards in page.ROOMS.items() if card in cards)
    pattern = rf"^## {re.escape(card.name)}$.*?(?=^## |\Z)"
    return re.findall(pattern, room, re.MULTILINE | re.DOTALL)[0]


@pytest.mark.parametrize(
    "name", ["two hooks in the wrong order", "`autograd.Function`", "`clamp` at a bound"]
)
def test_a_card_can_be_pasted_into_a_session(name):
    """The imports, the blocks of a card and the call, as the page shows them, print the report.

    The right port passes on each version of torch, and in the session of the wrong port.
    """
    imports, call, _ = _blocks(TEXT.partition("## Run a card")[2])
    section = _section(BY_NAME[name])
    model, wrong, right = _blocks(section)
    reports = []
    session = {"print": reports.append}
    exec(imports + model, session)
    for port in (wrong, right):
        exec(port + call, session)

    assert [report.verdict for report in reports[::2]] == ["fail", "pass"]
    quoted = re.findall(r"```text\n(.*?)\n```", section, re.DOTALL)[0]
    lines = [PLACE.sub("", text).splitlines()[1:3] for text in (quoted, str(reports[0].first))]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("card", page.CARDS, ids=lambda card: card.name)
def test_a_port_replaces_no_name_of_the_torch_side(card):
    """In one session, the ports of a card leave the names of its torch side as they are."""
    imports, _, simple = _blocks(TEXT.partition("## Run a card")[2])
    model, *ports = _blocks(_section(card))
    session = {}
    exec(imports + simple + model, session)
    of_torch = {name: value for name, value in session.items() if name != "port"}
    for port in ports:
        exec(port, session)
        replaced = [name for name, value in of_torch.items() if session[name] is not value]

        assert replaced == []


def test_the_card_on_clamp_says_what_an_older_torch_needs():
    """The card prints torch 2.15, and says what to write where torch has the older gradient."""
    text = 'Up to torch 2.13, torch gives all of it: there, write `functional.at("2.13").clamp`.'

    assert text in _section(BY_NAME["`clamp` at a bound"]) and text in TEXT


def test_links_lead_to_behaviours_on_the_site():
    """On GitHub a behaviour links to its table, on the site to its two programs."""
    site = "".join(map(page.within_site, (TEXT, *ROOMS.values())))
    ids = re.findall(r"\]\(#(\w+/\w+)\)", site)

    assert len(ids) > 25 and set(ids) <= set(load())
    assert "behaviours.md" not in site and "../README" not in site


def test_the_rooms_are_in_the_table_of_contents_of_the_site():
    """Only the index lists the rooms, and not on GitHub, which shows a directive as code."""
    (tree,) = re.findall(r"```{toctree}\n:hidden:\n(.*?)```", page.within_site(TEXT), re.DOTALL)

    assert [f"{name}.md" for name in tree.split()] == list(map(page.path, page.ROOMS))
    assert "toctree" not in TEXT
    assert all("toctree" not in page.within_site(text) for text in ROOMS.values())


@pytest.mark.parametrize("path", ["README.md", "docs/index.md", "docs/cheat_sheet.md"])
def test_other_pages_link_to_the_traps(path):
    """A reader finds the page from the README, the start page and the cheat sheet."""
    folder = "docs/" if path == "README.md" else ""

    assert f"]({folder}traps.md)" in (ROOT / path).read_text()


@pytest.mark.parametrize("card", DRAWN, ids=lambda card: card.name)
def test_a_picture_is_current(card):
    """A picture of the page is the one that is drawn from the programs of its card.

    Another release of JAX draws other operations.
    """
    (room,) = (room for room, cards in page.ROOMS.items() if card in cards)
    _, _, part = ROOMS[room].partition(f"\n## {card.name}\n")
    narrow, path = re.findall(r'(?:srcset|src)="\.\./(_static/\S+)"', part)[:2]
    kept = (page.PATH.parent / path).read_text()

    assert narrow == path.replace(".svg", "-narrow.svg") and (page.PATH.parent / narrow).is_file()

    assert f"{card.name.replace('`', '')}: torch, a wrong port" in kept
    if ALL or card is DRAWN[0]:
        drawn = page.picture(card)
        assert f"{card.name.replace('`', '')}: torch, a wrong port" in drawn
        if has_page_release():
            assert VERSIONS.sub("", kept) == VERSIONS.sub("", drawn), "run: make pages"
