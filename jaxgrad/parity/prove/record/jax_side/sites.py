"""Find the calls of `jax.random` in a program, and give them the numbers that torch drew."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import Path, abstract, walk
from jaxgrad.parity.prove.record.jax_side.keys import Keys
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.record.noise import ACCEPTED, Noise, arranged, sample, shared


# The functions that `jax.random` compiles, each with its sampler.
_SAMPLERS = {
    "_uniform": "uniform", "_normal": "normal", "_normal_real": "normal", "_gumbel": "gumbel",
    "_exponential": "exponential", "_randint": "randint",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Site:
    """A call of a sampler; inside a scan, it is made once in each iteration."""

    path: Path
    sampler: str
    shape: tuple[int, ...]  # of one call
    lengths: tuple[int, ...]  # of the enclosing scans
    line: tuple[str, ...]  # the source lines, by which calls of one layer are grouped


@dataclasses.dataclass(frozen=True)
class Injection:
    """The sites that draw torch's numbers: for each, the positions of torch's numbers."""

    sites: tuple[Site, ...] = ()
    sources: tuple[np.ndarray, ...] = ()  # of shape `lengths`; indices into torch's numbers
    reflected: frozenset[tuple[str, ...]] = frozenset()  # lines that keep what is above a threshold
    swapped: bool = False  # whether to swap the first two axes if they have equal sizes
    tight: Path | None = None  # the site whose mask depends on the probability of a one
    unused: tuple[int, ...] = ()  # torch's numbers without a site
    extra: tuple[Path, ...] = ()  # sites without numbers of torch

    def values(self, noise: Sequence[Noise]) -> dict[Path, np.ndarray]:
        """Return the numbers of each site."""
        injected = {}
        for site, sources in zip(self.sites, self.sources, strict=True):
            reflected = site.line in self.reflected
            parts = []
            for k in sources.ravel():
                x = sample(
                    noise[k], site.sampler, loose=site.path != self.tight, reflected=reflected
                )
                parts.append(arranged(x, site.shape, swapped=self.swapped))
            if all(part is not None for part in parts):
                injected[site.path] = np.stack(parts).reshape((*site.lengths, *site.shape))
        return injected

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The source lines of the sites whose numbers may be reflected."""
        return list(dict.fromkeys(s.line for s in self.sites if s.sampler == "uniform"))


NO_INJECTION = Injection()


def sites(program: JaxProgram, used: set[Path]) -> list[Site]:
    """Return the calls of samplers that an output depends on."""
    found: list[Site] = []
    for path, eqn in program.equations.items():
        name = eqn.params.get("name") if eqn.primitive.name in compat.JIT else None
        inside = found and path[: len(found[-1].path)] == found[-1].path
        if name not in _SAMPLERS or inside or path in program.closed or path not in used:
            continue
        bits = (place.eqn.primitive.name for place in walk(eqn.params["jaxpr"]))
        if len(eqn.outvars) != 1 or "random_bits" not in bits or _in_while(program, path):
            continue
        around = program.equations.get(path[:-2], eqn)
        named = str(around.params.get("name", "")).startswith("_")  # `bernoulli` calls `uniform`
        line = tuple(source.user_lines(around if named else eqn)[:1])
        shape = abstract(eqn.outvars[0]).shape
        found.append(Site(path, _SAMPLERS[name], shape, program.lengths[path], line))
    return found


def _in_while(program: JaxProgram, path: Path) -> bool:
    around = (program.equations[path[:n]] for n in range(1, len(path), 2))
    return any(eqn.primitive.name == "while" for eqn in around)


