"""Find a dropout that only the port has: without it, the outputs agree."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad._core.jaxpr import Path
from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.outputs import explained
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.port import Port
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.jax_side.sites import Injection, Site, sites
from jaxgrad.parity.prove.record.noise import Noise


_MOST = 12  # ways in which the sites draw torch's numbers
_NEAR = 16  # values after the random numbers, one of which is the result of the dropout
_SUMS = slice(4, 8)  # the largest, the smallest and the sums in a fingerprint


class ExtraMask(NamedTuple):
    """A dropout of the port that torch does not have."""

    value: int  # the torch value that the port drops
    key: Key  # the random numbers in the JAX program
    text: str


def find(evidence: Evidence, draw: int) -> ExtraMask | None:
    """Return the dropout without which all outputs agree, if there is one.

    Args:
        evidence: All runs.
        draw: The number of a draw on which an output differs.
    """
    for extra, tried in itertools.islice(_injections(evidence), _MOST):
        where = place(evidence.port.program, (extra.path, 0))
        for kept in (1.0, 0.0):  # a port keeps what is below a threshold, or what is above it
            if not evidence.may_search(f"an extra dropout at {where}"):
                return None
            injection = _with_site(tried, extra, len(evidence.draws[draw].noise))
            port = evidence.port.replacing(injection=injection)
            all_alike = np.full(extra.shape, kept)
            ones = Noise("bernoulli", all_alike, all_alike)
            value = _dropped(evidence, port, draw, ones, extra.path)
            if value is not None:
                difference = wording.Rerun(
                    wording.Told(
                        f"an extra dropout at {where}: torch draws no random numbers there",
                        f"a dropout is missing: JAX has one at {where}",
                    ),
                    "rerunning JAX with all elements kept and not rescaled, all outputs agree",
                )
                return ExtraMask(value, (extra.path, 0), difference.says(evidence.reference))
    return None


def _injections(evidence: Evidence) -> Iterator[tuple[Site, Injection]]:
    """Yield each site that may be the extra one, and the other sites with torch's numbers.

    Any of several sites of one size may be extra.
    """
    program, injection = evidence.port.program, evidence.port.injection
    for path in injection.extra:
        for extra in sites(program, {path}) if not program.lengths[path] else ():
            choices = [(extra, injection.sites)]
            for n, site in reversed([*enumerate(injection.sites)]):
                if site.shape == extra.shape and not site.lengths:
                    others = (*injection.sites[:n], extra, *injection.sites[n + 1 :])
                    choices.append((site, others))
            for site, others in choices:
                tried = dataclasses.replace(injection, sites=others)
                for lines in dict.fromkeys(
                    (injection.reflected, frozenset(), frozenset(tried.lines))
                ):
                    yield site, dataclasses.replace(tried, reflected=lines)


def _with_site(injection: Injection, extra: Site, source: int) -> Injection:
    """Return the injection in which one more site draws the random numbers with this position."""
    sources = (*injection.sources, np.array(source))
    return dataclasses.replace(injection, sites=(*injection.sites, extra), sources=sources)


def _dropped(evidence: Evidence, port: Port, number: int, ones: Noise, path: Path) -> int | None:
    """Return the torch value that the port computes if it drops nothing at a site."""
    order = evidence.flow.order
    draws = [dataclasses.replace(d, noise=(*d.noise, ones)) for d in evidence.draws]
    prints = port.watch(draws[number]).prints
    after = evidence.flow.ahead([(path, 0)], set()) & set(prints)
    for key in sorted(after, key=lambda key: order[key])[:_NEAR]:
        for value, factor in _multiples(evidence, number, prints[key]):
            if not evidence.may_search():
                return None
            scales = {key: np.float64(1 / factor)}
            if explained(evidence, number, lambda k, scales=scales: port.outputs(draws[k], scales)):
                return value
    return None


def _multiples(evidence: Evidence, number: int, print_: np.ndarray) -> Sequence[tuple[int, float]]:
    """Return the first torch value of which a JAX value is a multiple, and the factor."""
    alignment = evidence.alignments[number]
    for i, value in enumerate(evidence.runs[number].values):
        if print_.ndim == 1 and value.print[0] == print_[0] and not alignment.trivial[i]:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = print_[_SUMS] / value.print[_SUMS]
            if np.ptp(ratios) < 1e-9 * ratios[0]:
                return [(i, float(ratios[0]))]
    return []
