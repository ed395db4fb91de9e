"""Parameter groups: one optimizer, other options for some of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import optax

from jaxgrad._core.typing import PyTree
from jaxgrad.optim._adam import adam, adamw
from jaxgrad.optim._core import checks as _checks
from jaxgrad.optim._core.transformation import Transformation, broadcast, gradients
from jaxgrad.optim._lbfgs.lbfgs import lbfgs


FROZEN = "frozen"
OF_ALL_GROUPS = {"initial_accumulator_value"}  # Adagrad's constructor reads it, no group does


class GroupsState(NamedTuple):
    """The state of each group, by its label; in its trees the other parameters are masked."""

    groups: dict[Hashable, Any]


def param_groups(
    factory: Callable[..., Transformation],
    groups: Sequence[Mapping[str, Any]] | Mapping[Hashable, Mapping[str, Any]],
    labels: PyTree | Callable[[str], Hashable] | Sequence[Callable[[str], bool]],
    **defaults: Any,
) -> Transformation:
    """One transformation for all parameters, with the options of each one's group.

    Args:
      factory: Makes the transformation of a group, as `jaxgrad.optim.adamw`.
      groups: The options of each group that differ from `defaults`; `lr` may be a schedule of the
        group's own. A list, whose labels are 0, 1, ..., or a dict by label.
      labels: Which parameter is in which group: a tree of labels, like the parameters or a prefix
        of them; a function from a path such as `"encoder.0.bias"` to a label; or for every group in
        turn a predicate of the path. A parameter with the label `"frozen"` is in no group: it does
        not move and has no state.
      **defaults: Options of all groups.

    Returns:
      A `Transformation`, whose state holds a state for each group.

    Raises:
      ValueError: A default is out of bounds; or `factory` is `lbfgs`, and there is not exactly one
        group. When it meets the parameters: one is in two groups or in none.
      TypeError: A default or an option of a group that `factory` does not have.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> params = {"w": jnp.array([1.0, 2.0]), "bias": jnp.array(1.0)}
      >>> tx = jaxgrad.optim.param_groups(
      ...     jaxgrad.optim.sgd,
      ...     [{"weight_decay": 0.1}, {"lr": 1.0}],
      ...     lambda path: 1 if path.endswith("bias") else 0,
      ...     lr=0.5,
      ... )
      >>> grads = {"w": jnp.zeros(2), "bias": jnp.array(0.5)}
      >>> params, state = tx.step(grads, tx.init(params), params)
      >>> print(params["w"], params["bias"])
      [0.95 1.9 ] 0.5

    Torch: `torch.optim.AdamW([{"params": ...}, {"params": ..., "lr": ...}], **defaults)`; a frozen
    parameter has `requires_grad=False`. `add_param_group` adds a group later on. As there,
    Adagrad's `initial_accumulator_value` is that of `defaults`, whatever a group says, a group of
    AdamW has Adam's `decoupled_weight_decay`, and L-BFGS has no groups; the defaults are checked,
    but of a group any number is taken: a negative `lr` ascends, and `nesterov` without a momentum
    does nothing.

    Differs from torch in:
      1. An option that no factory has is an error; torch keeps it and does nothing, also for a slip
         of the pen as `weight_deacy`.

    Differs from optax in:
      1. Do not freeze by `optax.masked(tx, mask)`: it hands the raw gradient of what is masked out
         on, and `apply_updates` adds it. Here "frozen", `live=` and a None gradient all freeze.
      2. `optax.partition` has neither defaults nor predicates, and no `step`.
    """
    named = dict(groups.items() if isinstance(groups, Mapping) else enumerate(groups))
    if factory is lbfgs and len(named) != 1:
        raise ValueError(
            "LBFGS doesn't support per-parameter options (parameter groups), and there are "
            f"{len(named)} groups: pass one"
        )
    if _is_enough(factory, defaults):
        factory(**defaults)  # for torch's checks of them, also where every group says otherwise
    if factory is adamw:  # in torch it is Adam with these defaults, and a group may say otherwise
        factory, defaults = adam, {"weight_decay": 1e-2, "decoupled_weight_decay": True, **defaults}
    with _checks.of_a_group():
        inner = {
            label: factory(
                **{**defaults, **{k: options[k] for k in options if k not in OF_ALL_GROUPS}}
            )
            for label, options in named.items()
        }

    def init(params: PyTree) -> GroupsState:
        _, masked = _assign(labels, named, params)
        leaves = jax.tree.leaves(params)
        return GroupsState({label: tx.init(masked(leaves, label)) for label, tx in inner.items()})

    def move(
        method: str, grads: PyTree, state: Any, params: PyTree, live: PyTree, extra: Any
    ) -> Any:
        if params is None:
            raise ValueError("the parameters are missing: call `update(grads, state, params)`")
        chosen, masked = _assign(labels, named, params)
        leaves, treedef = jax.tree.flatten(params)
        found, alive = gradients(grads, params), broadcast(live, params)
        out = [p if method == "step" else jax.numpy.zeros_like(p) for p in leaves]
        states = {}
        for label, tx in inner.items():
            part, states[label] = getattr(tx, method)(
                masked(found, label),
                state.groups[label],
                masked(leaves, label),
                live=masked(alive, label),
                **extra,
            )
            mine = treedef.flatten_up_to(part)
            out = [
                new if c == label else old for c, new, old in zip(chosen, mine, out, strict=True)
            ]
        return treedef.unflatten(out), GroupsState(states)

    def step(
        grads: PyTree, state: Any, params: PyTree, *, live: PyTree = None, **extra: Any
    ) -> Any:
        return move("step", grads, state, params, live, extra)

    def update(
        grads: PyTree, state: Any, params: PyTree = None, *, live: PyTree = None, **extra: Any
    ) -> Any:
        return move("update", grads, state, params, live, extra)

    return Transformation(init, update, step)


def add_param_group(tx: Transformation, params: PyTree, state: GroupsState) -> GroupsState:
    """The state of `tx`, whose groups are those of `state` and more; that of the old ones is kept.

    Args:
      tx: The `param_groups` with the group that is new, under a label of its own.
      params: The parameters, also those of the new group.
      state: The state so far.

    Returns:
      The state of `tx`: what `state` has for a parameter in its group, else a first state.

    Example:
      >>> import jax.numpy as jnp, jaxgrad
      >>> params = {"head": jnp.array([1.0, 2.0]), "trunk": jnp.array([3.0])}
      >>> sgd = jaxgrad.optim.sgd
      >>> groups = [{"lr": 0.1}]
      >>> tx = jaxgrad.optim.param_groups(
      ...     sgd, groups, {"head": 0, "trunk": "frozen"}, momentum=0.9
      ... )
      >>> params, state = tx.step({"head": jnp.ones(2), "trunk": None}, tx.init(params), params)
      >>> groups += [{"lr": 0.01}]
      >>> tx = jaxgrad.optim.param_groups(sgd, groups, {"head": 0, "trunk": 1}, momentum=0.9)
      >>> state = jaxgrad.optim.add_param_group(tx, params, state)
      >>> print(state.groups[0].momentum_buffer["head"], state.groups[1].momentum_buffer["trunk"])
      [1. 1.] [0.]

    Torch: `Optimizer.add_param_group`.
    """
    kept = dict(jax.tree_util.tree_leaves_with_path(state))
    return jax.tree_util.tree_map_with_path(kept.get, tx.init(params))


def _is_enough(factory: Callable[..., Any], defaults: Mapping[str, Any]) -> bool:
    """Whether `factory` can be called with `defaults`, which it knows, and no option of a group."""
    signature = inspect.signature(factory)
    signature.bind_partial(**defaults)
    try:
        signature.bind(**defaults)
    except TypeError:
        return False
    return True


def _assign(labels: Any, groups: Mapping[Hashable, Any], params: PyTree) -> tuple[list[Any], Any]:
    """The label of every parameter, and what masks the leaves of the other groups."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    treedef = jax.tree.structure(params)
    if isinstance(labels, Sequence) and all(callable(f) for f in labels):
        if len(labels) != len(groups):
            raise ValueError(f"there are {len(groups)} groups, and {len(labels)} predicates")
        chosen = [_by_predicate(path, dict(zip(groups, labels, strict=True))) for path in paths]
    elif callable(labels):
        chosen = [labels(dotted(path)) for path in paths]
    else:
        chosen = broadcast(labels, params)
    for path, label in zip(paths, chosen, strict=True):
        if label not in groups and label != FROZEN:
            raise ValueError(
                f"the parameter {jax.tree_util.keystr(path)} is in no parameter group: its label "
                f"is {label!r}, and the groups are {list(groups)}. Label it {FROZEN!r} if it is "
                "not to move"
            )

    def masked(leaves: list[Any], label: Hashable) -> PyTree:
        pairs = zip(leaves, chosen, strict=True)
        return treedef.unflatten([x if c == label else optax.MaskedNode() for x, c in pairs])

    return chosen, masked


def _by_predicate(path: Any, predicates: Mapping[Hashable, Callable[[str], bool]]) -> Hashable:
    found = [label for label, holds in predicates.items() if holds(dotted(path))]
    if len(found) > 1:
        raise ValueError(
            "some parameters appear in more than one parameter group: "
            f"{jax.tree_util.keystr(path)} is in {found}"
        )
    return found[0] if found else None


def dotted(path: Any) -> str:
    """A path as torch writes it: `encoder.0.bias`."""
    return jax.tree_util.keystr(path, simple=True, separator=".")
