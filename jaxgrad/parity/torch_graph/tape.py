"""Record every torch call of a program as a step, whether or not autograd records it."""

from __future__ import annotations

import collections
import weakref
from typing import Any

import torch
from torch import Tensor, nn

from jaxgrad.graph import Edge
from jaxgrad.parity.torch_graph.names import Names
from jaxgrad.parity.torch_graph.nodes import behind, is_leaf, kept, storage
from jaxgrad.parity.torch_graph.steps import Step


_CUTS = ("detach", "data")  # calls that return the same value without a gradient
_COPIES = ("clone", "contiguous", "to", "float", "double")  # a detached copy stays detached


class Tape:
    """The steps of a program in order, and the steps or leaves that receive each gradient."""

    def __init__(self, names: Names) -> None:
        self.steps: list[Step] = []
        self.running: list[nn.Module] = []
        self.hooked: collections.Counter[int | str] = collections.Counter()
        self._names = names
        self._stopped: dict[int, tuple[weakref.ref[Tensor], list[Edge]]] = {}
        self._mark = f"jaxgrad {id(self)}"  # the key of the step index in a node's metadata

    def number(self, node: Any) -> int:
        """Return the index of a node's step."""
        return node.metadata[self._mark]

    def note(self, name: str, ins: list[Tensor], out: Tensor) -> None:
        """Record a call, given one of the tensors that it returned."""
        if out.grad_fn is not None:
            new = len(self.steps)
            step = self._step_of(out.grad_fn, name, ins)
            self.steps[step].outputs.append(weakref.ref(out))
            if step >= new:
                closed = [edge for x in ins for edge in self.sources(x) if not edge.flows]
                edges = self.steps[step].edges
                edges += [edge for edge in dict.fromkeys(closed) if edge not in edges]
            return
        is_value = out.is_floating_point() or out.is_complex()
        if not is_value or isinstance(out, nn.Parameter) or any(out is x for x in ins):
            return
        sources = [edge for x in ins for edge in self.sources(x)]
        if name in _CUTS:
            self._stop(out, [e._replace(flows=False, cut=e.cut or name) for e in sources])
        elif name in _COPIES and not any(edge.flows for edge in sources):
            self._stop(out, sources)
        elif sources and not (torch.is_grad_enabled() and any(x.requires_grad for x in ins)):
            self._stop(out, [Edge(self.unrecorded(name, sources), flows=False, cut=_mode())])

    def sources(self, x: Tensor) -> list[Edge]:
        """Return the edges along which a gradient of `x` would continue."""
        stopped = self._stopped.get(id(x))
        if x.grad_fn is not None:
            return [Edge(self._step_of(x.grad_fn, "", []))]
        if stopped is not None and stopped[0]() is x:
            return stopped[1]
        if x.requires_grad or isinstance(x, nn.Parameter):
            return [Edge(self._names.leaf(x), x.requires_grad)]
        return []

    def hook(self, x: Tensor) -> None:
        """Record a hook on a tensor, which sees the sum of the gradients of its uses."""
        self.hooked.update(edge.to for edge in self.sources(x) if edge.flows)

    def unrecorded(self, name: str, sources: list[Edge]) -> int:
        """Record a call that torch does not trace and return its index."""
        edges = list(dict.fromkeys(edge._replace(flows=False) for edge in sources))
        self.steps.append(Step(name, f"{name}.0", self._module(), False, edges))
        return len(self.steps) - 1

    def _stop(self, x: Tensor, edges: list[Edge]) -> None:
        if edges:
            self._stopped[id(x)] = weakref.ref(x), edges

    def _module(self) -> nn.Module | None:
        return self.running[-1] if self.running else None

    def _step_of(self, node: Any, name: str, ins: list[Tensor]) -> int:
        """Return the index of a node's step, after recording the node and its new predecessors."""
        new: list[Any] = []
        todo = [(node, False)]
        while todo:  # depth first, so that predecessors come first
            here, ready = todo.pop()
            if ready:
                new.append(here)
            elif self._mark not in here.metadata:
                here.metadata[self._mark] = -1
                todo += [(here, True), *((n, False) for n in behind(here) if not is_leaf(n))]
        constants = {storage(x) for x in ins if new and not self.sources(x)}
        for i, here in enumerate(new):
            edges = [
                Edge(self._names.leaf(n.variable) if is_leaf(n) else self.number(n))
                for n in behind(here)
            ]
            here.metadata[self._mark] = len(self.steps)
            kind = f"{name or here.name()}.{len(new) - 1 - i}"
            step = Step(here.name(), kind, self._module(), True, list(dict.fromkeys(edges)))
            step.kept = list(kept(here, constants))
            self.steps.append(step)
        return self.number(node)


def _mode() -> str:
    """Return the name of the mode that prevents recording, or an empty string."""
    if torch.is_inference_mode_enabled():
        return "inference_mode"
    return "" if torch.is_grad_enabled() else "no_grad"
