"""The record of a torch run (values, module calls, outputs, gradients), and how two runs differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import print_distance
from jaxgrad.parity.prove.judge import max_difference
from jaxgrad.parity.prove.record.noise import Noise


# Calls that only move elements. A fingerprint does not see their order.
MOVES = frozenset(
    "cat concat concatenate stack flatten reshape view unflatten transpose permute swapaxes "
    "movedim chunk split unbind getitem select flip roll T mT".split()
)
# Calls that return their operand wherever it is within a bound.
BOUNDS = frozenset("clamp clamp_max clamp_min clip maximum minimum".split())

_NO_CALL = -1
_ULP = float(np.finfo(np.float64).eps)
_AMPLIFIED = 1e3  # times as large as in the operands


@dataclasses.dataclass
class Value:
    """A floating value of the run: an input, or the result of one torch call."""

    module: str  # dotted path of the innermost module that was running
    op: str  # torch's name for the function; "input" for an input
    inputs: tuple[int, ...]  # indices of the values that the call read
    shape: tuple[int, ...]
    print: np.ndarray
    weights: tuple[str, ...] = ()  # the parameters and buffers that the call read
    data: np.ndarray | None = None
    cotangent: np.ndarray | None = None  # fingerprint of the total cotangent, None if none arrived
    cotangent_data: np.ndarray | None = None
    call: tuple[Any, Any, Any] | None = None  # function, args, kwargs, if values are kept
    call_number: int = -1  # equal for all results of one call
    requires_grad: bool = True
    line: str = ""  # file:line of the user's code, if values are kept
    function: str = ""  # the custom autograd.Function that returned it
    rule: str = ""  # file:line of the `backward` of this Function
    part: str = ""  # of an attention or a recurrent layer that is computed step by step
    constants: tuple[np.ndarray, ...] = ()  # fingerprints of further tensors that the call read
    unchecked: bool = False  # whether it read integers or booleans that are not an input
    integers: bool = False  # whether it read integers that are an input, or were computed from one

    @property
    def name(self) -> str:
        """The module's path and the call's name, for the report."""
        return f"{self.module} ({self.op})" if self.module else f"({self.op})"

    @property
    def in_words(self) -> str:
        """The name in a sentence, where the call of no submodule is only its function."""
        return self.name if self.module else self.op


class Change(NamedTuple):
    """A replacement for one call of torch, which tests a hypothesis about the port."""

    number: int  # the call's number in the watcher's count
    apply: Callable[..., Any]  # called with the function, its args, its kwargs and what it reads
    reads: tuple[int, ...] = ()  # values that were computed before the call
    func: Callable[..., Any] | None = None  # called in place of the call's own function
    draws: int = -1  # the call whose random numbers it draws, if not its own
    masks: tuple[tuple[int, ...], ...] = ()  # shapes of its random numbers, if some are shared
    function: str = ""  # no call: the custom autograd.Function that loses its backward
    discrete_inputs: tuple[int, ...] = ()  # that it reads, among the integers and booleans

    @classmethod
    def without_backward(cls, function: str) -> Change:
        """Return the change with which autograd differentiates a custom Function's forward."""
        return cls(_NO_CALL, lambda func, args, kwargs: func(*args, **kwargs), function=function)


class Mistakes(NamedTuple):
    """Mistakes of the port that torch can make too, each as changes of some calls."""

    changes: tuple[tuple[Change, ...], ...] = ()
    opened: bool = False  # whether the calls are numbered in attention that runs step by step

    @property
    def joined(self) -> list[Change]:
        """The changes of all mistakes."""
        return [change for changes in self.changes for change in changes]


class Hook(NamedTuple):
    """A call of `register_hook` in the forward pass."""

    call_number: int
    of: str  # the value or the parameter that it was called on
    line: str  # file:line of the user's code
    value: int | None = None  # the index of the value; None for a parameter


@dataclasses.dataclass
class Call:
    """One call of a module."""

    module: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    first: int  # the call computed values[first:last]
    last: int


@dataclasses.dataclass
class Stored:
    """A value of the module as its user runs it, in the dtype that torch chose for it."""

    module: str
    op: str  # the user's call
    dtype: str
    print: np.ndarray  # fingerprint of the value as float64 computes it
    fits: list[str]  # the dtypes below float32 that represent it without an error
    holds: list[str]  # those that represent the number that torch stored, perhaps rounded before
    constant: bool  # whether it depends on no parameter and no input
    name: str  # of a parameter, or "input"


@dataclasses.dataclass
class Native:
    """The dtypes of the module as its user runs it."""

    working: str  # the dtype of most parameters
    dtypes: dict[str, str]  # of each parameter and buffer
    low: bool  # whether anything is rounded below float32
    runs: list[list[Stored]]  # one for each draw
    error: str = ""  # why the module could not be run in these dtypes
    outputs: list[dict[str, np.ndarray]] = dataclasses.field(default_factory=list)  # of each run


