"""Run a module in the dtypes that its user runs it in, and record which values are rounded.

Every kernel runs twice: once as torch chooses, after autocast has inserted its casts, and once in
float64 on twins of its operands. The twin of a value identifies it among the port's values, and
the dtype that torch chose is the one to compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from jaxgrad.parity.interop import to_numpy, to_torch
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.jax_side.native import as_stored
from jaxgrad.parity.prove.record.jax_side.port import Draw, load
from jaxgrad.parity.prove.record.jax_side.program import widened
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side.randomness import Randomness, is_random
from jaxgrad.parity.prove.record.torch_side.trees import is_inexact, leaves
from jaxgrad.parity.prove.record.torch_side.values import Native, Stored
from jaxgrad.parity.prove.request import Function


LOW = (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)
_FLOATS = (*LOW, torch.float32)
# Kernels of one call of the user, whose further results (the mean in a layer norm) no call returns.
_FUSED = ("native_", "_", "mkldnn_", "cudnn_")


def is_low(module: nn.Module) -> bool:
    """Whether a module stores a parameter or a buffer below float32."""
    return any(x.dtype in LOW for x in (*module.parameters(), *module.buffers()))


def working_dtype(module: nn.Module) -> torch.dtype:
    """Return the floating dtype that most of a module's parameters have."""
    sizes: Counter[torch.dtype] = Counter()
    for x in list(module.parameters()) or list(module.buffers()):
        if x.is_floating_point():
            sizes[x.dtype] += x.numel()
    return max(sizes, key=lambda dtype: sizes[dtype], default=torch.float32)


def run(
    module: nn.Module, draws: Sequence[Draw], pick: Function, loss: Function, low: bool
) -> Native:
    """Run a module in its own dtypes on some draws, and record which values are rounded."""
    working = working_dtype(module)
    named = [*module.named_parameters(), *module.named_buffers()]
    dtypes = {name: _name(x.dtype) for name, x in named}
    result = Native(_name(working), dtypes, low, [])
    default = torch.float64 if working == torch.float64 else torch.float32
    for draw in draws:
        load(module, draw.state)
        inputs = to_torch(as_stored(draw, result).inputs)  # before the kernels are recorded
        twins = Twins(module)
        drawn = Randomness(draw.noise)
        try:
            with Places(module, twins, "loss" if loss is not None else ""), drawn, twins:
                outputs = torch_run.again(
                    module, inputs, pick, loss, watch=False, dtype=default, salt=draw.number
                ).outputs
        except Exception as error:
            result.error = f"torch raised {type(error).__name__} in {result.working}: {error}"
            break
        result.runs.append(twins.values)
        result.outputs.append({name: widened(x) for name, x in outputs.items()})
    return result


def state_dtypes(module: nn.Module, optimizer: Any) -> dict[str, str]:
    """Return the dtypes in which an optimizer stores the state of each parameter."""
    for x in module.parameters():
        x.grad = torch.zeros_like(x)
    try:
        optimizer.step()
    except Exception:  # it needs a closure; the updates surface reports other errors
        return {}
    names = {id(p): n for n, p in module.named_parameters()}
    return {
        f"{names[id(p)]} {key}": _name(x.dtype)
        for p, state in optimizer.state.items()
        if id(p) in names
        for key, x in state.items()
        if isinstance(x, Tensor) and x.is_floating_point()
        if x.ndim or (not p.ndim and key != "step")  # the others are counters
    }


class Places(TorchFunctionMode):
    """Follow which module is running, and which of torch's functions it called."""

    def __init__(self, module: nn.Module, twins: Twins, after: str):
        super().__init__()
        self.module, self.twins = module, twins
        self.after = after  # the name of what runs after the module
        self._stack: list[str] = []
        self._handles: list[Any] = []

    def __enter__(self) -> Places:
        for name, part in self.module.named_modules():
            if isinstance(part, ScriptModule):  # which takes no hooks
                continue
            pre = part.register_forward_pre_hook(
                lambda _, args, kwargs, name=name: self._begin(name, (args, kwargs)),
                with_kwargs=True,
            )
            self._handles += [pre, part.register_forward_hook(lambda *_: self._end())]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for handle in self._handles:
            handle.remove()

    def _begin(self, name: str, args: Any) -> None:
        if not self._stack:
            for x in leaves(args):
                if isinstance(x, Tensor):
                    self.twins.name(x, "input")
        self._stack.append(name)
        self.twins.module = name

    def _end(self) -> None:
        self._stack.pop()
        self.twins.module = self._stack[-1] if self._stack else self.after

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        outer = self.twins.op
        self.twins.op = outer or getattr(func, "__name__", str(func)).strip("_")
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.twins.op = outer


