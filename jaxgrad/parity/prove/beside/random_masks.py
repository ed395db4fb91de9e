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
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.wording import jax_program


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
        tight = dataclasses.replace(port.injection, tight=site.path)
        outputs = port.replacing(injection=tight).outputs(draw, {})
        wrong = [j for j in evidence.judge_outputs(0, outputs) if j.verdict == "fail"]
        if wrong:
            text = (
                f"{called} draws the mask with another probability than torch, although both "
                "rescale by the same factor"
            )
            return _failed(evidence, noise, site.path, text, **wrong[0].worst)
    return None


def _failed(evidence: Evidence, noise: Noise, path: Path, text: str, **worst: Any) -> Judgement:
    where, _, op = noise.where.partition("(")
    at = place(evidence.port.program, (path, 0))
    finding = Finding("forward", where.strip() or ROOT, at, text, op=op.rstrip(")"), **worst)
    finding = quoted(evidence, finding, (path, 0))
    return Judgement(Surface("forward", "fail", text, findings=(finding,)))
