"""Where the forward pass parts: the first torch value that the JAX program does not have."""

from __future__ import annotations

from collections.abc import Sequence

from jaxgrad.parity.align import Alignment
from jaxgrad.parity.flow import Flow, leaf_of
from jaxgrad.parity.jax_program import Key
from jaxgrad.parity.torch_values import TorchRun


def lost(run: TorchRun, seen: Alignment, wrong: Sequence[int]) -> list[int]:
    """The torch values that JAX lacks and through which a wrong output was made, in order.

    Args:
      run: torch's run.
      seen: Which of its values were found.
      wrong: Where the wrong outputs are among its values.
    """
    found: set[int] = set()
    todo = list(wrong)
    while todo:
        i = todo.pop()
        if i in found or (seen.visible(i) and i not in wrong):
            continue
        found.add(i)
        todo += run.values[i].inputs
    return sorted(found)


def origins(run: TorchRun, seen: Alignment, region: Sequence[int]) -> list[int]:
    """Of these, the values whose own inputs were all found: here it goes wrong.

    What is made of integers alone (a mask) says little: a port makes it in its own way.
    """
    inside = set(region)
    fed: set[int] = set()
    for i in region:
        value = run.values[i]
        reads = [k for k in value.inputs if k != i]
        if value.weights or any(k in fed or k not in inside and not seen.trivial[k] for k in reads):
            fed.add(i)
    return _sources(run, fed, fed) or _sources(run, inside, inside)


def _sources(run: TorchRun, chosen: set[int], inside: set[int]) -> list[int]:
    return sorted(i for i in chosen if not inside & set(run.values[i].inputs) - {i})


def module_of(run: TorchRun, starts: Sequence[int]) -> str:
    """The module that an origin stands in; of several beside each other, the one around them."""
    first = run.values[starts[0]].module
    parent = first.rpartition(".")[0]
    beside = {run.values[i].module for i in starts}
    beside = {name for name in beside if name.rpartition(".")[0] == parent and name != parent}
    return parent if len(beside) > 1 and parent else first


def places(flow: Flow, seen: Alignment, inputs: Sequence[int], wrong: Sequence[Key]) -> list[Key]:
    """The JAX values in which the same inputs are read and no torch value is recognised.

    Args:
      flow: What reads what in the JAX program.
      seen: The alignment.
      inputs: The torch values that the origin read.
      wrong: The JAX outputs that are wrong.
    """
    known = {seen.spots[k].key for found in seen.candidates for k in found}
    region = flow.back(wrong, known - set(wrong))
    start = {seen.spots[k].key for i in inputs for k in seen.candidates[i]}
    first = [key for key in region if leaf_of(key) is None and set(flow.parents[key]) & start]
    rest = [key for key in region if leaf_of(key) is None]
    return sorted(first or rest, key=lambda key: flow.order[key])


def hidden(run: TorchRun, seen: Alignment) -> list[str]:
    """The module calls whose outputs the JAX program does not have."""
    return list(
        dict.fromkeys(
            call.module or "(the module)"
            for call in run.calls
            if call.outputs and not any(seen.visible(i) for i in call.outputs)
        )
    )
