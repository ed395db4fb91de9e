"""The interface of the torch model, which a running module and a dump both implement."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import EXTREMES, MEAN, fingerprint
from jaxgrad.parity.prove.judge import (
    MAX_ROUNDING,
    MAX_TABLE_ROUNDING,
    STRUCTURAL_ZERO,
    Judged,
    judge,
)
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.torch_side.values import Mistakes, Native, TorchRun
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.ulp import scale_of


State = Mapping[str, np.ndarray]
_RTOL = 1e-9  # of two mean magnitudes that are equal
STATE = "new state"  # the first part of the names of buffers that count as outputs
RERUNS = 2  # that measure rounding; the second is made only where the first leaves a doubt
Gradients = Iterable[Mapping[str, np.ndarray | None]]  # of one step after the other
Differentiated = tuple[Mapping[str, np.ndarray | None], float | None]  # gradients, and the loss


@dataclasses.dataclass
class Drawn:
    """torch's run on one draw of weights and inputs, and reruns that differ by rounding."""

    draw: Draw
    run: TorchRun
    reruns: Sequence[TorchRun]  # of the forward pass alone, if `differentiate` makes the others
    differentiate: Callable[[], Sequence[TorchRun]] | None = None
    rough: bool = False  # whether the reruns perturb tables that the module holds in float32

    @functools.cached_property
    def gradient_reruns(self) -> Sequence[TorchRun]:
        """The reruns with gradients."""
        return self.reruns if self.differentiate is None else self.differentiate()

    @property
    def most_rounding(self) -> float:
        """The largest effect of rounding with which results can be compared."""
        return MAX_TABLE_ROUNDING if self.rough else MAX_ROUNDING

    def judge(
        self,
        outputs: Sequence[np.ndarray],
        in_jax: Callable[[int], float] | None = None,
        reruns: int = RERUNS,
    ) -> list[Judged]:
        """Compare torch's outputs with those of a port.

        Args:
            outputs: The port's outputs.
            in_jax: Function that returns how much rounding in the port changes an output, given
                its number.
            reruns: Number of reruns that may be made.
        """
        judged = []
        for k, ((name, x), y) in enumerate(zip(self.run.outputs.items(), outputs, strict=False)):
            near = (self.reruns[i].outputs[name] for i in range(min(reruns, len(self.reruns))))
            actual = np.reshape(y, x.shape) if np.size(y) == x.size else np.asarray(y)
            own = None if in_jax is None else functools.partial(in_jax, k)
            most = self.most_rounding
            found = judge(name or "output", x, actual, near, most=most, in_jax=own)
            judged.append(self._zero_up_to_rounding(found, x, actual))
        zero = all(j.verdict == "zero" for j in judged)
        return [dataclasses.replace(j, verdict="inconclusive") for j in judged] if zero else judged

    def _zero_up_to_rounding(self, judged: Judged, x: np.ndarray, actual: np.ndarray) -> Judged:
        """Return the verdict "zero" for the rounding error of a sum whose terms cancel in torch.

        Rounding then changes all its digits, and both outputs are tiny relative to the terms.
        """
        if judged.verdict != "inconclusive" or judged.allowed < judged.scale:
            return judged
        if max(judged.scale, scale_of(actual)) > STRUCTURAL_ZERO * self._terms(x):
            return judged
        return dataclasses.replace(judged, verdict="zero", difference=0.0)

    def _terms(self, output: np.ndarray) -> float:
        """Return the largest magnitude that the call which returns an output reads, or 0."""
        print_, values = fingerprint(output), self.run.values
        calls = [v for v in values if np.array_equal(v.print, print_)]
        read = [values[i].print for v in calls[-1:] for i in v.inputs]
        return max((float(np.abs(x[EXTREMES]).max()) for x in read), default=0.0)

    def agrees(self, outputs: Sequence[np.ndarray]) -> bool:
        """Whether no output of a port differs from torch's."""
        return all(j.verdict != "fail" for j in self.judge(outputs))

    def distance(self, outputs: Sequence[np.ndarray]) -> float:
        """Return the sum of the differences of a port's outputs from torch's."""
        pairs = zip(self.run.outputs.values(), outputs, strict=False)
        off = [_distance(x, y.reshape(x.shape)) if x.size == y.size else np.inf for x, y in pairs]
        return float(np.nan_to_num(sum(off), nan=np.inf, posinf=np.inf))

    def occurring(self, watched: Watched) -> int:
        """Return how many of torch's values have the mean magnitude of a value of the port."""
        rows = [np.reshape(x, (-1, np.shape(x)[-1]))[:, MEAN] for x in watched.prints.values()]
        means = np.sort(np.concatenate(rows)) if rows else np.zeros(0)
        wanted = np.array([value.print[MEAN] for value in self.run.values])
        first = np.searchsorted(means, wanted * (1 - _RTOL))
        last = np.searchsorted(means, wanted * (1 + _RTOL), "right")
        return int(np.sum((last > first) & (wanted > 0)))