class Twins(TorchDispatchMode):
    """Run every kernel also in float64, and record the dtype and the twin of each result."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module, self.op = "", ""
        self.values: list[Stored] = []
        self._twins: dict[int, tuple[Tensor, Tensor]] = {}  # id -> the tensor and its twin
        self._variable: set[int] = set()  # values that depend on a parameter or an input
        self._names: dict[int, str] = {}
        for name, x in reversed(list(module.named_parameters(remove_duplicate=False))):
            self.name(x, name)

    def name(self, x: Tensor, name: str) -> None:
        """Name a parameter or an input."""
        self._names[id(x)] = name
        self._variable.add(id(x))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: torch's default imports its compiler, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        operands = [x for x in _tensors((args, kwargs)) if isinstance(x, Tensor)]
        for x in operands:
            self._twin(x)
        # Tensors that the kernel changes in place must be copied before it runs.
        twin_args, twin_kwargs = self._exact(args), self._exact(kwargs)
        out = func(*args, **kwargs)
        results = [x for x in _tensors(out) if isinstance(x, Tensor)]
        exact = self._run_exactly(func, twin_args, twin_kwargs, results)
        variable = any(id(x) in self._variable for x in operands)
        for x, twin in zip(results, exact, strict=True):
            self._twins[id(x)] = x, twin
            if variable:
                self._variable.add(id(x))
        name = str(func).removeprefix("aten.")
        for x in results[:1] if name.startswith(_FUSED) else results:
            self._record(x)
        return out

    def _run_exactly(self, func: Any, args: Any, kwargs: Any, results: list[Tensor]) -> list[Any]:
        """Return the results of a kernel in float64, or its own where float64 has no kernel."""
        if func is not torch.ops.aten.view.dtype and not is_random(func):  # it reads bits
            try:
                exact = [x for x in _tensors(func(*args, **kwargs)) if isinstance(x, Tensor)]
            except Exception:
                exact = []
            pairs = zip(exact, results, strict=False)
            if len(exact) == len(results) and all(x.shape == y.shape for x, y in pairs):
                return exact
        return [_wide(x) for x in results]

    def _exact(self, x: Any) -> Any:
        """Replace tensors by their twins and low dtypes by float64."""
        if isinstance(x, Tensor):
            return self._twin(x)
        if isinstance(x, list | tuple):
            return type(x)(map(self._exact, x))
        if isinstance(x, dict):
            return {key: self._exact(value) for key, value in x.items()}
        return torch.float64 if isinstance(x, torch.dtype) and x in _FLOATS else x

    def _twin(self, x: Tensor) -> Tensor:
        if id(x) not in self._twins:
            self._twins[id(x)] = x, _wide(x)
            self._record(x)
        return self._twins[id(x)][1]

    def _record(self, x: Tensor) -> None:
        if not is_inexact(x):
            return
        twin = self._twins[id(x)][1]
        self.values.append(
            Stored(
                module=self.module,
                op=self.op,
                dtype=_name(x.dtype),
                print=fingerprint(to_numpy(twin)),
                fits=_fits(twin),
                holds=_fits(x),
                constant=id(x) not in self._variable,
                name=self._names.get(id(x), ""),
            )
        )


def _tensors(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a kernel's arguments or results, in their order."""
    if isinstance(tree, list | tuple):
        for x in tree:
            yield from _tensors(x)
    elif isinstance(tree, dict):
        yield from _tensors(list(tree.values()))
    else:
        yield tree


def _wide(x: Tensor) -> Tensor:
    """Copy a tensor to float64, or to the same dtype if it is not floating."""
    x = x.detach()
    if x.is_complex():
        return x.to(torch.complex128, copy=True)
    return x.to(torch.float64 if x.is_floating_point() else x.dtype, copy=True)


def _fits(x: Tensor) -> list[str]:
    """Return the low-precision dtypes that represent every element of a tensor exactly."""
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x.detach()
    wide = x.double()[x.double().isfinite()]
    fitting = (dtype for dtype in LOW if torch.equal(wide.to(dtype).double(), wide))
    return [_name(dtype) for dtype in fitting]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
