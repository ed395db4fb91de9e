"""A JAX function's backward graph, read from the jaxpr of its VJP.

Each operation of the forward pass runs in a named scope of its own. Its name comes back on the
equations of the VJP, so nobody has to guess which step of the backward pass belongs to what; what a
custom rule, a scan or a remat does there is found under one name, and is one box.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from jaxgrad import _compat, _jaxpr
from jaxgrad._tree import is_array, merge, partition
from jaxgrad.graph._model import ABSENT, REACHED, Edge, Graph, Leaf, Op, Saved


Place = tuple[int, ...]  # of an operation: the equation, or the jit's equation and the one in it
_TAG = re.compile(r"@([\d.]+)@")
_WRAPPED = re.compile(r"^\w+\((.*)\)$")  # jvp(name), vmap(name)
_CUT = "stop_gradient"


def backward_graph(
    fun: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    unused: str = "none",
    constants: Sequence[tuple[str, Any]] = (),
) -> Graph:
    """Read what differentiating a function does: the graph of its backward pass.

    `jit` is inlined; a `scan`, a `cond`, a `remat` and a custom rule are one operation each.

    Args:
      fun: A function of trees of arrays (parameters, an equinox or flax.nnx module) that returns
        an array, the loss; of an array that is no scalar the sum is meant.
      *args: What it is called with; leaves that are no arrays are constants. A
        `jax.ShapeDtypeStruct` will do where the gradient's norm is not wanted.
      argnums: Which of the arguments are differentiated.
      has_aux: Whether `fun` returns `(loss, aux)`.
      unused: "none" or "zeros": what lands on a leaf that has no path to the loss, as in
        `jaxgrad.value_and_grad`.
      constants: `(name, array)` of arrays that `fun` closes over and that another setting
        differentiates: their place stays, and says "no slot".

    Returns:
      A `Graph`: `ops` (primitive, scope, what the VJP does for it, its residuals) and `leaves`
      (name, norm of the gradient). It shows itself in a notebook.

    Raises:
      TypeError: `fun` returns no floating point array.
      ValueError: `unused` is neither "none" nor "zeros".

    Example:
      >>> import jax.numpy as jnp, jaxgrad.graph
      >>> params = {"l1": {"w": jnp.ones((2, 3))}, "l2": {"w": jnp.ones((3, 1))}}
      >>> def loss(params, x):
      ...     return jnp.sum(jnp.tanh(x @ params["l1"]["w"]) @ params["l2"]["w"])
      >>> graph = jaxgrad.graph.backward_graph(loss, params, jnp.ones((1, 2)))
      >>> [op.name for op in graph.ops]
      ['dot_general', 'tanh', 'dot_general', 'reduce_sum']
      >>> [leaf.name for leaf in graph.leaves]
      ['l1.w', 'l2.w']

    Torch: `loss.grad_fn` and its `next_functions`; drawn by `jaxgrad.parity.torch_graph.record`.
    """
    if unused not in ("none", "zeros"):
        raise ValueError(f'unused is {unused!r}; it is "none" (as torch) or "zeros" (as jax.grad)')
    flat = _flatten(fun, args, argnums, has_aux)
    jaxpr = _jaxpr.trace(flat.fun, flat.moved, flat.fixed).jaxpr
    forward = _Forward(jaxpr, flat.names, len(flat.moved), dict(constants))
    steps, saved = _backward(_tagged(jaxpr), flat, forward.ops)
    behind = _behind_cuts(jaxpr, flat, forward)

    ops = []
    for place, op in forward.ops.items():
        live = place in forward.live
        own = steps.get(place) if live else behind.get(place)
        kept = saved.get(place, ()) if live else ()
        state = REACHED if live else ABSENT
        ops.append(
            op._replace(state=state, drawn=bool(own), steps=tuple(own or ()), saved=tuple(kept))
        )
    leaves = list(map(Leaf, flat.names[: len(flat.moved)], _norms(flat, unused)))
    slots = {leaf.name for leaf in leaves}
    others = [*flat.names[len(flat.moved) :], *(name for name, _ in constants)]
    leaves += [Leaf(name, None, slot=False) for name in dict.fromkeys(others) if name not in slots]
    return Graph("JAX", jax.__version__, tuple(ops), tuple(leaves))


class _Flat(NamedTuple):
    """A function of lists of arrays: those that are differentiated, and the others."""

    fun: Callable[[Sequence[Any], Sequence[Any]], Any]
    moved: list[Any]
    fixed: list[Any]
    names: list[str]  # of both, in this order


def _flatten(fun: Callable[..., Any], args: Any, argnums: Any, has_aux: bool) -> _Flat:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    chosen = {n % len(args) for n in chosen}
    leaves, structure = jax.tree_util.tree_flatten_with_path(args)
    arrays = [_dtype(x) is not None for _, x in leaves]
    inputs, static = partition(arrays, leaves)
    moves = [
        path[0].idx in chosen and jnp.issubdtype(_dtype(x), jnp.inexact) for path, x in inputs
    ]
    labels = _names(fun, [path for path, _ in inputs], prefixed=len(chosen) > 1)
    moved, fixed = partition(moves, [x for _, x in inputs])

    def flat(moved: Sequence[Any], fixed: Sequence[Any]) -> Any:
        values = merge(arrays, merge(moves, moved, fixed), [x for _, x in static])
        out = fun(*jax.tree.unflatten(structure, values))
        loss = out[0] if has_aux else out
        if not is_array(loss) or not jnp.issubdtype(jnp.result_type(loss), jnp.inexact):
            kind = jnp.result_type(loss) if is_array(loss) else type(loss).__name__
            raise TypeError(
                f"backward_graph differentiates the floating point array that a function returns, "
                f"but {_called(fun)} returned {kind}: return the loss, or (loss, aux) with "
                "has_aux=True"
            )
        return loss

    return _Flat(flat, moved, fixed, sum(partition(moves, labels), []))


def _called(fun: Any) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def _dtype(x: Any) -> Any:
    """The dtype of an array, abstract or not; None of anything else."""
    if isinstance(x, jax.ShapeDtypeStruct):
        return x.dtype
    return jnp.result_type(x) if is_array(x) else None


def _names(fun: Callable[..., Any], paths: Sequence[Any], prefixed: bool) -> list[str]:
    """`l1.weight`; with the argument's name where there are several, or nothing else."""
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    labels = []
    for root, *rest in paths:
        argument = parameters[root.idx] if root.idx < len(parameters) else f"arg{root.idx}"
        label = jax.tree_util.keystr(tuple(rest), simple=True, separator=".").lstrip(".")
        label = label.removesuffix(".value")  # how flax.nnx keeps what a variable holds
        labels.append(f"{argument}.{label}" if label and prefixed else label or argument)
    if all(label.startswith("params.") for label in labels):  # flax.linen's collection
        labels = [label.removeprefix("params.") for label in labels]
    return labels


