"""Differences that the user accepts, by surface and leaf, each with a reason.

A waiver is reported, and it fails as soon as nothing that it names differs any more.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jaxgrad._core import paths
from jaxgrad.parity.prove.judge import Judged
from jaxgrad.parity.prove.report import ACCEPT, NO_OPTIMIZER, Finding, Judgement
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.users import ProofError, shown


SURFACES = ("structure", "forward", "gradients", "updates", "precision")
_LISTED = ("structure", "precision")  # these list all findings; the others have a row for each leaf
_EXAMPLE = 'accept={"updates": {"*running_var": "flax\'s variance is biased"}}'


@dataclasses.dataclass(frozen=True)
class Waivers:
    """The accepted differences: surface -> pattern of a leaf's torch name -> reason.

    Attributes:
        reasons: The reason of each pattern of a surface.
        bounds: The largest accepted difference by surface and pattern; without it, any is accepted.
    """

    reasons: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    bounds: Mapping[tuple[str, str], float] = dataclasses.field(default_factory=dict)

    def names(self, surface: str, name: str) -> bool:
        """Whether a pattern names a compared value of a surface."""
        return any(fits(pattern, name) for pattern in self.reasons.get(surface, ()))

    def most(self, surface: str, name: str) -> float:
        """Return the largest accepted difference of a value; 0 if no pattern names it."""
        bounds = (
            self.bounds.get((surface, pattern), math.inf)
            for pattern in self.reasons.get(surface, ())
            if fits(pattern, name)
        )
        return max(bounds, default=0.0)

    def _accepts(self, surface: str, judged: Judged) -> bool:
        most = self.most(surface, judged.name)
        return most == math.inf or judged.share <= most  # without a bound, NaN too

    def apply(self, surface: str, judged: Sequence[Judged]) -> list[Judged]:
        """Return the comparisons, in which each accepted failure has the verdict "accepted"."""
        return [
            dataclasses.replace(j, verdict="accepted")
            if j.verdict == "fail" and self._accepts(surface, j)
            else j
            for j in judged
        ]

    def check(self, surface: str, names: Collection[str]) -> None:
        """Raise if a pattern of a surface matches none of the names that it can have.

        Raises:
            ProofError: A pattern matches no name; the message lists the nearest names.
        """
        for pattern in self.reasons.get(surface, ()):
            leaf = _leaf(pattern)
            if names and not any(fits(pattern, name) or fits(leaf, name) for name in names):
                near = paths.nearest(list(dict.fromkeys(names)), [leaf], "names")
                raise ProofError(
                    f"accept={{{surface!r}: ...}}: the pattern {pattern!r} matches no name of this "
                    f"surface. {near}"
                )

    def settle(
        self, judgements: Mapping[str, Judgement], names: Collection[str] = ()
    ) -> dict[str, Judgement]:
        """Report what was accepted; fail the surfaces on which a waiver has become pointless.

        Args:
            judgements: The judgement of each surface.
            names: torch's names of the parameters and buffers.

        Raises:
            ProofError: A pattern matches no name of its surface, or no update is compared although
                one is accepted.
        """
        for surface, reasons in self.reasons.items():
            judged = judgements[surface].surface if surface in judgements else None
            if judged is not None and judged.verdict != "not judged" and surface not in _LISTED:
                rows = [row["name"] for row in judged.rows]
                self.check(surface, [*rows, *names] if surface == "updates" else rows)
            failed = any(j.surface.verdict == "fail" for j in judgements.values())
            if judged is not None and reasons and judged.text == NO_OPTIMIZER and not failed:
                raise ProofError(
                    f"accept={{{surface!r}: ...}} names {shown(next(iter(reasons)))}, but no "
                    "update is compared: the forward pass changes nothing, and no optimizer= was "
                    "given. Pass optimizer=, or remove this pattern"
                )
        return {
            name: self._settled(judgement, self.reasons[name])
            if name in self.reasons and judgement.surface.verdict != "not judged"
            else judgement
            for name, judgement in judgements.items()
        }

    def _settled(self, judgement: Judgement, reasons: Mapping[str, str]) -> Judgement:
        surface, notes, mistakes = judgement
        listed = surface.findings if surface.name in _LISTED else ()
        waived = [f for f in listed if any(fits(pattern, f.torch) for pattern in reasons)]
        left = tuple(f for f in surface.findings if f not in waived)
        if waived and not left:
            text = f"all {len(waived)} differences are accepted"
            surface = dataclasses.replace(surface, verdict="pass", text=text)
        surface = dataclasses.replace(surface, findings=left)
        for pattern, reason in reasons.items():
            rows = [r for r in surface.rows if r["verdict"] == "accepted"]
            sizes = [r["difference"] for r in rows if fits(pattern, r["name"])]
            count = len(sizes) + sum(fits(pattern, f.torch) for f in waived)
            if count:
                off = f", off by up to {max(sizes):.2g} (relative to their scale)" if sizes else ""
                where = f"accepted on the {surface.name} surface: {pattern!r}, "
                where += counted(count, "value") + off
                bound = self.bounds.get((surface.name, pattern))
                where += "" if bound is None else f", of at most {bound:g}"
                notes = (*notes, f"{where}, because: {reason}")
            elif surface.verdict != "fail" or not surface.findings:
                surface = dataclasses.replace(
                    surface,
                    verdict="fail",
                    text=f"{surface.text}; accept= is out of date",
                    findings=(*surface.findings, _pointless(surface.name, pattern, surface.rows)),
                )
        return Judgement(surface, notes, mistakes)


def as_waivers(accept: Any) -> Waivers:
    """Return the argument `accept=` as waivers.

    Raises:
        ProofError: `accept` is not a dict of dicts from patterns to reasons, or it names an unknown
            surface.
    """
    if accept is None:
        return Waivers()
    if not isinstance(accept, Mapping):
        raise ProofError(f"accept= needs a dict of dicts, as in {_EXAMPLE}, got {shown(accept)}")
    reasons: dict[str, dict[str, str]] = {}
    bounds: dict[tuple[str, str], float] = {}
    for surface, patterns in accept.items():
        if surface not in SURFACES:
            raise ProofError(
                f"accept= names the surface {shown(surface)}, but differences can be accepted on "
                f"{', '.join(SURFACES[:-1])} and {SURFACES[-1]}"
            )
        if not isinstance(patterns, Mapping):
            raise ProofError(
                f"accept={{{surface!r}: ...}} needs a dict from patterns to reasons, as in "
                f"{_EXAMPLE}, got {shown(patterns)}"
            )
        reasons[surface] = {}
        for pattern, given in patterns.items():
            is_bounded = isinstance(given, tuple) and len(given) == 2
            pair: tuple[Any, Any] = given if is_bounded else (given, None)
            reason, bound = pair
            if not isinstance(pattern, str) or not isinstance(reason, str) or not reason.strip():
                raise ProofError(
                    f"accept={{{surface!r}: ...}} needs a reason for each pattern, as in "
                    f"{_EXAMPLE}, got {shown(pattern)}: {shown(given)}"
                )
            reasons[surface][pattern] = reason
            if not is_bounded:
                continue
            number = isinstance(bound, int | float) and not isinstance(bound, bool)
            if not number or not 0 < bound < math.inf:
                raise ProofError(
                    f"accept={{{surface!r}: {{{pattern!r}: ...}}}} needs the largest accepted "
                    f"difference as a positive number after the reason, got {shown(bound)}"
                )
            if surface in _LISTED:
                raise ProofError(
                    f"accept={{{surface!r}: {{{pattern!r}: ...}}}} has the bound {bound:g}, but a "
                    "difference on this surface has no size: pass the reason alone"
                )
            bounds[surface, pattern] = float(bound)
    return Waivers(reasons, bounds)


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern is that of a compared value, such as "exp_avg of w" or "w after step 2".

    >>> fits("*.weight", "head.weight after step 2"), fits("head", "head.weight")
    (True, False)
    """
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(_leaf(name), pattern)


def _leaf(name: str) -> str:
    """Return the part of a name that names a leaf.

    >>> _leaf("exp_avg of w after step 2")
    'w'
    """
    return re.sub(r" after step [\d*?]+$", "", name).rpartition(" of ")[2]


def _pointless(surface: str, pattern: str, rows: Sequence[Mapping[str, Any]]) -> Finding:
    matching = [row["name"] for row in rows if fits(pattern, row["name"])]
    names = list(dict.fromkeys(row["name"] for row in rows))
    if matching:
        text = f"accept= lists {pattern!r}, but {matching[0]} agrees now: remove this pattern"
    elif rows:
        near = paths.nearest(names, [pattern], "names")
        text = f"accept= lists {pattern!r}, which matches none of the compared values. {near}"
    else:
        text = f"accept= lists {pattern!r}, but nothing like it differs: remove this pattern"
    return Finding(surface, pattern, ACCEPT, text)
