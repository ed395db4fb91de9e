"""Run a jaxpr again with a rule for each equation; its structure stays.

`scan` stays `lax.scan` (slots come in and reads go out stacked along the iterations), `cond` stays
`lax.switch`, remat stays `jax.checkpoint` with its policy, `jit` stays `jax.jit`, and a custom rule
is rebuilt with the rule applied to its body and to its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core as jex_core

from jaxgrad import _compat
from jaxgrad._jaxpr.tracing import Path, abstract, inner, is_inexact, trace
from jaxgrad._tree import merge, partition


Slots = Mapping[Path, Any]
# rule(eqn, path, inputs, slot) -> (outputs, read): what an equation does instead. `slot` is what
# `slots` holds for this path (None otherwise); a `read` that is not None is returned to the caller.
Rule = Callable[[jex_core.JaxprEqn, Path, list[Any], Any], tuple[list[Any], Any]]
Enters = Callable[[Path], bool]


def plain(eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    """The rule that changes nothing."""
    del path, slot
    return _compat.bind(eqn, args), None


def evaluate(
    jaxpr: Any,
    args: Sequence[Any],
    rule: Rule = plain,
    *,
    slots: Slots | None = None,
    enters: Enters = lambda _: True,
) -> tuple[list[Any], dict[Path, Any]]:
    """Run `jaxpr` on `args` with `rule` in place of each equation.

    Args:
        jaxpr: a closed jaxpr.
        args: its inputs; their dtypes may differ from the traced ones if `rule` can take them.
        rule: see `Rule`. It is called for every equation that is not entered.
        slots: a value for some paths; inside a scan with one leading axis for each scan around it.
        enters: whether to go into a higher-order equation; where not, it is one equation.

    Returns:
        The outputs, and what the rule read, by path; inside a scan with a leading axis.
    """
    return _Evaluator(rule, enters).run(jaxpr, args, (), slots or {})


class _Evaluator(NamedTuple):
    rule: Rule
    enters: Enters

    def run(self, jaxpr: Any, args: Sequence[Any], path: Path, slots: Slots) -> Any:
        jaxpr, consts = _compat.open_jaxpr(jaxpr)
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        reads: dict[Path, Any] = {}
        for i, eqn in enumerate(jaxpr.eqns):
            ins = [v.val if isinstance(v, jex_core.Literal) else env[v] for v in eqn.invars]
            here = (*path, i)
            with _compat.equation_context(eqn):
                if inner(eqn) and self.enters(here):
                    below = {p: s for p, s in slots.items() if p[: len(here)] == here}
                    outs, read = self.enter(eqn, here, ins, below)
                    reads |= read
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

        if name in _compat.JIT:
            body.__name__ = params["name"]
            return jax.jit(body, inline=params["inline"])(args, slots)
        if name in _compat.REMAT:
            policy, cse = params["policy"], params["prevent_cse"]
            return jax.checkpoint(body, policy=policy, prevent_cse=cse)(args, slots)
        if name == "shard_map":
            sharded = _compat.shard_map_like(eqn, lambda *args: tuple(body(list(args), {})[0]))
            return list(sharded(*args)), {}
        return body(args, slots)

    def scan(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        params = eqn.params
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        consts, xs = args[:n_consts], args[n_consts + n_carry :]
        carry = _as_traced(eqn.invars[n_consts:], args[n_consts : n_consts + n_carry])

        def body(carry: list[Any], element: Any) -> Any:
            xs, slots = element
            outs, reads = self.run(params["jaxpr"], [*consts, *carry, *xs], (*path, 0), slots)
            return _as_traced(eqn.outvars, outs[:n_carry]), (outs[n_carry:], reads)

        options = {k: params[k] for k in ("length", "reverse", "unroll")}
        carry, (ys, reads) = lax.scan(body, carry, (xs, slots), **options)
        return [*carry, *ys], reads

    def while_loop(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        """No slots and no reads: how often it turns is not known."""
        params = eqn.params
        a, b = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

        def proceed(carry: list[Any]) -> Any:
            return self.run(params["cond_jaxpr"], [*args[:a], *carry], (*path, 0), {})[0][0]

        def body(carry: list[Any]) -> list[Any]:
            outs, _ = self.run(params["body_jaxpr"], [*args[a:b], *carry], (*path, 1), {})
            return _as_traced(eqn.outvars, outs)

        return lax.while_loop(proceed, body, _as_traced(eqn.outvars, args[b:])), {}

    def cond(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any], slots: Slots) -> Any:
        """Every branch returns every branch's reads, zeros for those it did not make."""
        index, *operands = args

        def run(k: int, operands: list[Any], slots: Slots) -> Any:
            below = {p: s for p, s in slots.items() if p[: len(path) + 1] == (*path, k)}
            return self.run(eqn.params["branches"][k], operands, (*path, k), below)

        several = range(len(eqn.params["branches"]))
        shapes = [jax.eval_shape(lambda o, s, k=k: run(k, o, s), operands, slots) for k in several]
        wanted = {p: s for _, reads in shapes for p, s in reads.items()}
        agreed = [
            len({out.dtype for out in outs}) == 1
            for outs in zip(*(o for o, _ in shapes), strict=True)
        ]

        def branch(k: int) -> Callable[..., Any]:
            def chosen(operands: list[Any], slots: Slots) -> Any:
                outs, reads = run(k, operands, slots)
                fixed = _as_traced(eqn.outvars, outs)
                outs = [o if a else f for a, o, f in zip(agreed, outs, fixed, strict=True)]
                zeros = {p: _zeros(s) for p, s in wanted.items()}
                return outs, {**zeros, **reads}

            return chosen

        return lax.switch(index, [branch(k) for k in several], operands, slots)

    def custom_jvp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        moved = [is_inexact(v) for v in eqn.invars]
        primals, fixed = partition(moved, args)

        @jax.custom_jvp
        def fun(primals: list[Any], fixed: list[Any]) -> list[Any]:
            merged = merge(moved, primals, fixed)
            return self.run(eqn.params["call_jaxpr"], merged, (*path, 0), {})[0]

        @fun.defjvp
        def _(ins: Any, tangents: Any) -> Any:
            (primals, fixed), (tangents, _) = ins, tangents

            def original(primals: Any, tangents: Any, fixed: Any) -> Any:
                def one(*primals: Any) -> list[Any]:
                    return _compat.bind(eqn, merge(moved, primals, fixed))

                return jax.jvp(one, primals, tangents)

            like, still = partition(moved, map(abstract, eqn.invars))
            rule = trace(original, tuple(like), tuple(like), still).jaxpr
            outs, _ = self.run(rule, [*primals, *tangents, *fixed], (*path, 1), {})
            n = len(outs) // 2
            return outs[:n], [_like(t, x) for x, t in zip(outs[:n], outs[n:], strict=True)]

        return fun(primals, fixed), {}

    def custom_vjp(self, eqn: jex_core.JaxprEqn, path: Path, args: list[Any]) -> Any:
        moved = [is_inexact(v) for v in eqn.invars]
        primals, fixed = partition(moved, args)

        def original(primals: Any, fixed: Any) -> Any:
            return jax.vjp(lambda *p: _compat.bind(eqn, merge(moved, p, fixed)), *primals)

        @jax.custom_vjp
        def fun(primals: list[Any], fixed: list[Any]) -> list[Any]:
            merged = merge(moved, primals, fixed)
            return self.run(eqn.params["call_jaxpr"], merged, (*path, 0), {})[0]

        def forward(primals: list[Any], fixed: list[Any]) -> Any:
            traced = trace(original, *partition(moved, map(abstract, eqn.invars)))
            outs, _ = self.run(traced.jaxpr, [*primals, *fixed], (*path, 1), {})
            kept = [_cast(x, a.dtype) for x, a in zip(outs, traced.jaxpr.out_avals, strict=True)]
            outs, pull = jax.tree.unflatten(traced.out_tree, kept)
            return outs, (pull, primals)

        def backward(saved: Any, cotangents: list[Any]) -> Any:
            pull, primals = saved
            grads = pull(_as_traced(eqn.outvars, cotangents))
            return [_like(g, x) for g, x in zip(grads, primals, strict=True)], None

        fun.defvjp(forward, backward)
        return fun(primals, fixed), {}


def _cast(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else lax.convert_element_type(x, dtype)


def _like(tangent: Any, primal: Any) -> Any:
    inexact = jnp.issubdtype(primal.dtype, jnp.inexact)
    return _cast(tangent, primal.dtype) if inexact else tangent


def _as_traced(atoms: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Loops and branches need the dtype they were traced with."""
    pairs = zip(atoms, values, strict=False)  # the first of the atoms
    return [_cast(jnp.asarray(x), v.aval.dtype) if is_inexact(v) else x for v, x in pairs]


def _zeros(shape: Any) -> Any:
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shape)
