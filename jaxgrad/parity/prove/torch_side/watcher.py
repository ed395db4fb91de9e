"""What every call of torch made of what, while a module runs, and the cotangents of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.torch_side.trees import each, flat_outputs, moves
from jaxgrad.parity.prove.torch_side.values import Call, Value


_KEPT = 2**29  # bytes of values held for the report; beyond, only fingerprints


class Watcher:
    """Which module runs, and what every call of torch made of what."""

    def __init__(
        self, module: nn.Module, leaves: Sequence[Tensor], keep: bool, parts_of: int | None
    ):
        self.module, self.keep, self.on, self.parts_of = module, keep, False, parts_of
        self.parts: dict[int, Tensor] = {}
        self._copies: dict[int, list[int]] = {}  # of `parts_of`: which value each helps to make
        self.values: list[Value] = []
        self.calls: list[Call] = []
        self.index: dict[int, int] = {}
        self._versions: dict[int, int] = {}
        self._nodes: dict[Any, int] = {}  # (node of autograd, which output) -> value
        self._held: list[Tensor] = []  # so that an id stays its tensor's
        self._stack: list[tuple[str, int, tuple[int, ...]]] = []
        self._cotangents: dict[int, Tensor] = {}
        self._budget = _KEPT
        self._makers = 0
        named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]
        self.weights = {id(x): name for name, x in reversed(named)}
        for x in leaves:
            self.record("input", (), (), x)
        self._handles: list[Any] = []

    @property
    def where(self) -> str:
        return self._stack[-1][0] if self._stack else ""

    def __enter__(self) -> Watcher:
        self.on = True
        for name, part in self.module.named_modules():
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

    def seen(self, tree: Any) -> tuple[int, ...]:
        """The known values in a tree of arguments."""
        found = (self.index.get(id(x)) for x in each(tree) if isinstance(x, Tensor))
        return tuple(dict.fromkeys(i for i in found if i is not None))

    def adopt(self, tree: Any) -> None:
        """Take up what a call made that Python does not see, a scripted function: autograd knows
        what it was made of.
        """
        inside, self.on = self.on, False
        try:
            for x in each(tree):
                known = not isinstance(x, Tensor) or id(x) in self.index or id(x) in self.weights
                if not known and moves(x) and x.grad_fn is not None:
                    read, weights = self._sources(x.grad_fn)
                    self._add(x.grad_fn.name(), weights, read, x, None)
        finally:
            self.on = inside

    def _sources(self, node: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The known values and the weights nearest to a node of autograd."""
        read: list[int] = []
        weights: list[str] = []
        seen, todo = {node}, [node]
        while todo:
            for before in todo.pop().next_functions:
                variable = getattr(before[0], "variable", None)
                if before in self._nodes:
                    read.append(self._nodes[before])
                elif variable is not None and id(variable) in self.weights:
                    weights.append(self.weights[id(variable)])
                elif variable is not None and id(variable) in self.index:
                    read.append(self.index[id(variable)])
                elif before[0] is not None and before[0] not in seen:
                    seen.add(before[0])
                    todo.append(before[0])
        return tuple(dict.fromkeys(read)), tuple(dict.fromkeys(weights))

    def apart(self, read: tuple[int, ...], args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of a call, with a copy of its own of the value `parts_of`."""
        number = self.parts_of
        if number is None or number not in read:
            return args, kwargs

        def own(x: Any) -> Any:
            if isinstance(x, list | tuple):
                return type(x)(own(y) for y in x) if type(x) in (list, tuple) else x
            known = isinstance(x, Tensor) and self.index.get(id(x)) == number
            if not known or not x.requires_grad or id(x) in self._copies:
                return x
            copy = x.view_as(x)
            self.index[id(copy)] = number  # a call that hands it back makes no new value
            self._versions[id(copy)] = copy._version
            self._held.append(copy)
            reader = self._copies[id(copy)] = []
            copy.register_hook(lambda grad: self._part(reader, grad.detach()))
            return copy

        on, self.on = self.on, False
        try:
            return own(args), {key: own(x) for key, x in kwargs.items()}
        finally:
            self.on = on

    def attribute(self, args: Any, first: int) -> None:
        """The copies among the arguments of a call belong to the first value that it made."""
        if self._copies and len(self.values) > first:
            for x in each(args):
                reader = self._copies.get(id(x))
                if reader is not None and not reader:
                    reader.append(first)

    def _part(self, reader: list[int], grad: Tensor) -> None:
        for number in reader:
            self.parts[number] = self.parts[number] + grad if number in self.parts else grad

    def record(
        self,
        op: str,
        args: Any,
        read: tuple[int, ...],
        out: Any,
        call: tuple[Any, Any, Any] | None = None,
    ) -> None:
        """The floating tensors in `out` are new values, and those that were changed in place."""
        inside = self.on
        self.on = False
        try:
            self._makers += 1
            weights = tuple(self.weights[id(x)] for x in each(args) if id(x) in self.weights)
            given = [x for x in each(args) if id(x) in self.index]
            for x in (*each(out), *given):
                if not isinstance(x, Tensor) or not moves(x) or id(x) in self.weights:
                    continue
                if self._versions.get(id(x)) == x._version:
                    continue  # known, and as it was
                self._add(op, weights, read, x, call)
        finally:
            self.on = inside

    def _add(
        self, op: str, weights: tuple[str, ...], read: tuple[int, ...], x: Tensor, call: Any
    ) -> None:
        data = to_numpy(x)
        value = Value(
            module=self.where,
            op=op.strip("_") or op,
            inputs=read,
            shape=tuple(x.shape),
            print=np.asarray(fingerprint(data)),
            weights=weights,
            call=call if self.keep else None,
            maker=self._makers if call is not None else -1,
            requires_grad=x.requires_grad,
        )
        if self.keep and self._budget > data.nbytes:
            value.data = data
            self._budget -= data.nbytes
        number = len(self.values)
        self.values.append(value)
        self.index[id(x)] = number
        self._versions[id(x)] = x._version
        self._held.append(x)
        if x.grad_fn is not None:
            self._nodes[x.grad_fn, x.output_nr] = number
        if x.requires_grad:
            self._listen(number, x)

    def _listen(self, number: int, x: Tensor) -> None:
        """Ask for the total cotangent: of the node, which stays when `x` is changed in place."""
        node, place = x.grad_fn, x.output_nr

        def seen(grads: Any) -> None:
            grad = grads if isinstance(grads, Tensor) else grads[place]
            if grad is not None:
                self._cotangents[number] = grad.detach()

        if node is None:
            x.register_hook(seen)
        else:
            node.register_prehook(seen)

    def begin(self, name: str) -> None:
        """What is called from now on belongs to this, outside of every module."""
        self._stack.append((name, len(self.values), ()))

    def _enter(self, name: str, args: Any) -> None:
        self._stack.append((name, len(self.values), self.seen(args)))

    def _leave(self, out: Any) -> None:
        name, first, read = self._stack[-1]
        self.adopt([x for _, x in flat_outputs(out)])
        self.record("result", (), read, [x for _, x in flat_outputs(out)])
        self._stack.pop()
        made = tuple(
            self.index[id(x)] for _, x in flat_outputs(out) if self.index.get(id(x)) is not None
        )
        self.calls.append(Call(name, read, made, first, len(self.values)))

    def finish(self) -> list[Value]:
        for number, grad in self._cotangents.items():
            data = to_numpy(grad)
            self.values[number].cotangent = np.asarray(fingerprint(data))
            if self.keep and self._budget > data.nbytes:
                self.values[number].cotangent_data = data
                self._budget -= data.nbytes
        self._held.clear()
        return self.values
