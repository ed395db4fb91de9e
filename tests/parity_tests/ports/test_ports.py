"""Each port's correct configurations agree with torch and its bugs do not, without `prove`."""

import contextlib
import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx

from jaxgrad.parity.interop import to_numpy, to_torch
from parity_tests.ports import bug as bugs
from parity_tests.runner.settings import ROOT
from tests._helpers import sampled


FOLDER = ROOT / "parity_tests" / "ports"
NAMES = sorted(p.stem for p in FOLDER.glob("[a-z]*.py") if p.stem != "bug")
PORTS = {name: importlib.import_module(f"parity_tests.ports.{name}") for name in NAMES}
# Only `prove` shares dropout masks, rounds to bfloat16, conjugates, and runs a training loop.
COMPARED = [name for name in NAMES if name not in ("dropout", "mixed", "s4", "training_loop")]
CONFIGURATIONS = [(port, name) for port in COMPARED for name in PORTS[port].CONFIGURATIONS]
CONFIGURATIONS.remove(("batch_norm", "channels_last"))  # its inputs differ by framework
BUGS = [
    (port, bug.name)
    for port in COMPARED
    for bug in PORTS[port].BUGS
    if "channels_last" not in bug.plant
]
CONFIGURATIONS, BUGS = sampled(CONFIGURATIONS, 90, start=4), sampled(BUGS, 300)

SAME = 1e-12  # relative to the scale: the bound for float64 rounding
CHANGED = 1e-9  # relative to the scale: the smallest effect of a bug
STEPPED = (
    1e-8  # relative to the step; larger because Adam amplifies the rounding of small gradients
)


@dataclasses.dataclass
class Run:
    """The results of one framework; gradients are keyed by torch's names and None becomes zeros."""

    forward: list[np.ndarray]  # the outputs and the loss
    grads: dict[str, np.ndarray]  # including those of floating inputs
    changes: list[np.ndarray]  # the optimizer's change of each leaf of the JAX tree
    state: list[np.ndarray]  # running statistics after the forward pass
    leaves: int = 0  # the number of leaves of the JAX tree


def is_floating(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray) and jnp.issubdtype(x.dtype, jnp.floating)


def call(loss: Callable[..., Any], outputs: Any, inputs: Any) -> Any:
    """Call a loss with the outputs, and with the inputs if it takes them."""
    parameters = inspect.signature(loss).parameters.values()
    alone = sum(p.kind != p.KEYWORD_ONLY for p in parameters) == 1
    return loss(outputs) if alone else loss(outputs, *inputs)


def cotangents(outputs: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(x.shape) for x in outputs]


def tensors(tree: Any) -> list[Any]:
    """Return the leaves of a model's outputs in the order of its containers."""
    if dataclasses.is_dataclass(tree):
        tree = [getattr(tree, field.name) for field in dataclasses.fields(tree)]
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    return [x for part in tree for x in tensors(part)] if isinstance(tree, list | tuple) else [tree]


def load_pair(port: str, **options: Any) -> dict[str, Any]:
    """Return a pair whose `fn` is a function of its params, and whose weights have a converter."""
    pair = PORTS[port].pair(0, **options)
    pair["weights"] = pair.pop("converter", None) or pair["weights"]
    if isinstance(pair["fn"], nnx.Module):
        graph, pair["params"] = nnx.split(pair["fn"])

        def apply(params: Any, *inputs: Any) -> Any:
            module = nnx.merge(graph, params)
            outputs = module(*inputs)
            return outputs, nnx.to_pure_dict(nnx.state(module, nnx.BatchStat))

        pair["fn"], pair["has_state"] = apply, True
    return pair