class _Forward:
    """The operations of a jaxpr that depend on a leaf, by their place; jit is inlined."""

    def __init__(self, jaxpr: Any, names: Sequence[str], moved: int, constants: Any):
        self.ops: dict[Place, Op] = {}
        self.cut = False
        self._order: list[Place] = []
        known = {id(array): name for name, array in constants.items()}
        bare, consts = _compat.open_jaxpr(jaxpr)
        origins = {
            v: [Edge(name, flows=i < moved)]
            for i, (v, name) in enumerate(zip(bare.invars, names, strict=True))
        }
        for v, const in zip(bare.constvars, consts, strict=True):
            if id(const) in known:
                origins[v] = [Edge(known[id(const)], flows=False)]
        out = self._run(bare, origins, (), ())
        self.live = self._reach(out)

    def _run(self, jaxpr: Any, origins: Any, above: Place, scope: tuple[str, ...]) -> list[Any]:
        def of(atom: Any) -> list[Edge]:
            is_var = isinstance(atom, jex_core.Var) and _jaxpr.is_inexact(atom)
            return origins.get(atom, []) if is_var else []

        for i, eqn in enumerate(jaxpr.eqns):
            here, around = (*above, i), scope + _scope(eqn)
            name = eqn.primitive.name
            if name in _compat.JIT:
                inside, _ = _compat.open_jaxpr(_jaxpr.inner(eqn)[0])
                entering = {v: of(a) for v, a in zip(inside.invars, eqn.invars, strict=True)}
                outs = self._run(inside, entering, here, around)
            elif name == _CUT:
                self.cut = True
                outs = [[edge._replace(flows=False, cut=_CUT) for edge in of(eqn.invars[0])]]
            else:
                edges = tuple(dict.fromkeys(edge for atom in eqn.invars for edge in of(atom)))
                if not edges:
                    continue
                self.ops[here] = _op(eqn, around, edges)
                self._order.append(here)
                flows = any(edge.flows for edge in edges)
                outs = [[Edge(len(self._order) - 1, flows)]] * len(eqn.outvars)
            origins.update(zip(eqn.outvars, outs, strict=True))
        return [of(atom) for atom in jaxpr.outvars]

    def _reach(self, outs: list[Any]) -> set[Place]:
        """The operations that the loss reaches, by ways that are open."""
        todo = [edge for edges in outs for edge in edges]
        live: set[Place] = set()
        while todo:
            edge = todo.pop()
            if edge.flows and isinstance(edge.to, int) and self._order[edge.to] not in live:
                live.add(self._order[edge.to])
                todo += self.ops[self._order[edge.to]].edges
        return live


