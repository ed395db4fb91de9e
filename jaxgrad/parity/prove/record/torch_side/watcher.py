"""Record the operands, results and cotangents of every torch call while a module runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.jit import ScriptModule

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import SIZE, fingerprint
from jaxgrad.parity.prove.record.torch_side import functions
from jaxgrad.parity.prove.record.torch_side.frames import backward_line, user_line
from jaxgrad.parity.prove.record.torch_side.trees import (
    flat_outputs,
    is_inexact,
    is_transformed,
    leaves,
    version_of,
    viewed,
)
from jaxgrad.parity.prove.record.torch_side.values import BOUNDS, Call, Hook, Value


_KEPT = 500_000_000  # bytes of values kept for the report; beyond that, only fingerprints


class Watcher:
    """The modules that are running, and the operands and results of every torch call."""

    def __init__(self, module: nn.Module, inputs: Sequence[Tensor], keep: bool, split: int | None):
        self.module, self.keep, self.on, self.split = module, keep, False, split
        self.contributions: dict[int, Tensor] = {}
        self._copies: dict[int, list[int]] = {}  # id of `split`'s copy -> its consumer's result
        self.values: list[Value] = []
        self.discrete: list[Value] = []  # integers and booleans; without `keep`, those of bounds
        self.calls: list[Call] = []
        self.hooks: list[Hook] = []
        self.index: dict[int, int] = {}
        self._versions: dict[int, int] = {}
        self._nodes: dict[Any, int] = {}  # (autograd node, output number) -> value
        self.tensors: list[Tensor] = []  # of the values, while torch runs forward
        self._held: list[Tensor] = []  # keeps tensors alive, so that ids stay unique
        self._stack: list[tuple[str, int, tuple[int, ...]]] = []
        self._budget = _KEPT
        self._call_count = 0
        self._part = ""
        named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]
        self.weights = {id(x): name for name, x in reversed(named)}
        self._versions |= {id(x): version_of(x) for _, x in named}
        self.discrete_inputs = [x for x in inputs if not is_inexact(x)]
        self._integers = {id(x): x for x in self.discrete_inputs}  # and those made of them
        for x in inputs:
            self.record("input", (), (), x)
        self._handles: list[Any] = []

    @property
    def next_call(self) -> int | None:
        """The number of the next call, or None while nothing is recorded."""
        return self._call_count + 1 if self.on else None

    @property
    def where(self) -> str:
        """The path of the innermost module that is running."""
        return self._stack[-1][0] if self._stack else ""

    def __enter__(self) -> Watcher:
        self.on = True
        for name, part in self.module.named_modules():
            if isinstance(part, ScriptModule):  # which takes no hooks
                continue
            pre = part.register_forward_pre_hook(
                lambda _, args, kwargs, name=name: self._enter(name, (args, kwargs)),
                with_kwargs=True,
            )
            post = part.register_forward_hook(lambda _, __, out: self._leave(out))
            self._handles += [pre, post]
        return self

    def __exit__(self, *_: object) -> None:
        self.on = False
        for handle in self._handles:
            handle.remove()

    def known_values(self, tree: Any) -> tuple[int, ...]:
        """Return the recorded values in a tree of arguments."""
        numbers = (self.index.get(id(x)) for x in leaves(tree) if isinstance(x, Tensor))
        return tuple(dict.fromkeys(i for i in numbers if i is not None))

    def adopt(self, tree: Any) -> None:
        """Record values that were not computed in Python, e.g. in a scripted function.

        Their operands are found in autograd's graph. The result of a custom Function is recorded
        again: its `forward` returned it without a gradient.
        """
        inside, self.on = self.on, False
        try:
            for x in leaves(tree):
                if isinstance(x, Tensor) and x.grad_fn is not None and id(x) not in self.weights:
                    if is_inexact(x) and not is_transformed(x) and not self._recorded(x):
                        self._adopt(x, x.grad_fn)
        finally:
            self.on = inside

    def _recorded(self, x: Tensor) -> bool:
        """Whether a value is recorded, with its gradient."""
        if isinstance(x.grad_fn, BackwardCFunction):
            return (x.grad_fn, x.output_nr) in self._nodes
        return id(x) in self.index

    def _adopt(self, x: Tensor, node: Any) -> None:
        read, weights = self._sources(node)
        if not isinstance(node, BackwardCFunction):
            self._add(node.name(), weights, read, x, None)
            return
        before = self.index.get(id(x))
        self._add(type(node).__name__.removesuffix("Backward"), weights, read, x, None)
        value = self.values[-1]
        function = getattr(type(node), "_forward_cls", torch.autograd.Function)
        value.function, value.rule = functions.name_of(function), backward_line(function)
        if before is not None:
            value.inputs = tuple(dict.fromkeys((before, *read)))
            value.line = self.values[before].line

    def _sources(self, node: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the recorded values and the weights nearest to a node of autograd's graph."""
        read: list[int] = []
        weights: list[str] = []
        visited, todo = {node}, [node]
        while todo:
            for before in todo.pop().next_functions:
                variable = getattr(before[0], "variable", None)
                if before in self._nodes:
                    read.append(self._nodes[before])
                elif variable is not None and id(variable) in self.weights:
                    weights.append(self.weights[id(variable)])
                elif variable is not None and id(variable) in self.index:
                    read.append(self.index[id(variable)])
                elif before[0] is not None and before[0] not in visited:
                    visited.add(before[0])
                    todo.append(before[0])
        return tuple(dict.fromkeys(read)), tuple(dict.fromkeys(weights))

    def split_uses(self, read: tuple[int, ...], args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the arguments of a call, with a separate copy of the value `split`."""
        number = self.split
        if number is None or number not in read:
            return args, kwargs
        grads = torch.is_grad_enabled()

        def own(x: Any) -> Any:
            if isinstance(x, list | tuple):
                return type(x)(own(y) for y in x) if type(x) in (list, tuple) else x
            known = isinstance(x, Tensor) and self.index.get(id(x)) == number
            if not known or not x.requires_grad or id(x) in self._copies or not grads:
                return x
            copy = x.view_as(x)
            self.index[id(copy)] = number  # returning the copy must not record a new value
            self._versions[id(copy)] = version_of(copy)
            self._held.append(copy)
            consumer = self._copies[id(copy)] = []
            copy.register_hook(lambda grad: self._contribute(consumer, grad.detach()))
            return copy

        on, self.on = self.on, False
        try:
            return own(args), {key: own(x) for key, x in kwargs.items()}
        finally:
            self.on = on

    def attribute(self, args: Any, first: int) -> None:
        """Attribute the copies among a call's arguments to the call's first result."""
        if self._copies and len(self.values) > first:
            for x in leaves(args):
                consumer = self._copies.get(id(x))
                if consumer is not None and not consumer:
                    consumer.append(first)

    def _contribute(self, consumer: list[int], grad: Tensor) -> None:
        for number in consumer:
            known = self.contributions.get(number)
            self.contributions[number] = grad if known is None else known + grad

    def record(
        self,
        op: str,
        args: Any,
        read: tuple[int, ...],
        out: Any,
        call: tuple[Any, Any, Any] | None = None,
    ) -> None:
        """Record the floating tensors in `out`, and those that the call changed in place."""
        inside = self.on
        self.on = False
        try:
            self._call_count += 1
            weights = tuple(
                self.weights[id(x)]
                for x in leaves(args)
                if id(x) in self.weights and id(x) not in self.index
            )
            if op == "register_hook":
                names = [f"the parameter {name}" for name in weights]
                names += [f"the output of {self.values[i].in_words}" for i in read]
                value = None if weights else next(iter(read), None)
                self.hooks += [
                    Hook(self._call_count, name, user_line(), value) for name in names[:1]
                ]
            constants, unchecked, integers = self._others(args)
            if integers:
                self._integers |= {
                    id(x): x for x in leaves(out) if isinstance(x, Tensor) and not is_inexact(x)
                }
            own = self.weights if out is None else {}  # `buffer[i] = x` returns nothing
            known = [x for x in leaves(args) if id(x) in self.index or id(x) in own]
            for x in (*leaves(out), *known):
                if not isinstance(x, Tensor) or not is_inexact(x):
                    continue
                if is_transformed(x):
                    continue  # the result of the transformation is adopted
                if id(x) in self.weights and x.requires_grad:
                    continue  # buffers are values once a call has changed them, parameters are not
                if self._versions.get(id(x)) == version_of(x):
                    continue  # already recorded, and unchanged since
                self._add(op, weights, read, x, call)
                value = self.values[-1]
                value.constants, value.unchecked, value.integers = constants, unchecked, integers
            if call is not None and (self.keep or op.strip("_") in BOUNDS):
                self._add_discrete(op, read, out, call)
        finally:
            self.on = inside

    def _others(self, args: Any) -> tuple[tuple[np.ndarray, ...], bool, bool]:
        """Describe the tensors of a call that are no recorded value and no floating weight.

        Returns:
            The fingerprints of floating tensors, whether the call reads other integers than those
            of the inputs, and whether it reads those.
        """
        tensors = [x for x in leaves(args) if isinstance(x, Tensor) and not is_transformed(x)]
        known = self.weights.keys() | self.index.keys()
        floats = [x for x in tensors if is_inexact(x) and id(x) not in known]
        whole = [x for x in tensors if not is_inexact(x)]
        given = [id(x) in self._integers for x in whole]
        other = [x.numel() > 1 for x, own in zip(whole, given, strict=True) if not own]
        return tuple(np.asarray(fingerprint(viewed(x))) for x in floats), any(other), any(given)

    def _add(
        self, op: str, weights: tuple[str, ...], read: tuple[int, ...], x: Tensor, call: Any
    ) -> None:
        data = to_numpy(x) if self.keep else viewed(x)
        value = Value(
            module=self.where,
            op=op.strip("_") or op,
            inputs=read,
            shape=tuple(x.shape),
            print=np.asarray(fingerprint(data)),
            weights=weights,
            call=call if self.keep else None,
            call_number=self._call_count if call is not None else -1,
            requires_grad=x.requires_grad,
            line=user_line() if self.keep else "",
            part=self._part,
        )
        if self._affords(data):
            value.data = data
        number = len(self.values)
        self.values.append(value)
        self.index[id(x)] = number
        self._versions[id(x)] = version_of(x)
        self.tensors.append(x)
        if x.grad_fn is not None:
            self._nodes[x.grad_fn, x.output_nr] = number
        if x.requires_grad:
            self._listen(number, x)

    def _add_discrete(self, op: str, read: tuple[int, ...], out: Any, call: Any) -> None:
        """Record the integers and booleans that a call returns."""
        for x in leaves(out):
            if not isinstance(x, Tensor) or is_inexact(x) or is_transformed(x):
                continue
            data = to_numpy(x)
            if not self.keep or self._affords(data):
                value = Value(self.where, op.strip("_") or op, read, data.shape, np.zeros(SIZE))
                value.call, value.call_number, value.line = call, self._call_count, user_line()
                value.data = data
                self.discrete.append(value)

    def _listen(self, number: int, x: Tensor) -> None:
        """Record the total cotangent with a hook on the node, which survives in-place changes."""
        node, position = x.grad_fn, x.output_nr

        def record(grads: Any) -> None:
            grad = grads if isinstance(grads, Tensor) else grads[position]
            if grad is not None:
                self._arrive(number, grad.detach())

        if node is None:
            x.register_hook(record)
        else:
            node.register_prehook(record)

    def _arrive(self, number: int, grad: Tensor) -> None:
        value, data = self.values[number], to_numpy(grad) if self.keep else viewed(grad)
        value.cotangent = np.asarray(fingerprint(data))
        if self._affords(data):
            value.cotangent_data = data

    def _affords(self, data: np.ndarray) -> bool:
        """Whether an array may be kept; it is then taken from the budget."""
        if not self.keep or data.nbytes > self._budget:
            return False
        self._budget -= data.nbytes
        return True

    def label(self, part: str) -> None:
        """Name the part of a call to which the next values belong; "" after the call."""
        self._part = part

    def begin(self, name: str) -> None:
        """Attribute subsequent calls that are outside all modules to `name`."""
        self._stack.append((name, len(self.values), ()))

    def _enter(self, name: str, args: Any) -> None:
        self.adopt(args)
        self._stack.append((name, len(self.values), self.known_values(args)))

    def _leave(self, out: Any) -> None:
        name, first, read = self._stack[-1]
        self.adopt([x for _, x in flat_outputs(out)])
        self.record("result", (), read, [x for _, x in flat_outputs(out)])
        self._stack.pop()
        outputs = tuple(
            self.index[id(x)] for _, x in flat_outputs(out) if self.index.get(id(x)) is not None
        )
        self.calls.append(Call(name, read, outputs, first, len(self.values)))

    def stop(self) -> None:
        """Record no more values, and free those that autograd does not need."""
        self.on = False
        self._integers.clear()
        if self.split is None:
            self._held.clear()
            self.tensors.clear()

    def finish(self) -> list[Value]:
        """Return the values, with their cotangents."""
        # The hooks and this object refer to each other, so memory must be freed explicitly.
        self._held.clear()
        self.tensors.clear()
        self._nodes.clear()
        return self.values
