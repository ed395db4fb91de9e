"""torch's backward graph, recorded while a program runs, for `jaxgrad.graph` to draw.

A function mode sees every call of torch. What a call gave is followed through `grad_fn` and
`next_functions`; a call that gave no `grad_fn` (under `no_grad`, in `inference_mode`, of frozen
parameters) is remembered as one that was never recorded. At each `backward` the graph is read off.
The program's values live no longer for being watched, and its hooks and errors are its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.overrides import TorchFunctionMode

from jaxgrad.graph import Edge, Failure, Graph, Leaf, Op, Saved
from jaxgrad.graph import ABSENT, REACHED, RECORDED


_BACKWARD = (Tensor.backward, torch.autograd.backward, torch.autograd.grad)
_CUTS = ("detach", "data")  # the same value, and no way back
_HANDS_ON = ("clone", "contiguous", "to", "float", "double")  # of a stopped value: stopped as it is
_VIEWS = ("data", "T", "mT", "H", "mH", "real", "imag")  # properties that make a tensor
_LEAVES_TORCH = ("numpy", "__array__", "item", "tolist", "requires_grad_", "__set__", "__get__")


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
      The states of its operations: reached by the loss, recorded out of its reach, never recorded.

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
      >>> [(op.name, op.state) for op in graph.ops][0]
      ('MulBackward0', 'recorded, but out of this loss’s reach')
      >>> [op.name for op in graph.ops if op.state == "on the path of the loss"]
      ['MulBackward0', 'SumBackward0']

    Torch: `loss.grad_fn`, `next_functions`, and what they do not show.
    """
    recorder = _Recorder()
    recorder.meet(program, args, kwargs)
    try:
        with recorder.watching():
            out = program(*args, **kwargs)
    except Exception as error:
        if error is not recorder.raised:
            raise
        return recorder.graphs
    if not recorder.graphs and isinstance(out, Tensor):
        recorder.graphs.append(recorder.graph([out], {}))
    return recorder.graphs


@dataclasses.dataclass
class _Step:
    """One call of torch, or one node of its graph."""

    name: str
    kind: str
    module: nn.Module | None
    recorded: bool
    edges: list[Edge]  # to a step, by its number, or to a leaf, by its id as a text
    made: list[weakref.ref[Tensor]] = dataclasses.field(default_factory=list)
    saved: list[Any] = dataclasses.field(default_factory=list)  # (storage, Saved)


