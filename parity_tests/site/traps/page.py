"""Write docs/traps.md, docs/traps/ and their pictures: `python -m parity_tests.site.traps.page`.

The pages are committed, so that the README can link to them; a test runs the cards and compares
what they print.
"""

import collections
import re
from collections.abc import Mapping
from typing import Any

from jaxgrad._core.torch_versions import NEWEST
from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT
from parity_tests.site.api import table, toctree
from parity_tests.site.traps import backward, operators, reinforcement, stopping, training
from parity_tests.site.traps.card import IMPORTS, SIMPLE, Card
from parity_tests.site.traps.drawing import NARROW, picture
from parity_tests.site.traps.proof import Outcome, outcome, printed
from parity_tests.site.traps.symptoms import SYMPTOMS, causes, figures, symptom


PATH = ROOT / "docs" / "traps.md"
ROOMS: Mapping[str, tuple[Card, ...]] = {
    "Grad modes": stopping.GRAD_MODES,
    "None or zero": stopping.NONE_OR_ZERO,
    "Hooks and custom gradients": backward.HOOKS,
    "Kinks": operators.KINKS,
    "Layers and losses": operators.LAYERS,
    "Reinforcement learning": reinforcement.REINFORCEMENT,
    "State": backward.STATE,
    "Precision": operators.PRECISION,
    "Clipping": training.CLIPPING,
    "Optimizers": training.OPTIMIZERS,
    "Schedules and averages": training.SCHEDULES,
}
CARDS = tuple(card for cards in ROOMS.values() for card in cards)
TABLE = '<div class="traps">\n\n{}\n\n</div>'
PICTURES = (
    *("`detach`", "a target that is not detached", "straight-through"),
    *("a stopped spread in a reparameterized sample", "hook on a parameter"),
    *("gradient reversal", "write in place"),
)
INTRO = """\
<!-- written by `make pages` -->
# Traps

Porting mistakes that raise nothing. Each card has a torch module, a port that looks right and is
not, the right port, and what [`prove`](../README.md#prove-your-own-port) and `lint` print about
the wrong one. A test runs the cards with the installed version of torch: the wrong port must fail
and the right one must pass. The pages print what torch {newest} prints.

**How sure `prove` is.** It always names the first place that differs. On {causes} of the {cards}
cards it adds a *likely cause*: it reran one of the models with the suspected mistake, or without
it, and says so in parentheses ("rerunning torch without it, all gradients agree"). On
{observations} cards it adds an *observation* about the difference, such as a factor, which no rerun
confirmed. On the other {silent} it prints no cause, and the card's *Why* has it.

**The numbers on the cards.** *What you see* has the gradients of the sum of the output at the
inputs of the card. Most modules return a loss, so that `prove` differentiates the same. Only the
cards on BatchNorm and on a masked row return an array; `prove` multiplies such an output by random
numbers, so that no error cancels in the sum.

**Find a card** by what you see in your own port, or [by subject](#by-subject).
[How to run a card](#run-a-card) is at the end.
"""
RUN = f"""\
## Run a card

The two files of a card are `model.py` and `port.py`. With these imports

```python
{IMPORTS}from jaxgrad.parity import Training, lint, prove

functional = functional.at(torch.__version__)  # the gradients of your torch
```

they can be pasted into a file or a notebook cell, and proved:

```python
module = Model()
params = {{name: p.numpy() for name, p in module.state_dict().items()}}
print(prove(module, port, params, inputs))
print(lint(port, params, *inputs))
```

The line numbers on a card are those of its two files; the imports above them add their own lines.

A card on training shows only the optimizers, which `prove` compares with
`optimizer=Training(optimizer, tx), steps=3`; `scheduler`, `schedule`, `total`, `clip` and
`ema=(decay, average)` are further arguments of `Training`. The other names are from this pair:

```python
{SIMPLE}```
"""


def pages() -> dict[str, str]:
    """Run every card and return the index and a page for each room, by their path in docs/."""
    runs = {card.name: outcome(card) for card in CARDS}
    for name, run in runs.items():
        verdicts = run.wrong.verdict, run.right.verdict
        if verdicts != ("fail", "pass"):
            raise RuntimeError(f"the ports of {name!r} have the verdicts {verdicts}")
    return {
        "traps.md": index(
            {name: symptom(run) for name, run in runs.items()},
            collections.Counter(map(causes, runs.values())),
        ),
        **{path(room): _room(room, runs) for room in ROOMS},
    }


