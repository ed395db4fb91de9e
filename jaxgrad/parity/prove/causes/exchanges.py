"""Weights that the port's code uses in the place of others, as trials that rerun torch.

A gate stands for a projection, or a direction for another, in all blocks alike; or a call reads the
weights of another layer. `swapped_weights` finds the other mistake: leaves of params that were
loaded with each other's tensors.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.prove.causes.trials import Trial, in_place
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun, Value
from jaxgrad.parity.prove.wording import Mutual, Told


_MOST = 24
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")

Pair = tuple[str, str]
State = Mapping[str, Any]


def exchanged(
    run: TorchRun,
    shapes: Mapping[str, tuple[int, ...]],
    starts: Sequence[int],
    near: Collection[int],
) -> Iterator[Trial]:
    """Yield the trials in which JAX uses two weights, or those of two layers, the wrong way round.

    Layers with numbers (blocks, experts) are changed alike.

    Args:
        run: torch's run.
        shapes: The shapes of torch's weights.
        starts: The values at which the difference may begin.
        near: These and the values around them.
    """
    used = {name for i in near for name in run.values[i].weights}
    reads: dict[str, int] = {}
    for i, value in enumerate(run.values):
        for name in value.weights:
            reads.setdefault(name, i)
    listed = [
        (text, pairs)
        for text, pairs in exchangeable({n: shape for n, shape in shapes.items() if n in reads})
        if any(name in used for pair in pairs for name in pair)
    ]
    for text, pairs in listed[:_MOST]:
        first = min(reads[name] for pair in pairs for name in pair)
        value = first if first in near and first >= starts[0] else starts[0]
        yield Trial(value, Mutual(f"{text} are exchanged"), (), exchanged=tuple(pairs))


def exchangeable(shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, list[Pair]]]:
    """Yield pairs of weights with equal shapes, and what they are.

    They belong to two sibling layers, to the directions of a recurrent layer, or to one layer.
    """
    layers: dict[str, list[str]] = {}  # a layer's name without numbers -> its weights
    for name in shapes:
        layers.setdefault(_pattern(name.rpartition(".")[0]), []).append(name)
    for (a, left), (b, right) in itertools.combinations(layers.items(), 2):
        siblings = a.rpartition(".")[0] == b.rpartition(".")[0]
        if a and b and siblings and _signature(left, shapes) == _signature(right, shapes):
            yield f"the weights of {a} and of {b}", list(zip(left, right, strict=True))
    for layer, names in layers.items():
        backward = [(n, f"{n}_reverse") for n in names if f"{n}_reverse" in shapes]
        if backward:
            yield f"the weights of the two directions of {layer}", backward
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(_pattern(name), []).append(name)
        for (a, left), (b, right) in itertools.combinations(alike.items(), 2):
            if [shapes[n] for n in left] == [shapes[n] for n in right]:
                yield f"{a} and {b}", list(zip(left, right, strict=True))


def other_layers(
    run: TorchRun, i: int, state: State, module: nn.Module
) -> Iterator[tuple[Trial, np.ndarray]]:
    """Yield the trials in which a call reads the weights of another layer, with the results.

    Args:
        run: torch's run.
        i: The value that the call computes.
        state: The weights and buffers of the run.
        module: The module of all runs, which holds the weights of the current one.
    """
    value = run.values[i]
    own = {name.rpartition(".")[0] for name in value.weights}
    if value.call is None or len(own) != 1 or in_place(value):
        return
    (layer,), call = own, value.call
    for other in _alike(layer, state, value.weights)[:_MOST]:
        names = {name: f"{other}.{name.rpartition('.')[2]}" for name in value.weights}
        given = {name: torch.as_tensor(np.asarray(state[new])) for name, new in names.items()}
        changed = _with_weights(call[1:], state, given)
        if changed is None:
            continue
        try:
            with torch.no_grad():
                out = call[0](*changed[0], **changed[1])
        except Exception:  # the call does not accept these weights
            continue
        if not isinstance(out, Tensor):
            continue
        text = Told(
            f"JAX's {value.op} reads the weights of {other}, torch's those of {layer}",
            f"torch's {value.op} reads the weights of {layer}, JAX's those of {other}",
        )
        everywhere = functools.partial(_in_every_layer, run, value, layer, other, state, module)
        change = _change(value, names, module)
        yield Trial(i, text, (change,), everywhere), out.detach().numpy()


def _alike(layer: str, state: State, weights: Sequence[str]) -> list[str]:
    """Return the other layers that have weights of these names and shapes, the nearest first."""
    shapes = {name.rpartition(".")[2]: np.shape(state[name]) for name in weights}
    layers = [*dict.fromkeys(name.rpartition(".")[0] for name in state)]
    place = layers.index(layer)
    fits = [
        (abs(n - place), other)
        for n, other in enumerate(layers)
        if other != layer
        and all(f"{other}.{k}" in state for k in shapes)
        and all(np.shape(state[f"{other}.{k}"]) == shape for k, shape in shapes.items())
    ]
    return [other for _, other in sorted(fits)]


def _with_weights(arguments: Any, state: State, given: Mapping[str, Tensor]) -> Any:
    """Return the arguments of a call with other weights; None if a weight is not among them."""
    found: set[str] = set()

    def replaced(x: Any) -> Any:
        for name, new in given.items():
            same = isinstance(x, Tensor) and x.shape == new.shape
            if same and np.array_equal(x.detach().numpy(), np.asarray(state[name])):
                found.add(name)
                return new.to(x.dtype)
        return x

    args, kwargs = arguments
    changed = [*map(replaced, args)], {key: replaced(x) for key, x in kwargs.items()}
    return changed if found == set(given) else None


def _change(value: Value, names: Mapping[str, str], module: nn.Module) -> Change:
    """Return the change with which a call reads other weights."""

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        live = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        swap = {id(live[name]): live[new] for name, new in names.items()}
        args = [swap.get(id(x), x) for x in args]
        return func(*args, **{key: swap.get(id(x), x) for key, x in kwargs.items()})

    return Change(value.call_number, call)


def _in_every_layer(
    run: TorchRun, value: Value, layer: str, other: str, state: State, module: nn.Module
) -> Iterator[Change]:
    """Yield the changes of the same call in all layers with numbers, such as blocks."""
    for each in run.values:
        own = {name.rpartition(".")[0] for name in each.weights}
        if each.op != value.op or len(own) != 1:
            continue
        (name,) = own
        numbers = iter(_NUMBER.findall(f"{name}."))
        new = _NUMBER.sub(lambda m, numbers=numbers: next(numbers, m[0]), f"{other}.")[:-1]
        if _pattern(name) == _pattern(layer) and new != name:
            names = {w: f"{new}.{w.rpartition('.')[2]}" for w in each.weights}
            if all(w in state for w in names.values()):
                yield _change(each, names, module)


def _pattern(name: str) -> str:
    """Return a name with a star in place of each number between dots."""
    return _NUMBER.sub("*", name)


def _signature(names: Sequence[str], shapes: Mapping[str, tuple[int, ...]]) -> list[Any]:
    return [(name.rpartition(".")[2], shapes[name]) for name in names]
