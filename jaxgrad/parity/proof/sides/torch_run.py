"""Run a torch module in float64 and remember every value on its way, and every cotangent back."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from jaxgrad.parity.interop import to_numpy, to_torch
from jaxgrad.parity.proof.fingerprint import fingerprint
from jaxgrad.parity.proof.judge import rounded
from jaxgrad.parity.proof.sides.jax_program import call_loss
from jaxgrad.parity.proof.sides.torch_values import Call, TorchRun, Value


_LOW = (torch.float32, torch.float16, torch.bfloat16)
_LOWER = ("float", "half", "bfloat16")  # the methods that cast to them
_KEPT = 2**29  # bytes of values held for the report; beyond, only fingerprints


Pick = Callable[[Any], Any]


def flat_outputs(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors of what a module returned, with their paths; dataclasses too."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        tree = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
    if isinstance(tree, Mapping):
        # JAX sorts the keys of a dict, and of nothing else.
        keys = sorted(tree, key=str) if type(tree) is dict else list(tree)
        items = [(str(key), tree[key]) for key in keys]
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        items = list(zip(tree._fields, tree, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(tree, list | tuple):
        items = [(str(i), value) for i, value in enumerate(tree)]
    else:
        if isinstance(tree, Tensor):
            yield path, tree
        return
    for key, value in items:
        yield from flat_outputs(value, f"{path}/{key}" if path else key)


def twin(module: nn.Module, dtype: torch.dtype = torch.float64) -> nn.Module:
    """A copy of the module in this dtype, on the CPU; complex numbers stay complex."""
    made = copy.deepcopy(module).to("cpu")
    for x in (*made.parameters(), *made.buffers()):
        if _moves(x):
            x.data = x.data.to(dtype.to_complex() if x.is_complex() else dtype)
    return made


def run(
    module: nn.Module,
    inputs: Any,
    pick: Pick | None = None,
    loss: Callable[..., Any] | None = None,
    cotangents: Callable[[str, np.ndarray], np.ndarray] | None = None,
    *,
    watch: bool = True,
    keep: bool = False,
    parts_of: int | None = None,
    salt: int = 0,
    rough: int | None = None,
    dtype: torch.dtype = torch.float64,
    fresh: bool = True,
) -> TorchRun:
    """Run `module` (already a copy in `dtype`) forward and back.

    Args:
      module: The module; its buffers may move.
      inputs: A tuple of numpy arrays for positional arguments, or a mapping for named ones.
      pick: What of the module's result is compared.
      loss: Of the picked outputs, a scalar; else each floating output gets a cotangent.
      cotangents: (path, output) -> cotangent; None for a forward run alone.
      watch: Whether to record the values inside.
      keep: Whether to hold the values, not only their fingerprints.
      parts_of: A value whose cotangent is wanted separately for each call that reads it.
      salt: Seeds torch's own generator.
      rough: Seeds noise of float32's size in the constants that the module holds in float32.
      dtype: Of the run; float64 lifts the casts that the module itself makes.
      fresh: Whether the gradients of an earlier run are forgotten.
    """
    args = to_torch(inputs)
    leaves = [x for x in _each(args) if isinstance(x, Tensor)]
    for x in leaves:
        if x.is_floating_point() or x.is_complex():
            x.requires_grad_(True)
    if fresh:
        module.zero_grad()
    watcher = _Watcher(module, leaves, keep, parts_of) if watch else None
    with (
        _settings(dtype, salt),
        _Lifting(watcher, dtype, rough) as lifting,
        watcher or contextlib.nullcontext(),
    ):
        result = module(**args) if isinstance(args, Mapping) else module(*args)
        result = result if pick is None else pick(result)
        picked = dict(flat_outputs(result))
        total = None
        if loss is not None:
            if watcher:
                watcher.begin("loss")
            total = call_loss(loss, result, args)
            if not isinstance(total, Tensor) or total.numel() != 1:
                raise TypeError(f"the torch loss gave {describe(total)}; it must give one number")
            picked["loss"] = total
        if watcher:
            watcher.on = False
        if loss is None and cotangents is not None:
            live = {k: x for k, x in picked.items() if _moves(x) and x.requires_grad}
            parts = [
                (x * torch.as_tensor(cotangents(k, to_numpy(x))).to(x.dtype)).sum()
                for k, x in live.items()
            ]
            parts = [torch.real(p) if p.is_complex() else p for p in parts]
            total = torch.stack(parts).sum() if parts else None
        if total is not None and total.requires_grad and (loss is None or cotangents is not None):
            total.sum().backward()
    names: dict[str, np.ndarray | None] = {
        name: to_numpy(p.grad) if p.grad is not None else None
        for name, p in module.named_parameters()
    }
    made = watcher.finish() if watcher else []
    return TorchRun(
        values=made,
        calls=watcher.calls if watcher else [],
        outputs={k: to_numpy(x) for k, x in picked.items()},
        output_values=[watcher.index.get(id(x)) if watcher else None for x in picked.values()],
        grads=names,
        input_grads=[to_numpy(x.grad) if x.grad is not None else None for x in leaves],
        buffers={name: to_numpy(b) for name, b in module.named_buffers()},
        loss=float(total.detach()) if total is not None else None,
        pins=lifting.pins,
        numbers=sorted(lifting.numbers),
        parts={k: to_numpy(g) for k, g in watcher.parts.items()} if watcher else {},
    )


def describe(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f"{type(x).__name__} of shape {tuple(shape)}" if shape is not None else repr(x)


@contextlib.contextmanager
def _settings(dtype: torch.dtype, salt: int) -> Iterator[None]:
    before = torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled()
    torch.set_default_dtype(dtype)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(salt)
            yield
    finally:
        torch.set_default_dtype(before[0])
        torch.backends.mha.set_fastpath_enabled(before[1])


class _Lifting(TorchFunctionMode):
    """Sees every call of torch; in float64 a cast to less becomes none."""

    def __init__(self, watcher: _Watcher | None, dtype: torch.dtype, rough: int | None):
        super().__init__()
        self.watcher, self.lifts, self.pins = watcher, dtype == torch.float64, []
        self.numbers: set[float] = set()
        self.wide: dict[int, tuple[Tensor, Tensor]] = {}
        self.rough = None if rough is None else np.random.default_rng(rough)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = dict(kwargs or {})
        if func is functional.multi_head_attention_forward and self.watcher and self.watcher.on:
            with _opened(), self:
                return func(*args, **kwargs)
        name = getattr(func, "__name__", str(func))
        low = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.dtype) and x in _LOW]
        named = name in _LOWER and args and isinstance(args[0], Tensor)
        if self.lifts and (low or named):
            where = self.watcher.where if self.watcher else ""
            self.pins.append(f"{where or 'the module'} ({name} to {low[0] if low else name})")
            args = tuple(_lifted(x) for x in args)
            kwargs = {key: _lifted(x) for key, x in kwargs.items()}
            if named:
                func = Tensor.double
        self.numbers |= {x for x in (*args, *kwargs.values()) if isinstance(x, float)}
        if self.lifts:
            args, kwargs = self._wide(args), {key: self._wide(x) for key, x in kwargs.items()}
        read: tuple[int, ...] = ()
        if self.watcher and self.watcher.on:
            self.watcher.adopt((args, kwargs))
            read = self.watcher.seen((args, kwargs))
            args, kwargs = self.watcher.apart(read, args, kwargs)
        out = func(*args, **kwargs)
        if self.watcher and self.watcher.on:
            first = len(self.watcher.values)
            self.watcher.record(name, (args, kwargs), read, out, (func, args, kwargs))
            self.watcher.attribute((args, kwargs), first)
        return out

    def _wide(self, x: Any) -> Any:
        """A tensor of less than float64 that the module keeps as an attribute is a constant."""
        if isinstance(x, list | tuple):
            return type(x)(self._wide(y) for y in x) if type(x) in (list, tuple) else x
        if not isinstance(x, Tensor) or x.dtype not in _LOW:
            return x
        if id(x) not in self.wide:
            made = x.detach().double()
            if self.rough is not None:
                made = torch.as_tensor(rounded(made.numpy(), self.rough))
            self.wide[id(x)] = x, made
        return self.wide[id(x)][1]


@contextlib.contextmanager
def _opened() -> Iterator[None]:
    """Functions written in Python do not hand themselves over: what they call is seen instead."""
    names = functional.__dict__
    before = names["has_torch_function"]
    names["has_torch_function"] = lambda _: False
    try:
        yield
    finally:
        names["has_torch_function"] = before


def _lifted(x: Any) -> Any:
    return torch.float64 if isinstance(x, torch.dtype) and x in _LOW else x


class _Watcher:
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

    def __enter__(self) -> _Watcher:
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
        found = (self.index.get(id(x)) for x in _each(tree) if isinstance(x, Tensor))
        return tuple(dict.fromkeys(i for i in found if i is not None))

    def adopt(self, tree: Any) -> None:
        """Take up what a call made that Python does not see, a scripted function: autograd knows
        what it was made of.
        """
        inside, self.on = self.on, False
        try:
            for x in _each(tree):
                known = not isinstance(x, Tensor) or id(x) in self.index or id(x) in self.weights
                if not known and _moves(x) and x.grad_fn is not None:
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
            for x in _each(args):
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
            weights = tuple(self.weights[id(x)] for x in _each(args) if id(x) in self.weights)
            given = [x for x in _each(args) if id(x) in self.index]
            for x in (*_each(out), *given):
                if not isinstance(x, Tensor) or not _moves(x) or id(x) in self.weights:
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


def _moves(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def _each(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for key in sorted(tree, key=str):  # as JAX does: inputs by name are in the same order
            yield from _each(tree[key])
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _each(value)
    else:
        yield tree
