"""The result of a proof: a verdict, six surfaces, and the first place where the values differ."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxgrad._core.suggestions import near
from jaxgrad.parity import files
from jaxgrad.parity.prove import users
from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.listings import Listing
from jaxgrad.parity.prove.record.torch_side.values import Mistakes
from jaxgrad.parity.prove.text import clauses, listed
from jaxgrad.parity.prove.wording import NAMES, TORCH, other


SURFACES = ("structure", "forward", "backward", "gradients", "updates", "precision")
ACCEPT = "accept="  # the place in JAX of a waiver that is out of date
FOLLOWS = "follows from the first divergence"
UNMATCHED = "torch modules without a matching JAX value (a right port may fuse or inline them)"
NO_OPTIMIZER = "no optimizer= was given"  # why the updates were not judged
NO_STEP = f"no training step was compared, because {NO_OPTIMIZER}"  # but updates of buffers were
_ORDER = ("error", "fail", "inconclusive", "pass")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place where torch and JAX differ."""

    surface: str
    torch: str  # the torch module or parameter
    jax: str  # file:line (module path), or the path of a leaf
    text: str
    index: tuple[int, ...] = ()  # index of the worst element
    torch_value: Any = None
    jax_value: Any = None
    originates: bool = True  # false if the finding follows from an earlier one
    cause: str = ""  # the likely cause, or what was observed about the difference
    tested: bool = False  # whether rerunning a program with a change confirmed the cause
    op: str = ""  # the call within the module
    torch_line: str = ""  # file:line of the call in torch's code
    source: str = ""  # the line of the port's code, after its file:line
    edit: Edit | None = None  # a change of the port's code, if the cause was tested
    ruled_out: tuple[str, ...] = ()  # causes that were tested and do not explain the difference

    @property
    def where(self) -> str:
        """The module or parameter, followed by the call within the module."""
        return f"{self.torch} ({self.op})" if self.op else self.torch

    @property
    def label(self) -> str:
        """What a report calls `cause`: only a rerun confirms a cause."""
        return "likely cause" if self.tested else "observation"

    @property
    def title(self) -> str:
        """What kind of finding this is."""
        if self.jax == ACCEPT:
            return f"accept= is out of date: {self.surface}"
        if self.originates:
            return f"first divergence: {self.surface}, originates here"
        return f"difference: {self.surface}, {FOLLOWS}"

    def __str__(self) -> str:
        return self.headed(self.title)

    def headed(self, title: str, reference: str = TORCH, above: Sequence[Finding] = ()) -> str:
        """Return the finding as text, under a title.

        Args:
            title: The first line.
            reference: The framework of the original; `source` is a line of the other one's code.
            above: The findings that are printed above; a change that one of them suggests is not
                printed again.
        """
        torch = ", ".join(filter(None, (self.where, self.torch_line)))
        lines = [
            title,
            f"  torch: {torch} | jax: {self.jax}",
            f"  {self.text}",
        ]
        if self.torch_value is not None or self.jax_value is not None:
            if self.surface == "forward":  # the numbers are those of the output that is named last
                lines[-1] += ":"
            at = f"  at {list(self.index)}: " if self.index else "  "
            lines.append(f"{at}torch gives {self.torch_value}, JAX gives {self.jax_value}")
        if self.cause:
            lines.append(f"  {self.label}: {self.cause}")
        if self.edit is not None and any(self.edit.is_same(finding.edit) for finding in above):
            lines.append(f"  the change in {self.edit.place} above is for this too")
        elif self.edit is not None:
            _, *diff = str(self.edit).splitlines()
            lines += [f"  {self.edit.title}", *(f"    {line}" for line in diff)]
        elif self.source:
            lines.append(f"  {NAMES[other(reference)]} code: {self.source}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Surface:
    """The answer to one of the six questions of a proof."""

    name: str
    verdict: str  # pass | fail | inconclusive | error | not judged
    text: str
    rows: tuple[Mapping[str, Any], ...] = ()  # one row for each leaf that was compared
    findings: tuple[Finding, ...] = ()
    control: str = ""  # the negative control: an injected error that was detected
    compared: tuple[str, ...] = ()  # nouns for what was compared, unless the name says it


class Judgement(NamedTuple):
    """A judged surface, and its notes for the report."""

    surface: Surface
    notes: tuple[str, ...] = ()
    mistakes: Mistakes | None = None  # with which torch agrees with JAX on this surface


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of `prove`: print it, `check()` it in a test, or write it with `to_html`.

    Attributes:
        verdict: `"pass"`, `"fail"`, `"inconclusive"` or `"error"`.
        surfaces: The six surfaces by name, each with its verdict, text, rows and findings.
        first: The first place where the programs differ, or None.
        text: The message of an error, or that the time limit ended the proof.
        name: The names of both models.
        notes: Further statements about the proof.
        not_visible: The torch modules without a matching JAX value.
        matched: The torch modules with a matching JAX value before a forward divergence.
        objective: What the gradients are gradients of.
        seconds: The seconds that each step took.
        versions: The versions of the packages.
        listings: The lines of both programs by framework.
        functions: The user's other functions that each program calls, by framework.
        reference: The framework of the original: `"torch"`, or `"jax"`.
        weights: The `WeightMap` of the proof, to convert checkpoints; it is not written to JSON.
    """

    verdict: str  # pass | fail | inconclusive | error
    surfaces: Mapping[str, Surface]
    first: Finding | None = None
    text: str = ""  # the message of an error, or that the time limit ended the proof
    name: str = ""
    notes: tuple[str, ...] = ()
    not_visible: tuple[str, ...] = ()  # torch modules without a matching JAX value
    matched: tuple[str, ...] = ()  # those with one, called before a forward divergence
    objective: str = ""  # what the gradients are gradients of
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    listings: Mapping[str, Listing] = dataclasses.field(default_factory=dict)  # by framework
    functions: Mapping[str, tuple[Listing, ...]] = dataclasses.field(default_factory=dict)
    reference: str = TORCH  # torch | jax: the framework of the original, not of the port
    # The `WeightMap` of the proof, to convert checkpoints; not written to JSON.
    weights: Any = dataclasses.field(default=None, repr=False, compare=False)

    @classmethod
    def error(
        cls,
        text: str,
        name: str,
        seconds: Mapping[str, float] | None = None,
        reference: str = TORCH,
    ) -> Report:
        """Return the report of a proof that could not be run."""
        surfaces = {surface: Surface(surface, "not judged", "") for surface in SURFACES}
        return cls(
            "error", surfaces, text=text, name=name, seconds=seconds or {}, reference=reference
        )

    @property
    def further(self) -> tuple[Finding, ...]:
        """The places of other mistakes than the first.

        Each has a cause that was confirmed. If none has, but the forward pass fails and its
        mistakes are known, it is the first gradient in which torch with these mistakes still
        differs.
        """
        findings = [f for surface in self.surfaces.values() for f in surface.findings]
        found: dict[str, Finding] = {}
        for finding in findings:
            if finding.originates and finding.tested:
                found.setdefault(finding.cause, finding)
        known = self.first.cause if self.first is not None else ""
        explained = tuple(finding for cause, finding in found.items() if cause != known)
        later = [f for f in findings if f.originates and f.surface in ("backward", "gradients")]
        fails = any(f.surface == "forward" for f in findings)
        if not fails or any(f.tested for f in later):
            return explained
        return explained + tuple(later[:1])

    if not TYPE_CHECKING:  # a type checker would take every attribute for one of these

        def __getattr__(self, name: str) -> Any:
            """Suggest the similar names of an attribute that a report does not have."""
            text = f"a Report has no attribute {name!r}{_similar(name, dir(type(self)))}"
            raise AttributeError(text, name=name)  # without `obj`, Python adds no suggestion

    def check(self) -> Report:
        """Return the report itself if the proof holds.

        Returns:
            The report.

        Raises:
            AssertionError: The verdict is not "pass"; the message is the whole report.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if self.verdict != "pass":
            raise AssertionError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists, dicts, strings and numbers.

        Returns:
            A dict that `from_dict` reads and `jaxgrad.parity.REPORT_SCHEMA` describes. It has no
            `weights`.
        """
        fields = dataclasses.asdict(dataclasses.replace(self, weights=None))
        del fields["weights"]
        return _plain(fields)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Report:
        """Rebuild a report from the result of `to_dict`.

        Args:
            fields: The result of `to_dict`, which may have been JSON.

        Returns:
            The report, without `weights`.
        """

        def finding(fields: Mapping[str, Any]) -> Finding:
            edit = fields.get("edit")
            lists = {name: tuple(fields.get(name, ())) for name in ("index", "ruled_out")}
            return Finding(**{**fields, **lists, "edit": Edit(**edit) if edit else None})

        surfaces = {
            name: Surface(
                **{
                    **surface,
                    "rows": tuple(surface["rows"]),
                    "findings": tuple(finding(f) for f in surface["findings"]),
                    "compared": tuple(surface.get("compared", ())),
                }
            )
            for name, surface in fields["surfaces"].items()
        }
        first = fields["first"] and finding(fields["first"])
        lists = {name: tuple(fields.get(name, ())) for name in ("notes", "not_visible", "matched")}
        listings = {k: Listing.from_dict(x) for k, x in fields.get("listings", {}).items()}
        functions = {
            k: tuple(map(Listing.from_dict, x)) for k, x in fields.get("functions", {}).items()
        }
        rest = {**lists, "surfaces": surfaces, "first": first, "listings": listings,
                "functions": functions}  # fmt: skip
        return cls(**{**fields, **rest})

    def to_json(self, path: str | pathlib.Path | None = None) -> str:
        """Return the report as JSON, and write it to `path` if one is given.

        Args:
            path: The file to write, or None.

        Returns:
            The text, which `jaxgrad.parity.REPORT_SCHEMA` describes.

        Raises:
            FileNotFoundError: The folder of `path` does not exist.
            OSError: The file cannot be written for another reason.
        """
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            files.require_writable(path)
            pathlib.Path(path).write_text(text)
        return text

    def to_html(self, path: str | pathlib.Path) -> None:
        """Write the report as one HTML page, which needs no network and no script.

        Args:
            path: The file to write, such as `"proof.html"`.

        Raises:
            ModuleNotFoundError: jinja2 is not installed.
            FileNotFoundError: The folder of `path` does not exist.
            OSError: The file cannot be written for another reason.
        """
        files.require_writable(path)
        pathlib.Path(path).write_text(render([self]), encoding="utf-8")

    def __str__(self) -> str:
        lines = [f"{self.verdict.upper()}  {self.name}".rstrip()]
        if self.text:
            lines.append(self.text)
        for surface in self.surfaces.values():
            judged = surface.verdict != "not judged"
            if judged or surface.text:
                first, *more = clauses(surface.text)
                if judged and surface.control:
                    more.append(f"negative control: {surface.control}")
                lines.append(f"  {surface.name:<10} {surface.verdict:<12} {first}".rstrip())
                lines += [f"{'':<26}{clause}" for clause in more]
        if self.first is not None:
            lines += ["", self.first.headed(self.first.title, self.reference)]
        above = [] if self.first is None else [self.first]
        for finding in self.further:
            title = f"next divergence: {finding.surface}"
            lines += ["", finding.headed(title, self.reference, above)]
            above.append(finding)
        if self.not_visible:
            shown = ", ".join(self.not_visible[:8])
            more = len(self.not_visible) - 8
            lines += ["", f"{UNMATCHED}: {shown}"]
            if more > 0:
                lines[-1] += f" and {more} more"
        lines += [f"note: {note}" for note in self.notes]
        if self.seconds:
            total = sum(self.seconds.values())
            steps = ", ".join(f"{name} {s:.1f}" for name, s in self.seconds.items() if s >= 0.05)
            lines.append(f"{total:.1f} s" + (f": {steps}" if steps else ""))
        return "\n".join(lines)


_RENAMED = {"html": "to_html", "json": "to_json", "page": "to_html", "dict": "to_dict"}


def _similar(name: str, known: Sequence[str]) -> str:
    """Return "; did you mean 'to_html'?" for a name that is spelt alike, or ends in `html`."""
    method = _RENAMED.get(name.lower().rpartition("_")[2])
    if method is not None and not name.startswith("_"):
        return f"; did you mean {method!r}?"
    return near(name, [*known, *(f.name for f in dataclasses.fields(Report))])


def overall_verdict(surfaces: Mapping[str, Surface]) -> str:
    """Return the worst verdict among the judged surfaces."""
    verdicts = [s.verdict for s in surfaces.values() if s.verdict in _ORDER]
    return min(verdicts, key=_ORDER.index, default="error")


def render(reports: Sequence[Report], note: str = "") -> str:
    """Render reports as one HTML page that needs no network and no script.

    Args:
        reports: Results of `prove`.
        note: A sentence before the headline, such as that proofs are missing.

    Returns:
        The text of the page.

    Raises:
        ModuleNotFoundError: jinja2 is not installed.

    Example:
        >>> from jaxgrad.parity import Report, Surface
        >>> html = render([Report("pass", {"forward": Surface("forward", "pass", "")}, name="Net")])
        >>> "<h1>jaxgrad proof" in html
        True
    """
    from jaxgrad.parity.prove import page  # only a page needs jinja2

    words = {
        "outcome": outcome,
        "follows": FOLLOWS,
        "unmatched": UNMATCHED,
        "original": original(reports),
    }
    return page.fill(reports, f"{note} {headline(reports)}".strip(), words)


def renderable(report: Report) -> Report:
    """Return the report, or the report of an error if its page cannot be rendered.

    A page of several proofs then has the other ones, and the text of this one.
    """
    try:
        render([report])
    except ModuleNotFoundError:  # without jinja2 there is no page at all
        raise
    except Exception as error:
        text = f"the page of this proof could not be rendered: {users.bug(error)}\n\n{report}"
        return Report.error(text, report.name, reference=report.reference)
    return report


def headline(reports: Sequence[Report]) -> str:
    """Summarise reports in one sentence; an inconclusive verdict does not count as a pass."""
    if not reports:
        return "There are no proofs."
    if len(reports) == 1:
        return sentence(reports[0])
    verdicts = [report.verdict for report in reports]
    name = original(reports)
    if set(verdicts) == {"pass"}:
        first, *others = [compared(report) for report in reports]
        common = listed([x for x in first if all(x in other for other in others)])
        return f"All {len(reports)} ports have {name}'s {common} at the inputs that were compared."
    words = (("fail", f"differ from {name}"), ("error", "could not be compared"),
             ("inconclusive", "could not be decided"))  # fmt: skip
    (n, verb), *rest = [(verdicts.count(v), text) for v, text in words if v in verdicts]
    verb = verb.replace("differ ", "differs ") if n == 1 else verb
    return "; ".join([f"{n} of {len(reports)} ports {verb}", *(f"{k} {x}" for k, x in rest)]) + "."


def original(reports: Sequence[Report]) -> str:
    """Return what sentences call the original of all reports."""
    names = {NAMES[report.reference] for report in reports}
    return names.pop() if len(names) == 1 else "the original" if names else NAMES[TORCH]


def sentence(report: Report) -> str:
    """Describe the verdict of a report in one sentence, after the verdict itself."""
    return f"{report.verdict.upper()}: {outcome(report)}"


def outcome(report: Report) -> str:
    """Describe the verdict of a report in one sentence."""
    name = NAMES[report.reference]
    if report.verdict == "pass":
        skipped = [
            name
            for name, surface in report.surfaces.items()
            if surface.verdict == "not judged" and name != "backward"  # compared after a failure
        ]
        rest = f" ({' and '.join(skipped)}: not judged)" if skipped else ""
        where = "with your weights and inputs and with redrawn ones"
        return f"your port has {name}'s {listed(compared(report))}, {where}{rest}."
    if report.verdict == "inconclusive" and report.text:
        return "the time limit ended the proof before every surface was judged."
    if report.verdict == "inconclusive":
        return "rounding alone causes too large a difference to decide."
    if report.verdict == "error":
        return "the comparison could not be run."
    if report.first is None:
        return f"your port's gradients differ from {name}'s."
    first = report.first
    where = f"{first.op}, {first.torch_line}" if first.op and first.torch_line else first.where
    surface = f"first on the {first.surface} surface"
    in_torch, in_jax = ("torch", "the port") if report.reference == TORCH else ("the port", "JAX")
    jax = f", in {in_jax} at {first.jax}" if first.jax and first.jax != where else ""
    updated = report.surfaces.get("updates") if first.surface == "updates" else None
    is_leaf = updated is not None and any(row["name"] == where for row in updated.rows)
    place = f"in the update of {where}" if is_leaf else f"in {in_torch} at {where}"
    return f"your port differs from {name}, {surface}: {place}{jax}."


_COMPARED = {"forward": "outputs", "gradients": "gradients", "updates": "updates"}


def compared(report: Report) -> list[str]:
    """Return nouns for what a proof compared, such as outputs, gradients and training steps."""
    passed = [s for name, s in report.surfaces.items() if name in _COMPARED and s.verdict == "pass"]
    return [noun for s in passed for noun in s.compared or (_COMPARED[s.name],)] or ["gradients"]


def _plain(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(v) for v in x]
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, complex):
        return str(x)
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    return x if isinstance(x, str | int | float | bool | None) else str(x)
