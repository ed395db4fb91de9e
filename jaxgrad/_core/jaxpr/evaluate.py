"""Evaluate a jaxpr with a rule in place of each equation, keeping the jaxpr's structure.

A `scan` stays `lax.scan` (slots, the extra inputs, are scanned over; reads, the extra outputs, are
stacked), `cond` stays `lax.switch`, remat stays `jax.checkpoint` with its policy, `jit` stays
`jax.jit`. A custom rule is rebuilt: the equation rule is applied to its function and derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.bodies import bodies
from jaxgrad._core.jaxpr.tracing import Path, abstract, bind_inexact, trace
from jaxgrad._core.tree import is_inexact, merge, partition


Slots = Mapping[Path, Any]
# rule(eqn, path, inputs, slot) -> (outputs, read): the replacement of an equation. `slot` is the
# entry of `slots` for this path, or None; a `read` other than None is returned to the caller.
EquationRule = Callable[[jex_core.JaxprEqn, Path, list[Any], Any], tuple[list[Any], Any]]
Enters = Callable[[Path], bool]
# after(eqn, path, outputs, slot) -> (outputs, read): called on the outputs of an equation whose
# bodies were evaluated; every other equation goes through the rule instead.
After = Callable[[jex_core.JaxprEqn, Path, list[Any], Any], tuple[list[Any], Any]]


def plain(eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    """Run an equation unchanged: the rule that does nothing."""
    del path, slot
    return compat.bind(eqn, args), None


def evaluate(
    jaxpr: Any,
    args: Sequence[Any],
    rule: EquationRule = plain,
    *,
    slots: Slots | None = None,
    enters: Enters = lambda _: True,
    after: After | None = None,
    inline: bool = False,
    literal: Callable[[Any], Any] = lambda x: x,
) -> tuple[list[Any], dict[Path, Any]]:
    """Run `jaxpr` on `args` with `rule` in place of each equation.

    Args:
        jaxpr: A closed jaxpr.
        args: Its inputs; their dtypes may differ from the traced ones if `rule` accepts that.
        rule: See `EquationRule`. It is called for every equation that is not entered.
        slots: Extra inputs of `rule`, keyed by path, with one leading axis per enclosing scan.
        enters: Whether to evaluate the bodies of a higher-order equation; if not, it is treated
            as a single equation.
        after: See `After`. It is called for every equation that was entered.
        inline: Whether to inline the equations of a `jit`. An eager run needs this: otherwise
            every call compiles a new function.
        literal: Function whose result replaces each literal among the operands of equations.

    Returns:
        The outputs, and the rule's reads keyed by path; reads in a scan have a leading axis.
    """
    return _Evaluator(rule, enters, after, inline, literal).run(jaxpr, args, (), slots or {})


class _Evaluator(NamedTuple):
    rule: EquationRule
    enters: Enters
    after: After | None
    inline: bool
    literal: Callable[[Any], Any]

    def run(self, jaxpr: Any, args: Sequence[Any], path: Path, slots: Slots) -> Any:
        jaxpr, consts = compat.open_jaxpr(jaxpr)
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        reads: dict[Path, Any] = {}
        unused = _unused_after(jaxpr)
        for i, eqn in enumerate(jaxpr.eqns):
            ins = [self.read(v, env) for v in eqn.invars]
            here = (*path, i)
            with compat.equation_context(eqn):
                if bodies(eqn) and self.enters(here):
                    below = {p: s for p, s in slots.items() if p != here and p[: len(here)] == here}
                    (outs, inside), read = self.enter(eqn, here, ins, below), None
                    if self.after is not None:
                        outs, read = self.after(eqn, here, outs, slots.get(here))
                    reads |= inside
                else:
                    outs, read = self.rule(eqn, here, ins, slots.get(here))
                if read is not None:
                    reads[here] = read
            env.update(zip(eqn.outvars, outs, strict=True))
            for v in unused[i]:  # an eager run of a large program needs the memory
                del env[v]
        return [self.read(v, env) for v in jaxpr.outvars], reads

    def read(self, atom: Any, env: Mapping[Any, Any]) -> Any:
        return self.literal(atom.val) if isinstance(atom, jex_core.Literal) else env[atom]

    def enter(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        """Rebuild a higher-order equation: call its public JAX function on the evaluated bodies."""
        name, params = eqn.primitive.name, eqn.params
        if name == "scan":
            return self.scan(eqn, path, args, slots)
        if name == "while":
            return self.while_loop(eqn, path, args)
        if name == "cond":
            return self.cond(eqn, path, args, slots)
        if name == "custom_jvp_call":
            return self.custom_jvp(eqn, path, args)
        if name == "custom_vjp_call":
            return self.custom_vjp(eqn, path, args)

        def body(args: list[Any], slots: Slots) -> Any:
            return self.run(bodies(eqn)[0].jaxpr, args, (*path, 0), slots)

        if name in compat.JIT and not self.inline:
            body.__name__ = params["name"]
            return jax.jit(body, inline=params["inline"])(args, slots)
        if name in compat.REMAT:
            policy, cse = params["policy"], params["prevent_cse"]
            if not isinstance(cse, bool):
                cse: Any = (list(cse), True)  # one flag per argument, and one for the slots
            return jax.checkpoint(body, policy=policy, prevent_cse=cse)(args, slots)
        if name == "shard_map":
            sharded = compat.shard_map_like(eqn, lambda *args: tuple(body(list(args), slots)[0]))
            return list(sharded(*args)), {}
        return body(args, slots)

    def scan(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        (body,) = bodies(eqn)
        consts, carry, xs = body.split(args)
        n = len(carry)

        def step(carry: Sequence[Any], element: Any) -> Any:
            xs, slots = element
            outs, reads = self.run(body.jaxpr, [*consts, *carry, *xs], (*path, 0), slots)
            return outs[:n], (outs[n:], reads)

        def first_step(carry: Sequence[Any], stacked: Any) -> list[Any]:
            return step(carry, jax.tree.map(lambda x: x[0], stacked))[0]

        def settled_step(carry: Sequence[Any], element: Any) -> Any:
            new, out = step(carry, element)
            return _like(new, carry), out

        last = carry
        if body.length:
            carry, last = _settle(first_step, carry, (xs, slots))
        options = {k: eqn.params[k] for k in ("length", "reverse", "unroll")}
        carry, (ys, reads) = lax.scan(settled_step, carry, (xs, slots), **options)
        return [*_like(carry, last), *ys], reads  # in the dtypes that the last iteration returned

    def while_loop(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        test, loop = bodies(eqn)
        test_consts, carry, _ = test.split(args)
        consts = loop.split(args)[0]

        def proceed(carry: list[Any]) -> Any:
            return self.run(test.jaxpr, [*test_consts, *carry], (*path, 0), {})[0][0]

        def step(carry: list[Any]) -> list[Any]:
            return self.run(loop.jaxpr, [*consts, *carry], (*path, 1), {})[0]

        carry, _ = _settle(step, carry)
        return lax.while_loop(proceed, lambda carry: _like(step(carry), carry), carry), {}

    def cond(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        """Rebuild a `cond`; each branch returns zeros for the reads of the other branches."""
        branches = bodies(eqn)
        operands = branches[0].feed(args)

        def run(k: int, operands: list[Any], slots: Slots) -> Any:
            below = {p: s for p, s in slots.items() if p[: len(path) + 1] == (*path, k)}
            return self.run(branches[k].jaxpr, operands, (*path, k), below)

        numbers = range(len(branches))
        shapes = [jax.eval_shape(lambda o, s, k=k: run(k, o, s), operands, slots) for k in numbers]
        all_reads = {p: s for _, reads in shapes for p, s in reads.items()}
        like = [
            functools.reduce(_wider, outs) for outs in zip(*(o for o, _ in shapes), strict=True)
        ]

        def branch(k: int, operands: list[Any], slots: Slots) -> Any:
            outs, reads = run(k, operands, slots)
            return _like(outs, like), {**jax.tree.map(jnp.zeros_like, all_reads), **reads}

        calls = [functools.partial(branch, k) for k in numbers]
        return lax.switch(args[0], calls, operands, slots)

    def function(self, eqn: jex_core.JaxprEqn, path: Path, inexact: list[bool]) -> Any:
        """Return the function that a custom rule differentiates, with its equations replaced."""

        def fun(primals: list[Any], fixed: list[Any]) -> list[Any]:
            ins = merge(inexact, primals, fixed)
            return self.run(bodies(eqn)[0].jaxpr, ins, (*path, 0), {})[0]

        return fun

    def custom_jvp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        inexact = [is_inexact(v) for v in eqn.invars]
        fun = jax.custom_jvp(self.function(eqn, path, inexact))

        def original_jvp(primals: Any, tangents: Any, fixed: Any) -> Any:
            return jax.jvp(bind_inexact(eqn, fixed), tuple(primals), tuple(tangents))[1]

        @fun.defjvp
        def _(ins: Any, directions: Any) -> Any:
            (primals, fixed), (tangents, _) = ins, directions
            like, like_fixed = partition(inexact, map(abstract, eqn.invars))
            rule = trace(original_jvp, like, like, like_fixed).jaxpr
            out_tangents, _ = self.run(rule, [*primals, *tangents, *fixed], (*path, 1), {})
            outs = fun(primals, fixed)
            return outs, _like(out_tangents, outs)

        return fun(*partition(inexact, args)), {}

    def custom_vjp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        inexact = [is_inexact(v) for v in eqn.invars]
        fun = jax.custom_vjp(self.function(eqn, path, inexact))

        def original_vjp(primals: Any, fixed: Any) -> Any:
            return jax.vjp(bind_inexact(eqn, fixed), *primals)

        def forward(primals: list[Any], fixed: list[Any]) -> Any:
            like = partition(inexact, map(abstract, eqn.invars))
            rule = trace(original_vjp, *like).jaxpr
            residuals, _ = self.run(rule, [*primals, *fixed], (*path, 1), {})
            outs = fun(primals, fixed)
            return outs, (residuals, [jnp.zeros((), x.dtype) for x in primals])

        def backward(saved: Any, cotangents: list[Any]) -> Any:
            residuals, like = saved
            traced = trace(original_vjp, *partition(inexact, map(abstract, eqn.invars)))

            def pull(residuals: list[Any], cotangents: list[Any]) -> Any:
                return jax.tree.unflatten(traced.out_tree, residuals)[1](cotangents)

            rule = trace(pull, traced.jaxpr.out_avals, [abstract(v) for v in eqn.outvars]).jaxpr
            grads, _ = self.run(rule, [*residuals, *cotangents], (*path, 2), {})
            return _like(grads, like), None

        fun.defvjp(forward, backward)
        return fun(*partition(inexact, args)), {}


def _settle(step: Callable[..., Any], carry: Sequence[Any], *rest: Any) -> tuple[Any, Any]:
    """Cast a loop's initial carry to dtypes that an iteration preserves or narrows.

    Returns:
        The carry, and the shapes and dtypes that the iteration returns for it.
    """
    while True:
        outs = jax.eval_shape(step, list(carry), *rest)
        wider = list(map(_wider, carry, outs))
        if all(w.dtype == _dtype(x) for w, x in zip(wider, carry, strict=True)):
            return list(carry), outs
        carry = _like(carry, wider)


def _wider(a: Any, b: Any) -> jax.ShapeDtypeStruct:
    dtype = _dtype(a)
    if not jnp.issubdtype(dtype, jax.dtypes.extended):  # a random key
        dtype = jnp.promote_types(dtype, b.dtype)
    return jax.ShapeDtypeStruct(jnp.shape(a), dtype)


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else jnp.result_type(x)


def _like(values: Sequence[Any], examples: Sequence[Any]) -> list[Any]:
    """Cast the floating point values to the dtypes of the examples."""

    def cast(x: Any, like: Any) -> Any:
        same = x.dtype == like.dtype or not jnp.issubdtype(like.dtype, jnp.inexact)
        return x if same else lax.convert_element_type(x, like.dtype)

    return [cast(x, like) for x, like in zip(values, examples, strict=True)]


def _unused_after(jaxpr: Any) -> list[list[Any]]:
    """Return for each equation the variables that neither a later one nor an output reads."""
    kept = {v for v in jaxpr.outvars if isinstance(v, jex_core.Var)}
    unused: list[list[Any]] = []
    for eqn in reversed(jaxpr.eqns):
        variables = (v for v in (*eqn.invars, *eqn.outvars) if isinstance(v, jex_core.Var))
        dying = [v for v in dict.fromkeys(variables) if v not in kept]
        unused.append(dying)
        kept.update(dying)
    return unused[::-1]
