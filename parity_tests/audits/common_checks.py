"""Apply the checks that are common for ports: compare float32 values within a tolerance.

Each check takes the same pair as `prove`. The checks are given the mapping between the weights,
which `prove` finds by itself, so the comparison favours them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.record.adapters import Held, ProofError, as_function
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.sides import PerSide
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side.live import Live
from jaxgrad.parity.prove.record.torch_side.loop import build_optimizer
from jaxgrad.parity.prove.training import as_training
from jaxgrad.parity.prove.weights.resolve import weight_map


Arrays = Mapping[str, np.ndarray]


def run_checks(pair: Mapping[str, Any]) -> dict[str, bool]:
    """Return, for each check, whether it finds a difference; a check that cannot run finds none."""
    try:
        by_torch, by_jax = _torch(pair), _jax(pair)
    except ProofError:
        return dict.fromkeys(RULES, False)
    return {name: rule(by_torch, by_jax) for name, rule in RULES.items()}


def _torch(pair: Mapping[str, Any]) -> dict[str, Arrays]:
    module = torch_run.copy_in_dtype(pair["module"], torch.float32)
    before = {n: to_numpy(p) for n, p in module.named_parameters()}
    pick, loss = (pair.get(key, (None, None))[0] for key in ("outputs", "loss"))
    inputs = jax.tree.map(_single, _inputs(pair).torch)
    run = torch_run.run(module, inputs, pick, loss, _ones, watch=False, dtype=torch.float32)
    if "optimizer" in pair:
        build_optimizer(as_training(pair["optimizer"]).torch, module).step()
    after = {n: to_numpy(p) for n, p in module.named_parameters()}
    return {
        "outputs": {k: x for k, x in run.outputs.items() if k != "loss"},
        "grads": {n: np.zeros_like(before[n]) if g is None else g for n, g in run.grads.items()},
        "params": after if "optimizer" in pair else {},
    }


def _jax(pair: Mapping[str, Any]) -> dict[str, Arrays]:
    pick, loss = (pair.get(key, (None, None))[0] for key in ("outputs", "loss"))
    convert = pair.get("weights", pair.get("converter"))
    with contextlib.closing(Live(pair["module"], _inputs(pair).torch, pick, loss, 0)) as side:
        _, weights = weight_map(side, pair["fn"], pair["params"], convert)
    port = as_function(pair["fn"], pair["params"])
    inputs = jax.tree.map(_single, _inputs(pair).jax)
    (pick, loss) = (pair.get(key, (None, None))[1] for key in ("outputs", "loss"))
    _, leaves, fill = jax_program.flat(port.params)
    leaves = [_single(x) for x in leaves]
    is_float = [np.issubdtype(x.dtype, np.inexact) for x in leaves]

    def objective(trained: Any) -> Any:
        full = [m if m is not None else x for m, x in zip(trained, leaves, strict=True)]
        out = port.fn(fill(full), *inputs)
        out = out.outputs if isinstance(out, Held) else out
        out = out[0] if pair.get("has_state") else out
        out = out if pick is None else pick(out)
        named = jax.tree_util.tree_leaves_with_path(out)
        if loss is not None:
            return jax_program.call_loss(loss, out, inputs), [x for _, x in named]
        floats = [x for _, x in named if jnp.issubdtype(x.dtype, jnp.inexact)]
        return sum(jnp.sum(x) for x in floats), [x for _, x in named]

    with jax.enable_x64(False):
        trained = [jnp.asarray(x) if m else None for x, m in zip(leaves, is_float, strict=True)]
        (_, outs), grads = jax.value_and_grad(objective, has_aux=True)(trained)
        after = {}
        if "optimizer" in pair:
            tx = as_training(pair["optimizer"]).optax
            tree = fill(trained, None)
            change, _ = tx.update(fill(grads, None), tx.init(tree), tree)
            new = iter(jax.tree.leaves(optax.apply_updates(tree, change)))
            full = [
                np.asarray(next(new)) if m else x for m, x in zip(is_float, leaves, strict=True)
            ]
            after = weights.values_of(full)
    return {
        "outputs": {str(i): np.asarray(x) for i, x in enumerate(outs)},
        "grads": {
            n: g for n, g in weights.to_torch([_none(g) for g in grads]).items() if g is not None
        },
        "params": after,
    }


def _inputs(pair: Mapping[str, Any]) -> PerSide:
    """Return the inputs of torch and of the port, which are the same unless a pair gives two."""
    inputs = pair["inputs"]
    return inputs if isinstance(inputs, PerSide) else PerSide(inputs, inputs)


def _none(g: Any) -> Any:
    return None if g is None else np.asarray(g)


def _single(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(np.float32) if np.issubdtype(x.dtype, np.inexact) else x


def _ones(output: np.ndarray) -> np.ndarray:
    return np.ones_like(output)


def _close(rtol: float | None, atol: float | None, *keys: str) -> Callable[[Any, Any], bool]:
    def differs(by_torch: Any, by_jax: Any) -> bool:
        for key in keys:
            left, right = by_torch[key], by_jax[key]
            names = left if key != "outputs" else dict(zip(left, right, strict=False))
            values = list(right.values())
            for k, name in enumerate(names):
                x = left[name]
                y = right.get(name) if key != "outputs" else values[k]
                if y is None or y.size != x.size:
                    continue
                y = np.asarray(y, x.dtype).reshape(x.shape)
                try:
                    torch.testing.assert_close(
                        torch.tensor(y), torch.tensor(x), rtol=rtol, atol=atol, equal_nan=True
                    )
                except AssertionError:
                    return True
        return False

    return differs


RULES: dict[str, Callable[[Any, Any], bool]] = {
    "outputs, atol=1e-4": _close(0.0, 1e-4, "outputs"),
    "assert_close on outputs": _close(None, None, "outputs"),
    "gradients, atol=1e-2": _close(0.0, 1e-2, "grads"),
    "assert_close on gradients": _close(None, None, "outputs", "grads"),
    "gradients and one step": _close(None, None, "outputs", "grads", "params"),
    "one step, rtol=1": _close(1.0, 0.0, "params"),
}