def _scope(eqn: jex_core.JaxprEqn) -> tuple[str, ...]:
    """The named scopes around an equation, without what transformations wrap them in."""
    parts = str(eqn.source_info.name_stack).split("/")
    return tuple(part for part in map(_unwrapped, parts) if part)


def _unwrapped(part: str) -> str:
    while match := _WRAPPED.match(part):
        part = match.group(1)
    # equinox names its layers' classes, and a class is not a place
    return "" if part.startswith("eqx.") else part


def _op(eqn: jex_core.JaxprEqn, scope: tuple[str, ...], edges: tuple[Edge, ...]) -> Op:
    """One equation; what holds a program of its own is folded, and named after it."""
    name, kind = eqn.primitive.name, _kind(eqn)
    inside = _jaxpr.inner(eqn)
    if not inside:
        return Op(name, kind, scope, edges)
    called = _compat.open_jaxpr(inside[0])[0].debug_info.func_name
    if name == "scan":
        folded = name = f"scan ×{eqn.params['length']}"
    elif name in _compat.REMAT:
        folded = name = f"remat {called}"
    elif name.startswith("custom_"):
        folded, name = called, f"{name.removesuffix('_call')} {called}"
    else:
        folded = name
    return Op(name, kind, scope, edges, folded=folded)


def _kind(eqn: jex_core.JaxprEqn) -> str:
    shapes = ",".join(str(getattr(v.aval, "shape", "")) for v in eqn.outvars)
    return f"{eqn.primitive.name} {shapes}"


def _tagged(jaxpr: Any, cuts: bool = True) -> Callable[..., Any]:
    """The program of `jaxpr`, every operation in a scope that names its place."""

    def run(jaxpr: Any, args: Sequence[Any], above: Place) -> list[Any]:
        def rule(eqn: jex_core.JaxprEqn, path: Place, args: list[Any], slot: Any) -> Any:
            name, here = eqn.primitive.name, (*above, *path)
            if name in _compat.JIT:
                return run(_jaxpr.inner(eqn)[0], args, here), None
            if name == _CUT and not cuts:
                return args, None
            with jax.named_scope(f"@{'.'.join(map(str, here))}@"):
                return _jaxpr.plain(eqn, path, args, slot)

        return _jaxpr.evaluate(jaxpr, args, rule, enters=lambda _: False)[0]

    return lambda *args: run(jaxpr, args, ())


