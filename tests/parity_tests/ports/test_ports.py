"""Each twin is what it says: its configurations agree, its bugs do not. Without the prover."""

import copy
import dataclasses
import importlib
import inspect
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad.parity.interop import to_numpy, to_torch
from parity_tests.ports import bug as bugs
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / "parity_tests" / "ports"
NAMES = sorted(p.stem for p in FOLDER.glob("[a-z]*.py") if p.stem != "bug")
TWINS = {name: importlib.import_module(f"parity_tests.ports.{name}") for name in NAMES}
CONFIGURATIONS = [(twin, name) for twin in TWINS for name in TWINS[twin].CONFIGURATIONS]
BUGS = [(twin, bug.name) for twin in TWINS for bug in TWINS[twin].BUGS]
if not os.environ.get("TEST_ALL"):  # `make test-all` runs every one
    CONFIGURATIONS, BUGS = CONFIGURATIONS[::8], BUGS[::30]

SAME = 1e-12  # of scale: what rounding in float64 leaves
MOVED = 1e-9  # of scale: what a bug must move
STEPPED = 1e-8  # of the step: Adam divides small gradients by their own size, rounding too


@dataclasses.dataclass
class Side:
    """What one side shows; gradients by torch's names, None as zeros."""

    forward: list[np.ndarray]  # the outputs, the loss
    grads: dict[str, np.ndarray]  # of the floating inputs too
    moved: list[np.ndarray]  # by the optimizer, by leaf of the JAX tree
    state: list[np.ndarray]  # running statistics after the forward pass
    leaves: int = 0  # of the JAX tree


def is_floating(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray) and jnp.issubdtype(x.dtype, jnp.floating)


def call(loss: Callable[..., Any], outputs: Any, inputs: Any) -> Any:
    """A loss takes the outputs, or the outputs and the inputs."""
    parameters = inspect.signature(loss).parameters.values()
    alone = sum(p.kind != p.KEYWORD_ONLY for p in parameters) == 1
    return loss(outputs) if alone else loss(outputs, *inputs)


def cotangents(outputs: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(x.shape) for x in outputs]


def tensors(tree: Any) -> list[Any]:
    """The leaves of what a model returned, in the order of its own containers."""
    if dataclasses.is_dataclass(tree):
        tree = [getattr(tree, field.name) for field in dataclasses.fields(tree)]
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    return [x for part in tree for x in tensors(part)] if isinstance(tree, list | tuple) else [tree]


def run_torch(pair: dict[str, Any], *, train: bool) -> Side:
    module = copy.deepcopy(pair["module"])
    inputs = to_torch(tuple(pair["inputs"]))
    floating = {f"input {i}": x for i, x in enumerate(inputs) if x.is_floating_point()}
    for x in floating.values():
        x.requires_grad_()
    pick = pair.get("outputs", (lambda x: x, lambda x: x))[0]
    outputs = pick(module(*inputs))
    flat = tensors(outputs)
    if "loss" in pair:
        loss = call(pair["loss"][0], outputs, inputs)
    else:
        weights = cotangents([to_numpy(x) for x in flat])
        parts = [(x * torch.tensor(w)).sum() for x, w in zip(flat, weights, strict=True)]
        loss = torch.stack(parts).sum()
    loss.backward()
    forward = [*map(to_numpy, flat), to_numpy(loss.detach())]
    state = []
    if pair.get("has_state"):
        state = [to_numpy(b) for _, b in sorted(module.named_buffers()) if b.is_floating_point()]
    grads = {
        name: np.zeros(p.shape) if p.grad is None else to_numpy(p.grad)
        for name, p in [*module.named_parameters(), *floating.items()]
    }
    return Side(forward, grads, torch_steps(pair) if train else [], state)


def torch_steps(pair: dict[str, Any]) -> list[np.ndarray]:
    module = copy.deepcopy(pair["module"])
    inputs = to_torch(tuple(pair["inputs"]))
    pick = pair.get("outputs", (lambda x: x, lambda x: x))[0]
    optimizer = pair["optimizer"][0](module.parameters())
    for _ in range(pair["steps"]):
        optimizer.zero_grad()
        call(pair["loss"][0], pick(module(*inputs)), inputs).backward()
        optimizer.step()
    before, after = pair["params"], pair["weights"](module.state_dict())
    return [np.asarray(b - a) for a, b in zip(floats(before), floats(after), strict=True)]


def floats(tree: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(tree) if is_floating(x)]


