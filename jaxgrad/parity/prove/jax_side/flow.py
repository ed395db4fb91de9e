"""What reads what inside a JAX program, through `jit`, `scan`, `cond`, remat and custom rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import Path, bodies
from jaxgrad.parity.prove.jax_side.program import JaxProgram, Key


class Flow:
    """A graph over values: `parents[key]` are the values it was made of.

    A leaf of params or inputs has the key `leaf_key(i)`; a loop's carry has two kinds of parents,
    what goes in and what comes round.
    """

    def __init__(self, made: JaxProgram):
        self.made = made
        self.parents: dict[Key, tuple[Key, ...]] = {}
        self.order: dict[Key, int] = {}
        jaxpr, _ = compat.open_jaxpr(made.jaxpr)
        leaves = [(leaf_key(i),) for i in range(len(made.leaves))]
        self.outputs = self._walk(made.jaxpr, leaves[: len(jaxpr.invars)], ())
        self.children: dict[Key, list[Key]] = {}
        for key, parents in self.parents.items():
            for parent in parents:
                self.children.setdefault(parent, []).append(key)

    def _walk(self, jaxpr: Any, given: Sequence[tuple[Key, ...]], path: Path) -> list[Any]:
        opened, _ = compat.open_jaxpr(jaxpr)
        env: dict[Any, tuple[Key, ...]] = dict(zip(opened.invars, given, strict=True))

        def of(atom: Any) -> tuple[Key, ...]:
            return () if isinstance(atom, jex_core.Literal) else env.get(atom, ())

        for i, eqn in enumerate(opened.eqns):
            here = (*path, i)
            ins = [of(v) for v in eqn.invars]
            made = self._inside(eqn, ins, here)
            for k, v in enumerate(eqn.outvars):
                key = (here, k)
                self.order.setdefault(key, len(self.order))  # a loop's body is walked twice
                self.parents[key] = _flat(ins) if made is None else tuple(dict.fromkeys(made[k]))
                env[v] = (key,)
        return [of(v) for v in opened.outvars]

    def _inside(self, eqn: Any, ins: list[tuple[Key, ...]], path: Path) -> list[Any] | None:
        inside = bodies(eqn)
        if not inside:
            return None
        fed = {i for body in inside for i in body.inputs}
        decides = _flat(keys for i, keys in enumerate(ins) if i not in fed)  # the index of a `cond`
        outs: list[Any] = [decides] * len(eqn.outvars)
        for k, body in enumerate(inside):
            if None in body.outputs:
                continue  # the condition of a `while`
            results = self._walk(body.jaxpr, body.feed(ins), (*path, k))
            if body.carry:
                consts, carry, xs = body.split(ins)
                carry = [(*x, *y) for x, y in zip(carry, results, strict=False)]
                results = self._walk(body.jaxpr, [*consts, *carry, *xs], (*path, k))
            outs = [(*x, *y) for x, y in zip(outs, results, strict=True)]
        return outs

    def back(self, start: Iterable[Key], stop: set[Key]) -> set[Key]:
        """What these were made of, through values that are not in `stop`; `stop` is left out."""
        found: set[Key] = set()
        todo = [key for key in start if key not in stop]
        while todo:
            key = todo.pop()
            if key not in found:
                found.add(key)
                todo += [p for p in self.parents.get(key, ()) if p not in stop]
        return found

    def ahead(self, start: Iterable[Key], stop: set[Key]) -> set[Key]:
        """What is made of these, up to and with the first values in `stop`."""
        found: set[Key] = set()
        todo = [child for key in start for child in self.children.get(key, ())]
        while todo:
            key = todo.pop()
            if key not in found:
                found.add(key)
                if key not in stop:
                    todo += self.children.get(key, ())
        return found

    def between(self, start: Iterable[Key], goal: set[Key], stop: set[Key], name: str) -> list[Key]:
        """The equations called `name` on the ways from some values to others, in order."""
        found = [
            key
            for key in self.ahead(start, stop)
            if leaf_of(key) is None and self.made.equations[key[0]].primitive.name == name
        ]
        found = [key for key in found if key in goal or self.ahead([key], stop) & goal]
        return sorted(found, key=lambda key: self.order[key])


def leaf_key(number: int) -> Key:
    return (-1 - number,), 0


def leaf_of(key: Key) -> int | None:
    """Which leaf a key stands for, if any."""
    first = key[0][0]
    return -1 - first if first < 0 else None


def _flat(parts: Iterable[Iterable[Key]]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(key for part in parts for key in part))


def place(made: JaxProgram, key: Key) -> str:
    """`file:line (module path)` of the user's line that made a value, or the path of a leaf."""
    leaf = leaf_of(key)
    if leaf is not None:
        return [*made.param_paths, *made.input_paths][leaf]
    eqn = made.equations[key[0]]
    around = [made.equations[key[0][:n]] for n in range(1, len(key[0]), 2)]
    stacks = [str(e.source_info.name_stack) for e in (*around, eqn)]
    names = "/".join(s for s in stacks if s)
    lines = [
        source.user_line(eqn) or _beside(made, key[0][: 2 * n + 1], stacks[n])
        for n, eqn in enumerate((*around, eqn))
    ]
    line = next(filter(None, reversed(lines)), None) or source.short_line(eqn)
    return f"{line} ({names})" if names else f"{line} ({eqn.primitive.name})"


def _beside(made: JaxProgram, path: Path, stack: str) -> str:
    """The line of an equation that a jitted function of JAX's own put inline.

    It remembers where it was first traced, which may be another place: it is believed where an
    equation near it was reached by the same calls; else the nearest line of its module is taken.
    """
    said = source.user_lines(made.equations[path])
    nearest = ""
    for away in range(1, 12):
        for number in (path[-1] + away, path[-1] - away):
            eqn = made.equations.get((*path[:-1], number))
            line = "" if eqn is None else source.user_line(eqn)
            if eqn is None or not line:
                continue
            if said and source.user_lines(eqn)[-len(said) + 1 :] == said[1:]:
                return said[0]
            other = str(eqn.source_info.name_stack)
            if stack.startswith(other) and (other or not stack):
                nearest = nearest or line
    return nearest
