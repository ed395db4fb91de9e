"""The torch model: the user's own module, which runs here in float64 until it is closed."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from jaxgrad.parity.interop import cast
from jaxgrad.parity.prove.checks import as_arrays
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.port import Draw, cotangent, load, names_of, state_of
from jaxgrad.parity.prove.record.lazy import LazyList, replaced
from jaxgrad.parity.prove.record.torch_side import left_behind
from jaxgrad.parity.prove.record.torch_side import native as torch_native
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side import tables as torch_tables
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed
from jaxgrad.parity.prove.record.torch_side.draws import perturbed, redrawn, rounded_buffers
from jaxgrad.parity.prove.record.torch_side.first_run import check_module, check_run
from jaxgrad.parity.prove.record.torch_side.loop import Loop, add_gradients, build_optimizer
from jaxgrad.parity.prove.record.torch_side.ranges import Ranges
from jaxgrad.parity.prove.record.torch_side.redraws import Range, candidates, edges
from jaxgrad.parity.prove.record.torch_side.side import (
    RERUNS,
    STATE,
    Calls,
    Differentiated,
    Drawn,
    Gradients,
    State,
    Steps,
    compared_steps,
)
from jaxgrad.parity.prove.record.torch_side.values import (
    Mistakes,
    Native,
    TorchRun,
    differences,
    similar,
)
from jaxgrad.parity.prove.request import Function
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.users import ProofError, running


_CHANGED = "modified by an inplace operation"  # words of torch's error in a backward pass
_DETACHED = (
    "the gradients of the inputs are not compared: the module changes in place what torch needs "
    "to compute them"
)


class Live:
    """A module, its inputs, and the functions that select its outputs and its loss."""

    rerunnable = True

    def __init__(self, module: Any, inputs: Any, pick: Function, loss: Function, seed: int):
        module = getattr(module, "_orig_mod", module)  # the module that `torch.compile` wrapped
        check_module(module)
        self.pick, self.loss, self.seed = pick, loss, seed
        self.has_loss = loss is not None
        self._module: Any = module
        self.inputs: Any = as_arrays(inputs)
        self.jax_inputs: Any = None
        self.versions: Mapping[str, str] = {"torch": str(torch.__version__)}
        self._attributes: dict[str, np.ndarray] = {}  # tables in plain attributes
        self._borrowed = Borrowed(module)
        self.state: State = self._borrowed.state()
        self._loaded = self.state
        self._kept = False  # whether a search holds the calls of a run, and their parameters
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.flags: Mapping[str, bool] = {
            name: p.requires_grad for name, p in self.module.named_parameters()
        }
        self.names: Mapping[str, str] = names_of(self.module)
        outputs, self.draws_noise, self._attaches = check_run(
            self.module, self.inputs, self.pick, self.loss, lambda: self._load(self.state)
        )
        self.outputs: Mapping[str, np.ndarray] = outputs
        self.output_count = sum(name != "loss" for name in outputs)
        self.rough: Sequence[str] = ()
        self._settled: set[str] = set()  # tables whose numbers the port has too
        self._casts_low = False  # whether a run casts below float32
        self._perturbs_inputs = self._rounds_results = True  # in reruns
        self._mistakes = Mistakes()  # that every run makes
        self.notes: list[str] = [] if self._attaches else [_DETACHED]

    def on(self, inputs: Any, jax_inputs: Any = None) -> Live:
        """Return the same module with its first weights and other inputs."""
        other = copy.copy(self)
        other.inputs, other.jax_inputs = as_arrays(inputs), jax_inputs
        vars(other).pop("_ranges", None)  # the cached ranges are those of the first inputs
        self._load(self.state)
        other._open()
        return other

    def making(self, mistakes: Mistakes) -> Live:
        """Return the same module, which makes these mistakes of a port in every run."""
        other = copy.copy(self)
        other._mistakes = mistakes
        return other

    def returning(self, names: Sequence[str]) -> Live:
        """Return the same module without a loss, whose outputs end with these tensors it holds."""
        other = copy.copy(self)
        pick = self.pick or (lambda result: result)

        def with_state(result: Any) -> Any:
            held = dict(self._module.named_parameters()) | dict(self._module.named_buffers())
            state = OrderedDict((name, held[name]) for name in names)
            return OrderedDict([("output", pick(result)), (STATE, state)])

        other.pick, other.loss, other.has_loss = with_state, None, False
        return other

    def close(self) -> None:
        """Restore the user's module."""
        self._borrowed.give_back()

    @property
    def module(self) -> Any:
        """The module in float64, with the weights of its last run."""
        if self._borrowed.widen():
            load(self._module, self._loaded, buffers=False)
        return self._module

    @contextlib.contextmanager
    def idle(self) -> Iterator[None]:
        """Free the module's float64 weights in a `with` block and until torch is next used."""
        self._borrowed.free()
        try:
            yield
        finally:
            if self._kept:
                _ = self.module  # a search repeats calls without asking for the module

    def load(self, draw: Draw) -> None:
        """Give the module the weights of a draw, which the recorded calls of all runs read."""
        self._load(draw.state)

    def _load(self, state: State) -> None:
        """Set the weights, and restore everything else to its value before the first run."""
        self._borrowed.widen()
        self._borrowed.rewind()
        torch_tables.set_attributes(self.module, self._attributes)
        load(self.module, state)
        self._loaded = state

    def tables(self, mapped: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the float32 constants that only torch holds: buffers, and plain attributes."""
        return torch_tables.held(self.module, rounded_buffers(self.module, mapped))

    def replace(self, tables: Mapping[str, np.ndarray]) -> None:
        """Replace constants by the port's numbers, and make no allowance for their rounding."""
        self._settled = self._settled | set(tables)
        own = {name: x for name, x in tables.items() if name not in self.state}
        self._attributes = {**self._attributes, **own}
        self.state = replaced(self.state, tables)
        self._load(self.state)

    def replacing(self, tables: Mapping[str, np.ndarray]) -> Live:
        """Return the same model with constants replaced by the port's numbers."""
        other = copy.copy(self)
        other.replace(tables)
        return other

    def drawn(self, mapped: Sequence[str], fixed: Sequence[str] = ()) -> list[Drawn]:
        """Return both draws; the second redraws the weights that the port takes from its params."""
        rounded = rounded_buffers(self.module, mapped)
        self.rough = [name for name in rounded if name not in self._settled]
        first = Draw(self.state, self.inputs)
        buffers = [name for name in mapped if name not in self.flags]
        rng = np.random.default_rng([self.seed, 2])
        second = self._second(redrawn(self.state, mapped, buffers, rng))
        draws = [self.record(first)]
        names, leaves, fill = jax_program.flat(self.inputs)
        plans = candidates(leaves, self._ranges, rng)
        plans = [x[-1:] if name in fixed else x for name, x in zip(names, plans, strict=True)]
        try:
            drawn = self.record(dataclasses.replace(second, inputs=fill([x[0] for x in plans])))
            if similar(draws[0].run, drawn.run):
                return [*draws, drawn]
        except Exception:
            pass  # redrawn lengths, positions or labels may be invalid
        second = self._finite(second, draws[0].run, mapped, buffers)
        chosen = [x[-1] for x in plans]
        for k, plan in enumerate(plans):
            for x in plan:
                tried = fill([*chosen[:k], x, *chosen[k + 1 :]])
                if x is plan[-1]:
                    break
                if self._accepts(dataclasses.replace(second, inputs=tried), draws[0].run):
                    chosen[k] = x
                    break
        kept = [name for name, x, plan in zip(names, chosen, plans, strict=True)
                if x is plan[-1] and len(plan) > 1]  # fmt: skip
        if kept:
            self.notes.append(
                f"the second draw keeps the given values of input {', '.join(kept)}, because torch "
                "rejects the redrawn ones or returns outputs of other shapes for them"
            )
        return [*draws, self.record(dataclasses.replace(second, inputs=fill(chosen)))]

    def _second(self, state: Mapping[str, np.ndarray]) -> Draw:
        """Return the second draw with the given inputs."""
        if self._borrowed.shares_memory:  # names of the same numbers were redrawn differently
            self._load(state)
            state = state_of(self.module)
        return Draw(state, self.inputs, 1)

    def _finite(
        self, second: Draw, first: TorchRun, mapped: Sequence[str], buffers: Sequence[str]
    ) -> Draw:
        """Return the second draw, with given weights in place of those that torch does not accept.

        A buffer may have to stay in a range, as the variances of a diffusion process below 1. On
        numbers that are not finite, nothing is compared.
        """
        if self._accepts(second, first):
            return second
        own = {name: self.state[name] for name in buffers}
        kept = dataclasses.replace(second, state=replaced(second.state, own))
        what = "buffers"
        if not buffers or not self._accepts(kept, first):
            own = {name: self.state[name] for name in mapped}
            kept = dataclasses.replace(second, state=replaced(second.state, own))
            what = "weights"
        self.notes.append(
            f"the second draw keeps the given {what}, because torch rejects redrawn ones or "
            "returns numbers that are not finite for them"
        )
        return kept

    def _accepts(self, draw: Draw, first: TorchRun) -> bool:
        """Whether torch runs on a draw, and returns finite numbers of the same shapes."""
        try:
            return similar(first, self.run(draw, watch=False))
        except Exception:
            return False

    def edges(self) -> list[tuple[str, Any]]:
        """Return inputs of edge cases that the given inputs do not contain, with their names."""
        names, leaves, fill = jax_program.flat(self.inputs)
        return [(edge.name, fill(edge.leaves)) for edge in edges(names, leaves, self._ranges)]

    @functools.cached_property
    def _ranges(self) -> Mapping[int, Range]:
        """Return the values that the module accepts in its integer inputs, by their position."""
        if not any(x.dtype.kind in "iu" for x in jax_program.flat(self.inputs)[1]):
            return {}
        self._load(self.state)
        watcher = Ranges(self.module)
        with watcher:
            torch_run.again(self.module, self.inputs, self.pick, self.loss, watch=False)
        return watcher.found

    def record(self, draw: Draw) -> Drawn:
        """Return torch's run on a draw, and its reruns."""
        run = self.run(draw, watched=self.flags)
        self._casts_low |= run.low
        if run.skipped and not draw.number:
            listed = ", ".join(run.skipped[:4]) + (", ..." if len(run.skipped) > 4 else "")
            self.notes.append(
                f"not compared: torch also returns Python numbers ({listed}); return tensors to "
                "compare them"
            )
        draw = dataclasses.replace(draw, noise=tuple(run.noise))
        rough = bool(self.rough) or run.low_constants
        if not draw.number:
            return Drawn(draw, run, self.reruns(draw, run), rough=rough)
        # On the second draw, most ports agree without an allowance for rounding.
        few = self.reruns(draw, run, forward=True)
        return Drawn(draw, run, few, lambda: self.reruns(draw, run), rough)

    def reruns(
        self, draw: Draw, run: TorchRun, *, forward: bool = False, **options: Any
    ) -> Sequence[TorchRun]:
        """Return runs that differ from `run` by rounding, with gradients stored as differences.

        Each is made when it is read. With `forward` they have no gradients. The options are those
        of the run.
        """
        changed = run.parameters if run.parameters or run.attributes else None

        def make(salt: int) -> TorchRun:
            near = self._perturbed(draw, salt, run.numbers)
            rounds = salt if self._rounds_results else None
            try:
                rerun = self.run(
                    near, rough=salt, rounds=rounds, forward=forward, watched=changed, **options
                )
            except ProofError:
                if not self._perturbs_less():
                    raise
                return make(salt)
            return differences(run, rerun)

        return LazyList(RERUNS, make)

    def _perturbed(self, draw: Draw, salt: int, numbers: Sequence[float] = ()) -> Draw:
        near = perturbed(draw, self.rough, salt, numbers)
        return near if self._perturbs_inputs else dataclasses.replace(near, inputs=draw.inputs)

    def _perturbs_less(self) -> bool:
        """Perturb less in later reruns, because the module rejects a rerun, if that is possible.

        It may check that its inputs lie in a range, or that they are some values exactly.
        """
        before = self._perturbs_inputs, self._rounds_results
        self._perturbs_inputs, self._rounds_results = False, self._perturbs_inputs
        return any(before)

    def run(
        self,
        draw: Draw,
        *,
        forward: bool = False,
        watched: Collection[str] | None = None,
        **options: Any,
    ) -> TorchRun:
        """Run torch forward and backward on a draw, or only `forward`, with the draw's noise.

        If `watched` names parameters, those of them that the run changes are recorded, and so are
        the attributes.
        """
        tried = bool(options.get("changes"))
        changes = (*self._mistakes.joined, *options.get("changes", ()))
        options = self._options(draw) | options | {"changes": changes}
        self._kept |= options.get("keep", False)
        self._load(draw.state)
        before = {} if watched is None else left_behind.attributes(self.module)
        cotangents = None if forward else self._cotangents(draw)
        with running(f"torch: a forward and backward run of {type(self.module).__name__}"):
            try:
                result = torch_run.again(
                    self.module, draw.inputs, self.pick, self.loss, cotangents, **options
                )
            except RuntimeError as error:
                if tried or not self._attaches or _CHANGED not in str(error):
                    raise  # a change that was tried says nothing of the module
                self._attaches = False
                result = None
        if result is None:
            self.notes.append(_DETACHED)
            options["attach"] = False
            return self.run(draw, forward=forward, watched=watched, **options)
        if watched is not None:
            after = left_behind.attributes(self.module)
            result.attributes = left_behind.changed_attributes(before, after)
            result.parameters = left_behind.changed_parameters(self.module, draw.state, watched)
        self.module.zero_grad()  # do not store a large module's gradients twice
        return result

    def unread(self, left: Mapping[str, Any]) -> Mapping[str, bool]:
        """Return the names of the changed values that no further call of the module reads.

        The mapping gives True for a value that belongs to a layer of `torch.nn`.
        """
        draw = Draw(self.state, self.inputs)

        def call() -> TorchRun:
            return torch_run.again(self.module, self.inputs, self.pick, self.loss, watch=False,
                                 attach=self._attaches, noise=(), salt=0)  # fmt: skip

        trials = left_behind.Trials(
            self.module, lambda: self._load(draw.state), call, draw.state, left
        )
        return trials.unread()

    def calls(self, draws: Sequence[Draw], *, evaluates: bool) -> Calls:
        """Call the module on the inputs of several draws, one after the other, forward only.

        If `evaluates`, the last call is made in eval mode.
        """

        def make(salt: int) -> list[TorchRun]:
            near = [self._perturbed(draw, salt) for draw in draws]
            rounds = salt if self._rounds_results else None
            return self._calls(near, evaluates, rough=salt, rounds=rounds)

        return Calls(self._calls(draws, evaluates), LazyList(RERUNS, make))

    def _calls(
        self,
        draws: Sequence[Draw],
        evaluates: bool,
        rough: int | None = None,
        rounds: int | None = None,
    ) -> list[TorchRun]:
        state = draws[0].state
        self._load(state)
        before = left_behind.attributes(self.module)
        modes = [(part, part.training) for part in self.module.modules()]
        runs = []
        try:
            for number, draw in enumerate(draws, 1):
                if evaluates and number == len(draws):
                    self.module.eval()
                options = self._options(draw)
                with running(f"torch: call {number} of {type(self.module).__name__}"):
                    run = torch_run.again(
                        self.module, draw.inputs, self.pick, self.loss, watch=False, rough=rough,
                        rounds=rounds, **options,
                    )  # fmt: skip
                for part, mode in modes:
                    part.training = mode
                after = left_behind.attributes(self.module)
                run.attributes = left_behind.changed_attributes(before, after)
                run.parameters = left_behind.changed_parameters(self.module, state, self.flags)
                runs.append(run)
        finally:
            for part, mode in modes:
                part.training = mode
            self._load(state)
        return runs

    def _options(self, draw: Draw) -> dict[str, Any]:
        """Return the options of a run: its random numbers, and whether inputs have gradients."""
        noise = dict(noise=draw.noise, salt=draw.number) if self.draws_noise else {}
        changes, opened = self._mistakes.joined, self._mistakes.opened
        return {"attach": self._attaches, "changes": changes, "opened": opened, **noise}

    def single_precision(self, draw: Draw) -> list[TorchRun]:
        """Run torch in float32 on a draw, and with every weight perturbed by a float32 ULP."""
        runs = []
        with self.idle(), self._borrowed.in_dtype(torch.float32):
            for near in (draw, *(perturbed(draw, list(draw.state), salt) for salt in (0, 1))):
                self._load(near.state)
                inputs = cast(near.inputs, np.float32)
                cotangents = self._cotangents(draw)
                run = torch_run.again(self.module, inputs, self.pick, self.loss, cotangents,
                                    watch=False, dtype=torch.float32,
                                    **self._options(draw))  # fmt: skip
                runs.append(run)
        return runs

    def in_float32(self, draw: Draw) -> TorchRun:
        """Run torch forward in float32 on a draw, and keep its values."""
        with self._borrowed.in_dtype(torch.float32):
            self._load(draw.state)
            inputs = cast(draw.inputs, np.float32)
            return torch_run.again(self.module, inputs, self.pick, self.loss, keep=True,
                                 dtype=torch.float32, **self._options(draw))  # fmt: skip

    def native(self, draws: Sequence[Draw], always: bool = False) -> Native:
        """Run torch in the module's own dtypes, and record which values are rounded.

        A module that rounds nothing below float32 is run only if `always` is true.
        """
        with self._borrowed.as_given():
            low = torch_native.is_low(self.module) or self._casts_low
            if not (low or always):
                return torch_native.run(self.module, (), self.pick, self.loss, low)
        with self.idle(), self._borrowed.in_dtype(None):
            self._borrowed.rewind()
            return torch_native.run(self.module, draws, self.pick, self.loss, low)

    def state_dtypes(self, training: Training) -> Mapping[str, str]:
        """Return the dtypes in which a torch optimizer stores the state of each parameter."""
        with self.idle(), self._borrowed.in_dtype(None):
            try:
                optimizer = build_optimizer(training.torch, self.module)
            except ProofError:  # the updates surface reports it
                return {}
            return torch_native.state_dtypes(self.module, optimizer)

    def _cotangents(self, draw: Draw) -> Callable[[np.ndarray], np.ndarray]:
        return lambda output: cotangent(self.seed, self.output_count, output, draw.number)

    def steps(
        self,
        training: Training,
        draws: Sequence[Draw],
        steps: int,
        *,
        reruns: int = 2,
        kept: Sequence[int] | None = None,
        first: Sequence[Differentiated] = (),
    ) -> Steps:
        """Train from the first draw's weights; the draws' inputs are the micro-batches.

        The result has the weights after the steps in `kept`, by default `compared_steps`. The first
        step takes the gradients in `first`, if there are any, in place of a backward pass.
        """
        if kept is None:
            size = sum(8 * p.numel() for p in self.module.parameters())
            kept = compared_steps(steps, size)
        used = draws[: training.accumulate]

        def make(salt: int) -> Steps:
            near = [self._perturbed(draw, salt) for draw in used]
            rounds = salt if self._rounds_results else None
            return self._trajectory(training, near, steps, kept, rounds=rounds)

        others = LazyList(reruns, make)
        return dataclasses.replace(
            self._trajectory(training, used, steps, kept, first=first),
            reruns=LazyList(reruns, lambda k: others[k].states),
            moment_reruns=LazyList(reruns, lambda k: others[k].moments),
            buffer_reruns=LazyList(reruns, lambda k: others[k].buffers),
        )

    def _trajectory(
        self,
        training: Training,
        draws: Sequence[Draw],
        steps: int,
        kept: Sequence[int],
        *,
        rounds: int | None = None,
        first: Sequence[Differentiated] = (),
    ) -> Steps:
        """Return the parameters after the steps in `kept`, and the optimizer's last state."""
        self._load(draws[0].state)
        loop = Loop(training, self.module)
        self.module.zero_grad()  # afterwards only the user's optimizer clears gradients

        def backward(number: int) -> float | None:
            return self._backward(draws[number % len(draws)], rounds=rounds).loss

        def given(number: int) -> float | None:
            gradients, loss = first[number % len(draws)]
            add_gradients(self.module, gradients)
            return loss

        taken = Steps({}, {}, [])
        for step in range(1, steps + 1):
            loop.step(given if first and step == 1 else backward)
            if step in kept:
                taken.states[step] = loop.parameters()
                taken.averages[step] = loop.averages()
                taken.buffers[step] = loop.buffers()
        return dataclasses.replace(taken, moments=loop.moments())

    def differentiated(self, draw: Draw) -> Differentiated:
        """Return the gradients of a draw, and its loss."""
        self._load(draw.state)
        self.module.zero_grad()
        run = self._backward(draw)
        return run.grads, run.loss

    def _backward(self, draw: Draw, rounds: int | None = None) -> TorchRun:
        """Add the gradients of a draw to those of the parameters."""
        return torch_run.again(
            self.module, draw.inputs, self.pick, self.loss, self._cotangents(draw),
            watch=False, clear=False, rounds=rounds, **self._options(draw)
        )  # fmt: skip

    def replay(
        self, training: Training, draw: Draw, gradients: Gradients, *, single: bool = False
    ) -> Iterator[tuple[list[float], State]]:
        """Yield the learning rates and new weights of steps whose gradients are given."""
        self._borrowed.rewind()
        narrow = self._borrowed.in_dtype(torch.float32) if single else contextlib.nullcontext()
        with self.idle(), narrow:
            self._load(draw.state)
            loop = Loop(dataclasses.replace(training, ema=None), self.module)
            self.module.zero_grad()
            for given in gradients:
                rates = loop.step(lambda _, given=given: add_gradients(self.module, given))
                yield rates, loop.parameters()

    def state_dict(self, values: State) -> dict[str, Any]:
        """Return the module's state_dict in float64 with these values."""
        kept = self.module.state_dict()
        fresh = {name: torch.tensor(x) for name, x in values.items()}
        return {
            key: fresh[name].clone() if (name := self.names.get(key)) in fresh else copy.copy(x)
            for key, x in kept.items()
        }
