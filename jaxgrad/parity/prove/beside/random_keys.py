"""Check that random numbers that are independent in torch are drawn with different keys in JAX.

The port is given the numbers that torch draws, so its outputs do not show that two draws have one
key. Without these numbers the draws are equal: two dropouts drop the same units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad._core import source
from jaxgrad._core.jaxpr import Path
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate.forward import ROOT
from jaxgrad.parity.prove.locate.quotes import quoted
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.keys import Keys
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.record.jax_side.sites import Site
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.wording import Told


_MOST_DRAWS = 2000  # whose keys are computed
_INDEPENDENT = "torch draws independent numbers"
_ADVICE = f"{_INDEPENDENT}: split the key, and draw each time with a new one"


class _Draw(NamedTuple):
    """One draw of the port, and torch's numbers for it."""

    site: Site
    noise: Noise
    number: int  # of these numbers among torch's
    keys: tuple[bytes, ...]  # several under `jax.vmap`


def surface(evidence: Evidence) -> Judgement | None:
    """Return a failed forward surface if two draws that are independent in torch have one key."""
    program = evidence.port.program
    found: dict[tuple[Path, ...], Finding] = {}
    by_key: dict[bytes, list[_Draw]] = {}
    for draw in _draws(evidence):
        if len(set(draw.keys)) < len(draw.keys):
            found.setdefault((draw.site.path,), _within(evidence, draw))
        for key in dict.fromkeys(draw.keys):
            by_key.setdefault(key, []).append(draw)
    for first, *rest in by_key.values():
        others = [draw for draw in rest if _independent(program, first, draw)]
        if others:
            paths = dict.fromkeys(draw.site.path for draw in (first, *others))
            found.setdefault(tuple(paths), _between(evidence, [first, *others]))
    findings = tuple(found.values())
    if not findings:
        return None
    return Judgement(Surface("forward", "fail", findings[0].text, findings=findings))


def _draws(evidence: Evidence) -> Iterator[_Draw]:
    """Yield the port's draws of numbers that torch draws at random, with their keys."""
    port, draw = evidence.port, evidence.draws[0]
    injection = port.injection
    if sum(source.size for source in injection.sources) > _MOST_DRAWS:
        return
    keys = Keys(port.program, port.leaves(draw)) if injection.sites else None
    for site, sources in zip(injection.sites, injection.sources, strict=True):
        for at in np.ndindex(site.lengths):
            number = int(sources[at])
            noise = draw.noise[number]
            certain = noise.kind == "bernoulli" and np.isin(noise.rate, (0, 1)).all()
            if keys is not None and not certain:
                yield _Draw(site, noise, number, keys.of(site.path, at))


def _independent(program: JaxProgram, one: _Draw, other: _Draw) -> bool:
    """Whether torch draws twice, and the port does not draw in two branches of one `cond`."""
    pairs = enumerate(zip(one.site.path, other.site.path, strict=False))
    same = next((n for n, (a, b) in pairs if a != b), 0)
    branches = same % 2 and program.equations[one.site.path[:same]].primitive.name == "cond"
    return one.number != other.number and not branches


def _within(evidence: Evidence, draw: _Draw) -> Finding:
    """Describe one draw under `jax.vmap` with equal keys."""
    where = _places(evidence.port.program, [draw.site.path])[0].text
    how = f"drawn at {where} with equal keys in one `jax.vmap`"
    return _finding(evidence, [draw], f"the {_what([draw])} are {how}")


def _between(evidence: Evidence, draws: Sequence[_Draw]) -> Finding:
    """Describe several draws with one key."""
    paths = list(dict.fromkeys(draw.site.path for draw in draws))
    places = _places(evidence.port.program, paths)
    lines, callers = ([*dict.fromkeys(x)] for x in zip(*places, strict=True))
    if len(lines) == 1 and all(callers):
        where = f"{lines[0]}, called from {_listed(callers)}"
    else:
        where = _listed([place.text for place in dict.fromkeys(places)])
    each = f", in {len(draws)} iterations of a loop" if len(places) == 1 else ""
    how = f"drawn with the same key at {where}{each}"
    return _finding(evidence, draws, f"the {_what(draws)} are {how}")


def _what(draws: Sequence[_Draw]) -> str:
    masks = all(draw.noise.kind == "bernoulli" for draw in draws)
    names = list(dict.fromkeys(_name(draw.noise) for draw in draws))
    return f"{'masks' if masks else 'random numbers'} of torch's {_listed(names)}"


def _name(noise: Noise) -> str:
    """Return `module (call)`, or the call of the outermost module alone."""
    module, _, op = noise.where.partition("(")
    return noise.where if module.strip() else op.rstrip(")") or "module"


def _finding(evidence: Evidence, draws: Sequence[_Draw], text: str) -> Finding:
    """Return a finding at the second draw, or at the only one."""
    program = evidence.port.program
    told = Told(f"{text}; {_ADVICE}", f"in JAX, {text}; {_INDEPENDENT}")
    paths = list(dict.fromkeys(draw.site.path for draw in draws))
    where, _, op = draws[min(1, len(draws) - 1)].noise.where.partition("(")
    line = _places(program, paths)[min(1, len(paths) - 1)].text
    says = told.says(evidence.reference)
    finding = Finding("forward", where.strip() or ROOT, line, says, op=op.rstrip(")"))
    return quoted(evidence, finding, (paths[-1], 0))


class _Place(NamedTuple):
    """The user's line that draws, and the line that called the function around it."""

    line: str
    caller: str  # empty unless another call of this function draws too

    @property
    def text(self) -> str:
        return f"{self.line}, called from {self.caller}" if self.caller else self.line


def _places(program: JaxProgram, paths: Sequence[Path]) -> list[_Place]:
    """Return where the port draws, for each of several draws with one key."""
    stacks = [list(_stack(program, path)) for path in paths]
    places = []
    for path, stack in zip(paths, stacks, strict=True):
        same = [other for other in stacks if other[:1] == stack[:1]]
        depths = (d for d, at in enumerate(stack) if any(x[d : d + 1] != [at] for x in same))
        depth = next(depths, 0)
        line = stack[0] if stack else place(program, (path, 0)).partition(" (")[0]
        places.append(_Place(line, stack[depth] if depth else ""))
    return places


def _stack(program: JaxProgram, path: Path) -> Iterator[str]:
    """Yield the user's lines around a draw, the innermost first."""
    around = [program.equations[path[:n]] for n in range(len(path), 0, -2)]
    by_jax = len(around) > 1 and str(around[1].params.get("name", "")).startswith("_")
    for eqn in around[1 if by_jax else 0 :]:  # `bernoulli` calls `uniform`
        yield from source.user_lines(eqn)


def _listed(names: Sequence[str]) -> str:
    """Join names; of many, the first three."""
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} others"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
