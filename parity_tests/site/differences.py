"""Group the differences that docstrings list under "Differs from ... in:" by their subject.

A page with a section for each helper answers "what is special about this helper?". A reader of the
conventions asks "what happens at a tie, at NaN, with the defaults?", so the points are sorted by
what the sentence says about torch; the parentheses of a point describe JAX.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from parity_tests.site import api as docs_api
from parity_tests.site.api import prose, table


class Difference(NamedTuple):
    """One numbered point of a docstring."""

    entry: docs_api.Entry
    other: str  # the framework that differs: "jax", "optax", "flax" or "torch"
    text: str

    @property
    def about_torch(self) -> str:
        """The point without its parentheses, which say what the other framework does."""
        open_ = [""]
        for character in self.text:
            if character == "(":
                open_.append("")
            open_[-1] += character
            if character == ")" and len(open_) > 1:
                inside = open_.pop()
                about_jax = len(open_) == 1 and re.search("[a-zA-Z]", inside)
                open_[-1] += "" if about_jax else inside
        return re.sub(r" +(?=[ .,;:])", "", "".join(open_))


class Group(NamedTuple):
    title: str
    intro: str
    words: str  # a regular expression over `about_torch`


# A point belongs to the first group whose words it has.
OPERATORS = (
    Group(
        "Errors",
        "torch raises, and the JAX expression returns a number, NaN or zeros.",
        r"\braises?\b|\ban error\b",
    ),
    Group(
        "Repeated indices",
        "Several values are written to one place.",
        r"[Rr]epeated index|same index|looked up twice",
    ),
    Group(
        "Derivatives that JAX lacks",
        "The JAX function raises, or has no gradient for these inputs.",
        r"differentiable|[Hh]as a gradient|have a gradient|straight through",
    ),
    Group(
        "Rounding and large or tiny inputs",
        "The formulas agree on paper, and not in floating-point numbers.",
        r"digits|accurate|\btail\b|tiny|0 below|float64 inputs|underflows|beta \* x",
    ),
    Group(
        "Kinks, ties and zeros",
        "The derivative jumps or does not exist: at a bound, at a margin, for equal elements, at a "
        "vector of zeros, at the edge of a domain.",
        r"\bties?\b|\bbounds?\b|\bmargin\b|\bborder\b|zero vector|zero element|zero slice|zeros|"
        r"[Aa]t \(?-?\d|[Aa]t eps|\bat 0|[Aa]t input 0|base 0|exponent 0|square root|constant|"
        r"\bmaxima\b|equal (?:values|elements|rows|points|arrays)|both are equal|coinciding|"
        r"Below `eps`|singular|determinant|[Ff]ully masked|\bpole\b|that of `pow`",
    ),
    Group(
        "NaN and infinity",
        "The gradient at an input that is NaN or infinite, or a gradient that is.",
        r"NaN|\binf\b|[Ii]nfinit",
    ),
    Group(
        "Defaults and definitions",
        "A different default, divisor, layout or set of options; most change the value too.",
        r"",
    ),
)
# The page begins with the gradients that mathematics leaves open.
ORDER = ("Kinks, ties and zeros", "NaN and infinity", "Repeated indices")
NAMESPACES = {
    "optim": "Optimizers, schedules and clipping",
    "nnx": "Layers of `jaxgrad.nnx`",
    "": "Helpers",
}


def differences(entries: Iterable[docs_api.Entry]) -> list[Difference]:
    """Return every numbered point; a docstring without numbers refers to another helper's list."""
    return [
        Difference(entry, other, " ".join(point.split()))
        for entry in entries
        for other, text in entry.differs
        if text.startswith("1.")
        for point in re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    ]


def group(difference: Difference) -> str:
    """Return the title of the group to which a point belongs."""
    namespace = difference.entry.path.removeprefix("jaxgrad.").rpartition(".")[0].partition(".")[0]
    if namespace != "functional":
        return NAMESPACES.get(namespace, NAMESPACES[""])
    words = difference.about_torch
    return next(one.title for one in OPERATORS if re.search(one.words, words))


def sections(entries: Iterable[docs_api.Entry]) -> list[str]:
    """Return the sections of the page: the operators by subject, then the other namespaces."""
    grouped: dict[str, list[Difference]] = {}
    for difference in differences(entries):
        grouped.setdefault(group(difference), []).append(difference)
    parts = ["## Operators of `jaxgrad.functional`"]
    for one in sorted(OPERATORS, key=lambda one: [*ORDER, one.title].index(one.title)):
        parts += [f"### {one.title}", one.intro, _table(grouped[one.title])]
    for title in NAMESPACES.values():
        parts += [f"## {title}", _table(grouped[title])]
    return parts


def _table(of: list[Difference]) -> str:
    """Return a table of points, with the name of a helper in its first row only.

    A table of operators does not repeat `functional`, nor that JAX, optax or flax is meant.
    """
    operators = group(of[0]) in [one.title for one in OPERATORS]
    rows, last = [], ""
    for difference in of:
        name = docs_api.link(difference.entry)
        shown = name.replace("`functional.", "`") if operators else name
        other = [] if operators else [difference.other]
        rows.append(["" if name == last else shown, *other, prose(difference.text)])
        last = name
    head = ("operator", "in torch") if operators else ("helper", "differs from", "in")
    return table(head, rows)
