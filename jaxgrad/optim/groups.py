"""Parameter groups: one optimizer with different options for different parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import optax

from jaxgrad._core import argument_names, paths, refusals
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._adam import adam, adamw
from jaxgrad.optim._core import checks
from jaxgrad.optim._core.transformation import Transformation, broadcast, from_apply, gradients
from jaxgrad.optim._lbfgs.lbfgs import lbfgs


FROZEN = "frozen"
_PREDICATE = "lambda path: path.endswith('bias')"
_LABEL = "lambda path: 1 if path.endswith('bias') else 0"
DEFAULTS_ONLY = {"initial_accumulator_value"}  # torch ignores these in a group


class GroupsState(NamedTuple):
    """Each group's state by label; `optax.MaskedNode` stands for parameters in other groups."""

    groups: dict[Hashable, Any]


def param_groups(
    factory: Callable[..., Transformation],
    groups: Sequence[Mapping[str, Any]] | Mapping[Hashable, Mapping[str, Any]],
    labels: PyTree | Callable[[str], Hashable] | Sequence[Callable[[str], bool]],
    **defaults: Any,
) -> Transformation:
    """Combine parameter groups with different options into one transformation.

    Args:
        factory: Builds the transformation of a group, such as `jaxgrad.optim.adamw`.
        groups: Each group's options where they differ from `defaults`; each `lr` may be a schedule.
            A list (the labels are 0, 1, ...) or a dict by label.
        labels: The group of each parameter: a tree of labels (a prefix of the parameter tree), a
            function from a path such as `"encoder/0/bias"` to a label, or one predicate on paths
            per group (of one argument, where `jaxgrad.partition` calls `predicate(path, leaf)`).
            The paths of an `nnx.State` have no `value` at their end. A parameter labelled
            `"frozen"` is in no group: it never changes and has no state.
        **defaults: Options shared by all groups.

    Returns:
        A `Transformation` whose state holds one state per group.

    Raises:
        ValueError: A default is out of range, or `factory` is `lbfgs` and there are several groups.
            `init` raises it if a parameter is in two groups or in none, or if no parameter is in
            a group. A leaf that is None (frozen by `jaxgrad.partition`) or masked by optax counts
            there, and params without leaves may have any groups.
        TypeError: `factory` is not a function, or does not accept one of the defaults or of a
            group's options. `init` raises it if a function of `labels` does not take a path alone.

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
    parameter has `requires_grad=False`. `add_param_group` adds a group later. As in torch,
    Adagrad's `initial_accumulator_value` comes from `defaults` even if a group sets it, a group of
    AdamW may set Adam's `decoupled_weight_decay`, and L-BFGS does not support several groups. The
    defaults are validated but per-group values are not: a negative `lr` ascends, and `nesterov`
    without momentum has no effect.

    Differs from torch in:
        1. An unknown option is an error; torch silently stores it, even a typo such as
           `weight_deacy`.
        2. A group without parameters is an error of `init`, because its predicate is usually wrong.

    Differs from optax in:
        1. `optax.masked(tx, mask)` does not freeze: it passes masked-out gradients through, and
           `apply_updates` adds them. Here "frozen", `live=` and a None gradient all freeze.
        2. `optax.partition` supports neither defaults nor predicates, and has no `step`.
    """
    if isinstance(factory, optax.GradientTransformation) or not callable(factory):
        raise TypeError(
            "param_groups builds each group's optimizer: pass the factory, such as "
            f"jaxgrad.optim.adamw, and the options apart, but not {type(factory).__name__}"
        )
    pairs = groups.items() if isinstance(groups, Mapping) else enumerate(groups)
    named = {label: dict(options) for label, options in pairs}
    for options in (defaults, *named.values()):
        if "params" in options and options is not defaults:
            raise TypeError(
                "a group has no 'params' here: its options are a dict such as {'lr': 0.1}, and "
                "`labels` says which parameters it has"
            )
        more = ("decoupled_weight_decay",) if factory is adamw else ()
        argument_names.check(factory, options, *more)
    rebuild = functools.partial(param_groups, factory, named, labels, **defaults)
    if factory is lbfgs and len(named) != 1:
        raise ValueError(
            "LBFGS doesn't support per-parameter options (parameter groups), and there are "
            f"{len(named)} groups: pass one"
        )
    if _is_enough(factory, defaults):
        factory(**defaults)  # torch validates defaults even if every group overrides them
    if factory is adamw:  # torch's AdamW is Adam with these defaults, which groups may override
        factory, defaults = adam, {"weight_decay": 1e-2, "decoupled_weight_decay": True, **defaults}
    with checks.skipped():
        inner = {
            label: factory(
                **{**defaults, **{k: options[k] for k in options if k not in DEFAULTS_ONLY}}
            )
            for label, options in named.items()
        }

    def init(params: PyTree) -> GroupsState:
        chosen, masked = _assign(labels, named, params)
        _check_groups(labels, named, params, chosen)
        leaves = jax.tree.leaves(params)
        return GroupsState({label: tx.init(masked(leaves, label)) for label, tx in inner.items()})

    def apply(
        return_update: bool, grads: PyTree, state: Any, params: PyTree, live: PyTree, **extra: Any
    ) -> Any:
        chosen, masked = _assign(labels, named, params)
        leaves, treedef = jax.tree.flatten(params)
        leaf_grads, alive = gradients(grads, params), broadcast(live, params)
        out = [jax.numpy.zeros_like(p) if return_update else p for p in leaves]
        states = {}
        for label, tx in inner.items():
            method = tx.update if return_update else tx.step
            inputs = masked(leaf_grads, label), state.groups[label], masked(leaves, label)
            part, states[label] = method(*inputs, live=masked(alive, label), **extra)
            pairs = zip(chosen, treedef.flatten_up_to(part), out, strict=True)
            out = [new if group == label else old for group, new, old in pairs]
        return treedef.unflatten(out), GroupsState(states)

    return from_apply(init, apply).rebuilt_by(rebuild)