def run_jax(pair: dict[str, Any], *, train: bool) -> Side:
    leaves, treedef = jax.tree.flatten(pair["params"])
    floating = [i for i, x in enumerate(leaves) if is_floating(x)]
    fixed = tuple(map(jnp.array, pair["inputs"]))
    pick = pair.get("outputs", (lambda x: x, lambda x: x))[1]

    def objective(trained: list[Any], given: dict[int, Any]) -> Any:
        inputs = tuple(given.get(i, x) for i, x in enumerate(fixed))
        filled = list(leaves)
        for i, x in zip(floating, trained, strict=True):
            filled[i] = x
        outputs = pair["fn"](jax.tree.unflatten(treedef, filled), *inputs)
        outputs, state = outputs if pair.get("has_state") else (outputs, {})
        outputs = pick(outputs)
        flat = tensors(outputs)
        if "loss" in pair:
            loss = call(pair["loss"][1], outputs, inputs)
        else:
            weights = cotangents(flat)
            loss = sum(jnp.sum(x * w) for x, w in zip(flat, weights, strict=True))
        return loss, ([*flat, loss], tensors(state))

    start = [leaves[i] for i in floating]
    given = {i: x for i, x in enumerate(fixed) if is_floating(x)}
    (grads, of_inputs), (forward, state) = jax.grad(objective, argnums=(0, 1), has_aux=True)(
        start, given
    )
    back = mapped_back(pair, grads) | {f"input {i}": g for i, g in of_inputs.items()}
    back = {name: np.asarray(x) for name, x in back.items()}
    moved = jax_steps(pair, objective, start) if train else []
    forward, state = ([np.asarray(x) for x in part] for part in (forward, state))
    return Side(forward, back, moved, state, len(floating))


def mapped_back(pair: dict[str, Any], grads: list[Any], *, buffers: bool = False) -> dict[str, Any]:
    """The gradients by torch's names: the converter is linear, and this is its transpose."""
    state = {name: jnp.array(to_numpy(x)) for name, x in pair["module"].state_dict().items()}
    fixed = {name: x for name, x in state.items() if not is_floating(x)}
    names = [name for name in state if name not in fixed]

    def convert(values: list[Any]) -> list[Any]:
        return floats(pair["weights"](fixed | dict(zip(names, values, strict=True))))

    _, pullback = jax.vjp(convert, [state[name] for name in names])
    found = dict(zip(names, pullback(grads)[0], strict=True))
    same = dict(pair["module"].named_parameters(remove_duplicate=False))
    kept = {name: found[name] for name, _ in pair["module"].named_buffers() if name in found}
    return (kept if buffers else {}) | {
        name: sum(found[other] for other in same if same[other] is p)
        for name, p in pair["module"].named_parameters()
    }


def jax_steps(pair: dict[str, Any], objective: Any, start: list[Any]) -> list[np.ndarray]:
    tx = pair["optimizer"][1]
    params = pair["params"]
    leaves, treedef = jax.tree.flatten(params)
    assert len(start) == len(leaves), "a twin with an optimizer has floating parameters only"
    moves = trains(pair)

    def only_moving(values: list[Any]) -> Any:
        kept = [x if m else jnp.zeros_like(x) for x, m in zip(values, moves, strict=True)]
        return jax.tree.unflatten(treedef, kept)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        grads, _ = jax.grad(objective, has_aux=True)(jax.tree.leaves(params), {})
        updates, state = tx.update(only_moving(grads), state, params)
        updates = only_moving(jax.tree.leaves(updates))
        return optax.apply_updates(params, updates), state, grads

    state, first = tx.init(params), None
    for _ in range(pair["steps"]):
        params, state, grads = step(params, state)
        first = grads if first is None else first
    # Adam makes a full step of a gradient that is only rounding: such entries say nothing.
    largest = max(float(jnp.max(jnp.abs(g))) for g in first or [])
    noise = [(np.abs(g) > 0) & (np.abs(g) < 1e-9 * largest) for g in first or []]
    moved = [np.asarray(b - a) for a, b in zip(leaves, jax.tree.leaves(params), strict=True)]
    return [np.where(n, np.nan, m) for n, m in zip(noise, moved, strict=True)]


