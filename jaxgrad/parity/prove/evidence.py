"""The evidence for a proof: runs of torch and the port on the same random weights and inputs."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from jaxgrad.parity.prove import checks
from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.align.alignments import aligned
from jaxgrad.parity.prove.clock import SEARCH, Clock, TimeLimit
from jaxgrad.parity.prove.judge import Judged, judge, max_difference, one_sided
from jaxgrad.parity.prove.locate import compared
from jaxgrad.parity.prove.locate import forward as locate_forward
from jaxgrad.parity.prove.record import tables
from jaxgrad.parity.prove.record.adapters import (
    JaxFunction,
    ProofError,
    as_function,
    trainable_mask,
)
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_of
from jaxgrad.parity.prove.record.jax_side.inject import inject
from jaxgrad.parity.prove.record.jax_side.native import retraced
from jaxgrad.parity.prove.record.jax_side.port import Draw, Gradients, Port
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, Spot, flat
from jaxgrad.parity.prove.record.lazy import LazyList
from jaxgrad.parity.prove.record.torch_side.draws import STATISTICS
from jaxgrad.parity.prove.record.torch_side.side import STATE, Drawn, TorchSide
from jaxgrad.parity.prove.record.torch_side.values import (
    Change,
    Mistakes,
    Native,
    TorchRun,
    amplifying,
    changes,
)
from jaxgrad.parity.prove.record.tracing import traced
from jaxgrad.parity.prove.report import Finding
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.waivers import Waivers, as_waivers
from jaxgrad.parity.prove.weights import pairing
from jaxgrad.parity.prove.weights.likeness import leaves_of
from jaxgrad.parity.prove.weights.map import WeightMap
from jaxgrad.parity.prove.weights.resolve import Returned, weight_map
from jaxgrad.parity.prove.weights.swaps import misnamed
from jaxgrad.parity.prove.wording import TORCH, jax_program
from jaxgrad.parity.ulp import scale_of


T = TypeVar("T")
NO_PLACE, NO_CAUSE = "the first place could not be located", "the cause is not known"  # in notes


def gather(request: Request, clock: Clock, side: TorchSide) -> Evidence:
    """Run torch and the port on both draws of weights and inputs, and align their values."""
    if side.has_loss != (request.loss[1] is not None):
        names = ("torch", "JAX") if side.has_loss else ("JAX", "torch")
        raise ProofError(
            "loss= needs a pair (torch_loss, jax_loss): {} has a loss, {} has none".format(*names)
        )
    with clock("weights"):
        returned = functools.partial(_returned, side, request)
        params, weights = weight_map(side, request.fn, request.params, request.weights, returned)
    model = as_function(request.fn, params)
    port, flow, notes = _ported(model, weights, request, clock, side)
    trains = any(side.flags.values())
    trainable = trainable_mask(request.trainable, port.program.param_paths, trains=trains)
    with clock("torch"):
        mapped = taken(port, flow, side.flags)
        held = side.tables(mapped)
        if replaced := tables.for_torch(held, port.program):
            side.replace({name: x for name, (x, _) in replaced.items()})
        drawn = side.drawn(mapped, port.program.layout.fixed)
    called = jax_program(request.reference)
    port, jax_runs, unmatched = _runs(port, flow, drawn, side, clock, called)
    with clock("align"):
        alignments = aligned(drawn, jax_runs)
    notes = (*side.notes, *notes, *unmatched, *tables.notes(replaced, port.program, called))
    notes += tuple(misnamed(port.weights)) + _own_leaves(model, port, flow, called)
    waivers = as_waivers(request.accept)
    return Evidence(
        side, model, port, flow, trainable, drawn, jax_runs, alignments, notes, clock, waivers,
        held, reference=request.reference,
    )  # fmt: skip


def rerun(evidence: Evidence, request: Request) -> Evidence:
    """Return the evidence of the port as its source is now, on the same draws.

    torch's gradients, which are freed once they are judged, are computed again.
    """
    side, clock = evidence.torch_side, evidence.clock
    drawn = [each if each.run.has_gradients else side.record(each.draw) for each in evidence.drawn]
    port, flow, _ = _ported(evidence.model, evidence.port.weights, request, clock, side)
    port, jax_runs, _ = _runs(port, flow, drawn, side, clock)
    alignments = aligned(drawn, jax_runs)
    return dataclasses.replace(
        evidence, drawn=drawn, port=port, flow=flow, jax_runs=jax_runs, alignments=alignments
    )


def _ported(
    model: JaxFunction, weights: WeightMap, request: Request, clock: Clock, side: TorchSide
) -> tuple[Port, Flow, tuple[str, ...]]:
    """Trace the port, and return it with its data flow and notes."""
    with clock("trace"):
        known = {piece.leaf for piece in weights.pieces}  # the draws contain the values
        program, notes = traced(model, side, request, known)
    weights = dataclasses.replace(weights, leaves=tuple(program.params))
    port = Port(program, weights, side.has_loss, bool(program.state_paths), side.seed)
    return port, Flow(program), notes


def _runs(
    port: Port,
    flow: Flow,
    drawn: Sequence[Drawn],
    side: TorchSide,
    clock: Clock,
    called: str = "the port",
) -> tuple[Port, list[Watched], list[str]]:
    """Run the port on all draws, with torch's random numbers, and return it and notes.

    A note says `called` for the JAX program.
    """
    program = dataclasses.replace(port.program, numbers=drawn[0].run.numbers)
    port = port.of(program)
    with clock("trace"):
        port, unmatched = inject(port, flow, drawn[0], called)
    jax_runs = [_watch(port, d.draw, side, clock) for d in drawn]
    checks.same_outputs(drawn[0].run.outputs, program, jax_runs[0].outputs)
    failed = not drawn[0].agrees(jax_runs[0].outputs)
    if failed and side.rerunnable:
        kept = side.run(drawn[0].draw, keep=True)
        held = tables.for_jax(program, kept, drawn[1].run)
        if held:
            port = port.of(dataclasses.replace(program, tables=held), port.injection)
            jax_runs = [_watch(port, d.draw, side, clock) for d in drawn]
    again = functools.partial(_watch, side=side, clock=clock)
    port, jax_runs = pairing.settled(port, drawn, jax_runs, again, side)
    return port, jax_runs, unmatched


def _returned(side: TorchSide, request: Request, params: Any) -> Returned:
    """Return the leaves of params that the port returns as its new state, or never reads."""
    try:
        program, _ = traced(as_function(request.fn, params), side, request)
    except ProofError:  # the trace after the weights are known raises it again
        return Returned()
    paths = program.param_paths
    read = _read(Flow(program))
    unread = [path for i, path in enumerate(paths) if i not in read]
    if checks.may_return_state(len(side.outputs), program):
        hint = ". fn returns a pair: if it is (outputs, new_state), pass has_state=True"
        return Returned(hint=hint, unread=unread)
    held = {paths[i] for path in program.state_paths for i in leaves_of(path, paths)}
    return Returned(held, unread=unread)


def _read(flow: Flow) -> set[int | None]:
    """Return the leaves on which an output depends."""
    return {leaf_of(key) for key in flow.used}


def _own_leaves(
    model: JaxFunction, port: Port, flow: Flow, called: str = "the port"
) -> tuple[str, ...]:
    """Return the notes on leaves of the port that hold none of torch's tensors.

    They hold state of the port's own, or no output depends on them.
    """
    weights, read = port.weights, _read(flow)
    held = {i for i in range(len(weights.leaves)) if weights.names_of(i)}
    free = [
        i
        for i in range(len(weights.paths))
        if i not in held and np.issubdtype(weights.leaves[i].dtype, np.inexact)
    ]

    def listed(leaves: Sequence[int]) -> str:
        more = f" and {len(leaves) - 4} more" if len(leaves) > 4 else ""
        return ", ".join(weights.paths[i] for i in leaves[:4]) + more

    notes = []
    state = [i for i in free if i in read] if model.trained or port.has_state else []
    if state:
        notes.append(
            f"{called}'s state {listed(state)} holds no tensor of torch's state dict: it keeps "
            "its own values"
        )
    unread = [i for i in free if i not in read]
    if unread:
        notes.append(
            f"{called}'s params hold {listed(unread)}: no output depends on this, and it holds no "
            "tensor of torch's state dict"
        )
    return tuple(notes)


def taken(port: Port, flow: Flow, flags: Mapping[str, bool]) -> list[str]:
    """Return the weights that the port takes from its params.

    Constants that are in the params but that the port recomputes (position tables) are excluded.
    It cannot recompute the statistics of a norm: in a new layer, a port may leave out the mean 0.
    """
    used = _read(flow)
    return [
        name
        for name in port.weights.tensors
        if (leaves := port.weights.leaves_of(name))
        and (flags.get(name) or name.endswith(STATISTICS) or used & set(leaves))
    ]


def _watch(port: Port, draw: Draw, side: TorchSide, clock: Clock) -> Watched:
    with clock("jax forward"), side.idle():
        return checks.guarded(lambda: port.watch(draw))


@dataclasses.dataclass(frozen=True, eq=False)
class Evidence:
    """All runs of torch and of the port, which the surfaces read but never modify."""

    torch_side: TorchSide
    model: JaxFunction
    port: Port
    flow: Flow
    trainable: list[bool] | None  # the leaves that `trainable=` selects
    drawn: list[Drawn]
    jax_runs: list[Watched]  # the port's outputs and fingerprints on each draw
    alignments: tuple[Alignment, ...]  # of torch's values with the port's, on each draw
    notes: tuple[str, ...]
    clock: Clock
    waivers: Waivers
    tables: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)  # torch's, rounded
    opened: bool = False  # whether torch computes attention and recurrent layers step by step
    mistakes: tuple[tuple[Change, ...], ...] = ()  # of the port that torch makes too
    made: bool = False  # whether torch makes all mistakes of the port's forward pass in every run
    searches: bool = True  # whether causes are looked for, and not only places
    reference: str = TORCH  # the framework of the original, as `prove(reference=)` says

    def rerun_torch(self) -> Evidence:
        """Return the evidence of the torch module as its source is now, on the same draws."""
        drawn = [self.torch_side.record(each.draw) for each in self.drawn]
        alignments = aligned(drawn, self.jax_runs)
        return dataclasses.replace(self, drawn=drawn, alignments=alignments)

    @property
    def results(self) -> str:
        """What a sentence calls all outputs, which the new state may follow."""
        state = any(name.startswith(f"{STATE}/") for name in self.runs[0].outputs)
        return "outputs and new state" if state else "outputs"

    @property
    def draws(self) -> list[Draw]:
        """Both draws of weights and inputs."""
        return [d.draw for d in self.drawn]

    @property
    def runs(self) -> list[TorchRun]:
        """torch's run on each draw."""
        return [d.run for d in self.drawn]

    @functools.cached_property
    def trained(self) -> list[bool] | None:
        """The leaves of params that are trained, None for all of them.

        They are what `trainable=` selects, or else what the framework's own `grad` differentiates.
        A leaf that holds a buffer of torch is state if the port returns it with the new state.
        """
        if self.trainable is not None:
            return self.trainable
        by_framework = self.model.trained
        program, weights = self.port.program, self.port.weights
        paths = program.param_paths
        returned = {i for path in program.state_paths for i in leaves_of(path, paths)}
        flags = self.torch_side.flags
        mask = [
            path in by_framework.paths
            if by_framework is not None
            else not (i in returned and not any(name in flags for name in weights.names_of(i)))
            for i, path in enumerate(paths)
        ]
        return None if all(mask) else mask

    @functools.cached_property
    def untrained(self) -> frozenset[str]:
        """torch's parameters that need no gradient, and of which the port trains no leaf."""
        weights, trained = self.port.weights, self.trained
        if trained is None:
            return frozenset()
        frozen = (name for name, needed in self.torch_side.flags.items() if not needed)
        return frozenset(
            name for name in frozen if not any(trained[i] for i in weights.leaves_of(name))
        )

    @functools.cached_property
    def native(self) -> Native:
        """The dtypes in which torch runs the module for its user."""
        return self.torch_side.native(self.draws)

    @functools.cached_property
    def native_program(self) -> JaxProgram | Exception:
        """The port's program in the dtypes of its own params, or the error if tracing fails."""
        try:
            return retraced(self.port.program, self.native.working)
        except Exception as error:
            return error

    @property
    def rerunnable(self) -> bool:
        """Whether torch can be run again; a dump cannot."""
        return self.torch_side.rerunnable

    def run_with_values(self, draw: int) -> TorchRun:
        """Run torch on a draw as this evidence has it, and keep the values themselves."""
        changes = Mistakes(self.mistakes).joined
        return self.torch_side.run(self.draws[draw], keep=True, opened=self.opened, changes=changes)

    def locate(
        self,
        find: Callable[[], T],
        otherwise: T,
        unknown: str = NO_PLACE,
    ) -> tuple[T, tuple[str, ...]]:
        """Return the location of a failure, and a note on what is `unknown` if the search raised.

        A verdict holds even if the failure cannot be located, or not in time. A warning that a
        changed call of torch raises does not reach the user, whose program has no such call.
        """
        try:
            with self.clock(SEARCH), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return find(), ()
        except TimeLimit:  # the next step raises it again
            return otherwise, ()
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            return otherwise, (f"{unknown} because of a bug in jaxgrad: {fault}",)

    def without_searches(self) -> Evidence:
        """Return the evidence with which places are looked for, and no causes."""
        return dataclasses.replace(self, searches=False)

    def may_search(self, what: str = "", seconds: float = 0.0) -> bool:
        """Report `what` a search for a cause tries next, and return whether it has time left.

        It has not if the next step takes more `seconds` of CPU time than are left.
        """
        return self.searches and self.clock.may_search(what, seconds)

    def unread(self, names: Sequence[str]) -> Mapping[str, bool]:
        """Return the values that torch's first run changed and that no further call reads.

        The mapping gives True for a value that belongs to a layer of `torch.nn`, such as the
        counter of a batch norm.
        """
        left = changes(self.runs[0], self.draws[0].state)
        new = {n: left[n].after for n in names if n in left and n not in self._tested}
        if new:
            with self.clock("torch"):
                unread = self.torch_side.unread(new)
            self._tested.update({name: unread.get(name) for name in new})
        return {n: x for n in names if (x := self._tested.get(n)) is not None}

    @functools.cached_property
    def _tested(self) -> dict[str, bool | None]:
        """The values that `unread` has tested; None marks a value that a further call reads."""
        return {}

    # -- forward

    def judge_outputs(
        self, number: int, outputs: Sequence[np.ndarray], *, control: bool = False
    ) -> list[Judged]:
        """Compare torch's outputs on one draw with the given outputs of the port.

        A `control` has an injected error, for which rounding is not measured any further.
        """
        drawn = self.drawn[number]
        if control:
            return self.waivers.apply("forward", drawn.judge(outputs, reruns=1))
        judged = drawn.judge(outputs, lambda k: self._output_rounding[number][k])
        return self.waivers.apply("forward", judged)

    @functools.cached_property
    def _output_rounding(self) -> LazyList[list[float]]:
        """How much rounding in the port changes each of its outputs, on each draw."""

        def measure(number: int) -> list[float]:
            draw, outputs = self.draws[number], self.jax_runs[number].outputs
            with self.torch_side.idle():
                rounded = checks.guarded(lambda: self.port.rounded_outputs(draw))
            return [max_difference(x, y) for x, y in zip(outputs, rounded, strict=True)]

        return LazyList(len(self.drawn), measure)

    def amplified(self, number: int) -> str:
        """Name the call of torch that makes rounding errors on a draw grow most, if one does."""
        drawn = self.drawn[number]
        value = amplifying(drawn.run, drawn.reruns[0]) if len(drawn.reruns) else None
        return "" if value is None else f"; rounding errors grow most in torch's {value.in_words}"

    @functools.cached_property
    def failed_output_draw(self) -> int | None:
        """The first draw in which an output differs."""
        return _first_fail(
            self.judge_outputs(k, run.outputs) for k, run in enumerate(self.jax_runs)
        )

    @functools.cached_property
    def not_visible(self) -> list[str]:
        """The torch modules whose outputs do not occur in the JAX program."""
        return locate_forward.hidden(self.runs[0], self.alignments[0])

    # -- backward

    def spots(self, number: int = 0) -> dict[int, Spot]:
        """Map each torch value to the JAX value with which its cotangent is compared."""
        run, alignment = self.runs[number], self.alignments[number]
        flow = self.flow
        return compared.compared(
            run, alignment, self.port.program, flow.used, flow.live, flow.returned
        )

    @functools.cached_property
    def slots(self) -> tuple[Key, ...]:
        """The JAX values whose cotangents are compared on any draw."""
        spots = [s for number in range(len(self.drawn)) for s in self.spots(number).values()]
        return tuple(dict.fromkeys(s.key for s in spots))

    @functools.cached_property
    def output_values(self) -> set[int]:
        """The positions of torch's outputs among its values."""
        return {i for i in self.runs[0].output_values if i is not None}

    @functools.cached_property
    def control_values(self) -> list[int]:
        """torch values for negative controls: outside loops, the middle of the program first."""
        outside = [i for i, spot in self.spots().items() if not spot.iteration]
        inner = [i for i in outside if i not in self.output_values]
        middle = len(inner) / 2
        order = sorted(range(len(inner)), key=lambda k: abs(k - middle))
        return [inner[k] for k in order[:6]] or outside

    @functools.cached_property
    def control_key(self) -> Key | None:
        """The JAX value that the negative controls perturb first, and its cotangent."""
        spots = self.spots()
        return next((spots[i].key for i in self.control_values if not spots[i].iteration), None)

    def gradients(
        self, draw: Draw, control: float = 1.0, leaves: Any = None, *, value: float = 1.0
    ) -> Gradients:
        """Differentiate the port, as one program that is compiled once for all controls.

        Args:
            draw: Random weights and inputs.
            control: Factor that multiplies the cotangent of `control_key`.
            leaves: Leaves of params and inputs to use in place of the draw's.
            value: Factor that multiplies the value at `control_key`.
        """
        keys = () if self.control_key is None else (self.control_key,)
        scales, cotangent_scales = dict.fromkeys(keys, value), dict.fromkeys(keys, control)
        with self.torch_side.idle():
            return checks.guarded(
                lambda: self.port.gradients(draw, self.slots, cotangent_scales, leaves, scales)
            )

    @functools.cached_property
    def _differentiated(self) -> list[tuple[Gradients, list[Judged]]]:
        """The port's gradients on each draw, and their comparison with torch's.

        The second draw's gradients are as large as the model, so torch's and the port's are dropped
        if they agree.
        """
        results = {}
        for number, draw in reversed([*enumerate(self.draws)]):
            with self.clock("jax backward"):
                gradients = self.gradients(draw)
                judged = self.judge_gradients(number, gradients)
            results[number] = gradients, judged
            if number and _first_fail([judged]) is None:
                _free(self.runs[number], gradients)
        return [results[number] for number in sorted(results)]

    def free_gradients(self) -> None:
        """Free the gradients on all draws, which are as large as the model, after judging them."""
        for run, gradients in zip(self.runs, self.jax_gradients, strict=True):
            _free(run, gradients)

    @property
    def jax_gradients(self) -> list[Gradients]:
        """The port's gradients and cotangents on each draw."""
        return [gradients for gradients, _ in self._differentiated]

    @property
    def judged_gradients(self) -> list[list[Judged]]:
        """The comparison of all gradients on each draw."""
        return [judged for _, judged in self._differentiated]

    def by_torch_name(self, gradients: Gradients) -> dict[str, np.ndarray | None]:
        """Return the port's gradients keyed by torch's names, or `input ...` for inputs."""
        count = len(self.port.program.param_paths)
        grads = self.port.weights.to_torch(gradients.leaves[:count], gradients.state)
        inputs = zip(self.port.program.input_paths, gradients.leaves[count:], strict=True)
        return grads | {f"input {path}": g for path, g in inputs}

    def one_sided(self, run: TorchRun) -> set[str]:
        """Return the parameters that have a gradient in torch's run alone, or in JAX alone."""
        reachable, leaves_of = self.port.reachable, self.port.weights.leaves_of
        return {
            name
            for name, gradient in run.grads.items()
            if (gradient is not None) != any(reachable[i] for i in leaves_of(name))
        }

    def torch_gradients(self, run: TorchRun) -> dict[str, Any]:
        """Return torch's gradients keyed by name, or `input ...` for inputs."""
        inputs = zip(self.port.program.input_paths, run.input_grads, strict=True)
        return dict(run.grads) | {f"input {path}": g for path, g in inputs}

    def judge_gradients(
        self, number: int, gradients: Gradients, *, control: bool = False
    ) -> list[Judged]:
        """Compare every gradient that both torch and the port compute on one draw.

        A `control` has an injected error, for which rounding is not measured any further.
        """
        drawn, actual = self.drawn[number], self.by_torch_name(gradients)

        def in_jax(name: str) -> float:
            exact, rounded = actual[name], self._rounded_gradients[number][name]
            return 0.0 if exact is None or rounded is None else max_difference(exact, rounded)

        judged = self._judged(drawn, actual, None if control else in_jax)
        judged = self.waivers.apply("gradients", judged)
        ignored = (j.verdict == "fail" and j.name in self.masks for j in judged)
        return [dataclasses.replace(j, verdict="mask") if skip else j
                for j, skip in zip(judged, ignored, strict=True)]  # fmt: skip

    @functools.cached_property
    def _rounded_gradients(self) -> LazyList[dict[str, np.ndarray | None]]:
        """The port's gradients by torch's names on each draw, with every number rounded."""

        def measure(number: int) -> dict[str, np.ndarray | None]:
            draw = self.draws[number]
            with self.torch_side.idle():
                gradients = checks.guarded(lambda: self.port.gradients(draw, rounds=True))
            return self.by_torch_name(gradients)

        return LazyList(len(self.drawn), measure)

    def _judged(
        self,
        drawn: Drawn,
        actual: Mapping[str, np.ndarray | None],
        in_jax: Callable[[str], float] | None,
    ) -> list[Judged]:
        """Compare gradients by name; without `in_jax`, only one rerun of torch is made."""
        run = drawn.run
        expected = self.torch_gradients(run)
        reruns = LazyList(
            len(drawn.gradient_reruns) if in_jax else 1,
            lambda k: self.torch_gradients(drawn.gradient_reruns[k]),
        )
        tree_scale = max((scale_of(g) for g in expected.values() if g is not None), default=0.0)
        judged = []
        program = self.port.program
        left_out = program.layout.unused if run.attached else program.input_paths
        unused = [f"input {path}" for path in left_out]
        for name in [name for name in expected if name not in unused]:
            x, y = expected[name], actual.get(name)
            changes = (g for k in range(len(reruns)) if (g := reruns[k][name]) is not None)
            own = None if in_jax is None else functools.partial(in_jax, name)
            if x is not None and y is not None:
                judged.append(
                    judge(
                        name,
                        x,
                        y,
                        changes,
                        tree_scale=tree_scale,
                        most=drawn.most_rounding,
                        in_jax=own,
                    )
                )
            elif name.startswith("input ") and (x is None) != (y is None):
                judged.append(one_sided(name, x, y, changes, tree_scale))
        return judged

    @functools.cached_property
    def masks(self) -> set[str]:
        """The inputs of only zeros and ones, whose gradient is not needed to train parameters."""
        pairs = zip(self.port.program.input_paths, flat(self.draws[0].inputs)[1], strict=True)
        used = pairs if any(self.torch_side.flags.values()) else ()
        return {f"input {path}" for path, x in used if set(np.unique(x)) == {0, 1}}

    @functools.cached_property
    def failed_gradient_draw(self) -> int | None:
        """The first draw in which a gradient differs."""
        return _first_fail(self.judged_gradients)

    def jax_place(self, name: str) -> str:
        """Return the JAX path of a torch parameter, or the name of an input."""
        return name if name.startswith("input ") else self.port.weights.place_of(name)


def explained(evidence: Evidence, find: Callable[[], Finding], finding: Finding) -> Finding:
    """Return a finding with its cause; if the search raised, that is its observation."""
    result, notes = evidence.locate(find, finding, NO_CAUSE)
    return dataclasses.replace(result, cause="; ".join(notes)) if notes else result


def with_cause(
    evidence: Evidence, finding: Finding, cause: Callable[[], tuple[str, bool]]
) -> Finding:
    """Return a finding with the cause that a search returns, and whether it is confirmed."""

    def find() -> Finding:
        why, confirmed = cause()
        return dataclasses.replace(finding, cause=why, tested=confirmed)

    return explained(evidence, find, finding)


def _free(run: TorchRun, gradients: Gradients) -> None:
    run.grads = dict.fromkeys(run.grads)
    gradients.leaves.clear()


def _first_fail(draws: Iterable[Sequence[Judged]]) -> int | None:
    failed = (k for k, judged in enumerate(draws) if any(j.verdict == "fail" for j in judged))
    return next(failed, None)
