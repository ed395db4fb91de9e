"""torch and JAX train the same parameters in every port, except for bugs of structure."""

import fnmatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad.parity.interop import to_torch
from tests.parity_tests.ports import test_ports as ports


def path_name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def trained_by_torch(pair: dict[str, Any]) -> dict[str, bool]:
    """Return whether each parameter has a gradient that is not None; buffers never do."""
    inputs = to_torch(tuple(pair["inputs"]))
    with ports.restored(pair["module"]) as module:
        outputs = pair["outputs"][0](module(*inputs)) if "outputs" in pair else module(*inputs)
        if "loss" in pair:
            ports.call(pair["loss"][0], outputs, inputs).backward()
        else:
            torch.stack([x.sum() for x in ports.tensors(outputs)]).sum().backward()
        trained = {name: p.grad is not None for name, p in module.named_parameters()}
    return trained | {name: False for name, _ in module.named_buffers()}


def trained_by_jax(pair: dict[str, Any]) -> list[bool]:
    """Return whether each floating leaf is trainable and a derivative reaches it."""
    leaves_with_path, treedef = jax.tree.flatten_with_path(pair["params"])
    floating = [i for i, (_, x) in enumerate(leaves_with_path) if ports.is_floating(x)]
    inputs = tuple(map(jnp.array, pair["inputs"]))

    def objective(trained: list[Any]) -> Any:
        leaves = [x for _, x in leaves_with_path]
        for i, x in zip(floating, trained, strict=True):
            leaves[i] = x
        outputs = pair["fn"](jax.tree.unflatten(treedef, leaves), *inputs)
        outputs = outputs[0] if pair.get("has_state") else outputs
        outputs = pair["outputs"][1](outputs) if "outputs" in pair else outputs
        if "loss" in pair:
            return ports.call(pair["loss"][1], outputs, inputs)
        return ports.tensors(outputs)

    reached = jaxgrad.depends_on(objective, [leaves_with_path[i][1] for i in floating])
    chosen = pair.get("trainable", lambda _: True)
    return [
        bool(hit and chosen(path_name(leaves_with_path[i][0])))
        for i, hit in zip(floating, reached, strict=True)
    ]


def differing(pair: dict[str, Any]) -> list[str]:
    """Return the torch parameters whose entries JAX does not train exactly as often as torch.

    An entry trains zero times if it is unmapped, unused or stopped, and twice if a tie was cut.
    """
    leaves = ports.floats(pair["params"])
    marks = [
        jnp.full(x.shape, float(hit)) for x, hit in zip(leaves, trained_by_jax(pair), strict=True)
    ]
    # Without `trainable=`, leaves that hold buffers are not known to be trained.
    counts = ports.mapped_back(pair, marks, buffers="trainable" in pair)
    trained = trained_by_torch(pair)
    return [name for name, count in counts.items() if np.any(np.asarray(count) != trained[name])]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("port", "name"), ports.CONFIGURATIONS, ids=str)
def test_the_same_trains_on_both_sides(port: str, name: str):
    """In a correct configuration each entry trains in both frameworks or in neither."""
    names = differing(ports.load_pair(port, **ports.PORTS[port].CONFIGURATIONS[name]))

    assert not names, f"these train in one framework only, or twice: {names}"


@pytest.mark.parametrize(("port", "name"), ports.BUGS, ids=str)
def test_only_a_bug_of_structure_changes_what_trains(port: str, name: str):
    """Exactly the bugs of structure change which entries train, and name the first of them."""
    bug = next(b for b in ports.PORTS[port].BUGS if b.name == name)
    names = differing(ports.load_pair(port, **bug.plant))

    if bug.surface == "structure":
        assert names, "the same entries train in both frameworks"
        assert any(fnmatch.fnmatch(names[0], p) for p in bug.places), f"first of {names}"
    else:
        assert not names, f"these train in one framework only, or twice: {names}"
