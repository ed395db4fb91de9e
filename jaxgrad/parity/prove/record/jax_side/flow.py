"""The data flow of a JAX program, through `jit`, `scan`, `cond`, remat and custom rules."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import Path, bodies
from jaxgrad._core.source import Span
from jaxgrad._core.tree import is_inexact
from jaxgrad.parity.prove.edits import function_lines
from jaxgrad.parity.prove.record.jax_side.program import CUSTOM, JaxProgram, Key


# These return the numbers of their operand, whatever they are.
REARRANGES = frozenset({
    "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "custom_jvp_call",
    "expand_dims", "jit", "name", "optimization_barrier", "pjit", "reshape",
    "sharding_constraint", "squeeze", "stop_gradient", "transpose",
})  # fmt: skip


class Flow:
    """A graph of values, in which `parents[key]` are a value's operands.

    A leaf of params or inputs has the key `leaf_key(i)`. The parents of a loop's carry are its
    initial value and its value in the previous iteration.
    """

    def __init__(self, program: JaxProgram):
        self.program = program
        self.parents: dict[Key, tuple[Key, ...]] = {}
        self.order: dict[Key, int] = {}
        self.operands: dict[Path, list[tuple[Key, ...]]] = {}  # of equations without a body
        jaxpr, _ = compat.open_jaxpr(program.jaxpr)
        leaves = [(leaf_key(i),) for i in range(len(program.leaves))]
        self.outputs = self._walk(program.jaxpr, leaves[: len(jaxpr.invars)], ())
        self.children: dict[Key, list[Key]] = {}
        for key, parents in self.parents.items():
            for parent in parents:
                self.children.setdefault(parent, []).append(key)

    def _walk(self, jaxpr: Any, operands: Sequence[tuple[Key, ...]], path: Path) -> list[Any]:
        opened, _ = compat.open_jaxpr(jaxpr)
        env: dict[Any, tuple[Key, ...]] = dict(zip(opened.invars, operands, strict=True))

        def of(atom: Any) -> tuple[Key, ...]:
            return () if isinstance(atom, jex_core.Literal) else env.get(atom, ())

        for i, eqn in enumerate(opened.eqns):
            here = (*path, i)
            ins = [of(v) for v in eqn.invars]
            outs = self._inside(eqn, ins, here)
            if outs is None or eqn.primitive.name in CUSTOM:
                self.operands[here] = ins
            for k, v in enumerate(eqn.outvars):
                key = (here, k)
                self.order.setdefault(key, len(self.order))  # a loop's body is walked twice
                self.parents[key] = _flat(ins) if outs is None else tuple(dict.fromkeys(outs[k]))
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

    def computed(self, keys: Sequence[Key]) -> Key | None:
        """Return the value that the first of `keys` rearranges or stops, or this key itself."""
        key = next(iter(keys), None)
        while key is not None and leaf_of(key) is None:
            parents = self.parents.get(key, ())
            if not self.only_rearranges(key) or leaf_of(parents[0]) is not None:
                break
            key = parents[0]
        return key

    def only_rearranges(self, key: Key) -> bool:
        """Whether a value has the elements of its one operand."""
        if leaf_of(key) is not None:
            return False
        name = self.program.equations[key[0]].primitive.name
        return name in REARRANGES and len(self.parents.get(key, ())) == 1

    @functools.cached_property
    def returned(self) -> set[Key]:
        """The values inside of jitted functions that these return: one value with two keys."""
        found: set[Key] = set()
        for key, parents in self.parents.items():
            if leaf_of(key) is None and self.program.equations[key[0]].primitive.name in compat.JIT:
                length = len(key[0])
                found.update(k for k in parents if k[0][:length] == key[0] and len(k[0]) > length)
        return found

    @functools.cached_property
    def used(self) -> set[Key]:
        """The values and leaves on which an output depends, outputs included."""
        return self.back((key for keys in self.outputs for key in keys), set())

    @functools.cached_property
    def live(self) -> set[Key]:
        """The values from which a gradient flows to a leaf, through no stop_gradient.

        No gradient flows through integers and booleans, such as the indices of a segment.
        """
        equations = self.program.equations.items()
        stops = {(path, 0) for path, eqn in equations if eqn.primitive.name == "stop_gradient"}
        exact = {
            (path, k)
            for path, eqn in equations
            for k, variable in enumerate(eqn.outvars)
            if not is_inexact(variable)
        }
        leaves = [leaf_key(i) for i, x in enumerate(self.program.leaves) if x.dtype.kind in "fc"]
        return self.ahead(leaves, stops | exact) - stops - exact

    def back(self, start: Iterable[Key], stop: set[Key]) -> set[Key]:
        """Return the ancestors of some values, without `stop` and the ancestors behind it."""
        visited: set[Key] = set()
        todo = [key for key in start if key not in stop]
        while todo:
            key = todo.pop()
            if key not in visited:
                visited.add(key)
                todo += [p for p in self.parents.get(key, ()) if p not in stop]
        return visited

    def ahead(self, start: Iterable[Key], stop: set[Key]) -> set[Key]:
        """Return the descendants of some values, up to and including the first ones in `stop`."""
        visited: set[Key] = set()
        todo = [child for key in start for child in self.children.get(key, ())]
        while todo:
            key = todo.pop()
            if key not in visited:
                visited.add(key)
                if key not in stop:
                    todo += self.children.get(key, ())
        return visited

    def between(self, start: Iterable[Key], goal: set[Key], stop: set[Key], name: str) -> list[Key]:
        """Return the equations of primitive `name` on paths from `start` to `goal`, in order."""
        keys = [
            key
            for key in self.ahead(start, stop)
            if leaf_of(key) is None and self.program.equations[key[0]].primitive.name == name
        ]
        keys = [key for key in keys if key in goal or self.ahead([key], stop) & goal]
        return sorted(keys, key=lambda key: self.order[key])


def leaf_key(number: int) -> Key:
    """Return the key of a leaf of params or inputs."""
    return (-1 - number,), 0


def leaf_of(key: Key) -> int | None:
    """Return the index of the leaf that a key denotes, or None for an equation's output."""
    first = key[0][0]
    return -1 - first if first < 0 else None


