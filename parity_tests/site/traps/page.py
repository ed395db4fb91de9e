"""Write docs/traps.md, and its pictures: `python -m parity_tests.site.traps.page`.

The page is committed, so that the README can link to it; a test runs the cards and compares what
they print.
"""

import re
from collections.abc import Mapping
from typing import Any

from parity_tests.runner.settings import ROOT
from parity_tests.site.cheat_sheet.page import number
from parity_tests.site.cheat_sheet.row import jax_result, torch_result
from parity_tests.site.traps import backward, operators, stopping, training
from parity_tests.site.traps.card import IMPORTS, SIMPLE, Card
from parity_tests.site.traps.drawing import NARROW, picture
from parity_tests.site.traps.proof import Outcome, outcome, printed


PATH = ROOT / "docs" / "traps.md"
ROOMS: Mapping[str, tuple[Card, ...]] = {
    "Grad modes": stopping.GRAD_MODES,
    "None or zero": stopping.NONE_OR_ZERO,
    "Hooks and custom gradients": backward.HOOKS,
    "Kinks": operators.KINKS,
    "Layers and losses": operators.LAYERS,
    "State": backward.STATE,
    "Precision": operators.PRECISION,
    "Clipping": training.CLIPPING,
    "Optimizers": training.OPTIMIZERS,
    "Schedules and averages": training.SCHEDULES,
}
CARDS = tuple(card for cards in ROOMS.values() for card in cards)
# What a person sees who compares the two models by hand, by the surface that fails.
SYMPTOMS = {
    "structure": "The outputs agree; the frameworks do not train the same leaves.",
    "forward": "Nothing raises, and the outputs differ.",
    "backward": "The outputs agree; the gradients differ.",
    "gradients": "The outputs agree; the gradients differ.",
    "updates": "The outputs and the gradients agree; the updates differ.",
    "buffer": "The outputs and the gradients agree; the new state differs.",
    "average": "The outputs, the gradients and the updates agree; the average differs.",
    "schedules": "The outputs, the gradients and the first updates agree; a later rate differs.",
    "precision": "The models agree in float64; they round different values below float32.",
}
PICTURES = (
    *("`detach`", "a target that is not detached", "straight-through"),
    *("a stopped spread in a reparameterized sample", "a tied weight as two leaves"),
    *("hook on a parameter", "gradient reversal", "write in place"),
)
INTRO = """\
<!-- written by `make pages` -->
# Traps

Porting mistakes that raise nothing. Each card has a torch module, a port that looks right and is
not, the right port, and what [`prove`](../README.md#prove-your-own-port) and `lint` print about
the wrong one. A test runs the cards: the wrong port must fail and the right one must pass.
[How to run a card](#run-a-card) is at the end.
"""
RUN = f"""\
## Run a card

The two files of a card are `model.py` and `port.py`. With these imports

```python
{IMPORTS}from jaxgrad.parity import Training, lint, prove
```

they can be pasted into a session and proved. An output without a loss gets a random cotangent, so
that the gradients in a report are not those of the sum.

```python
module = Model()
params = {{name: p.numpy() for name, p in module.state_dict().items()}}
print(prove(module, port, params, inputs))
print(lint(port, params, *inputs))
```

A card on training shows only the optimizers, which `prove` compares with
`optimizer=Training(optimizer, tx), steps=3`; `scheduler`, `schedule`, `total`, `clip` and
`ema=(decay, average)` are further arguments of `Training`. The other names are from this pair:

```python
{SIMPLE}```
"""


def text() -> str:
    """Run every card and return the page."""
    contents = "\n".join(
        f"- {room}: {' · '.join(f'[{card.name}](#{slug(card.name)})' for card in cards)}"
        for room, cards in ROOMS.items()
    )
    parts = [INTRO.strip(), contents]
    for room, cards in ROOMS.items():
        parts += [f"## {room}", *(section(card, outcome(card)) for card in cards)]
    return "\n\n".join([*parts, RUN])


def section(card: Card, run: Outcome) -> str:
    """Return a card as markdown."""
    options = "".join(f", {name}={value}" for name, value in card.options.items())
    called = f" with `{options[2:]}`" if options else ""
    lint = ["`lint` prints:", _block(printed(run.lint))] if run.lint.findings else []
    image = [f"![Backward graphs of torch, of the wrong port and of the right one]({_image(card)})"]
    return "\n\n".join(
        [
            f"### {card.name}",
            f"**What you see:** {symptom(run)}{_figures(card)}",
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
            f"`prove` prints{called}:",
            _block(printed(run.wrong.first)),
            *lint,
            *([f"Proved in {links(card)}."] if card.behaviours else []),
            *(image if card.name in PICTURES else []),
        ]
    )


def symptom(run: Outcome) -> str:
    """Return what a person sees who runs both models."""
    first = run.wrong.first
    assert first is not None, run.wrong
    words = [word for word in ("buffer", "average", "schedules") if word in first.text]
    return SYMPTOMS[words[0] if first.surface == "updates" and words else first.surface]


def links(card: Card) -> str:
    """Return links to the behaviours; the site's lead to both programs, these to the table."""
    return ", ".join(f"[{id}](behaviours.md#{id.partition('/')[0]})" for id in card.behaviours)


def within_site(page: str) -> str:
    """Return the page with links to the site's page of each behaviour."""
    page = re.sub(r"\[([\w/]+)\]\(behaviours\.md#\w+\)", r"[\1](#\1)", page)
    return page.replace("](../README.md#prove-your-own-port)", "](notebooks/prove_your_port.ipynb)")


def slug(title: str) -> str:
    """Return the anchor of a heading, as GitHub and myst write it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _figures(card: Card) -> str:
    """Return the gradients of a card that is made from a row of the cheat sheet."""
    if card.row is None:
        return ""
    torch, wrong = (
        number(x) for x in (torch_result(card.row), jax_result(card.row, card.row.wrong))
    )
    return f" The gradient of the sum is {wrong} instead of {torch}." if torch else ""


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
    PATH.write_text(text(), encoding="utf-8")
    for name, svg in pictures().items():
        (PATH.parent / name).write_text(svg, encoding="utf-8")