@dataclasses.dataclass
class TorchRun:
    """A forward and backward run of torch."""

    values: list[Value]
    calls: list[Call]
    outputs: dict[str, np.ndarray]
    output_values: list[int | None]  # positions of the outputs in `values`
    grads: dict[str, Any]  # arrays or None; in a rerun the largest difference from the first run
    input_grads: list[Any]
    buffers: dict[str, np.ndarray]
    loss: float | None
    casts: list[str]  # places where the module itself casts below float64
    numbers: list[float]  # the float arguments of the calls
    contributions: dict[int, np.ndarray]  # a call's first result -> cotangent through that call
    low: bool = False  # whether the module casts below float32, itself or through autocast
    noise: Sequence[Noise] = ()  # the random numbers of the forward pass
    reads_dtype: bool = False  # whether the user's code asks for the dtype of a tensor
    hooks: Sequence[Hook] = ()
    attached: bool = True  # whether the inputs take part in torch's graph
    parameters: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # changed by it
    # The attributes that it changed, before and after: arrays, texts, None if they do not exist.
    attributes: dict[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    skipped: Sequence[str] = ()  # the outputs that are Python numbers
    # Results that are integers or booleans; only those of bounds, unless values are kept.
    discrete: Sequence[Value] = ()

    @property
    def has_gradients(self) -> bool:
        """Whether it holds gradients; those of all draws are freed once they agree."""
        return any(gradient is not None for gradient in self.grads.values())

    low_constants: bool = False  # whether a call reads a constant below float64


class Left(NamedTuple):
    """A buffer, a parameter or an attribute before and after a run, None where it is absent."""

    kind: str  # buffer | parameter | attribute
    before: Any  # an array, the text of an attribute, or None
    after: Any


def changes(run: TorchRun, state: Mapping[str, np.ndarray]) -> dict[str, Left]:
    """Return by name what a run that started from a state has left changed in the module."""
    left = {name: Left("parameter", state[name], x) for name, x in run.parameters.items()}
    trained = run.grads.keys()
    for name in dict.fromkeys((*run.buffers, *(name for name in state if name not in trained))):
        before = np.asarray(state[name]) if name in state else None
        after = run.buffers.get(name)
        if before is None or after is None or not _equal(before, after):
            left[name] = Left("buffer", before, after)
    return left | {name: Left("attribute", *pair) for name, pair in run.attributes.items()}


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc" and y.dtype.kind in "fc")


def rounding(
    run: TorchRun, reruns: Sequence[TorchRun], read: Callable[[Value], np.ndarray | None]
) -> np.ndarray:
    """Return how much rounding alone changes the fingerprint of each torch value."""
    noise = np.zeros(len(run.values))
    for rerun in reruns:
        if len(rerun.values) == len(run.values):
            pairs = [(read(v), read(w)) for v, w in zip(run.values, rerun.values, strict=True)]
            off = [0.0 if a is None or b is None else float(print_distance(a, b)) for a, b in pairs]
            noise = np.maximum(noise, np.nan_to_num(off, posinf=1.0))
    return noise


def amplifying(run: TorchRun, rerun: TorchRun) -> Value | None:
    """Return the value in which rounding errors grow most, or None if they grow nowhere much."""
    noise = rounding(run, [rerun], lambda value: value.print)

    def growth(i: int) -> float:
        before = max((noise[k] for k in run.values[i].inputs if k < i), default=0.0)
        return float(noise[i] / max(before, _ULP))

    most = max(range(len(run.values)), key=growth, default=None)
    return run.values[most] if most is not None and growth(most) > _AMPLIFIED else None


def similar(first: TorchRun, run: TorchRun) -> bool:
    """Whether two runs return the same shapes, and the second is finite where the first is.

    A weight may have a gradient in one run only: an expert that gets no token has none.
    """

    def arrays(run: TorchRun) -> dict[Any, Any]:
        return dict(run.outputs) | {("grad", k): g for k, g in run.grads.items()} | {
            ("input", k): g for k, g in enumerate(run.input_grads)
        }  # fmt: skip

    pairs = [(x, arrays(run).get(key)) for key, x in arrays(first).items()]
    return first.outputs.keys() == run.outputs.keys() and all(
        y is None or x is None or (x.shape == y.shape
        and (np.isfinite(y).all() or not np.isfinite(x).all()))
        for x, y in pairs
    )  # fmt: skip


def differences(run: TorchRun, rerun: TorchRun) -> TorchRun:
    """Replace the gradients of a rerun by their largest difference from those of the run."""

    def off(x: Any, y: Any) -> float | None:
        return None if x is None or y is None else max_difference(x, y)

    pairs = zip(run.input_grads, rerun.input_grads, strict=True)
    return dataclasses.replace(
        rerun,
        grads={name: off(x, rerun.grads[name]) for name, x in run.grads.items()},
        input_grads=[off(x, y) for x, y in pairs],
    )
