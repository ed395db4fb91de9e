"""Run the port with the random numbers that torch drew."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxgrad._core.jaxpr import Path, abstract
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, Flow, place
from jaxgrad.parity.prove.record.jax_side.keys import Keys
from jaxgrad.parity.prove.record.jax_side.port import Draw, Port
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Spot
from jaxgrad.parity.prove.record.jax_side.sites import (
    Injection,
    Site,
    matched,
    sites,
    with_repeats,
)
from jaxgrad.parity.prove.record.noise import KINDS, arranged
from jaxgrad.parity.prove.users import ProofError


if TYPE_CHECKING:
    from jaxgrad.parity.prove.record.torch_side.side import Drawn

_SAME = 1e-9  # the sum of the differences of outputs that agree
_MASKS = ("select_n", "mul", "div")  # primitives that drop elements
_CLEARLY = 2.0  # outputs that are this many times as far from torch's are clearly farther
_MOST = 3  # source lines that are tried one by one; with more, all or none are reflected


def inject(
    port: Port, flow: Flow, drawn: Drawn, called: str = "the port"
) -> tuple[Port, list[str]]:
    """Give torch's random numbers of a draw to the port's calls of `jax.random`.

    A port may keep what is below a threshold or what is above it: the choice with which it has
    torch's outputs is kept. If no choice gives these, the port has another mistake. The choice is
    then the one that drops what torch drops, or else the one with which most of torch's values
    occur in the port.

    Args:
        port: The port.
        flow: Its data flow.
        drawn: A draw with torch's random numbers, and torch's run on it.
        called: What a note calls the JAX program.

    Returns:
        The port that draws these numbers, and notes about numbers without a counterpart.
    """
    draw = drawn.draw
    listed = sites(port.program, _used(flow))
    if not draw.noise and not listed:
        return port, []
    injection = matched(port.program, listed, draw.noise)
    _check(port, injection, draw)
    best, off = _nearest(port, injection, drawn, flow)
    if off >= _SAME and injection.extra:  # does the port draw numbers twice that torch draws once?
        twice = with_repeats(
            port.program, listed, draw.noise, Keys(port.program, port.leaves(draw))
        )
        if len(twice.extra) < len(injection.extra) and len(twice.unused) <= len(injection.unused):
            again, off = _nearest(port, twice, drawn, flow)
            best = again if off < _SAME else best
    return port.replacing(injection=best), _notes(port, best, draw, called)


def _used(flow: Flow) -> set[Path]:
    """Return the equations that an output depends on."""
    return {path for path, _ in flow.used}


def retraced(port: Port, program: JaxProgram, draw: Draw) -> Port:
    """Return a port with another trace of its program, which draws torch's numbers too."""
    first = port.injection
    own = matched(program, sites(program, _used(Flow(program))), draw.noise)
    injection = dataclasses.replace(own, reflected=first.reflected, swapped=first.swapped)
    return port.of(program, injection)


def _nearest(port: Port, injection: Injection, drawn: Drawn, flow: Flow) -> tuple[Injection, float]:
    """Return the choice with which the port is nearest to torch, and how far its outputs are."""
    tried: list[tuple[Injection, float]] = []
    for lines, swapped in _choices(injection):
        choice = dataclasses.replace(injection, reflected=frozenset(lines), swapped=swapped)
        off = drawn.distance(port.replacing(injection=choice).outputs(drawn.draw, {}))
        if off < _SAME:
            return choice, off
        tried.append((choice, off))
    above = _keeping_above(port, injection, drawn.draw, flow)
    known = [
        (choice, off)
        for choice, off in tried
        if all((line in choice.reflected) == up for line, up in above.items())
    ]
    tried = known or tried
    if len(tried) < 2:
        return tried[0] if tried else (injection, math.inf)

    def occurring(choice: Injection) -> int:
        return drawn.occurring(port.replacing(injection=choice).watch(drawn.draw))

    counts = [occurring(choice) for choice, _ in tried]
    best = [pair for pair, n in zip(tried, counts, strict=True) if n == max(counts)]
    nearest = min(best, key=lambda pair: pair[1])
    return nearest if _CLEARLY * nearest[1] < best[0][1] else best[0]  # the most usual one