def index(symptoms: Mapping[str, str], counts: Mapping[str, int]) -> str:
    """Return the index of the cards.

    Args:
        symptoms: What a person sees of each card, by its name.
        counts: On how many cards `prove` prints a "likely cause", an "observation" or neither ("").
    """
    parts = [
        INTRO.strip().format(
            cards=len(symptoms),
            newest=NEWEST,
            causes=counts["likely cause"],
            observations=counts["observation"],
            silent=counts[""],
        )
    ]
    for seen in dict.fromkeys(SYMPTOMS.values()):
        rows = [
            [f"[{card.name}]({path(room)}#{slug(card.name)})", card.trap]
            for room, cards in ROOMS.items()
            for card in cards
            if symptoms[card.name] == seen
        ]
        if rows:
            parts += [f"## {seen.rstrip('.')}", TABLE.format(table(("card", "why"), rows))]
    subjects = "\n".join(
        f"- [{room}]({path(room)}): {', '.join(card.name for card in cards)}"
        for room, cards in ROOMS.items()
    )
    return "\n\n".join([*parts, "## By subject", subjects, RUN])


def _room(room: str, runs: Mapping[str, Outcome]) -> str:
    links = " · ".join(f"[{card.name}](#{slug(card.name)})" for card in ROOMS[room])
    return "\n\n".join(
        [
            f"<!-- written by `make pages` -->\n# {room}",
            f"{links}\n\n[All traps](../traps.md) · [how to run a card](../traps.md#run-a-card)",
            *(section(card, runs[card.name]) for card in ROOMS[room]),
            "",
        ]
    )


def path(room: str) -> str:
    """Return the path of a room's page in docs/."""
    return f"traps/{slug(room).replace('-', '_')}.md"


def section(card: Card, run: Outcome) -> str:
    """Return a card as markdown."""
    options = "".join(f", {name}={value}" for name, value in card.options.items())
    called = f" with `{options[2:]}`" if options else ""
    lint = ["`lint` prints:", _block(printed(run.lint))] if run.lint.findings else []
    image = [
        f'<picture><source media="(max-width: 700px)" srcset="../{_image(card, "-narrow")}">'
        f'<img src="../{_image(card)}" alt="Backward graphs of torch, of the wrong port and of the '
        'right one"></picture>'
    ]
    return "\n\n".join(
        [
            f"## {card.name}",
            f"**What you see:** {symptom(run)}{figures(card, run)}",
            f"**Why:** {card.trap}",
            '<div class="side-by-side">',
            "<div>",
            *_program("torch", "model.py", card.torch),
            "</div>",
            "<div>",
            *_program("the wrong port", "port.py", card.wrong),
            *_program("the right port", "port.py", card.right),
            "</div>",
            "</div>",
            f"`prove` prints{called}{'' if causes(run) else ', without a cause'}:",
            _block(printed(run.wrong.first)),
            *lint,
            *([f"Proved in {links(card)}."] if card.behaviours else []),
            *(image if card.name in PICTURES else []),
        ]
    )


def links(card: Card) -> str:
    """Return links to the behaviours; the site's lead to both programs, these to the table."""
    return ", ".join(f"[{id}](../behaviours.md#{id.partition('/')[0]})" for id in card.behaviours)


def within_site(page: str) -> str:
    """Return a page with links to the site's pages, and the index with its table of contents."""
    page = re.sub(r"\[([\w/]+)\]\(\.\./behaviours\.md#\w+\)", r"[\1](#\1)", page)
    page = page.replace("](../README.md#prove-your-own-port)", "](notebooks/prove_your_port.ipynb)")
    rooms = toctree(path(room).removesuffix(".md") for room in ROOMS)
    return f"{page}\n{rooms}\n" if "## Run a card" in page else page


def pictures() -> dict[str, str]:
    """Return the SVGs by their path in docs/, and the variants for a phone."""
    drawn = [card for card in CARDS if card.name in PICTURES]
    return {
        **{_image(card): picture(card) for card in drawn},
        **{_image(card, "-narrow"): picture(card, NARROW) for card in drawn},
    }


def _image(card: Card, variant: str = "") -> str:
    return f"_static/trap-{slug(card.name)}{variant}.svg"


def _program(title: str, file: str, code: str) -> list[str]:
    return [f"**{title}** · `{file}`", f"```python\n{code}\n```"]


def _block(text: Any) -> str:
    return f"```text\n{text}\n```"


if __name__ == "__main__":
    from parity_tests.runner.settings import configure

    configure()
    for name, content in {**pages(), **pictures()}.items():
        (PATH.parent / name).parent.mkdir(exist_ok=True)
        (PATH.parent / name).write_text(content, encoding="utf-8")
