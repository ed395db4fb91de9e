"""What trains on either side of a twin: the same, but for the bugs of structure."""

import copy
import fnmatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad.parity.interop import to_torch
from tests.parity_tests.ports import test_ports as twins


def path_name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def trained_by_torch(pair: dict[str, Any]) -> dict[str, bool]:
    """Whether each parameter has a gradient that is not None; a buffer has none."""
    module, inputs = copy.deepcopy(pair["module"]), to_torch(tuple(pair["inputs"]))
    outputs = pair["outputs"][0](module(*inputs)) if "outputs" in pair else module(*inputs)
    if "loss" in pair:
        twins.call(pair["loss"][0], outputs, inputs).backward()
    else:
        torch.stack([x.sum() for x in twins.tensors(outputs)]).sum().backward()
    found = {name: p.grad is not None for name, p in module.named_parameters()}
    return found | {name: False for name, _ in module.named_buffers()}


def trained_by_jax(pair: dict[str, Any]) -> list[bool]:
    """Whether a derivative reaches each floating leaf of the parameters, and it is trained."""
    found, treedef = jax.tree.flatten_with_path(pair["params"])
    floating = [i for i, (_, x) in enumerate(found) if twins.is_floating(x)]
    inputs = tuple(map(jnp.array, pair["inputs"]))

    def objective(trained: list[Any]) -> Any:
        leaves = [x for _, x in found]
        for i, x in zip(floating, trained, strict=True):
            leaves[i] = x
        outputs = pair["fn"](jax.tree.unflatten(treedef, leaves), *inputs)
        outputs = outputs[0] if pair.get("has_state") else outputs
        outputs = pair["outputs"][1](outputs) if "outputs" in pair else outputs
        if "loss" in pair:
            return twins.call(pair["loss"][1], outputs, inputs)
        return twins.tensors(outputs)

    reached = jaxgrad.depends_on(objective, [found[i][1] for i in floating])
    chosen = pair.get("trainable", lambda _: True)
    return [
        bool(hit and chosen(path_name(found[i][0])))
        for i, hit in zip(floating, reached, strict=True)
    ]


def differing(pair: dict[str, Any]) -> list[str]:
    """The torch parameters of which some entry does not train once where torch trains it.

    Zero times: unmapped, unused or stopped. Twice: a tie that was cut. Once, where torch does not.
    """
    leaves = twins.floats(pair["params"])
    marks = [
        jnp.full(x.shape, float(hit)) for x, hit in zip(leaves, trained_by_jax(pair), strict=True)
    ]
    # Without trainable= nothing says that what holds the buffers is trained.
    counts = twins.mapped_back(pair, marks, buffers="trainable" in pair)
    trained = trained_by_torch(pair)
    return [name for name, count in counts.items() if np.any(np.asarray(count) != trained[name])]


@pytest.mark.parametrize(("twin", "name"), twins.CONFIGURATIONS, ids=str)
def test_the_same_trains_on_both_sides(twin: str, name: str):
    """In a correct configuration each entry trains on both sides, or on neither."""
    found = differing(twins.TWINS[twin].pair(0, **twins.TWINS[twin].CONFIGURATIONS[name]))

    assert not found, f"trains on one side only, or twice: {found}"


@pytest.mark.parametrize(("twin", "name"), twins.BUGS, ids=str)
def test_only_a_bug_of_structure_changes_what_trains(twin: str, name: str):
    """A bug is one of structure if and only if it changes what trains, and names the first such."""
    bug = next(b for b in twins.TWINS[twin].BUGS if b.name == name)
    found = differing(twins.TWINS[twin].pair(0, **bug.plant))

    if bug.surface == "structure":
        assert found, "the same trains on both sides"
        assert fnmatch.fnmatch(found[0], bug.where), f"first of {found}, but named is {bug.where}"
    else:
        assert not found, f"trains on one side only, or twice: {found}; on {bug.surface}?"
