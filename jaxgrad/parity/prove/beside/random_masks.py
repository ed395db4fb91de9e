"""Check that the port draws each random mask with torch's probability.

The numbers that the port is given are so close to 0 and 1 that its masks are torch's for every
probability, so that a difference is found where it arises: a wrong division, a missing mask. Here
each mask is drawn once more from numbers that are close to torch's probability.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxgrad._core.jaxpr import Path
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.locate.quotes import quoted
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.port import Port
from jaxgrad.parity.prove.record.jax_side.program import literals
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.wording import jax_program


_APART = 1e-4  # probabilities that differ by less are one


def surface(evidence: Evidence) -> Judgement | None:
    """Return a failed forward surface if a mask is drawn unlike torch's.

    Its probability may differ, or the port may draw several numbers where torch draws one.
    """
    port, draw, called = evidence.port, evidence.draws[0], jax_program(evidence.reference)
    for site, sources in zip(port.injection.sites, port.injection.sources, strict=True):
        noise = draw.noise[int(sources.ravel()[0])]
        if np.prod(site.shape) > noise.drawn.size:
            text = (
                f"torch draws {noise.name}, {called} draws {list(site.shape)} numbers: several "
                "where torch draws one"
            )
            return _failed(evidence, noise, site.path, text)
        if noise.kind != "bernoulli":
            continue
        injection = dataclasses.replace(port.injection, tight=site.path)
        tight = port.replacing(injection=injection)
        outputs = tight.outputs(draw, {})
        wrong = [j for j in evidence.judge_outputs(0, outputs) if j.verdict == "fail"]
        if wrong:
            other = _probability(evidence, tight, sources)
            text = (
                f"{called} draws the mask with another probability than torch"
                if other is None
                else f"{called} keeps an element with the probability {other:.7g}, torch with "
                f"{np.ravel(noise.rate)[0]:.7g}"
            )
            text += ", although both rescale by the same factor"
            return _failed(evidence, noise, site.path, text, **wrong[0].worst)
    return None


def _probability(evidence: Evidence, tight: Port, sources: np.ndarray) -> float | None:
    """Return the probability with which the port keeps an element of a mask; None if unknown.

    `tight` is the port with numbers for this mask that are close to torch's probability. If they
    are close to the port's instead, its mask is torch's. Tried are the probability with
    which torch drops an element, and the numbers of the port's program and their complements.
    """
    draw = evidence.draws[0]
    rates = np.unique(np.concatenate([np.ravel(draw.noise[k].rate) for k in sources.flat]))
    if len(rates) != 1:
        return None
    own = float(rates[0])
    numbers = [x for x in literals(tight.program.jaxpr) if 0 < x < 1]
    candidates = [1 - own, *numbers, *(1 - x for x in numbers)]
    for rate in dict.fromkeys(float(f"{x:.7g}") for x in candidates):
        if abs(rate - own) < _APART:
            continue
        noise = list(draw.noise)
        for k in sources.flat:
            noise[k] = dataclasses.replace(noise[k], rate=rate)
        outputs = tight.outputs(dataclasses.replace(draw, noise=noise), {})
        if all(j.verdict != "fail" for j in evidence.judge_outputs(0, outputs)):
            return rate
    return None


def _failed(evidence: Evidence, noise: Noise, path: Path, text: str, **worst: Any) -> Judgement:
    where, _, op = noise.where.partition("(")
    at = place(evidence.port.program, (path, 0))
    finding = Finding("forward", where.strip() or ROOT, at, text, op=op.rstrip(")"), **worst)
    finding = quoted(evidence, finding, (path, 0))
    return Judgement(Surface("forward", "fail", text, findings=(finding,)))