class _Recorder(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[Graph] = []
        self.raised: Exception | None = None
        self._steps: list[_Step] = []
        self._since = 0  # the last backward: what was used up before it is not shown again
        self._modules: dict[int, nn.Module] = {}
        self._running: list[nn.Module] = []
        self._leaves: dict[str, Tensor] = {}
        self._given: dict[str, str] = {}  # names of leaves that are arguments
        self._stopped: dict[int, tuple[weakref.ref[Tensor], list[Edge]]] = {}
        self._mark = f"jaxgrad {id(self)}"

    # ---- what is watched

    def meet(self, program: Any, args: Any, kwargs: Any) -> None:
        """Learn the names of the arguments, and the modules among them."""
        try:
            named: dict[str, Any] = dict(inspect.signature(program).bind(*args, **kwargs).arguments)
        except (TypeError, ValueError):
            named = {f"arg{i}": value for i, value in enumerate(args)} | kwargs
        cells = [c.cell_contents for c in getattr(program, "__closure__", None) or ()]
        for argument, tree in named.items():
            for path, value in _flat(tree):
                if isinstance(value, Tensor):
                    self._given[str(id(value))] = path or argument
        for value in (*cells, *(value for _, value in _flat(named)), program):
            if isinstance(value, nn.Module):
                self._modules[id(value)] = value

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        def enter(module: nn.Module, inputs: Any) -> None:
            del inputs
            self._modules[id(module)] = module
            self._running.append(module)

        def leave(*_: Any) -> None:
            self._running.pop()

        def register(module: nn.Module, name: str, child: nn.Module | None) -> None:
            del name
            self._modules |= {id(m): m for m in (module, child) if m is not None}

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

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        if func in _BACKWARD:
            return self._backward(func, args, kwargs)
        ins = [value for _, value in _flat((args, kwargs)) if isinstance(value, Tensor)]
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self._refused(_name(func), ins, error)
            raise
        for _, value in _flat(out):
            if isinstance(value, Tensor):
                self._note(_name(func), ins, value)
        return out

    # ---- one call

    def _note(self, name: str, ins: list[Tensor], out: Tensor) -> None:
        if out.grad_fn is not None:
            new = len(self._steps)
            step = self._step_of(out.grad_fn, name, ins)
            self._steps[step].made.append(weakref.ref(out))
            if step >= new:
                unseen = [e for x in ins for e in self._sources(x) if not e.flows]
                self._steps[step].edges += [e for e in unseen if e not in self._steps[step].edges]
            return
        is_value = out.is_floating_point() or out.is_complex()
        if not is_value or isinstance(out, nn.Parameter) or any(out is x for x in ins):
            return
        sources = [edge for x in ins for edge in self._sources(x)]
        if name in _CUTS:
            self._stop(out, [e._replace(flows=False, cut=e.cut or name) for e in sources])
        elif name in _HANDS_ON and all(not e.flows for e in sources):
            self._stop(out, sources)
        elif sources and not (torch.is_grad_enabled() and any(x.requires_grad for x in ins)):
            self._stop(out, [Edge(self._unrecorded(name, sources), False, _mode())])

    def _sources(self, x: Tensor) -> list[Edge]:
        """Where a gradient of `x` would go on to."""
        stopped = self._stopped.get(id(x))
        if x.grad_fn is not None:
            return [Edge(self._step_of(x.grad_fn, "", []))]
        if stopped is not None and stopped[0]() is x:
            return stopped[1]
        if x.requires_grad or isinstance(x, nn.Parameter):
            return [Edge(self._leaf(x), x.requires_grad)]
        return []

    def _stop(self, x: Tensor, edges: list[Edge]) -> None:
        if edges:
            self._stopped[id(x)] = weakref.ref(x), edges

    def _leaf(self, x: Tensor) -> str:
        self._leaves[str(id(x))] = x
        return str(id(x))

    def _unrecorded(self, name: str, sources: list[Edge]) -> int:
        edges = list(dict.fromkeys(edge._replace(flows=False) for edge in sources))
        self._steps.append(_Step(name, f"{name}.0", self._module(), False, edges))
        return len(self._steps) - 1

    def _module(self) -> nn.Module | None:
        return self._running[-1] if self._running else None

    def _step_of(self, node: Any, name: str, ins: list[Tensor]) -> int:
        """The step of a node; it, and the nodes behind it that are new, become steps."""
        new: list[Any] = []
        todo = [(node, False)]
        while todo:  # what is behind a node comes before it
            here, ready = todo.pop()
            if ready:
                new.append(here)
            elif self._mark not in here.metadata:
                here.metadata[self._mark] = -1
                todo += [(here, True), *((behind, False) for behind, _ in _ways(here))]
        constants = {_storage(x) for x in ins if not self._sources(x)}
        for i, here in enumerate(new):
            edges = [
                Edge(self._leaf(b.variable) if leaf else b.metadata[self._mark])
                for b, leaf in _all_ways(here)
            ]
            here.metadata[self._mark] = len(self._steps)
            kind = f"{name or here.name()}.{len(new) - 1 - i}"
            step = _Step(here.name(), kind, self._module(), True, list(dict.fromkeys(edges)))
            step.saved = list(_kept(here, constants))
            self._steps.append(step)
        return node.metadata[self._mark]

    # ---- a graph

    def _backward(self, func: Any, args: Any, kwargs: Any) -> Any:
        outputs = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        roots = [t for _, t in _flat(outputs) if isinstance(t, Tensor)]
        draft = self.graph(roots, {})
        spoiled = self._spoiled(roots)
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self.raised = error
            self.graphs.append(self.graph(roots, {}, (spoiled, error)))
            raise
        if func is torch.autograd.grad:
            inputs = args[1] if len(args) > 1 else kwargs["inputs"]
            wanted = [t for _, t in _flat(inputs) if isinstance(t, Tensor)]
            grads = {str(id(t)): g for t, g in zip(wanted, out, strict=True)}
        else:
            grads = {key: leaf.grad for key, leaf in self._leaves.items()}
        named = {self._named[key]: _norm(g) for key, g in grads.items() if key in self._named}
        self.graphs.append(draft.with_leaves(named))
        self._since = len(self._steps)
        return out

    def _refused(self, name: str, ins: list[Tensor], error: Exception) -> None:
        wanted = torch.is_grad_enabled() and any(x.requires_grad for x in ins)
        if wanted and name not in _LEAVES_TORCH:
            step = self._unrecorded(name, [edge for x in ins for edge in self._sources(x)])
            self.raised = error
            self.graphs.append(self.graph([], {}, (step, error)))

    def _spoiled(self, roots: list[Tensor]) -> int | None:
        """The first node whose saved tensors cannot be read any more: there backward will raise."""
        for node in _walk(roots):
            try:
                list(_kept(node, set(), strict=True))
            except RuntimeError:
                return node.metadata[self._mark]
        return None

    def graph(self, roots: list[Tensor], grads: Any, failure: Any = None) -> Graph:
        """What is there to see now, from these roots."""
        del grads
        start = {e.to for root in roots for e in self._sources(root) if isinstance(e.to, int)}
        if failure and failure[0] is not None:
            start.add(failure[0])
        reached = {node.metadata[self._mark] for node in _walk(roots)}
        shown = sorted(self._before(start) | self._beside(start))
        names, paths = self._names(shown)
        self._named = names
        number = {step: i for i, step in enumerate(shown)}
        storages = {_storage(self._leaves[key]): name for key, name in names.items()}
        counted: set[int] = set()
        ops = []
        for i in shown:
            step = self._steps[i]
            state = REACHED if i in reached else RECORDED if step.recorded else ABSENT
            edges = tuple(
                e._replace(to=number[e.to] if isinstance(e.to, int) else names[e.to])
                for e in step.edges
                if (e.to in number if isinstance(e.to, int) else e.to in names)
            )
            saved = tuple(_counted(step.saved, storages, counted))
            scope = paths.get(id(step.module), ())
            ops.append(Op(step.name, step.kind, scope, edges, state, saved=saved))
        leaves = tuple(Leaf(name, _norm(self._leaves[key].grad)) for key, name in names.items())
        problem = None
        if failure is not None:
            at, error = failure
            text = str(error).split("\n")[0]
            problem = Failure(number.get(at), f"{type(error).__name__}: {text}")
        return Graph("torch", torch.__version__, tuple(ops), leaves, problem)

    def _before(self, start: set[int]) -> set[int]:
        """The steps that led to these, through whatever was cut."""
        found: set[int] = set()
        todo = list(start)
        while todo:
            step = todo.pop()
            if step not in found:
                found.add(step)
                todo += [e.to for e in self._steps[step].edges if isinstance(e.to, int)]
        return found

    def _beside(self, start: set[int]) -> set[int]:
        """What is recorded since the last backward, is still held, and has to do with these."""
        fresh = range(self._since, len(self._steps))
        held = {
            i for i in fresh if self._steps[i].recorded and any(r() is not None for r in self._steps[i].made)
        }
        parts = {i: self._before({i}) for i in held}
        touched: set[Any] = {e.to for i in self._before(start) for e in self._steps[i].edges}
        touched |= self._before(start)
        found: set[int] = set()
        more = True
        while more:
            more = False
            for i, part in parts.items():
                around = part | {e.to for j in part for e in self._steps[j].edges}
                if i not in found and around & touched:
                    found |= part
                    touched |= around
                    more = True
        return found

    # ---- names

    def _names(self, shown: list[int]) -> tuple[dict[str, str], dict[int, tuple[str, ...]]]:
        """Of the leaves, by id as a text, and of the modules, by id."""
        inner = {id(c) for m in self._modules.values() for c in m.modules() if c is not m}
        read = {e.to for i in shown for e in self._steps[i].edges if isinstance(e.to, str)}
        roots = []
        for module in self._modules.values():
            inside = {id(m) for m in module.modules()}
            uses = any(str(id(p)) in read for p in module.parameters())
            runs = any(id(self._steps[i].module) in inside for i in shown)
            if id(module) not in inner and (uses or runs):
                roots.append(module)
        names: dict[str, str] = {}
        paths: dict[int, tuple[str, ...]] = {}
        for root in roots:
            prefix = ()
            if len(roots) > 1:
                prefix = (_variable(root) or type(root).__name__.lower(),)
            for path, module in root.named_modules():
                paths[id(module)] = (*prefix, *filter(None, path.split(".")))
            for path, parameter in root.named_parameters():
                names.setdefault(self._leaf(parameter), ".".join((*prefix, path)))
        for key in sorted(read - set(names), key=list(self._leaves).index):
            names[key] = self._given.get(key) or _variable(self._leaves[key]) or f"leaf{len(names)}"
        return names, paths


def _flat(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of dicts, lists and tuples, with their paths."""
    if isinstance(tree, dict):
        items = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple):
        items = [(str(i), value) for i, value in enumerate(tree)]
    else:
        yield path, tree
        return
    for key, value in items:
        yield from _flat(value, f"{path}.{key}" if path else key)


def _name(func: Any) -> str:
    """What torch calls a function; of a property's getter, the property."""
    name = getattr(func, "__name__", type(func).__name__)
    prop = getattr(getattr(func, "__self__", None), "__name__", "")
    return prop if name == "__get__" and prop in _VIEWS else name


def _mode() -> str:
    if torch.is_inference_mode_enabled():
        return "inference_mode"
    return "" if torch.is_grad_enabled() else "no_grad"


def _all_ways(node: Any) -> list[tuple[Any, bool]]:
    """The nodes behind a node, and whether they are leaves."""
    behind = [n for n, _ in node.next_functions if n is not None]
    return [(n, hasattr(n, "variable")) for n in behind]


def _ways(node: Any) -> list[tuple[Any, bool]]:
    return [(n, leaf) for n, leaf in _all_ways(node) if not leaf]


def _walk(roots: list[Tensor]) -> Iterator[Any]:
    """The nodes that backward visits, from the roots."""
    todo = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set()
    while todo:
        node = todo.pop(0)
        if node not in seen:
            seen.add(node)
            yield node
            todo += [behind for behind, _ in _ways(node)]


def _kept(node: Any, constants: set[int], strict: bool = False) -> Iterator[Any]:
    """What a node saved for its backward: where it is stored, and what it is."""
    names = [a for a in dir(node) if a.startswith("_saved_")] or ["saved_tensors"]
    for name in names:
        try:
            value = getattr(node, name, None)
        except RuntimeError:
            if strict:
                raise
            continue
        for _, x in _flat(value):
            if isinstance(x, Tensor):
                maker = x.grad_fn.name() if x.grad_fn is not None else name.removeprefix("_saved_")
                constant = _storage(x) in constants
                what = "constant" if constant else "result" if x.grad_fn is node else maker
                dtype = str(x.dtype).removeprefix("torch.")
                size = x.numel() * x.element_size()
                yield _storage(x), Saved(what, dtype, tuple(x.shape), size, not constant)


def _counted(kept: list[Any], leaves: dict[int, str], counted: set[int]) -> Iterator[Saved]:
    """A leaf by its name; and what two nodes keep counts once."""
    for storage, saved in kept:
        if storage in leaves:
            yield saved._replace(what=leaves[storage], extra=False)
        else:
            yield saved._replace(extra=saved.extra and storage not in counted)
            counted.add(storage)


def _storage(x: Tensor) -> int:
    return x.untyped_storage().data_ptr() if x.layout is torch.strided else id(x)


def _norm(grad: Tensor | None) -> float | None:
    if grad is None:
        return None
    grad = grad.detach()
    return float(torch.linalg.vector_norm(grad.to_dense() if grad.is_sparse else grad))


def _variable(value: Any) -> str:
    """What the running program calls it."""
    frame = sys._getframe()
    while frame is not None:
        inside = frame.f_globals.get("__name__", "").split(".")[0] in ("torch", "jaxgrad")
        for name, held in () if inside else frame.f_locals.items():
            if held is value and name != "self":
                return name
        frame = frame.f_back
    return ""
