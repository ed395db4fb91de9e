"""Every equation of a program with its values, turn by turn.

The program runs equation by equation, so that a value inside a `while` or a branch is the value
that was there. What holds nothing to look at runs as one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core.jaxpr import (
    Body,
    Path,
    bodies,
    inner,
    is_inexact,
    live_inputs,
    live_variables,
    walk,
)


class Seen(NamedTuple):
    """An equation on a differentiated path, and what it was given and made this time."""

    eqn: jex_core.JaxprEqn
    path: Path
    ins: list[Any]
    outs: list[Any]
    moves: list[bool]  # the inputs that are made of what is differentiated
    source: Callable[[Any], jex_core.JaxprEqn | None]  # the equation that made a variable
    name: str  # `clip()` for a function of JAX's own, else the primitive's
    library: bool  # inside of such a function
    line: str
    stack: str


class Walk(NamedTuple):
    """A run under watch.

    `looks`: whether an equation of this name is of interest, and is not entered.
    `show`: is called with each of them that lies on a differentiated path.
    """

    looks: Callable[[str], bool]
    show: Callable[[Seen], None]

    def __call__(self, jaxpr: Any, args: Sequence[Any]) -> list[Any]:
        moves = [is_inexact(v) for v in compat.open_jaxpr(jaxpr)[0].invars]
        live = [is_inexact(v) for v in compat.open_jaxpr(jaxpr)[0].outvars]
        return self.run(jaxpr, list(args), moves, live, Where())[0]

    def run(
        self, jaxpr: Any, args: list[Any], moves: list[bool], live_out: list[bool], where: Where
    ) -> tuple[list[Any], list[bool]]:
        """The outputs, and which of them are made of what is differentiated."""
        jaxpr, consts = compat.open_jaxpr(jaxpr)
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        moving = {v for v, flag in zip(jaxpr.invars, moves, strict=True) if flag}
        live = live_variables(jaxpr, live_out, moves)
        made_by: dict[Any, jex_core.JaxprEqn] = {}

        def value(atom: Any) -> Any:
            return atom.val if isinstance(atom, jex_core.Literal) else env[atom]

        def flag(atom: Any) -> bool:
            return isinstance(atom, jex_core.Var) and atom in moving

        for i, eqn in enumerate(jaxpr.eqns):
            ins, moves = [value(v) for v in eqn.invars], [flag(v) for v in eqn.invars]
            lives = [v in live for v in eqn.outvars]
            here = where.at(i, eqn)
            with compat.equation_context(eqn):
                if any(moves) and any(lives) and self.enters(eqn):
                    outs, made = self.enter(eqn, ins, moves, lives, here)
                else:
                    outs = compat.bind(eqn, ins)
                    made = [any(moves) and eqn.primitive.name != "stop_gradient"] * len(outs)
            if any(moves) and any(lives) and self.looks(name_of(eqn)) and not here.own:
                seen = Seen(
                    eqn,
                    here.path,
                    ins,
                    outs,
                    moves,
                    lambda atom: made_by.get(atom) if isinstance(atom, jex_core.Var) else None,
                    name_of(eqn),
                    where.library,
                    here.line,
                    here.stack,
                )
                self.show(seen)
            env.update(zip(eqn.outvars, outs, strict=True))
            moving.update(v for v, m in zip(eqn.outvars, made, strict=True) if m and is_inexact(v))
            made_by.update(dict.fromkeys(eqn.outvars, eqn))
        return [value(v) for v in jaxpr.outvars], [flag(v) for v in jaxpr.outvars]

    def enters(self, eqn: jex_core.JaxprEqn) -> bool:
        """Into whatever may hold something to look at; a custom rule replaces what it holds."""
        if eqn.primitive.name in _OPAQUE or self.looks(name_of(eqn)):
            return False
        return any(self.looks(name_of(p.eqn)) for sub in inner(eqn) for p in walk(sub))

    def enter(
        self,
        eqn: jex_core.JaxprEqn,
        args: list[Any],
        moves: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        name = eqn.primitive.name
        # A person may jit `jnp.abs` itself: one equation is what they wrote.
        alone = name in compat.JIT and len(compat.open_jaxpr(inner(eqn)[0])[0].eqns) == 1
        where = where.inside(bool(own_function(eqn)) and not alone)
        inside = bodies(eqn)
        if name == "scan":
            return self.scan(eqn, inside[0], args, moves, lives, where)
        if name == "while":
            return self.while_loop(inside[0], inside[1], args, moves, lives, where)
        body = inside[int(args[0])] if name == "cond" else inside[0]
        return self.run(body.jaxpr, body.feed(args), body.feed(moves), lives, where)

    def scan(
        self,
        eqn: jex_core.JaxprEqn,
        body: Body,
        args: list[Any],
        moves: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        lives, n, length = _carried(body, lives), len(body.carry), eqn.params["length"]
        (consts, carry, xs), (fixed, carried, scanned) = body.split(args), body.split(moves)
        turns = range(length)
        rows: list[Any] = [None] * length
        flags = [False] * (len(lives) - n)
        for turn in reversed(turns) if eqn.params["reverse"] else turns:
            # By a number that is no constant: one program for all turns.
            at = jnp.asarray(turn)
            row = [lax.dynamic_index_in_dim(x, at, keepdims=False) for x in xs]
            ins, moved = [*consts, *carry, *row], [*fixed, *carried, *scanned]
            outs, made = self.run(body.jaxpr, ins, moved, lives, where)
            carry, carried, rows[turn] = outs[:n], made[:n], outs[n:]
            flags = [x or y for x, y in zip(flags, made[n:], strict=True)]
        if not length:
            return compat.bind(eqn, args), [*carried, *flags]
        return [*carry, *(jnp.stack(ys) for ys in zip(*rows, strict=True))], [*carried, *flags]

    def while_loop(
        self,
        test: Body,
        body: Body,
        args: list[Any],
        moves: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        proceed, lives = jex_core.jaxpr_as_fun(test.jaxpr), _carried(body, lives)
        (consts, carry, _), (fixed, carried, _) = body.split(args), body.split(moves)
        while bool(proceed(*test.split(args)[0], *carry)[0]):
            ins, moved = [*consts, *carry], [*fixed, *carried]
            carry, carried = self.run(body.jaxpr, ins, moved, lives, where)
        return carry, carried


class Where(NamedTuple):
    """Where in the program the walk is."""

    path: Path = ()
    line: str = ""
    stack: str = ""
    library: bool = False
    own: bool = False  # made by this package, which has torch's conventions

    def at(self, i: int, eqn: jex_core.JaxprEqn) -> Where:
        stack = "/".join(filter(None, (self.stack, str(eqn.source_info.name_stack))))
        line = source.user_line(eqn, inlined=not self.library) or self.line
        own = self.own or source.is_own(eqn)
        return Where((*self.path, i), line, stack, self.library, own)

    def inside(self, library: bool) -> Where:
        return self._replace(library=self.library or library)


_OPAQUE = ("custom_jvp_call", "custom_vjp_call", "shard_map", "custom_vmap_call")


def name_of(eqn: jex_core.JaxprEqn) -> str:
    """`clip()` for JAX's own function of this name, else the primitive's."""
    name = own_function(eqn)
    return f"{name}()" if name else eqn.primitive.name


def own_function(eqn: jex_core.JaxprEqn) -> str:
    if eqn.primitive.name not in (*compat.JIT, "custom_jvp_call"):
        return ""
    return source.own_name(eqn)


def _carried(body: Body, lives: list[bool]) -> list[bool]:
    """Which outputs of a loop's body a derivative reaches in any turn: to a fixpoint."""
    n = len(body.carry)
    while True:
        ins = live_inputs(body.jaxpr, lives)
        reached = [*(ins[k] for k in body.carry), *lives[n:]]
        wider = [x or y for x, y in zip(lives, reached, strict=True)]
        if wider == lives:
            return lives
        lives = wider