def _keeping_above(
    port: Port, injection: Injection, draw: Draw, flow: Flow
) -> dict[tuple[str, ...], bool]:
    """Return, for each source line that draws a mask, whether it keeps numbers above a threshold.

    The port drops the elements that torch drops, or else those that torch keeps. A line is left out
    if its elements do not tell.
    """
    plain = port.replacing(injection=dataclasses.replace(injection, reflected=frozenset()))
    found = []
    for site, sources in zip(injection.sites, injection.sources, strict=True):
        noise = draw.noise[sources.ravel()[0]]
        spot = _masked(port.program, flow, site) if noise.kind == "bernoulli" else None
        ones = arranged(noise.drawn, site.shape, swapped=injection.swapped)
        if spot is not None and ones is not None:
            found.append((site.line, spot, ones != 0))
    above: dict[tuple[str, ...], bool] = {}
    values = plain.values(draw, [spot for _, spot, _ in found]) if found else []
    for (line, _, kept), x in zip(found, values, strict=True):
        if x.shape == kept.shape and kept.any() and not kept.all():
            drops, drops_kept = bool((x[~kept] == 0).all()), bool((x[kept] == 0).all())
            if drops != drops_kept:
                above.setdefault(line, drops_kept)
    return above


def _masked(program: JaxProgram, flow: Flow, site: Site) -> Spot | None:
    """Return the first value that is multiplied by a mask, or selected by it."""
    keys = [(site.path, 0)]
    for key in keys:
        for child in flow.children.get(key, ()):
            eqn = program.equations[child[0]]
            if eqn.primitive.name in _MASKS:
                return Spot(*child, (0,) * len(program.lengths[child[0]]))
            is_mask = abstract(eqn.outvars[child[1]]).dtype == bool
            if (is_mask or eqn.primitive.name in REARRANGES) and child not in keys:
                keys.append(child)
    return None


def _choices(injection: Injection) -> Iterator[tuple[tuple[tuple[str, ...], ...], bool]]:
    """Yield sets of source lines whose numbers are reflected, and whether axes are swapped."""
    lines = injection.lines
    some = range(1, len(lines)) if len(lines) <= _MOST else ()
    sets = [(), *([tuple(lines)] if lines else [])]
    sets += [subset for count in some for subset in itertools.combinations(lines, count)]
    square = any(len(s.shape) > 1 and s.shape[0] == s.shape[1] for s in injection.sites)
    if injection.sites:
        yield from itertools.product(sets, (False, True) if square else (False,))


def _check(port: Port, injection: Injection, draw: Draw) -> None:
    """Check that torch's numbers without a counterpart could be numbers that the port lacks."""
    other = next((x for x in draw.noise if x.kind not in KINDS), None)
    if other is not None:
        raise ProofError(
            f"torch draws {other.name}, which cannot be given to the port: pass them as inputs to "
            "both models"
        )
    if injection.unused and injection.extra:
        lacking = draw.noise[injection.unused[0]]
        raise ProofError(
            f"torch draws {lacking.name}, but the port draws {_site(port, injection)}: draw the "
            "same shape from the same distribution at the same place (in flax without "
            "broadcast_dropout or broadcast_dims), or pass the numbers as inputs to both models"
        )


def _site(port: Port, injection: Injection) -> str:
    path = injection.extra[0]
    shape = list(abstract(port.program.equations[path].outvars[0]).shape)
    return f"{shape} random numbers at {place(port.program, (path, 0))}"


def _notes(port: Port, injection: Injection, draw: Draw, called: str = "the port") -> list[str]:
    notes = []
    if injection.sites:
        count = len(draw.noise) - len(injection.unused)
        notes.append(
            f"{called} was given the random numbers that torch drew: {count} of "
            f"{len(draw.noise)} arrays"
        )
    if injection.unused:
        names = "; ".join(draw.noise[k].name for k in injection.unused[:3])
        notes.append(f"torch draws numbers that {called} does not draw: {names}")
    if injection.extra:
        notes.append(f"{called} draws {_site(port, injection)}, which torch does not draw")
    return notes
