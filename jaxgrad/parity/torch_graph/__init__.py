"""torch's backward graph, recorded while a program runs, for `jaxgrad.graph` to draw.

A function mode sees every call of torch. What a call gave is followed through `grad_fn` and
`next_functions`; a call that gave no `grad_fn` (under `no_grad`, in `inference_mode`, of frozen
parameters) is remembered as one that was never recorded. At each `backward` the graph is read off.
The program's values live no longer for being watched, and its hooks and errors are its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.overrides import TorchFunctionMode

from jaxgrad.graph import ABSENT, REACHED, RECORDED, Failure, Graph, Leaf, Op
from jaxgrad.parity.torch_graph.names import Names, tensors
from jaxgrad.parity.torch_graph.nodes import counted, kept, norm, storage, walk
from jaxgrad.parity.torch_graph.steps import before, beside
from jaxgrad.parity.torch_graph.tape import Tape


_BACKWARD = (Tensor.backward, torch.autograd.backward, torch.autograd.grad)
_VIEWS = ("data", "T", "mT", "H", "mH", "real", "imag")  # properties that make a tensor
_NO_STEP = ("numpy", "__array__", "item", "tolist", "requires_grad_", "__set__", "__get__")


def record(program: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Graph]:
    """Run a torch program and read its backward graphs.

    Args:
      program: Any function that uses torch. Modules that it makes, calls, is given or closes over
        give the lanes and the names of parameters.
      *args: What it is called with; other tensors that require a gradient have the names of
        arguments, or of the program's variables.
      **kwargs: The same.

    Returns:
      One `Graph` for each call of `backward` or `torch.autograd.grad`, and for each call of torch
      on the way to one that raises; if there is none, that of the tensor that `program` returns.
      The states of its operations: on the path of the loss, recorded but not reached, never
      recorded.

    Raises:
      Exception: What `program` raises, if it is not in a graph.

    Example:
      >>> import torch
      >>> from jaxgrad.parity.torch_graph import record
      >>> def program(w):
      ...     w.requires_grad_()
      ...     h = (w * 2).detach()
      ...     (h * w).sum().backward()
      >>> (graph,) = record(program, torch.ones(3))
      >>> for op in graph.ops:
      ...     print(f"{op.name}: {op.state}")
      MulBackward0: recorded, but not reached
      MulBackward0: on the path of the loss
      SumBackward0: on the path of the loss

    Torch: `loss.grad_fn`, `next_functions`, and what they do not show.
    """
    recorder = _Recorder(Names(program, args, kwargs))
    try:
        with recorder.watching():
            out = program(*args, **kwargs)
    except Exception as error:
        if error is not recorder.raised:
            raise
        return recorder.graphs
    if not recorder.graphs and isinstance(out, Tensor):
        recorder.graphs.append(recorder.graph([out]))
    return recorder.graphs


class _Recorder(TorchFunctionMode):
    def __init__(self, names: Names) -> None:
        super().__init__()
        self.graphs: list[Graph] = []
        self.raised: Exception | None = None
        self._names = names
        self._tape = Tape(names)
        self._since = 0  # the last backward: what was used up before it is not shown again

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        def enter(module: nn.Module, inputs: Any) -> None:
            del inputs
            self._names.module(module)
            self._tape.running.append(module)

        def leave(*_: Any) -> None:
            self._tape.running.pop()

        def register(module: nn.Module, name: str, child: nn.Module | None) -> None:
            del name
            for made in (module, child):
                if made is not None:
                    self._names.module(made)

        handles = (
            module_hooks.register_module_forward_pre_hook(enter),
            module_hooks.register_module_forward_hook(leave, always_call=True),
            module_hooks.register_module_module_registration_hook(register),
        )
        try:
            with self:
                yield
        finally:
            for handle in handles:
                handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        if func in _BACKWARD:
            return self._backward(func, args, kwargs)
        ins = tensors([args, kwargs])
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self._refused(_name(func), ins, error)
            raise
        for made in tensors(out):
            self._tape.note(_name(func), ins, made)
        return out

    # ---- a graph

    def _backward(self, func: Any, args: Any, kwargs: Any) -> Any:
        roots = tensors(args[0] if args else kwargs.get("tensors", kwargs.get("outputs")))
        draft = self.graph(roots)
        spoiled = self._spoiled(roots)
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self.raised = error
            self.graphs.append(self.graph(roots, (spoiled, error)))
            raise
        if func is torch.autograd.grad:
            wanted = tensors(args[1] if len(args) > 1 else kwargs["inputs"])
            grads = {id(x): grad for x, grad in zip(wanted, out, strict=True)}
        else:
            grads = {id(leaf): leaf.grad for leaf in self._names.leaves.values()}
        named = {name: norm(grads[i]) for i, name in self._shown_leaves.items() if i in grads}
        self.graphs.append(draft.with_leaves(named))
        self._since = len(self._tape.steps)
        return out

    def _refused(self, name: str, ins: list[Tensor], error: Exception) -> None:
        wanted = torch.is_grad_enabled() and any(x.requires_grad for x in ins)
        if wanted and name not in _NO_STEP:
            step = self._tape.unrecorded(
                name, [edge for x in ins for edge in self._tape.sources(x)]
            )
            self.raised = error
            self.graphs.append(self.graph([], (step, error)))

    def _spoiled(self, roots: list[Tensor]) -> int | None:
        """The first node whose saved tensors cannot be read any more: there backward will raise."""
        for node in walk(roots):
            try:
                list(kept(node, set(), strict=True))
            except RuntimeError:
                return self._tape.number(node)
        return None

    def graph(
        self, roots: list[Tensor], failure: tuple[int | None, Exception] | None = None
    ) -> Graph:
        """What there is to see now from these roots; `failure`: the step that raised, and what."""
        start = {e.to for root in roots for e in self._tape.sources(root) if isinstance(e.to, int)}
        if failure is not None and failure[0] is not None:
            start.add(failure[0])
        reached = {self._tape.number(node) for node in walk(roots)}
        shown = sorted(beside(self._tape.steps, before(self._tape.steps, start), self._since))
        steps = [self._tape.steps[i] for i in shown]
        read = {e.to for step in steps for e in step.edges if isinstance(e.to, str)}
        names, paths = self._names.find(read, {id(step.module) for step in steps})
        self._shown_leaves = {int(key): name for key, name in names.items()}
        number = {i: place for place, i in enumerate(shown)}
        ends: dict[int | str, int | str] = {**number, **names}
        storages = {storage(self._names.leaves[key]): name for key, name in names.items()}
        seen: set[int] = set()
        ops = tuple(
            Op(
                step.name,
                step.kind,
                paths.get(id(step.module), ()),
                tuple(e._replace(to=ends[e.to]) for e in step.edges if e.to in ends),
                REACHED if i in reached else RECORDED if step.recorded else ABSENT,
                saved=tuple(counted(step.kept, storages, seen)),
            )
            for i, step in zip(shown, steps, strict=True)
        )
        leaves = (Leaf(name, norm(self._names.leaves[key].grad)) for key, name in names.items())
        problem = None
        if failure is not None:
            at, error = failure
            text = str(error).split("\n")[0]
            place = None if at is None else number.get(at)
            problem = Failure(place, f"{type(error).__name__}: {text}")
        return Graph("torch", torch.__version__, ops, tuple(leaves), problem)


def _name(func: Any) -> str:
    """What torch calls a function; of a property's getter, the property."""
    name = getattr(func, "__name__", type(func).__name__)
    prop = getattr(getattr(func, "__self__", None), "__name__", "")
    return prop if name == "__get__" and prop in _VIEWS else name
