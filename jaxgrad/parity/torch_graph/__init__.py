"""Record torch's backward graph while a program runs, for `jaxgrad.graph` to draw.

A function mode intercepts every torch call. Results are followed through `grad_fn` and
`next_functions`; a call whose result has no `grad_fn` (under `no_grad` or `inference_mode`, or of
frozen parameters) is kept as a step that autograd did not record. Each `backward` yields a graph.
Recording does not extend the lifetime of values and does not change hooks or errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.overrides import TorchFunctionMode

from jaxgrad._core.typing import PyTree
from jaxgrad.graph import ABSENT, REACHED, RECORDED, Failure, Graph, Leaf, Op
from jaxgrad.parity.torch_graph.hooks import with_hooks
from jaxgrad.parity.torch_graph.names import Names, tensors
from jaxgrad.parity.torch_graph.nodes import counted, kept, norm, storage, walk
from jaxgrad.parity.torch_graph.steps import before, beside
from jaxgrad.parity.torch_graph.tape import Tape


_BACKWARD = (Tensor.backward, torch.autograd.backward, torch.autograd.grad)
_VIEWS = ("data", "T", "mT", "H", "mH", "real", "imag")  # properties that return a tensor
_NO_STEP = ("numpy", "__array__", "item", "tolist", "requires_grad_", "__set__", "__get__")


def record(program: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> list[Graph]:
    """Run a torch program and return its backward graphs.

    Args:
        program: A function that uses torch. The modules that it creates, calls, receives or
            captures define the lanes and the names of parameters.
        *args: Positional arguments of `program`. Tensors that are not in a module are named after
            the argument or variable that refers to them.
        **kwargs: Keyword arguments of `program`.

    Returns:
        One `Graph` for each call of `backward` or `torch.autograd.grad`, and for each torch call
        that raises; without any, the graph of the tensor that `program` returns. An operation is
        on the path of the loss, recorded but not reached, or never recorded.

    Raises:
        Exception: `program` raises an exception that no graph represents.

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

    Torch: `loss.grad_fn`, `next_functions`, plus the calls that they omit.
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
        self._since = 0  # index of the first step since the last backward

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
            self._names.module(module)
            if child is not None:
                self._names.module(child)

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
        if func is Tensor.register_hook:
            self._tape.hook(ins[0])
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self._refused(_name(func), ins, error)
            raise
        for result in tensors(out):
            self._tape.note(_name(func), ins, result)
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
        """Return the first node whose saved tensors can no longer be read, so backward raises."""
        for node in walk(roots):
            try:
                list(kept(node, set(), strict=True))
            except RuntimeError:
                return self._tape.number(node)
        return None

    def graph(
        self, roots: list[Tensor], failure: tuple[int | None, Exception] | None = None
    ) -> Graph:
        """Return the current graph of `roots`; `failure` is the failed step and its error."""
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
        counted_storages: set[int] = set()
        ops = tuple(
            Op(
                step.name,
                step.kind,
                paths.get(id(step.module), ()),
                tuple(e._replace(to=ends[e.to]) for e in step.edges if e.to in ends),
                REACHED if i in reached else RECORDED if step.recorded else ABSENT,
                saved=tuple(counted(step.kept, storages, counted_storages)),
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
        graph = Graph("torch", torch.__version__, ops, tuple(leaves), problem)
        hooked = {ends[end]: count for end, count in self._tape.hooked.items() if end in ends}
        return with_hooks(graph, hooked) if hooked else graph


def _name(func: Any) -> str:
    """Return torch's name for a function; for a property's getter, the name of the property."""
    name = getattr(func, "__name__", type(func).__name__)
    prop = getattr(getattr(func, "__self__", None), "__name__", "")
    return prop if name == "__get__" and prop in _VIEWS else name