def _distance(x: np.ndarray, y: np.ndarray) -> Any:
    return (x != y).sum() if bool in (x.dtype, y.dtype) else np.abs(y - x).sum()


@dataclasses.dataclass
class Steps:
    """The weights after some steps of torch's optimizer."""

    states: dict[int, State]  # step -> the parameters
    moments: dict[str, State]  # parameter -> state name -> value
    reruns: Sequence[Mapping[int, State]]  # with every number perturbed by an ULP
    averages: dict[int, State] = dataclasses.field(default_factory=dict)  # of the parameters
    moment_reruns: Sequence[Mapping[str, State]] = ()
    buffers: dict[int, State] = dataclasses.field(default_factory=dict)  # if `after=` is given
    buffer_reruns: Sequence[Mapping[int, State]] = ()


@dataclasses.dataclass
class Calls:
    """Calls of a module one after the other, each of which starts with what the last one left.

    The changed parameters, buffers and attributes of a run are those since the first call.
    """

    runs: list[TorchRun]
    reruns: Sequence[list[TorchRun]]  # of all calls, with every number perturbed by an ULP


_STATES = 500_000_000  # bytes of the weights that a trajectory stores


def compared_steps(steps: int, size: int = 0) -> tuple[int, ...]:
    """Return the steps after which weights are compared: all, unless they need too much memory.

    Args:
        steps: Number of steps.
        size: Bytes of the weights, which are stored for each compared step.

    >>> compared_steps(4), compared_steps(100, 125_000_000)
    ((1, 2, 3, 4), (1, 34, 67, 100))
    """
    count = max(2, min(steps, _STATES // max(1, size)))
    return tuple(int(x) for x in np.unique(np.linspace(1, steps, count).round()))


class TorchSide(Protocol):
    """Everything that a proof asks of the torch model."""

    rerunnable: bool  # whether torch can be run again; a dump cannot
    seed: int
    has_loss: bool
    inputs: Any
    jax_inputs: Any  # the inputs of the port, None if they are torch's
    outputs: Mapping[str, np.ndarray]  # for the given weights and inputs
    state: State  # parameters and buffers; tied ones under their first name
    flags: Mapping[str, bool]  # parameter -> requires_grad
    names: Mapping[str, str]  # key of the state_dict -> name in `state`; tied keys share a name
    notes: list[str]
    versions: Mapping[str, str]

    @property
    def module(self) -> Any:
        """The user's module, for now in float64; None in a dump."""
        ...

    def on(self, inputs: Any, jax_inputs: Any = None) -> TorchSide:
        """Return the same model with other inputs."""
        ...

    def making(self, mistakes: Mistakes) -> TorchSide:
        """Return the same model, which makes these mistakes of a port in every run."""
        ...

    def returning(self, names: Sequence[str]) -> TorchSide:
        """Return the same model without a loss, whose outputs end with these tensors it holds.

        Their names begin with `STATE`.
        """
        ...

    def record(self, draw: Draw) -> Drawn:
        """Return torch's run on a draw, and its reruns."""
        ...

    def close(self) -> None:
        """Restore the user's module."""
        ...

    def idle(self) -> contextlib.AbstractContextManager[None]:
        """Free the module's float64 weights in a `with` block and until torch is next used."""
        ...

    def tables(self, mapped: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Return the float32 constants that only torch holds: buffers, and plain attributes."""
        ...

    def replace(self, tables: Mapping[str, np.ndarray]) -> None:
        """Replace constants by the port's numbers, and make no allowance for their rounding."""
        ...

    def replacing(self, tables: Mapping[str, np.ndarray]) -> TorchSide:
        """Return the same model with constants replaced by the port's numbers."""
        ...

    def drawn(self, mapped: Sequence[str], fixed: Sequence[str] = ()) -> list[Drawn]:
        """Return both draws.

        Args:
            mapped: The weights that the port takes from its params.
            fixed: The inputs that are not redrawn.
        """
        ...

    def edges(self) -> list[tuple[str, Any]]:
        """Return inputs of edge cases that the given inputs do not contain, with their names."""
        ...

    def run(self, draw: Draw, **options: Any) -> TorchRun:
        """Run torch forward and backward on a draw."""
        ...

    def load(self, draw: Draw) -> None:
        """Give the module the weights of a draw, which the recorded calls of all runs read."""
        ...

    def reruns(
        self, draw: Draw, run: TorchRun, *, forward: bool = False, **options: Any
    ) -> Sequence[TorchRun]:
        """Return runs that differ from `run` by rounding, with gradients stored as differences.

        Each is made when it is read. With `forward` they have no gradients. The options are those
        of the run.
        """
        ...

    def unread(self, left: Mapping[str, Any]) -> Mapping[str, bool]:
        """Return the names on which no further call of the module depends.

        Args:
            left: The values that the first draw's run has left behind.

        Returns:
            For each such name, whether a layer of `torch.nn` has the value, as a batch norm has a
            counter.
        """
        ...

    def calls(self, draws: Sequence[Draw], *, evaluates: bool) -> Calls:
        """Call the module on the inputs of several draws, one after the other, forward only.

        If `evaluates`, the last call is made in eval mode.
        """
        ...

    def single_precision(self, draw: Draw) -> list[TorchRun]:
        """Run torch in float32, on a draw and on perturbations of it."""
        ...

    def in_float32(self, draw: Draw) -> TorchRun:
        """Run torch forward in float32 on a draw, and keep its values."""
        ...

    def native(self, draws: Sequence[Draw], always: bool = False) -> Native:
        """Run torch in the module's own dtypes, and record which values are rounded.

        A module that rounds nothing below float32 is run only if `always` is true.
        """
        ...

    def state_dtypes(self, training: Training) -> Mapping[str, str]:
        """Return the dtypes in which a torch optimizer stores the state of each parameter."""
        ...

    def steps(
        self,
        training: Training,
        draws: Sequence[Draw],
        steps: int,
        *,
        reruns: int = ...,
        kept: Sequence[int] | None = ...,
        first: Sequence[Differentiated] = ...,
    ) -> Steps:
        """Train from the first draw's weights; the draws' inputs are the micro-batches.

        The result has the weights after the steps in `kept`, by default `compared_steps`. The first
        step takes the gradients in `first`, if there are any, in place of a backward pass.
        """
        ...

    def differentiated(self, draw: Draw) -> Differentiated:
        """Return the gradients of a draw, and its loss."""
        ...

    def replay(
        self, training: Training, draw: Draw, gradients: Gradients, *, single: bool = False
    ) -> Iterator[tuple[list[float], State]]:
        """Yield the learning rates and new weights of steps whose gradients are given."""
        ...

    def state_dict(self, values: State) -> Mapping[str, Any]:
        """Return these values as the module's state_dict in float64, for the user's converter."""
        ...
