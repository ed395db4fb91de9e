"""Run a jaxpr again with a rule for each equation; its structure stays.

`scan` stays `lax.scan` (slots come in and reads go out stacked along the iterations), `cond` stays
`lax.switch`, remat stays `jax.checkpoint` with its policy, `jit` stays `jax.jit`, and a custom rule
is rebuilt with the rule applied to its body and to its derivative.
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
from jaxgrad._core.jaxpr.tracing import Path, abstract, inner, is_inexact, trace
from jaxgrad._core.tree import merge, partition


Slots = Mapping[Path, Any]
# rule(eqn, path, inputs, slot) -> (outputs, read): what an equation does instead. `slot` is what
# `slots` holds for this path (None otherwise); a `read` that is not None is returned to the caller.
Rule = Callable[[jex_core.JaxprEqn, Path, list[Any], Any], tuple[list[Any], Any]]
Enters = Callable[[Path], bool]
# after(eqn, path, outputs, slot) -> (outputs, read): what happens to the outputs of an equation
# that was entered; by the rule otherwise.
After = Callable[[jex_core.JaxprEqn, Path, list[Any], Any], tuple[list[Any], Any]]


def plain(eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    """The rule that changes nothing."""
    del path, slot
    return compat.bind(eqn, args), None


def as_they_are(
    eqn: jex_core.JaxprEqn, path: Path, outs: list[Any], slot: Any
) -> tuple[list[Any], Any]:
    """The `after` that changes nothing."""
    del eqn, path, slot
    return outs, None


def evaluate(
    jaxpr: Any,
    args: Sequence[Any],
    rule: Rule = plain,
    *,
    slots: Slots | None = None,
    enters: Enters = lambda _: True,
    after: After = as_they_are,
    inline: bool = False,
) -> tuple[list[Any], dict[Path, Any]]:
    """Run `jaxpr` on `args` with `rule` in place of each equation.

    Args:
        jaxpr: a closed jaxpr.
        args: its inputs; their dtypes may differ from the traced ones if `rule` can take them.
        rule: see `Rule`. It is called for every equation that is not entered.
        slots: a value for some paths; inside a scan with one leading axis for each scan around it.
        enters: whether to go into a higher-order equation; where not, it is one equation.
        after: see `After`. It is called for every equation that was entered.
        inline: whether a `jit` dissolves into its equations, as it must for an eager run: a new
            function would be compiled each time.

    Returns:
        The outputs, and what the rule read, by path; inside a scan with a leading axis.
    """
    return _Evaluator(rule, enters, after, inline).run(jaxpr, args, (), slots or {})


class _Evaluator(NamedTuple):
    rule: Rule
    enters: Enters
    after: After
    inline: bool

    def run(self, jaxpr: Any, args: Sequence[Any], path: Path, slots: Slots) -> Any:
        jaxpr, consts = compat.open_jaxpr(jaxpr)
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        reads: dict[Path, Any] = {}
        for i, eqn in enumerate(jaxpr.eqns):
            ins = [v.val if isinstance(v, jex_core.Literal) else env[v] for v in eqn.invars]
            here = (*path, i)
            with compat.equation_context(eqn):
                if inner(eqn) and self.enters(here):
                    below = {p: s for p, s in slots.items() if p != here and p[: len(here)] == here}
                    outs, inside = self.enter(eqn, here, ins, below)
                    outs, read = self.after(eqn, here, outs, slots.get(here))
                    reads |= inside
                else:
                    outs, read = self.rule(eqn, here, ins, slots.get(here))
                if read is not None:
                    reads[here] = read
            env.update(zip(eqn.outvars, outs, strict=True))
        outs = [v.val if isinstance(v, jex_core.Literal) else env[v] for v in jaxpr.outvars]
        return outs, reads

    def enter(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        """One higher-order equation, rebuilt by its public function around the evaluated body."""
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
            return self.run(inner(eqn)[0], args, (*path, 0), slots)

        if name in compat.JIT and not self.inline:
            body.__name__ = params["name"]
            return jax.jit(body, inline=params["inline"])(args, slots)
        if name in compat.REMAT:
            policy, cse = params["policy"], params["prevent_cse"]
            if not isinstance(cse, bool):
                cse: Any = (list(cse), True)  # one for each argument
            return jax.checkpoint(body, policy=policy, prevent_cse=cse)(args, slots)
        if name == "shard_map":
            sharded = compat.shard_map_like(eqn, lambda *args: tuple(body(list(args), {})[0]))
            return list(sharded(*args)), {}
        return body(args, slots)

    def scan(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        params = eqn.params
        a, n = compat.scan_counts(eqn)
        b = a + n
        xs = (args[b:], slots)

        def body(carry: list[Any], element: Any) -> Any:
            xs, slots = element
            ins = [*args[:a], *carry, *xs]
            outs, reads = self.run(params["jaxpr"], ins, (*path, 0), slots)
            return outs[: b - a], (outs[b - a :], reads)

        def settled(carry: list[Any], element: Any) -> Any:
            new, out = body(carry, element)
            return _like(new, carry), out

        def turn(carry: list[Any], xs: Any) -> list[Any]:
            return body(carry, jax.tree.map(lambda x: lax.index_in_dim(x, 0, keepdims=False), xs))[
                0
            ]

        carry, last = _settle(turn, args[a:b], xs) if params["length"] else (args[a:b], args[a:b])
        options = {k: params[k] for k in ("length", "reverse", "unroll")}
        carry, (ys, reads) = lax.scan(settled, carry, xs, **options)
        return [*_like(carry, last), *ys], reads  # what the last turn made, as it made it

    def while_loop(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        params = eqn.params
        a, b = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

        def proceed(carry: list[Any]) -> Any:
            return self.run(params["cond_jaxpr"], [*args[:a], *carry], (*path, 0), {})[0][0]

        def body(carry: list[Any]) -> list[Any]:
            return self.run(params["body_jaxpr"], [*args[a:b], *carry], (*path, 1), {})[0]

        carry, _ = _settle(body, args[b:])
        return lax.while_loop(proceed, lambda carry: _like(body(carry), carry), carry), {}

    def cond(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        """Every branch returns every branch's reads, zeros for those it did not make."""
        index, *operands = args

        def run(k: int, operands: list[Any], slots: Slots) -> Any:
            below = {p: s for p, s in slots.items() if p[: len(path) + 1] == (*path, k)}
            return self.run(eqn.params["branches"][k], operands, (*path, k), below)

        several = range(len(eqn.params["branches"]))
        shapes = [jax.eval_shape(lambda o, s, k=k: run(k, o, s), operands, slots) for k in several]
        wanted = {p: s for _, reads in shapes for p, s in reads.items()}
        like = [
            functools.reduce(_wider, outs) for outs in zip(*(o for o, _ in shapes), strict=True)
        ]

        def branch(k: int, operands: list[Any], slots: Slots) -> Any:
            outs, reads = run(k, operands, slots)
            return _like(outs, like), {**jax.tree.map(jnp.zeros_like, wanted), **reads}

        return lax.switch(index, [functools.partial(branch, k) for k in several], operands, slots)

    def custom_jvp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        moved = [is_inexact(v) for v in eqn.invars]

        def original(primals: Any, tangents: Any, fixed: Any) -> Any:
            def one(*primals: Any) -> list[Any]:
                return compat.bind(eqn, merge(moved, primals, fixed))

            return jax.jvp(one, tuple(primals), tuple(tangents))[1]

        @jax.custom_jvp
        def fun(primals: list[Any], fixed: list[Any]) -> list[Any]:
            ins = merge(moved, primals, fixed)
            return self.run(eqn.params["call_jaxpr"], ins, (*path, 0), {})[0]

        @fun.defjvp
        def _(ins: Any, directions: Any) -> Any:
            (primals, fixed), (tangents, _) = ins, directions
            like, still = partition(moved, map(abstract, eqn.invars))
            rule = trace(original, like, like, still).jaxpr
            out_tangents, _ = self.run(rule, [*primals, *tangents, *fixed], (*path, 1), {})
            outs = fun(primals, fixed)
            return outs, _like(out_tangents, outs)

        return fun(*partition(moved, args)), {}

    def custom_vjp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        moved = [is_inexact(v) for v in eqn.invars]

        def original(primals: Any, fixed: Any) -> Any:
            def one(*primals: Any) -> list[Any]:
                return compat.bind(eqn, merge(moved, primals, fixed))

            return jax.vjp(one, *primals)

        @jax.custom_vjp
        def fun(primals: list[Any], fixed: list[Any]) -> list[Any]:
            ins = merge(moved, primals, fixed)
            return self.run(eqn.params["call_jaxpr"], ins, (*path, 0), {})[0]

        def forward(primals: list[Any], fixed: list[Any]) -> Any:
            like = partition(moved, map(abstract, eqn.invars))
            kept, _ = self.run(trace(original, *like).jaxpr, [*primals, *fixed], (*path, 1), {})
            outs = fun(primals, fixed)
            return outs, (kept, [jnp.zeros((), x.dtype) for x in primals])

        def backward(saved: Any, cotangents: list[Any]) -> Any:
            kept, like = saved
            traced = trace(original, *partition(moved, map(abstract, eqn.invars)))

            def pull(kept: list[Any], cotangents: list[Any]) -> Any:
                return jax.tree.unflatten(traced.out_tree, kept)[1](cotangents)

            rule = trace(pull, traced.jaxpr.out_avals, [abstract(v) for v in eqn.outvars]).jaxpr
            grads, _ = self.run(rule, [*kept, *cotangents], (*path, 2), {})
            return _like(grads, like), None

        fun.defvjp(forward, backward)
        return fun(*partition(moved, args)), {}


def _settle(body: Callable[..., Any], carry: Sequence[Any], *rest: Any) -> tuple[Any, Any]:
    """A loop's first carry in the dtypes that its body keeps, and what the body makes of that.

    The wider of what goes in and out: a body may make less of it.
    """
    while True:
        made = jax.eval_shape(body, list(carry), *rest)
        wider = list(map(_wider, carry, made))
        if all(w.dtype == jnp.result_type(x) for w, x in zip(wider, carry, strict=True)):
            return list(carry), made
        carry = _like(carry, wider)


def _wider(a: Any, b: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(a), jnp.promote_types(jnp.result_type(a), b.dtype))


def _like(values: Sequence[Any], examples: Sequence[Any]) -> list[Any]:
    """The floating point values in the dtypes of the examples."""

    def one(x: Any, like: Any) -> Any:
        same = x.dtype == like.dtype or not jnp.issubdtype(like.dtype, jnp.inexact)
        return x if same else lax.convert_element_type(x, like.dtype)

    return [one(x, like) for x, like in zip(values, examples, strict=True)]
