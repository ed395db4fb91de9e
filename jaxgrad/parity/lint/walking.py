"""Evaluate a program equation by equation and report every equation that a rule names.

Loops and branches are entered, so the values inside them are those of each iteration. A call that
contains no equation of interest runs as a whole.
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


class Visit(NamedTuple):
    """One evaluation of an equation on a differentiated path, with its inputs and outputs."""

    eqn: jex_core.JaxprEqn
    path: Path
    ins: list[Any]
    outs: list[Any]
    active: list[bool]  # whether each input depends on a differentiated input
    source: Callable[[Any], jex_core.JaxprEqn | None]  # the equation that defines a variable
    name: str  # `clip()` for one of JAX's own functions, else the primitive's name
    library: bool  # whether the equation is inside one of JAX's own functions
    line: str
    stack: str


class Walk(NamedTuple):
    """An evaluation of a program that reports the wanted equations as it reaches them.

    `is_wanted` returns whether equations with a given name are wanted; they are not entered.
    `show` is called with each wanted equation on a differentiated path.
    """

    is_wanted: Callable[[str], bool]
    show: Callable[[Visit], None]

    def __call__(self, jaxpr: Any, args: Sequence[Any]) -> list[Any]:
        active = [is_inexact(v) for v in compat.open_jaxpr(jaxpr)[0].invars]
        live = [is_inexact(v) for v in compat.open_jaxpr(jaxpr)[0].outvars]
        return self.run(jaxpr, list(args), active, live, Where())[0]

    def run(
        self, jaxpr: Any, args: list[Any], active: list[bool], live_out: list[bool], where: Where
    ) -> tuple[list[Any], list[bool]]:
        """Return the outputs, and for each one whether it depends on a differentiated input."""
        jaxpr, consts = compat.open_jaxpr(jaxpr)
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        varied = {v for v, flag in zip(jaxpr.invars, active, strict=True) if flag}
        live = live_variables(jaxpr, live_out, active)
        defined_by: dict[Any, jex_core.JaxprEqn] = {}

        def value(atom: Any) -> Any:
            return atom.val if isinstance(atom, jex_core.Literal) else env[atom]

        def flag(atom: Any) -> bool:
            return isinstance(atom, jex_core.Var) and atom in varied

        for i, eqn in enumerate(jaxpr.eqns):
            ins, active = [value(v) for v in eqn.invars], [flag(v) for v in eqn.invars]
            lives = [v in live for v in eqn.outvars]
            here = where.at(i, eqn)
            with compat.equation_context(eqn):
                if any(active) and any(lives) and self.enters(eqn):
                    outs, flags = self.enter(eqn, ins, active, lives, here)
                else:
                    outs = compat.bind(eqn, ins)
                    flags = [any(active) and eqn.primitive.name != "stop_gradient"] * len(outs)
            if any(active) and any(lives) and self.shows(eqn, here.own):
                visit = Visit(
                    eqn,
                    here.path,
                    ins,
                    outs,
                    active,
                    lambda atom: defined_by.get(atom) if isinstance(atom, jex_core.Var) else None,
                    name_of(eqn),
                    where.library,
                    here.line,
                    here.stack,
                )
                self.show(visit)
            env.update(zip(eqn.outvars, outs, strict=True))
            varied.update(v for v, f in zip(eqn.outvars, flags, strict=True) if f and is_inexact(v))
            defined_by.update(dict.fromkeys(eqn.outvars, eqn))
        return [value(v) for v in jaxpr.outvars], [flag(v) for v in jaxpr.outvars]

    def shows(self, eqn: jex_core.JaxprEqn, own: bool) -> bool:
        """Return whether to show an equation; jaxgrad's own code shows only operator rules."""
        return self.is_wanted(name_of(eqn)) and (not own or bool(operator_of(eqn)))

    def enters(self, eqn: jex_core.JaxprEqn) -> bool:
        """Return whether to enter an equation: it has no custom rule and contains a wanted one."""
        if eqn.primitive.name in _OPAQUE or self.is_wanted(name_of(eqn)):
            return False
        return any(self.is_wanted(name_of(p.eqn)) for sub in inner(eqn) for p in walk(sub))

    def enter(
        self,
        eqn: jex_core.JaxprEqn,
        args: list[Any],
        active: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        name = eqn.primitive.name
        # If a user jits `jnp.abs` itself, its only equation counts as the user's code.
        alone = name in compat.JIT and len(compat.open_jaxpr(inner(eqn)[0])[0].eqns) == 1
        where = where.inside(bool(own_function(eqn)) and not alone)
        inside = bodies(eqn)
        if name == "scan":
            return self.scan(eqn, inside[0], args, active, lives, where)
        if name == "while":
            return self.while_loop(inside[0], inside[1], args, active, lives, where)
        body = inside[int(args[0])] if name == "cond" else inside[0]
        return self.run(body.jaxpr, body.feed(args), body.feed(active), lives, where)

    def scan(
        self,
        eqn: jex_core.JaxprEqn,
        body: Body,
        args: list[Any],
        active: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        lives, n, length = _carried(body, lives), len(body.carry), eqn.params["length"]
        (consts, carry, xs), (fixed, carried, scanned) = body.split(args), body.split(active)
        iterations = range(length)
        rows: list[Any] = [None] * length
        flags = [False] * (len(lives) - n)
        for i in reversed(iterations) if eqn.params["reverse"] else iterations:
            # With an array as the index, all iterations share one compiled program.
            at = jnp.asarray(i)
            row = [lax.dynamic_index_in_dim(x, at, keepdims=False) for x in xs]
            ins, active = [*consts, *carry, *row], [*fixed, *carried, *scanned]
            outs, reached = self.run(body.jaxpr, ins, active, lives, where)
            carry, carried, rows[i] = outs[:n], reached[:n], outs[n:]
            flags = [x or y for x, y in zip(flags, reached[n:], strict=True)]
        if not length:
            return compat.bind(eqn, args), [*carried, *flags]
        return [*carry, *(jnp.stack(ys) for ys in zip(*rows, strict=True))], [*carried, *flags]

    def while_loop(
        self,
        test: Body,
        body: Body,
        args: list[Any],
        active: list[bool],
        lives: list[bool],
        where: Where,
    ) -> tuple[list[Any], list[bool]]:
        proceed, lives = jex_core.jaxpr_as_fun(test.jaxpr), _carried(body, lives)
        (consts, carry, _), (fixed, carried, _) = body.split(args), body.split(active)
        while bool(proceed(*test.split(args)[0], *carry)[0]):
            ins, active = [*consts, *carry], [*fixed, *carried]
            carry, carried = self.run(body.jaxpr, ins, active, lives, where)
        return carry, carried


class Where(NamedTuple):
    """The current position in the program."""

    path: Path = ()
    line: str = ""
    stack: str = ""
    library: bool = False
    own: bool = False  # inside jaxgrad's code, which follows torch's conventions

    def at(self, i: int, eqn: jex_core.JaxprEqn) -> Where:
        stack = "/".join(filter(None, (self.stack, str(eqn.source_info.name_stack))))
        line = source.user_line(eqn, inlined=not self.library) or self.line
        own = self.own or source.is_own(eqn)
        return Where((*self.path, i), line, stack, self.library, own)

    def inside(self, library: bool) -> Where:
        return self._replace(library=self.library or library)


_OPAQUE = ("custom_jvp_call", "custom_vjp_call", "shard_map", "custom_vmap_call")


def operator_of(eqn: jex_core.JaxprEqn) -> str:
    """Return the kernel of `jaxgrad.functional` whose rule an equation has, or ""."""
    return source.own_operator(eqn) if eqn.primitive.name == "custom_jvp_call" else ""


def name_of(eqn: jex_core.JaxprEqn) -> str:
    """Return a name for the table of rules.

    It is `clip()` for JAX's own function of this name, `functional._clamp` for a kernel of
    `jaxgrad.functional`, and else the primitive's name.
    """
    if operator := operator_of(eqn):
        return f"functional.{operator}"
    name = own_function(eqn)
    return f"{name}()" if name else eqn.primitive.name


def own_function(eqn: jex_core.JaxprEqn) -> str:
    if eqn.primitive.name not in (*compat.JIT, "custom_jvp_call"):
        return ""
    return source.own_name(eqn)


def _carried(body: Body, lives: list[bool]) -> list[bool]:
    """Return which outputs of a loop's body a derivative reaches in any iteration."""
    n = len(body.carry)
    while True:
        ins = live_inputs(body.jaxpr, lives)
        reached = [*(ins[k] for k in body.carry), *lives[n:]]
        wider = [x or y for x, y in zip(lives, reached, strict=True)]
        if wider == lives:
            return lives
        lives = wider
