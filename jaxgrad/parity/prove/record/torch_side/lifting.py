"""Run a module with its own casts and constants of lower precision lifted to float64."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from jaxgrad.parity.prove.judge import with_float32_noise
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.torch_side import opened
from jaxgrad.parity.prove.record.torch_side.frames import is_users
from jaxgrad.parity.prove.record.torch_side.randomness import Randomness, replaying
from jaxgrad.parity.prove.record.torch_side.trees import is_transformed, leaves
from jaxgrad.parity.prove.record.torch_side.values import Change
from jaxgrad.parity.prove.record.torch_side.watcher import Watcher


_WIDE = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), torch.float64),
    torch.complex64: torch.complex128,
}
_SINGLE = (torch.float32, torch.complex64)
_UNCOMPUTED = {"requires_grad_", "detach_", "grad"}  # calls whose results may be stored elsewhere
_APPROXIMATED = frozenset(
    "exp exp2 expm1 log log2 log10 log1p logsumexp logaddexp sin cos tan asin acos atan atan2 sinh "
    "cosh tanh asinh acosh atanh sigmoid expit logsigmoid softplus softmax softmin log_softmax erf "
    "erfc erfinv ndtr log_ndtr lgamma digamma".split()
)  # functions that libraries compute with different polynomials
_REGISTERS = {"register_hook", "retain_grad"}  # they must get the value itself, not a copy
_READS_DTYPE = ("dtype", "type", "element_size", "itemsize")
_LOWER = {  # the methods that cast to these dtypes
    **dict.fromkeys(("float", "half", "bfloat16"), Tensor.double),
    "cfloat": lambda x: x.to(torch.complex128),
}
_SET_REQUIRES_GRAD: Any = vars(torch._C.TensorBase)["requires_grad"].__set__


class Lifting(TorchFunctionMode):
    """Intercept every call of torch: lift casts to lower precision, and report to the watcher."""

    def __init__(
        self,
        watcher: Watcher | None,
        dtype: torch.dtype,
        rough: int | None,
        changes: Sequence[Change] = (),
        opens: bool = False,
        randomness: Randomness | None = None,
        rounds: int | None = None,
    ):
        super().__init__()
        self.rounds = rounds
        self.watcher, self.lifts = watcher, dtype == torch.float64
        self.opens = opens
        self.changes = {change.number: change for change in changes}
        self.casts: list[str] = []
        self.low = False  # whether a call casts below float32, or runs under autocast
        self.reads_dtype = False  # whether the user's code asks for the dtype of a tensor
        self.numbers: set[float] = set()
        self.randomness = randomness
        if randomness is not None:
            randomness.where = self._place
        self._name = ""
        self.wide: dict[int, tuple[Tensor, Tensor]] = {}
        self.rough = None if rough is None else np.random.default_rng(rough)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = dict(kwargs or {})
        if func == _SET_REQUIRES_GRAD and args[1] and args[0].requires_grad:
            return None  # torch rejects it for what is computed from an input with a gradient
        if func is functional.multi_head_attention_forward and self.watcher and self.watcher.on:
            with _python_functions_opened(), self:
                return func(*args, **kwargs)
        name = self._name = _name_of(func)
        if name in _READS_DTYPE and not self.reads_dtype:
            self.reads_dtype = is_users(sys._getframe(1))
        if self.opens and self.watcher and self.watcher.on:
            compute = opened.steps(name, args, kwargs, self.watcher.label)
            if compute is not None:
                with self:
                    result = compute()
                self.watcher.label("")
                return result
        low = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.dtype) and x in _WIDE]
        named = name in _LOWER and args and isinstance(args[0], Tensor)
        self.low |= _is_low(name if named else "", low) or torch.is_autocast_enabled("cpu")
        if self.lifts and (low or named):
            where = self.watcher.where if self.watcher else ""
            self.casts.append(f"{where or 'the module'} ({name} to {low[0] if low else name})")
            args = tuple(_lifted(x) for x in args)
            kwargs = {key: _lifted(x) for key, x in kwargs.items()}
            if named:
                func = _LOWER[name]
        self.numbers |= {x for x in (*args, *kwargs.values()) if isinstance(x, float)}
        if self.rounds is not None:
            args = tuple(coarse.number(x) if type(x) is float else x for x in args)
            kwargs = {k: coarse.number(x) if type(x) is float else x for k, x in kwargs.items()}
        if self.lifts:
            args, kwargs = self._wide(args), {key: self._wide(x) for key, x in kwargs.items()}
        read: tuple[int, ...] = ()
        if self.watcher and self.watcher.on:
            self.watcher.adopt((args, kwargs))
            read = self.watcher.known_values((args, kwargs))
            if name not in _REGISTERS:
                args, kwargs = self.watcher.split_uses(read, args, kwargs)
        number = self.watcher.next_call if self.watcher else None
        change = None if number is None else self.changes.get(number)
        drawn = None
        if self.randomness:
            self.randomness.call = -1 if number is None else number
            drawn = len(self.randomness.noise)
        if change is None:
            exact: Any = _EXACT.get(name, func) if self.lifts else func
            out = exact(*args, **kwargs)
        else:
            out = self._changed(change, func, args, kwargs)
        if self.rounds is not None:
            _round(name, (args, kwargs), out, self.rounds)
        if self.watcher and self.watcher.on:
            first = len(self.watcher.values)
            if self.randomness and self.randomness.noise[drawn:]:
                func = replaying(func, self.randomness.noise[drawn:])
            self.watcher.record(name, (args, kwargs), read, out, (func, args, kwargs))
            self.watcher.attribute((args, kwargs), first)
        return out

    def _changed(self, change: Change, func: Any, args: Any, kwargs: Any) -> Any:
        """Make a call with a change."""
        read: list[Tensor] = []
        if self.watcher:
            read += (self.watcher.tensors[i] for i in change.reads)
            read += (self.watcher.discrete_inputs[i] for i in change.discrete_inputs)
        func = func if change.func is None else change.func
        if self.randomness is None:
            return change.apply(func, args, kwargs, *read)
        return self.randomness.changed(
            func, lambda f: change.apply(f, args, kwargs, *read), change.draws, change.masks
        )

    def _place(self) -> str:
        """Return the module that is running, and the call that it makes."""
        where = self.watcher.where if self.watcher else ""
        return f"{where} ({self._name})" if where else f"({self._name})"

    def _wide(self, x: Any) -> Any:
        """Convert a tensor below float64, which must be a constant that the module stores."""
        if isinstance(x, list | tuple):
            return type(x)(self._wide(y) for y in x) if type(x) in (list, tuple) else x
        if not isinstance(x, Tensor) or x.dtype not in _WIDE:
            return x
        self.low |= x.dtype not in _SINGLE
        if id(x) not in self.wide:
            wide = x.detach().to(_WIDE[x.dtype])
            if self.rough is not None:
                wide = torch.as_tensor(with_float32_noise(wide.numpy(), self.rough))
            self.wide[id(x)] = x, wide
        return self.wide[id(x)][1]


def _hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute a hardsigmoid with an exact gradient: torch's float64 kernel has a float32 1/6."""
    out = functional.relu6(input + 3) / 6
    return input.copy_(out) if inplace else out