@contextlib.contextmanager
def restored(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Restore the parameters and buffers at the end; a copy would lose the parameters' hooks."""
    state = {name: x.clone() for name, x in module.state_dict().items()}
    try:
        yield module
    finally:
        module.load_state_dict(state)
        module.zero_grad()


def run_torch(pair: dict[str, Any], *, train: bool) -> Run:
    with restored(pair["module"]) as module:
        run = torch_gradients(pair, module)
    run.changes = torch_steps(pair) if train else []
    return run


def torch_gradients(pair: dict[str, Any], module: torch.nn.Module) -> Run:
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
    return Run(forward, grads, [], state)


def torch_steps(pair: dict[str, Any]) -> list[np.ndarray]:
    inputs = to_torch(tuple(pair["inputs"]))
    pick = pair.get("outputs", (lambda x: x, lambda x: x))[0]
    with restored(pair["module"]) as module:
        optimizer = pair["optimizer"][0](module.parameters())
        for _ in range(pair["steps"]):
            optimizer.zero_grad()
            call(pair["loss"][0], pick(module(*inputs)), inputs).backward()
            optimizer.step()
        before, after = pair["params"], pair["weights"](module.state_dict())
    return [np.asarray(b - a) for a, b in zip(floats(before), floats(after), strict=True)]


def floats(tree: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(tree) if is_floating(x)]


def run_jax(pair: dict[str, Any], *, train: bool) -> Run:
    leaves, treedef = jax.tree.flatten(pair["params"])
    floating = [i for i, x in enumerate(leaves) if is_floating(x)]
    fixed = tuple(map(jnp.array, pair["inputs"]))
    pick = pair.get("outputs", (lambda x: x, lambda x: x))[1]

    def objective(trained: list[Any], floats_in: dict[int, Any]) -> Any:
        inputs = tuple(floats_in.get(i, x) for i, x in enumerate(fixed))
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
    floats_in = {i: x for i, x in enumerate(fixed) if is_floating(x)}
    gradients = jax.jit(jax.grad(objective, argnums=(0, 1), has_aux=True))
    (grads, of_inputs), (forward, state) = gradients(start, floats_in)
    back = mapped_back(pair, grads) | {f"input {i}": g for i, g in of_inputs.items()}
    back = {name: np.asarray(x) for name, x in back.items()}
    changes = jax_steps(pair, objective, start) if train else []
    forward, state = ([np.asarray(x) for x in part] for part in (forward, state))
    return Run(forward, back, changes, state, len(floating))


def mapped_back(pair: dict[str, Any], grads: list[Any], *, buffers: bool = False) -> dict[str, Any]:
    """Return the gradients keyed by torch's names, by transposing the linear weight converter."""
    state = {name: jnp.array(to_numpy(x)) for name, x in pair["module"].state_dict().items()}
    fixed = {name: x for name, x in state.items() if not is_floating(x)}
    names = [name for name in state if name not in fixed]

    def convert(values: list[Any]) -> list[Any]:
        return floats(pair["weights"](fixed | dict(zip(names, values, strict=True))))

    @jax.jit
    def pulled_back(values: list[Any], grads: list[Any]) -> list[Any]:
        return jax.vjp(convert, values)[1](grads)[0]

    values = pulled_back([state[name] for name in names], grads)
    pulled = dict(zip(names, values, strict=True))
    same = dict(pair["module"].named_parameters(remove_duplicate=False))
    kept = {name: pulled[name] for name, _ in pair["module"].named_buffers() if name in pulled}
    return (kept if buffers else {}) | {
        name: sum(pulled[other] for other in same if same[other] is p)
        for name, p in pair["module"].named_parameters()
    }


def jax_steps(pair: dict[str, Any], objective: Any, start: list[Any]) -> list[np.ndarray]:
    tx = pair["optimizer"][1]
    params = pair["params"]
    leaves, treedef = jax.tree.flatten(params)
    assert len(start) == len(leaves), "a pair with an optimizer must have only floating parameters"
    mask = trains(pair)

    def masked(values: list[Any]) -> Any:
        kept = [x if m else jnp.zeros_like(x) for x, m in zip(values, mask, strict=True)]
        return jax.tree.unflatten(treedef, kept)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        grads, _ = jax.grad(objective, has_aux=True)(jax.tree.leaves(params), {})
        updates, state = tx.update(masked(grads), state, params)
        updates = masked(jax.tree.leaves(updates))
        return optax.apply_updates(params, updates), state, grads

    state, first = tx.init(params), None
    for _ in range(pair["steps"]):
        params, state, grads = step(params, state)
        first = grads if first is None else first
    # Adam makes a full step for a gradient that is only rounding, so such entries are dropped.
    largest = max(float(jnp.max(jnp.abs(g))) for g in first or [])
    noise = [(np.abs(g) > 0) & (np.abs(g) < 1e-9 * largest) for g in first or []]
    changes = [np.asarray(b - a) for a, b in zip(leaves, jax.tree.leaves(params), strict=True)]
    return [np.where(n, np.nan, x) for n, x in zip(noise, changes, strict=True)]


def trains(pair: dict[str, Any]) -> list[bool]:
    """Return whether `trainable=` selects each leaf."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(pair["params"])]
    chosen = pair.get("trainable", lambda _: True)
    return [chosen(jax.tree_util.keystr(path, simple=True, separator="/")) for path in paths]


def apart(torch_run: list[Any], jax_run: list[Any]) -> float:
    """Return the largest difference relative to the scale of its leaf.

    It is infinite if a shape differs or one of JAX's values is not finite.
    """
    worst = 0.0
    for a, b in zip(torch_run, jax_run, strict=True):
        if np.shape(a) != np.shape(b) or not np.all(np.isfinite(b)):
            return float("inf")
        scale = max(float(np.max(np.abs(a), initial=0.0)), 1e-300)
        worst = max(worst, float(np.max(np.abs(a - b), initial=0.0)) / scale)
    return worst


def grads_apart(torch_run: Run, jax_run: Run) -> float:
    """Return the largest relative difference of gradients.

    A gradient that is zero up to rounding is compared relative to the largest gradient.
    """
    largest = max(float(np.max(np.abs(g))) for g in torch_run.grads.values())
    worst = 0.0
    for name, a in torch_run.grads.items():
        b = jax_run.grads[name]
        own = float(np.max(np.abs(a)))
        scale = own if own > 1e-13 * largest else largest
        worst = max(worst, apart([a / scale], [b / scale]) * min(1.0, own / scale))
        if own <= 1e-13 * largest:
            worst = max(worst, float(np.max(np.abs(b))) / largest)
    return worst


def steps_apart(torch_run: Run, jax_run: Run) -> float:
    if len(torch_run.changes) != len(jax_run.changes):
        return float("inf")
    kept = [~np.isnan(b) for b in jax_run.changes]
    pairs = list(zip(torch_run.changes, jax_run.changes, kept, strict=True))
    return apart([a[k] for a, _, k in pairs], [b[k] for _, b, k in pairs])


@pytest.mark.parametrize(("port", "name"), CONFIGURATIONS, ids=str)
def test_a_correct_configuration_agrees(port: str, name: str):
    """In a correct configuration torch and JAX agree on outputs, gradients and optimizer steps."""
    pair = load_pair(port, **PORTS[port].CONFIGURATIONS[name])
    train = "optimizer" in pair
    by_jax, by_torch = run_jax(pair, train=train), run_torch(pair, train=train)

    worst = apart(by_torch.forward, by_jax.forward), grads_apart(by_torch, by_jax)
    assert apart(by_torch.state, by_jax.state) < SAME, "the new state differs"
    assert max(worst) < SAME, f"outputs differ by {worst[0]:.1e}, gradients by {worst[1]:.1e}"
    assert any(np.any(g != 0) for g in by_torch.grads.values()), "all gradients are zero"
    stepped = steps_apart(by_torch, by_jax)
    assert stepped < STEPPED, f"the optimizer steps differ by {stepped:.1e}"


@pytest.mark.parametrize(("port", "name"), BUGS, ids=str)
def test_a_bug_has_an_effect(port: str, name: str):
    """Each bug changes the gradients, steps or trained leaves, and outputs unless it is silent.

    A bug that is `unseen` changes nothing: it needs other inputs, or more steps.
    """
    bug: bugs.Bug = next(b for b in PORTS[port].BUGS if b.name == name)
    pair = load_pair(port, **bug.plant)
    train = bug.surface == "updates" and "optimizer" in pair
    by_jax, by_torch = run_jax(pair, train=train), run_torch(pair, train=train)

    forward = apart(by_torch.forward, by_jax.forward)
    grads = grads_apart(by_torch, by_jax)
    stepped = max(steps_apart(by_torch, by_jax), apart(by_torch.state, by_jax.state))
    if bug.silent:
        assert forward < SAME, f"a silent bug changes the outputs by {forward:.1e}"
    else:
        assert forward > CHANGED, f"the outputs differ by only {forward:.1e}"
    if bug.unseen:
        assert grads < SAME, f"the gradients differ by {grads:.1e}"
        assert stepped < STEPPED, f"the steps differ by {stepped:.1e}"
    elif bug.surface == "updates":
        assert grads < SAME or not bug.silent, f"the gradients differ by {grads:.1e}"
        assert stepped > STEPPED, f"the steps differ by only {stepped:.1e}"
    elif bug.surface == "structure":
        right = load_pair(port)
        same = by_jax.leaves == len(floats(right["params"])) and trains(pair) == trains(right)
        assert grads > CHANGED or not same, "gradients, leaves and trained leaves are all unchanged"
    else:
        assert grads > CHANGED, f"the gradients differ by only {grads:.1e}"


@pytest.mark.slow
def test_the_place_of_a_bug_exists():
    """The place that a bug names is a module, parameter or buffer of its torch module."""
    import fnmatch

    def names(net: torch.nn.Module) -> list[str]:
        named = (net.named_modules(), net.named_parameters(), net.named_buffers())
        return [name for part in named for name, _ in part]

    lost = []
    for port, module in sampled(list(PORTS.items()), 3):
        usual = names(module.pair(0)["module"])
        for bug in module.BUGS:
            places = [p for p in bug.places if p != "loss" and not fnmatch.filter(usual, p)]
            if not places:
                continue
            planted = names(module.pair(0, **bug.plant)["module"])  # some plants add a module
            if not all(fnmatch.filter(planted, p) for p in places):
                lost.append(f"{port}/{bug.name}: {places}")
    assert not lost, f"no such module or parameter: {lost}"


def test_half_of_the_bugs_are_silent():
    """At least half of all bugs leave the forward pass unchanged."""
    every = [bug for module in PORTS.values() for bug in module.BUGS]

    assert 2 * sum(bug.silent for bug in every) >= len(every)


@pytest.mark.parametrize("name", NAMES)
def test_each_bug_says_what_a_true_cause_contains(name):
    """The kill table judges the causes that `prove` prints; without an expression all are false."""
    assert [bug.name for bug in PORTS[name].BUGS if not bug.cause] == []
