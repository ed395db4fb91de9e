"""Find a dropout that only the port has: without it, the outputs agree."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad._core.jaxpr import Path
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.port import Draw
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
    """Return the dropout without which all outputs of a draw agree, if there is one."""
    port, injection = evidence.port, evidence.port.injection
    try:
        for extra, tried in itertools.islice(_injections(evidence), _MOST):
            for kept in (1.0, 0.0):  # a port keeps what is below a threshold, or what is above it
                port.injection, drawn = _with_ones(tried, extra, evidence.draws[draw], kept)
                value = _dropped(evidence, draw, drawn, extra.path)
                if value is not None:
                    where = place(port.program, (extra.path, 0))
                    text = (
                        f"an extra dropout at {where}: torch draws no random numbers there "
                        "(rerunning JAX with all elements kept and not rescaled, all outputs agree)"
                    )
                    return ExtraMask(value, (extra.path, 0), text)
    finally:
        port.injection = injection
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


def _with_ones(
    injection: Injection, extra: Site, draw: Draw, kept: float
) -> tuple[Injection, Draw]:
    """Return the injection and the draw in which a site draws only ones, or only zeros."""
    ones = np.full(extra.shape, kept)
    injection = dataclasses.replace(
        injection,
        sites=(*injection.sites, extra),
        sources=(*injection.sources, np.array(len(draw.noise))),
    )
    return injection, dataclasses.replace(draw, noise=(*draw.noise, Noise("bernoulli", ones, ones)))


def _dropped(evidence: Evidence, number: int, draw: Draw, path: Path) -> int | None:
    """Return the torch value that the port computes if it drops nothing at a site."""
    port, order = evidence.port, evidence.flow.order
    prints = port.watch(draw).prints
    after = evidence.flow.ahead([(path, 0)], set()) & set(prints)
    for key in sorted(after, key=lambda key: order[key])[:_NEAR]:
        for value, factor in _multiples(evidence, number, prints[key]):
            outputs = port.outputs(draw, {key: np.float64(1 / factor)})
            if all(j.verdict != "fail" for j in evidence.judge_outputs(number, outputs)):
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