@argument_names.spelt
def add_param_group(tx: Transformation, params: PyTree, state: GroupsState) -> GroupsState:
    """Extend the state of parameter groups to a transformation with additional groups.

    Args:
        tx: The `param_groups` that includes the new group, under a new label.
        params: The parameters, including those of the new group.
        state: The state before the group was added.

    Returns:
        The state of `tx`: existing groups keep their state, and new ones get an initial state.

    Raises:
        ValueError: A parameter of `state` is in another group of `tx`, or in none.

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
    kept, new = dict(jax.tree_util.tree_leaves_with_path(state)), tx.init(params)
    known = {keys for keys, _ in jax.tree_util.tree_leaves_with_path(new)}
    for keys, path in paths.by_keys(state).items():
        if keys not in known and len(keys) > 3:  # only the step count of a schedule is less deep
            raise ValueError(
                f"the state has {path!r}, for which tx has no place: each parameter stays in its "
                "group, and each group keeps its label. Give the new group a label of its own, "
                "such as the last number of a list"
            )
    return jax.tree_util.tree_map_with_path(kept.get, new)


def _is_enough(factory: Callable[..., Any], defaults: Mapping[str, Any]) -> bool:
    """Whether `factory` requires only `defaults`; raises TypeError if it does not accept them."""
    signature = inspect.signature(factory)
    signature.bind_partial(**defaults)
    try:
        signature.bind(**defaults)
    except TypeError:
        return False
    return True


def _assign(labels: Any, groups: Mapping[Hashable, Any], params: PyTree) -> tuple[list[Any], Any]:
    """Return each parameter's label, and a function that masks parameters in other groups."""
    names = [path for path, _ in paths.named(params)]
    treedef = jax.tree.structure(params)
    if isinstance(labels, Sequence) and all(callable(f) for f in labels):
        if len(labels) != len(groups):
            raise ValueError(f"there are {len(groups)} groups but {len(labels)} predicates")
        for number, predicate in enumerate(labels):
            refusals.other_arguments(f"labels[{number}]", predicate, ("path",), _PREDICATE)
        chosen = [_by_predicate(path, dict(zip(groups, labels, strict=True))) for path in names]
    elif callable(labels):
        refusals.other_arguments("labels=", labels, ("path",), _LABEL)
        chosen = [labels(path) for path in names]
    else:
        chosen = broadcast(labels, params)
    for path, label in zip(names, chosen, strict=True):
        if not isinstance(label, Hashable):
            raise TypeError(
                f"labels= gave {refusals.type_of(label)} for the parameter {path!r}, but a label "
                "is the name of a group: pass the tree of labels, or a function of one parameter's "
                "path (not of the tree of parameters, as in optax)"
            )
        if label not in groups and label != FROZEN:
            raise ValueError(
                f"the parameter {path!r} is in no parameter group: its label is {label!r}, and the "
                f"groups are {list(groups)}. Label it {FROZEN!r} to freeze it. {paths.SYNTAX}"
            )

    def masked(leaves: list[Any], label: Hashable) -> PyTree:
        pairs = zip(leaves, chosen, strict=True)
        return treedef.unflatten([x if c == label else optax.MaskedNode() for x, c in pairs])

    return chosen, masked


def _check_groups(
    labels: Any, groups: Mapping[Hashable, Any], params: PyTree, chosen: Sequence[Any]
) -> None:
    """Raise if no parameter is in a group, not even one that is frozen or masked elsewhere."""
    every = paths.named(params, is_leaf=lambda x: x is None or isinstance(x, optax.MaskedNode))
    names = [path for path, _ in every]
    for number, (label, options) in enumerate(groups.items()):
        if label in chosen or not names:
            continue
        if isinstance(labels, Sequence) and all(callable(f) for f in labels):
            matches, words = any(map(labels[number], names)), paths.words_of(labels[number])
        elif callable(labels):
            matches, words = any(labels(path) == label for path in names), paths.words_of(labels)
        else:
            listed = jax.tree.leaves(labels, is_leaf=lambda x: _is_label(x, groups))
            matches, words = label in listed, []
        if not matches:
            text = paths.no_match(f"the label {label!r}", names, words)
            raise ValueError(
                f"no parameter is in the group {label!r} with {options}: {text}. Correct labels=, "
                "or leave the group out"
            )


def _is_label(x: Any, groups: Mapping[Hashable, Any]) -> bool:
    return isinstance(x, Hashable) and x in groups


def _by_predicate(path: str, predicates: Mapping[Hashable, Callable[[str], bool]]) -> Hashable:
    matches = [label for label, holds in predicates.items() if holds(path)]
    if len(matches) > 1:
        raise ValueError(
            f"some parameters appear in more than one parameter group: {path!r} is in {matches}"
        )
    return matches[0] if matches else None