def _flat(parts: Iterable[Iterable[Key]]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(key for part in parts for key in part))


def place(program: JaxProgram, key: Key) -> str:
    """Return `file:line (module path)` of the user's code for a value, or the path of a leaf."""
    leaf = leaf_of(key)
    if leaf is not None:
        return [*program.param_paths, *program.input_paths][leaf]
    eqn = program.equations[key[0]]
    around = [program.equations[key[0][:n]] for n in range(1, len(key[0]), 2)]
    stacks = [str(e.source_info.name_stack) for e in (*around, eqn)]
    names = "/".join(s for s in stacks if s)
    lines = lines_of(program, key[0]) or [source.body_line(eqn)]
    line = lines[0] + _caller(program, lines)
    return f"{line} ({names})" if names else f"{line} ({eqn.primitive.name})"


def lines_of(program: JaxProgram, path: Path) -> list[str]:
    """Return the user's lines that an equation is computed in, innermost first.

    An equation without lines of its own, such as one inside of a function of `jax.numpy`, has those
    of the nearest one, or of the equation that it is inside of.
    """
    for length in range(len(path), 0, -2):
        eqn = program.equations[path[:length]]
        own = source.user_lines(eqn) if source.user_line(eqn) else []
        found = own or _nearby_lines(program, path[:length], str(eqn.source_info.name_stack))
        if found:
            return found
    return []


class Origin(NamedTuple):
    """The line of the user's code that makes a value and hands it to a helper function."""

    line: str  # file:line
    span: Span | None  # the expression, if it is known


def origin(flow: Flow, uses: Iterable[tuple[Path, int]]) -> Origin | None:
    """Return where a value is made that a helper function gets, or that is read several times.

    Args:
        flow: The data flow of the port.
        uses: The operands that read the value, each as the path of an equation and its position.

    Returns:
        None unless the value has no other uses, which are inside helper functions that the same
        line calls, or are several of the function that makes it.
    """
    program, given = flow.program, set(uses)
    uses = {(path, k) for path, k in given if _reaches(flow, path, k, given)}
    keys = {key for path, k in uses for key in flow.operands[path][k]}
    read = {(path, k) for path, operands in flow.operands.items() for k, made in enumerate(operands)
            if keys & {*made} and path not in program.closed}  # fmt: skip
    if len(keys) != 1 or read != uses or leaf_of(next(iter(keys))) is not None:
        return None
    ((path, _),) = keys
    lines = lines_of(program, path)
    stacks = [lines_of(program, use) for use, _ in uses]
    frames = {_frame_of_argument(lines, stack) for stack in stacks}
    frame = frames.pop()
    if frame is None and len(uses) > 1 and all(_beside(program, lines, x) for x in stacks):
        frame = 0
    if frame is None or frames:
        return None
    own = source.user_lines(program.equations[path])
    spans = source.user_spans(program.equations[path]) if own == lines else []
    return Origin(lines[frame], spans[frame] if len(spans) == len(lines) else None)