def _grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, **_: Any) -> Tensor:
    """Compute torch's `grouped_mm`, which has no float64 kernel, one group after the other."""
    if offs is None:
        return mat_a @ mat_b
    ends = offs.tolist()
    groups = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    if mat_a.dim() == mat_b.dim():
        return torch.stack([mat_a[:, group] @ mat_b[group] for group in groups])
    if mat_a.dim() == 2:
        parts = [mat_a[group] @ mat_b[i] for i, group in enumerate(groups)]
        return torch.cat([*parts, mat_a.new_zeros(len(mat_a) - ends[-1], mat_b.shape[2])])
    parts = [mat_a[i] @ mat_b[:, group] for i, group in enumerate(groups)]
    return torch.cat([*parts, mat_a.new_zeros(mat_a.shape[1], mat_b.shape[1] - ends[-1])], 1)


_EXACT = {"hardsigmoid": _hardsigmoid, "grouped_mm": _grouped_mm, "_grouped_mm": _grouped_mm}


def _round(name: str, arguments: Any, out: Any, salt: int) -> None:
    """Round the results of a call to one bit less, in place; move those of an approximation.

    A view of an operand has no rounding error and is not rounded. Neither are the results of a
    call without operands, which may be the user's arrays.
    """
    if name == "__get__" or name in _UNCOMPUTED:
        return
    held = {x.untyped_storage().data_ptr() for x in leaves(arguments) if _is_plain(x)}
    in_place = name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))
    for x in leaves(out) if held else ():
        if _is_plain(x) and (in_place or x.untyped_storage().data_ptr() not in held):
            data = x.data  # its version is not that of `x`, whose graph stays valid
            bits = (torch.view_as_real(data) if x.is_complex() else data).view(torch.int64)
            up = (bits >> 1).bitwise_and_(bits).bitwise_and_(1)
            up.masked_fill_((bits & coarse.EXPONENTS) == coarse.LARGEST, 0)  # a mask stays finite
            bits.add_(up).bitwise_and_(-2)
            if name.strip("_") in _APPROXIMATED:
                bits.add_(_steps(bits, salt))


def _steps(bits: Tensor, salt: int) -> Tensor:
    """Return how far to move the results of an approximation, by their bits.

    Two libraries may approximate a function differently even where one of them gets a short number,
    such as the 1 at which tanh saturates. It moves towards zero, because tanh stays below it.
    """
    fraction = bits & coarse.FRACTION
    steps = 2 - ((fraction * coarse.MULTIPLIERS[salt]) >> 63).bitwise_and_(1).mul_(4)
    steps.masked_fill_((fraction & coarse.SHORT) == 0, -2)
    exponent = bits & coarse.EXPONENTS
    return steps.masked_fill_((exponent == 0) | (exponent >= coarse.LARGEST), 0)


def _is_plain(x: Any) -> bool:
    """Whether `x` is a tensor of float64 or complex128 with memory of its own for each number."""
    return (
        isinstance(x, Tensor)
        and x.dtype in (torch.float64, torch.complex128)
        and not is_transformed(x)
        and x.layout == torch.strided
        and x.numel() > 0
        and not (x.is_conj() or x.is_neg() or x.is_meta)
        and all(step or size == 1 for step, size in zip(x.stride(), x.shape, strict=True))
    )


def _name_of(func: Any) -> str:
    """Return torch's name for a function; reading a property such as `x.T` is a call too."""
    name = getattr(func, "__name__", str(func))
    return getattr(getattr(func, "__self__", None), "__name__", name) if name == "__get__" else name


def _is_low(method: str, dtypes: list[torch.dtype]) -> bool:
    return method in ("half", "bfloat16") or any(dtype not in _SINGLE for dtype in dtypes)


@contextlib.contextmanager
def _python_functions_opened() -> Iterator[None]:
    """Intercept the calls inside torch's Python functions instead of the functions themselves."""
    names = functional.__dict__
    before = names["has_torch_function"]
    names["has_torch_function"] = lambda _: False
    try:
        yield
    finally:
        names["has_torch_function"] = before


def _lifted(x: Any) -> Any:
    return _WIDE.get(x, x) if isinstance(x, torch.dtype) else x