def matched(program: JaxProgram, listed: Sequence[Site], noise: Sequence[Noise]) -> Injection:
    """Match torch's numbers with sites in program order; as many as possible, the first ones first.

    Of several sites of the same size, one of the same shape is preferred. A site inside a scan is
    matched only as a whole. A site that draws more or fewer numbers along some axes is matched if
    there is no site of the same size.
    """
    calls = sorted(_calls(program, listed), key=lambda call: call[0])
    more = len(noise) + 1  # than there are numbers: what is worth more than all of the rest
    fits = [
        [
            more * (more + (x.drawn.shape == site.shape)) if _fits(x, site)
            else int(_shares(x, site))
            for _, site, _ in calls
        ]
        for x in noise
    ]  # fmt: skip
    best = np.zeros((len(noise) + 1, len(calls) + 1), int)
    for i in reversed(range(len(noise))):
        for k in reversed(range(len(calls))):
            best[i, k] = max(best[i + 1, k], best[i, k + 1], best[i + 1, k + 1] + fits[i][k])
    chosen: dict[int, dict[tuple[int, ...], int]] = {}
    i = k = 0
    while i < len(noise) and k < len(calls):
        _, site, iteration = calls[k]
        if fits[i][k] and best[i, k] == best[i + 1, k + 1] + fits[i][k]:
            chosen.setdefault(listed.index(site), {})[iteration] = i
            i, k = i + 1, k + 1
        elif best[i, k] == best[i + 1, k]:
            i += 1
        else:
            k += 1
    whole = {
        n: by_iteration
        for n, by_iteration in chosen.items()
        if len(by_iteration) == int(np.prod(listed[n].lengths))
    }
    sources = [
        np.array([by_iteration[at] for at in np.ndindex(listed[n].lengths)], int).reshape(
            listed[n].lengths
        )
        for n, by_iteration in whole.items()
    ]
    taken = {int(i) for x in sources for i in x.ravel()}
    return Injection(
        tuple(listed[n] for n in whole),
        tuple(sources),
        unused=tuple(i for i in range(len(noise)) if i not in taken),
        extra=tuple(site.path for n, site in enumerate(listed) if n not in whole),
    )


def with_repeats(
    program: JaxProgram, listed: Sequence[Site], noise: Sequence[Noise], keys: Keys
) -> Injection:
    """Match torch's numbers with sites, and give a site that repeats an earlier draw its numbers.

    A draw with the same key and shape gives the same numbers. Where torch draws a mask once and
    uses it twice, a port may draw it twice.
    """
    drawn: dict[Any, int] = {}
    first: list[int] = []  # for each site, the first one with the same draws
    for n, site in enumerate(listed):
        used = tuple(keys.of(site.path, at) for at in np.ndindex(site.lengths))
        same = (site.sampler, site.shape, site.lengths, used)
        first.append(drawn.setdefault(same, n) if all(used) else n)
    alone = [site for n, site in enumerate(listed) if first[n] == n]
    injection = matched(program, alone, noise)
    sources = dict(zip(injection.sites, injection.sources, strict=True))
    repeats = [
        (site, sources[listed[n]])
        for site, n in zip(listed, first, strict=True)
        if site not in alone and listed[n] in sources
    ]
    return dataclasses.replace(
        injection,
        sites=(*injection.sites, *(site for site, _ in repeats)),
        sources=(*injection.sources, *(source for _, source in repeats)),
        extra=tuple(
            site.path for site, n in zip(listed, first, strict=True) if listed[n] not in sources
        ),
    )


def _fits(noise: Noise, site: Site) -> bool:
    accepted = noise.kind in ACCEPTED[site.sampler]
    return accepted and noise.drawn.size == int(np.prod(site.shape))


def _shares(noise: Noise, site: Site) -> bool:
    accepted = noise.kind in ACCEPTED[site.sampler]
    return accepted and shared(noise.drawn, site.shape) is not None


def _calls(
    program: JaxProgram, listed: Sequence[Site]
) -> Iterator[tuple[tuple[int, ...], Site, tuple[int, ...]]]:
    """Yield every call of every site with its order in time and its iteration."""
    for site in listed:
        for iteration in np.ndindex(site.lengths):
            times, order = iter(iteration), []
            for n in range(len(site.path)):
                order.append(site.path[n])
                eqn = program.equations.get(site.path[: n + 1])
                if n % 2 == 0 and n + 1 < len(site.path) and eqn is not None:
                    if eqn.primitive.name == "scan":
                        step = next(times)
                        order.append(-step if eqn.params["reverse"] else step)
                    else:
                        order.append(0)
            yield tuple(order), site, iteration