def _backward(
    run: Callable[..., Any], flat: _Flat, ops: dict[Place, Op]
) -> tuple[dict[Place, list[str]], dict[Place, list[Saved]]]:
    """Of each operation: the primitives that the VJP has for it, and the residuals they read."""

    def forward(moved: list[Any], fixed: list[Any]) -> Any:
        return jax.vjp(lambda *moved: run(*moved, *fixed), *moved)

    made = _jaxpr.trace(forward, flat.moved, flat.fixed)
    kept = made.jaxpr.out_avals

    def pull(kept: list[Any], cotangents: list[Any]) -> Any:
        return jax.tree.unflatten(made.out_tree, kept)[1](cotangents)

    back, _ = _compat.open_jaxpr(_jaxpr.trace(pull, kept, kept[:1]).jaxpr)
    steps: dict[Place, list[str]] = {}
    saved: dict[Place, list[Saved]] = {}
    origin = _origins(made.jaxpr, flat.names, ops)
    counted: set[Any] = set()
    inputs = dict(zip(back.invars, made.jaxpr.jaxpr.outvars, strict=False))
    for eqn in back.eqns:
        place = _place(eqn)
        if place is None:
            continue
        steps.setdefault(place, []).extend(_primitives(eqn))
        for atom in eqn.invars:
            value = inputs.get(atom) if isinstance(atom, jex_core.Var) else None
            if isinstance(value, jex_core.Var):
                what, extra = origin.get(value, ("constant", False))
                entry = _saved(value, what, extra and value not in counted)
                counted.add(value)
                if entry not in saved.setdefault(place, []):
                    saved[place].append(entry)
    return {place: names for place, names in steps.items() if names}, saved


def _behind_cuts(jaxpr: Any, flat: _Flat, forward: _Forward) -> dict[Place, list[str]]:
    """What the VJP would have if nothing were stopped: the outlines of what is not there."""
    if not forward.cut:
        return {}
    try:
        return _backward(_tagged(jaxpr, cuts=False), flat, forward.ops)[0]
    except Exception:  # what stands behind a cut needs no derivative, and then has no outline
        return {}


def _place(eqn: jex_core.JaxprEqn) -> Place | None:
    tag = _TAG.search(str(eqn.source_info.name_stack))
    return tuple(map(int, tag.group(1).split("."))) if tag else None


def _primitives(eqn: jex_core.JaxprEqn) -> Iterator[str]:
    """What an equation does; a jit is what is in it, a fan-in of cotangents is no step."""
    if eqn.primitive.name in _compat.JIT:
        for sub in _compat.open_jaxpr(_jaxpr.inner(eqn)[0])[0].eqns:
            yield from _primitives(sub)
    elif eqn.primitive.name != "add_any":
        yield eqn.primitive.name


def _origins(jaxpr: Any, names: Sequence[str], ops: dict[Place, Op]) -> dict[Any, Any]:
    """Who made each value of the forward pass: a leaf, or an operation."""
    bare, _ = _compat.open_jaxpr(jaxpr)
    origin: dict[Any, Any] = {v: (n, False) for v, n in zip(bare.invars, names, strict=True)}
    for eqn in bare.eqns:
        place = _place(eqn)
        made = (ops[place].name, True) if place in ops else None
        if made is None:  # stopped or not differentiable: as what it was made of
            known = [origin[v] for v in eqn.invars if isinstance(v, jex_core.Var) and v in origin]
            made = known[0] if known else None
        if made is not None:
            origin |= dict.fromkeys(eqn.outvars, made)
    return origin


def _saved(var: Any, what: str, extra: bool) -> Saved:
    shape, dtype = var.aval.shape, var.aval.dtype
    return Saved(what, str(dtype), tuple(shape), math.prod(shape) * dtype.itemsize, extra)


def _norms(flat: _Flat, unused: str) -> list[float | None]:
    """The norm of each leaf's gradient."""
    if any(isinstance(x, jax.ShapeDtypeStruct) for x in (*flat.moved, *flat.fixed)):
        return [math.nan] * len(flat.moved)

    def fun(*moved: Any) -> Any:
        return flat.fun(moved, flat.fixed)

    @jax.jit
    def gradients(moved: list[Any]) -> list[jax.Array]:
        loss, pull = jax.vjp(fun, *moved)
        return [jnp.linalg.norm(jnp.ravel(grad)) for grad in pull(jnp.ones_like(loss))]

    live = _jaxpr.live_leaves(fun, flat.moved)
    norms = map(float, gradients(flat.moved))
    return [
        norm if alive or unused == "zeros" else None
        for norm, alive in zip(norms, live, strict=True)
    ]
