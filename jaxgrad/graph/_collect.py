"""Read a JAX function's backward graph from the jaxpr of its VJP."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core import paths, refusals
from jaxgrad._core.tree import is_array, merge, partition
from jaxgrad._core.typing import PyTree
from jaxgrad.graph._equations import equations
from jaxgrad.graph._forward import Forward
from jaxgrad.graph._model import ABSENT, REACHED, Graph, Leaf
from jaxgrad.graph._vjp import Backward, backward


def backward_graph(
    fun: Callable[..., Any],
    *args: PyTree,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    unused: str = "none",
    constants: Sequence[tuple[str, jax.Array]] = (),
) -> Graph:
    """Return the graph of a function's backward pass: its operations, edges and gradients.

    `jit` is inlined; each `scan`, `cond`, `remat` and custom rule is one operation.

    Args:
        fun: A function of trees of arrays (parameters, an equinox or flax.nnx module) that returns
            the loss, an array. A loss that is not a scalar is summed.
        *args: Arguments of `fun`; leaves that are not arrays are constants. A
            `jax.ShapeDtypeStruct` suffices where the gradient's norm is not needed.
        argnums: Which positional arguments are differentiated.
        has_aux: Whether `fun` returns `(loss, aux)`.
        unused: "none" or "zeros": the gradient of a leaf that has no path to the loss, as in
            `jaxgrad.value_and_grad`.
        constants: `(name, array)` pairs of arrays that `fun` captures and that another setting
            differentiates. Each keeps its place in the picture and is labelled "no slot".

    Returns:
        A `Graph` with `ops` (primitive, scope, steps of the VJP, residuals) and `leaves` (name,
        norm of the gradient). Notebooks display it as a picture.

    Raises:
        TypeError: `fun` does not return a floating point array.
        ValueError: `unused` is neither "none" nor "zeros".
        NotImplementedError: `fun` contains a primitive that runs a program jaxgrad does not know.

    Example:
        >>> import jax.numpy as jnp, jaxgrad.graph
        >>> params = {"l1": {"w": jnp.ones((2, 3))}, "l2": {"w": jnp.ones((3, 1))}}
        >>> def loss(params, x):
        ...     return jnp.sum(jnp.tanh(x @ params["l1"]["w"]) @ params["l2"]["w"])
        >>> graph = jaxgrad.graph.backward_graph(loss, params, jnp.ones((1, 2)))
        >>> [op.name for op in graph.ops]
        ['dot_general', 'tanh', 'dot_general', 'reduce_sum']
        >>> [leaf.name for leaf in graph.leaves if leaf.slot]
        ['l1.w', 'l2.w']

    Torch: `loss.grad_fn` and its `next_functions`; drawn by `jaxgrad.parity.torch_graph.record`.
    """
    if unused not in ("none", "zeros"):
        raise ValueError(f'unused must be "none" (torch) or "zeros" (jax.grad), got {unused!r}')
    refusals.non_function("backward_graph", "fun", fun)
    flat = _flatten(fun, args, argnums, has_aux)
    jaxpr = _jaxpr.trace(flat.fun, flat.active, flat.fixed).jaxpr
    forward = Forward(jaxpr, flat.names, len(flat.active), dict(constants))
    vjp = backward(jaxpr, flat.active, flat.fixed, flat.names, forward.ops)
    whole = _without_cuts(jaxpr, flat, forward)

    ops = []
    for place, op in forward.ops.items():
        live = place in forward.live
        steps = tuple((vjp if live or whole is None else whole).steps.get(place, ()))
        saved = tuple(vjp.saved.get(place, ())) if live else ()
        state = REACHED if live else ABSENT
        ops.append(op._replace(state=state, drawn=bool(steps), steps=steps, saved=saved))
    leaves = _leaves(flat, unused)
    slots = {leaf.name for leaf in leaves}
    others = [*flat.names[len(flat.active) :], *(name for name, _ in constants)]
    leaves += [Leaf(name, slot=False) for name in dict.fromkeys(others) if name not in slots]
    boxes = equations(forward.ops, vjp, whole)
    return Graph("JAX", jax.__version__, tuple(ops), tuple(leaves), equations=boxes)


def _without_cuts(jaxpr: Any, flat: _Flat, forward: Forward) -> Backward | None:
    """Return the VJP as if no gradient were stopped, to outline the absent operations."""
    if not forward.cut:
        return None
    try:
        return backward(jaxpr, flat.active, flat.fixed, flat.names, forward.ops, cuts=False)
    except Exception:  # code behind a cut may have no derivative; then it has no outline
        return None


class _Flat(NamedTuple):
    """A function of two lists of arrays: the differentiated ones and the rest."""

    fun: Callable[[Sequence[Any], Sequence[Any]], Any]
    active: list[Any]
    fixed: list[Any]
    names: list[str]  # of `active`, then of `fixed`


def _flatten(fun: Callable[..., Any], args: Any, argnums: Any, has_aux: bool) -> _Flat:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    chosen = {n % len(args) for n in chosen}
    leaves = [(i, path, x) for i, arg in enumerate(args) for path, x in paths.named(arg)]
    structure = jax.tree.structure(args)
    arrays = [_dtype(x) is not None for *_, x in leaves]
    inputs, static = partition(arrays, leaves)
    live = [i in chosen and jnp.issubdtype(_dtype(x), jnp.inexact) for i, _, x in inputs]
    active, fixed = partition(live, [x for *_, x in inputs])
    places = partition(live, [(i, path) for i, path, _ in inputs])
    names, others = (_names(fun, part) for part in places)
    names += [f"{name} (constant)" if name in names else name for name in others]

    def flat(active: Sequence[Any], fixed: Sequence[Any]) -> Any:
        values = merge(arrays, merge(live, active, fixed), [x for *_, x in static])
        out = fun(*jax.tree.unflatten(structure, values))
        loss = out[0] if has_aux else out
        if not is_array(loss) or not jnp.issubdtype(jnp.result_type(loss), jnp.inexact):
            kind = jnp.result_type(loss) if is_array(loss) else type(loss).__name__
            name = getattr(fun, "__name__", type(fun).__name__)
            raise TypeError(
                f"backward_graph differentiates the floating point array that a function returns, "
                f"but {name} returned {kind}: return the loss, or (loss, aux) with "
                "has_aux=True"
            )
        return loss

    return _Flat(flat, active, fixed, names)


def _dtype(x: Any) -> Any:
    """Return the dtype of a concrete or abstract array, None for anything else."""
    if isinstance(x, jax.ShapeDtypeStruct):
        return x.dtype
    return jnp.result_type(x) if is_array(x) else None


def _names(fun: Callable[..., Any], places: Sequence[tuple[int, str]]) -> list[str]:
    """Name each leaf by its path (`l1.weight`, as in torch) or its argument; by both on a clash."""
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    labels, prefixed = [], []
    for number, path in places:
        argument = parameters[number] if number < len(parameters) else f"arg{number}"
        label = path.replace("/", ".")
        labels.append(label or argument)
        prefixed.append(f"{argument}.{label}" if label else argument)
    if len(set(labels)) < len(labels):
        return prefixed
    if all(label.startswith("params.") for label in labels):  # flax.linen's collection
        return [label.removeprefix("params.") for label in labels]
    return labels


def _leaves(flat: _Flat, unused: str) -> list[Leaf]:
    """Return a `Leaf` with the gradient's norm for each differentiated array."""
    names = flat.names[: len(flat.active)]
    if any(isinstance(x, jax.ShapeDtypeStruct) for x in (*flat.active, *flat.fixed)):
        return [Leaf(name, known=False) for name in names]

    def fun(*active: Any) -> Any:
        return flat.fun(active, flat.fixed)

    @jax.jit
    def norms(active: list[Any]) -> list[jax.Array]:
        loss, pull = jax.vjp(fun, *active)
        return [jnp.linalg.norm(jnp.ravel(grad)) for grad in pull(jnp.ones_like(loss))]

    live = [alive or unused == "zeros" for alive in _jaxpr.live_leaves(fun, flat.active)]
    leaves = zip(names, norms(flat.active), live, strict=True)
    return [Leaf(name, float(norm) if has else None) for name, norm, has in leaves]