def trains(pair: dict[str, Any]) -> list[bool]:
    """What `trainable=` says of each leaf."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(pair["params"])]
    chosen = pair.get("trainable", lambda _: True)
    return [chosen(jax.tree_util.keystr(path, simple=True, separator="/")) for path in paths]


def apart(torch_side: list[Any], jax_side: list[Any]) -> float:
    """The largest difference over the scale of its leaf; infinite where a shape or NaN differs."""
    worst = 0.0
    for a, b in zip(torch_side, jax_side, strict=True):
        if np.shape(a) != np.shape(b) or not np.all(np.isfinite(b)):
            return float("inf")
        scale = max(float(np.max(np.abs(a), initial=0.0)), 1e-300)
        worst = max(worst, float(np.max(np.abs(a - b), initial=0.0)) / scale)
    return worst


def grads_apart(torch_side: Side, jax_side: Side) -> float:
    """The same for gradients; of a leaf that is zero but for rounding, over the largest."""
    largest = max(float(np.max(np.abs(g))) for g in torch_side.grads.values())
    worst = 0.0
    for name, a in torch_side.grads.items():
        b = jax_side.grads[name]
        own = float(np.max(np.abs(a)))
        scale = own if own > 1e-13 * largest else largest
        worst = max(worst, apart([a / scale], [b / scale]) * min(1.0, own / scale))
        if own <= 1e-13 * largest:
            worst = max(worst, float(np.max(np.abs(b))) / largest)
    return worst


def steps_apart(torch_side: Side, jax_side: Side) -> float:
    if len(torch_side.moved) != len(jax_side.moved):
        return float("inf")
    kept = [~np.isnan(b) for b in jax_side.moved]
    pairs = list(zip(torch_side.moved, jax_side.moved, kept, strict=True))
    return apart([a[k] for a, _, k in pairs], [b[k] for _, b, k in pairs])


@pytest.mark.parametrize(("twin", "name"), CONFIGURATIONS, ids=str)
def test_a_correct_configuration_agrees(twin: str, name: str):
    """Outputs, gradients and steps are the same on both sides of a configuration."""
    pair = TWINS[twin].pair(0, **TWINS[twin].CONFIGURATIONS[name])
    train = "optimizer" in pair
    ours, theirs = run_jax(pair, train=train), run_torch(pair, train=train)

    found = apart(theirs.forward, ours.forward), grads_apart(theirs, ours)
    assert apart(theirs.state, ours.state) < SAME, "the new state differs"
    assert max(found) < SAME, f"outputs {found[0]:.1e} and gradients {found[1]:.1e} of scale apart"
    assert any(np.any(g != 0) for g in theirs.grads.values()), "all gradients are zero"
    stepped = steps_apart(theirs, ours)
    assert stepped < STEPPED, f"the steps are {stepped:.1e} of their size apart"


@pytest.mark.parametrize(("twin", "name"), BUGS, ids=str)
def test_a_bug_is_one(twin: str, name: str):
    """A bug moves the forward pass unless it is silent, and in any case what is trained."""
    bug: bugs.Bug = next(b for b in TWINS[twin].BUGS if b.name == name)
    pair = TWINS[twin].pair(0, **bug.plant)
    train = bug.surface == "updates" and "optimizer" in pair
    ours, theirs = run_jax(pair, train=train), run_torch(pair, train=train)

    forward = apart(theirs.forward, ours.forward)
    grads = grads_apart(theirs, ours)
    stepped = max(steps_apart(theirs, ours), apart(theirs.state, ours.state))
    if bug.silent:
        assert forward < SAME, f"silent, but the forward pass is {forward:.1e} of scale apart"
    else:
        assert forward > MOVED, f"not silent, but the forward pass is {forward:.1e} apart"
    if bug.surface == "updates":
        assert grads < SAME or not bug.silent, f"of updates, but gradients are {grads:.1e} apart"
        assert stepped > STEPPED, f"the steps are only {stepped:.1e} of their size apart"
    elif bug.surface == "structure":
        right = TWINS[twin].pair(0)
        same = ours.leaves == len(floats(right["params"])) and trains(pair) == trains(right)
        assert grads > MOVED or not same, "neither gradients nor leaves nor what trains differ"
    else:
        assert grads > MOVED, f"the gradients are only {grads:.1e} of scale apart"


def test_the_bugs_name_what_there_is():
    """Where a bug stands is a module or a parameter of its torch side."""
    import fnmatch

    lost = []
    for twin, module in TWINS.items():
        for bug in module.BUGS:
            made = module.pair(0, **bug.plant)["module"]
            found = (made.named_modules(), made.named_parameters(), made.named_buffers())
            names = [name for part in found for name, _ in part]
            if bug.where != "loss" and not fnmatch.filter(names, bug.where):
                lost.append(f"{twin}/{bug.name}: {bug.where}")
    assert not lost, f"no such module or parameter: {lost}"


def test_half_of_the_bugs_are_silent():
    """At least half of all bugs leave the forward pass as it is."""
    every = [bug for module in TWINS.values() for bug in module.BUGS]

    assert 2 * sum(bug.silent for bug in every) >= len(every)