def _beside(program: JaxProgram, made: Sequence[str], read: Sequence[str]) -> bool:
    """Whether two lines, each with the lines that call it, are in one call of a function."""
    if not made or not read or made[1:] != read[1:]:
        return False
    file, _, number = made[0].rpartition(":")
    path = source.file_of(program.equations.values(), made[0])
    return bool(path) and read[0] in {
        f"{file}:{line}" for line in function_lines(path, int(number))
    }


def _reaches(flow: Flow, path: Path, operand: int, closed: set[tuple[Path, int]]) -> bool:
    """Whether a gradient flows from an operand to a leaf if further operands are closed."""
    visited: set[Key] = set()
    todo = [*flow.operands.get(path, {operand: ()})[operand]]
    while todo:
        key = todo.pop()
        if leaf_of(key) is not None:
            return True
        if key in visited:
            continue
        visited.add(key)
        if key[0] in flow.operands:
            operands = enumerate(flow.operands[key[0]])
            todo += [x for k, made in operands if (key[0], k) not in closed for x in made]
        else:
            todo += flow.parents.get(key, ())
    return False


def _frame_of_argument(made: Sequence[str], read: Sequence[str]) -> int | None:
    """Return the frame of `made` in which a value is made that a called function reads.

    The lines of both are innermost first. None if the value is read in this frame itself.
    """
    pairs = zip(reversed(made), reversed(read), strict=False)
    common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    depth = min(common, len(made) - 1)
    return len(made) - 1 - depth if 0 <= depth < len(read) - 1 else None


def _caller(program: JaxProgram, stack: Sequence[str]) -> str:
    """Return the line that called the helper function of an equation, if several lines do."""
    others = [source.user_lines(other) for other in program.equations.values()]
    others = [other for other in others if other[:1] == stack[:1]]
    for depth in range(1, len(stack)):
        if any(other[depth : depth + 1] not in ([], [stack[depth]]) for other in others):
            return f", called from {stack[depth]}"
    return ""


def _neighbour(program: JaxProgram, path: Path, step: int) -> list[str]:
    """Return the lines of the next equation whose own line is known, innermost first."""
    for offset in range(1, 12):
        eqn = program.equations.get((*path[:-1], path[-1] + step * offset))
        if eqn is not None and source.user_line(eqn):
            return source.user_lines(eqn)
    return []


def _ordered(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether code with these calling lines can run before other code, without a loop."""
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one != other:
            (file, _, line), (other_file, _, other_line) = (
                one.rpartition(":"),
                other.rpartition(":"),
            )
            return file == other_file and int(line) <= int(other_line)
    return True


def _nearby_lines(program: JaxProgram, path: Path, stack: str) -> list[str]:
    """Return the user's lines for an equation inlined from one of JAX's jitted functions.

    Such an equation records where the function was first traced, which may be elsewhere. The
    record is used if it lies between the lines of the neighbouring equations, or if one of them
    has the same callers; otherwise the nearest line of the same module is used, without callers.
    """
    recorded = source.user_lines(program.equations[path])
    around = [_neighbour(program, path, step) for step in (-1, 1)]
    if recorded and _ordered(around[0], recorded) and _ordered(recorded, around[1]):
        return recorded
    nearest: list[str] = []
    for offset in range(1, 12):
        for number in (path[-1] + offset, path[-1] - offset):
            eqn = program.equations.get((*path[:-1], number))
            line = "" if eqn is None else source.user_line(eqn)
            if eqn is None or not line:
                continue
            if recorded and source.user_lines(eqn)[-len(recorded) + 1 :] == recorded[1:]:
                return recorded
            other = str(eqn.source_info.name_stack)
            if stack.startswith(other) and (other or not stack):
                nearest = nearest or [line]
    return nearest
