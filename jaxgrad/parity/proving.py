"""The proof itself: both sides run on the same draws, and what is compared on each surface."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxgrad.parity import backward, forward, front, jax_program, structure
from jaxgrad.parity.align import Alignment, align
from jaxgrad.parity.fingerprint import apart, fingerprint, magnitude
from jaxgrad.parity.flow import Flow, leaf_of, place
from jaxgrad.parity.front import ProofError
from jaxgrad.parity.interop import map_leaves
from jaxgrad.parity.jax_program import Key
from jaxgrad.parity.judge import Judged, judge
from jaxgrad.parity.port import Draw, Gradients, Port
from jaxgrad.parity.proof import Finding, Surface
from jaxgrad.parity.torch_side import torch_side
from jaxgrad.parity.torch_values import TorchRun
from jaxgrad.parity.ulp import scale_of
from jaxgrad.parity.updates import updates


PLANT = 1e-9  # what a control moves, as a share


class Proof:
    """Everything that was run, each part once."""

    def __init__(
        self,
        module: Any,
        fn: Any,
        params: Any,
        inputs: Any,
        weights: Any,
        outputs: Any,
        loss: Any,
        trainable: Any,
        has_state: bool,
        seed: int,
        clock: Callable[[str], Any],
    ):
        self.clock = clock
        self.notes: list[str] = []
        self.not_visible: list[str] = []
        pick_torch, pick_jax = outputs or (None, None)
        loss_torch, loss_jax = loss or (None, None)
        with clock("torch"):
            self.side = torch_side(module, inputs, pick_torch, loss_torch, seed)
        if self.side.has_loss != (loss_jax is not None):
            raise ProofError(
                "loss= is a pair, (torch_loss, jax_loss): "
                + ("torch's side has one, JAX's none" if self.side.has_loss else "torch's is None")
            )
        with clock("weights"):
            params, found = structure.weight_map(self.side, fn, params, weights)
        given = front.normalise(fn, params)
        with clock("trace"):
            program = structure.traced(given, self.side.inputs, pick_jax, loss_jax, has_state)
        self.port = Port(
            self.side.module, program, found, self.side.has_loss, has_state, self.side.seed
        )
        self.train = front.trains(trainable, program.param_paths, params)
        with clock("torch"):
            drawn = self.side.drawn([name for name in found.tensors if found.leaves_of(name)])
        self.draws = [d.draw for d in drawn]
        self.runs: list[TorchRun] = [d.run for d in drawn]
        self.noise: list[list[TorchRun]] = [d.again for d in drawn]
        self._watched: dict[int, Any] = {}
        self.notes += self.side.notes
        if program.pins:
            self.notes.append(
                "the port casts to less than float64, lifted here: " + "; ".join(program.pins[:4])
            )
        structure.check_outputs(self.runs[0], program, self.watched[0][0])
        self._repair()

    @property
    def watched(self) -> list[tuple[list[np.ndarray], dict[Key, Any]]]:
        """Outputs and fingerprints of the JAX side in each draw."""
        for k, draw in enumerate(self.draws):
            if k not in self._watched:
                with self.clock("jax forward"):
                    self._watched[k] = structure.guarded(lambda d=draw: self.port.watch(d))
        return [self._watched[k] for k in range(len(self.draws))]

    def _repair(self) -> None:
        """Weights paired by name alone are proved by the second draw; else others are tried."""
        guessed = [p for p in self.port.weights.pieces if p.guessed]
        if not guessed or all(j.verdict != "fail" for j in self.judged_outputs(1)):
            return
        for weights in structure.other_pairings(self.port.weights):
            kept, self.port.weights = self.port.weights, weights
            self._watched.pop(1)
            if all(j.verdict != "fail" for j in self.judged_outputs(1)):
                return
            self.port.weights = kept
        self._watched.pop(1)

    @functools.cached_property
    def flow(self) -> Flow:
        return Flow(self.port.program)

    @functools.cached_property
    def seen(self) -> Alignment:
        """Which torch values the JAX program has, in every draw."""
        with self.clock("align"):
            spots, first = jax_program.spots(self.watched[0][1])
            _, second = jax_program.spots(self.watched[1][1])
            same = len(self.runs[0].values) == len(self.runs[1].values)
            draws = (0, 1) if same else (0,)
            values = [[v.print for v in self.runs[k].values] for k in draws]
            noise = np.zeros(len(values[0]))
            for k in draws:
                for again in self.noise[k]:
                    if len(again.values) == len(noise):
                        off = [
                            float(apart(v.print, w.print))
                            for v, w in zip(self.runs[k].values, again.values, strict=True)
                        ]
                        noise = np.maximum(noise, np.nan_to_num(off, posinf=1.0))
            return align(values, (first, second)[: len(draws)], spots, noise)

    def judged_outputs(self, number: int) -> list[Judged]:
        """The outputs of both sides in one draw."""
        run, ours = self.runs[number], self.watched[number][0]
        again = self.noise[number]
        out = []
        for (name, theirs), x in zip(run.outputs.items(), ours, strict=False):
            reruns = [r.outputs[name] for r in again]
            mine = np.reshape(x, theirs.shape) if np.size(x) == theirs.size else np.asarray(x)
            out.append(judge(name or "output", theirs, mine, reruns))
        return out

    @functools.cached_property
    def forward_fails(self) -> int | None:
        """The first draw whose outputs differ."""
        for k in range(len(self.draws)):
            if any(j.verdict == "fail" for j in self.judged_outputs(k)):
                return k
        return None

    def surfaces(self, optimizer: Any, steps: int) -> dict[str, Surface]:
        """The five answers."""
        made = {"structure": structure.surface(self)}
        made["forward"] = self.forward()
        if made["forward"].verdict == "fail":
            text = "the forward pass differs already"
            made["backward"] = Surface("backward", "not judged", text)
            made["gradients"] = Surface("gradients", "not judged", text)
            made["updates"] = Surface("updates", "not judged", text)
            if optimizer is None and not self.port.has_state:
                made["updates"] = Surface("updates", "not judged", "no optimizer= was given")
            return made
        made["gradients"] = self.gradients()
        made["backward"] = self.backward(made["gradients"].verdict == "fail")
        made = {name: made[name] for name in ("structure", "forward", "backward", "gradients")}
        with self.clock("updates"):
            made["updates"] = updates(self, optimizer, steps)
        return made

    # -- forward

    def forward(self) -> Surface:
        draw = self.forward_fails
        judged = self.judged_outputs(0 if draw is None else draw)
        rows = tuple(j.row() for j in judged)
        calls = [c for c in self.runs[0].calls if c.outputs]
        self.not_visible = forward.hidden(self.runs[0], self.seen)
        modules = {c.module for c in calls}
        text = (
            f"{len(judged)} outputs, {len(modules) - len(self.not_visible)} of {len(modules)} "
            "module outputs found inside"
        )
        if draw is not None:
            bad = next(j for j in judged if j.verdict == "fail")
            with self.clock("locate"):
                finding = self.locate_forward(draw, judged, bad)
            text = f"{bad.name} is off by {bad.share:.2g} of its scale"
            if draw:
                text += " with redrawn weights and inputs (with those given it is not)"
            return Surface("forward", "fail", text, rows, (finding,))
        if any(j.verdict == "inconclusive" for j in judged):
            noisy = next(j for j in judged if j.verdict == "inconclusive")
            text = f"{noisy.name}: rounding alone moves it by {noisy.allowed / noisy.scale:.1g}"
            return Surface("forward", "inconclusive", text, rows)
        worst = max(judged, key=lambda j: j.share)
        text = f"largest difference {worst.share:.1g} of scale; {text}"
        return Surface("forward", "pass", text, rows, control=self.plant_forward())

    def locate_forward(self, draw: int, judged: list[Judged], bad: Judged) -> Finding:
        run = self.runs[draw]
        names = [j.name for j in judged if j.verdict == "fail"]
        positions = {name or "output": k for k, name in enumerate(run.outputs)}
        ends = [run.output_values[positions[n]] for n in names]
        wrong = [i for i in ends if i is not None]
        outs = [key for n in names for key in self.flow.outputs[positions[n]]]
        if wrong and all(self.seen.candidates[i] for i in wrong):
            at = run.values[wrong[0]]
            text = f"the JAX program has what torch's {at.op} makes, and returns something else"
            return Finding("forward", at.module or forward.ROOT,
                           place(self.port.program, outs[0]), text, bad.index, bad.torch,
                           bad.jax, op=at.op)  # fmt: skip
        region = forward.lost(run, self.seen, wrong)
        lost = forward.sides(self.flow, self.seen, outs)
        starts = forward.origins(run, self.seen, region)
        starts = forward.likely(run, lost, self.port.weights, starts)
        start = starts[0] if starts else (wrong[0] if wrong else None)
        if start is None:
            first = place(self.port.program, outs[0]) if outs else "the output"
            return Finding("forward", "(the outputs)", first, f"{bad.name} differs", bad.index,
                           bad.torch, bad.jax, True)  # fmt: skip
        guess = self._guess(draw, starts)
        if guess is not None:
            start, module = guess.value, run.values[guess.value].module
        else:
            module = forward.module_of(run, starts)
        value = run.values[start]
        keys = lost.first(forward.reads(run, lost, self.port.weights, start)) or lost.any()
        key = guess.key if guess is not None and guess.key is not None else None
        key = key or (keys[0] if keys else outs[0])
        text = (
            f"torch's {value.op} makes {list(value.shape)} of values that the JAX program has, and "
            "the JAX program has no such value"
        )
        return Finding(
            "forward",
            module or forward.ROOT,
            place(self.port.program, key),
            f"{text}; so {bad.name} is off by {bad.share:.2g} of its scale",
            bad.index,
            bad.torch,
            bad.jax,
            bool(starts),
            guess.text if guess is not None else "",
            value.op,
        )

    @property
    def live(self) -> bool:
        """Whether torch can be run again; a dump cannot, and some questions stay open."""
        return self.side.module is not None

    def _guess(self, draw: int, starts: list[int]) -> Any:
        """The usual mistake with which torch makes JAX's value."""
        if not self.live:
            return None
        from jaxgrad.parity import causes

        return causes.forward(self, draw, starts)

    def _ratio(self, draw: int, name: str) -> str:
        if not self.live:
            return ""
        from jaxgrad.parity import causes

        return causes.ratio(self, draw, name)

    def plant_forward(self) -> str:
        """Move one value inside the JAX program; the outputs must differ."""
        for i in self._plantable():
            spot = self.seen.spot(i)
            assert spot is not None
            outs, _ = self.port.watch(self.draws[0], {spot.key: np.float64(1 + PLANT)})
            for (name, theirs), x in zip(self.runs[0].outputs.items(), outs, strict=False):
                again = [r.outputs[name] for r in self.noise[0]]
                if judge(name, theirs, np.reshape(x, theirs.shape), again).verdict == "fail":
                    return f"{PLANT:g} planted at {place(self.port.program, spot.key)} was found"
        return ""

    def _plantable(self, limit: int = 6) -> list[int]:
        """Values outside of loops in the middle of the program, the middle first."""
        spots = backward.watched(self.runs[0], self.seen, self.port.program)
        numbers = [i for i, s in spots.items() if not s.turn and i not in self._outputs()]
        middle = len(numbers) / 2
        order = sorted(range(len(numbers)), key=lambda k: abs(k - middle))
        return [numbers[k] for k in order[:limit]] or [i for i, s in spots.items() if not s.turn]

    def _outputs(self) -> set[int]:
        return {i for i in self.runs[0].output_values if i is not None}

    # -- gradients and backward

    @functools.cached_property
    def differentiated(self) -> list[Gradients]:
        spots = backward.watched(self.runs[0], self.seen, self.port.program)
        self.slots = tuple(dict.fromkeys(s.key for s in spots.values()))
        keys = [s.key for i, s in spots.items() if not s.turn and i in self._plantable()]
        self.bend = keys[0] if keys else None
        with self.clock("jax backward"):
            return [self._gradients(draw) for draw in self.draws]

    def _gradients(self, draw: Draw, bend: float = 1.0, leaves: Any = None) -> Gradients:
        bends = {} if self.bend is None else {self.bend: bend}
        return structure.guarded(
            lambda: self.port.gradients(draw, self.slots, bends=bends, leaves=leaves)
        )

    def named(self, found: Gradients) -> dict[str, np.ndarray | None]:
        """The JAX gradients by torch's names, inputs too."""
        count = len(self.port.program.param_paths)
        grads = self.port.weights.to_torch(found.leaves[:count])
        given = dict(zip(self.port.program.input_paths, found.leaves[count:], strict=True))
        return grads | {f"input {path}": g for path, g in given.items()}

    def theirs(self, run: TorchRun) -> dict[str, np.ndarray | None]:
        """torch's gradients, inputs too."""
        inputs = zip(self.port.program.input_paths, run.input_grads, strict=True)
        return dict(run.grads) | {f"input {path}": g for path, g in inputs}

    def judged_gradients(self, number: int, found: Gradients | None = None) -> list[Judged]:
        """Every parameter and floating input that has a gradient on both sides."""
        ours = self.named(self.differentiated[number] if found is None else found)
        theirs = self.theirs(self.runs[number])
        reruns = [self.theirs(r) for r in self.noise[number]]
        tree_scale = max((scale_of(g) for g in theirs.values() if g is not None), default=0.0)
        out = []
        for name in theirs:
            grad, mine = theirs[name], ours.get(name)
            if name.startswith("input ") and (grad is None) != (mine is None):
                # Of a parameter the structure surface says so; an input has nobody else.
                grad = np.zeros_like(mine) if grad is None else grad
                mine = np.zeros_like(grad) if mine is None else mine
            if grad is None or mine is None:
                continue
            again = [r[name] for r in reruns if r[name] is not None]
            out.append(
                judge(name, grad, mine, [a for a in again if a is not None], tree_scale=tree_scale)
            )
        return out

    def gradients(self) -> Surface:
        both = [self.judged_gradients(k) for k in range(len(self.draws))]
        fails = [k for k, judged in enumerate(both) if any(j.verdict == "fail" for j in judged)]
        judged = both[fails[0] if fails else 0]
        rows = tuple(j.row() for j in judged)
        if not judged:
            raise ProofError(
                "no gradient was compared: nothing on torch's side requires one, or the loss does "
                "not depend on it"
            )
        if not any(j.torch or j.scale for j in judged if j.verdict != "zero"):
            raise ProofError(
                "all gradients are zero on torch's side: nothing would be proved. Give a loss= or "
                "inputs for which they are not (a relu that is off everywhere, weights of zero?)"
            )
        if fails:
            self.draw_of_fail = fails[0]
            bad = self.first_wrong([j for j in judged if j.verdict == "fail"])
            text = f"{sum(j.verdict == 'fail' for j in judged)} of {len(judged)} differ"
            if fails[0]:
                text += " with redrawn weights (with those given none does)"
            factor = self._ratio(fails[0], bad.name)
            finding = Finding(
                "gradients",
                bad.name,
                self.jax_of(bad.name),
                f"the gradient is off by {bad.share:.2g} of its scale",
                bad.index,
                bad.torch,
                bad.jax,
                True,
                factor,
            )
            return Surface("gradients", "fail", text, rows, (finding,))
        zeros = sum(j.verdict == "zero" for j in judged)
        noisy = [j for j in judged if j.verdict == "inconclusive"]
        if noisy:
            text = f"{noisy[0].name}: rounding alone moves its gradient by more than it could show"
            return Surface("gradients", "inconclusive", text, rows)
        worst = max((j for j in judged if j.verdict == "pass"), key=lambda j: j.share)
        text = f"{len(judged)} compared, largest difference {worst.share:.1g} of scale"
        if zeros:
            text += f"; {zeros} are zero but for rounding on both sides"
        return Surface("gradients", "pass", text, rows, control=self.plant_gradient())

    def first_wrong(self, bad: list[Judged]) -> Judged:
        """Of the wrong gradients the one that is used last in the forward pass."""
        last: dict[str, int] = {}
        for i, value in enumerate(self.runs[0].values):
            for name in value.weights:
                last[name] = i
        parameters = [j for j in bad if j.name in last]
        return max(parameters, key=lambda j: (last[j.name], j.share)) if parameters else bad[0]

    def jax_of(self, name: str) -> str:
        """Where a torch parameter, or an input, is on the JAX side."""
        if name.startswith("input "):
            return name
        return self.port.weights.place_of(name)

    def plant_gradient(self) -> str:
        """Scale one parameter's gradient by 1 + 1e-9: it must be found."""
        judged = [j for j in self.judged_gradients(0) if j.verdict == "pass" and j.scale]
        for j in judged:
            theirs = self.theirs(self.runs[0])[j.name]
            ours = self.named(self.differentiated[0])[j.name]
            assert theirs is not None and ours is not None
            again = [r for r in (self.theirs(x)[j.name] for x in self.noise[0]) if r is not None]
            if judge(j.name, theirs, ours * (1 + PLANT), again).verdict == "fail":
                return f"{PLANT:g} planted in the gradient of {j.name} was found"
        return ""

    def wrong_cotangents(self, number: int, found: Gradients) -> list[int]:
        """The torch values whose cotangents differ in one draw."""
        run = self.runs[number]
        spots = backward.watched(run, self.seen, self.port.program)
        noise: dict[int, float] = {}
        for again in self.noise[number]:
            if len(again.values) == len(run.values):
                for i, (v, w) in enumerate(zip(run.values, again.values, strict=True)):
                    if v.cotangent is not None and w.cotangent is not None:
                        off = float(apart(v.cotangent, w.cotangent))
                        noise[i] = max(noise.get(i, 0.0), off)
        return backward.wrong(run, spots, found.cotangents, noise)

    def backward(self, wrong: bool) -> Surface:
        spots = backward.watched(self.runs[0], self.seen, self.port.program)
        if not wrong:
            text = f"{len(spots)} cotangents inside"
            return Surface("backward", "pass", text, control=self.plant_cotangent())
        number = self.draw_of_fail
        found = self.wrong_cotangents(number, self.differentiated[number])
        inside = [i for i in found if i not in self._outputs() and self._matters(number, i)]
        if not inside:
            text = f"{len(spots)} cotangents inside agree"
            return Surface("backward", "pass", text, control=self.plant_cotangent())
        with self.clock("locate"):
            finding = self.locate_backward(number, inside[-1])
        text = f"{len(inside)} of {len(spots)} cotangents inside differ"
        return Surface("backward", "fail", text, (), (finding,))

    def _matters(self, draw: int, number: int) -> bool:
        """Whether a cotangent that differs has spoiled the gradients next to it.

        A port may use a value in other places than torch does, and still be right.
        """
        right = {j.name for j in self.judged_gradients(draw) if j.verdict != "fail"}
        inputs = [n for n in self.theirs(self.runs[draw]) if n.startswith("input ")]
        near = backward.nearest(self.runs[draw], number)
        names = (near - {"input"}) | (set(inputs) if "input" in near else set())
        return not names or not names <= right

    def locate_backward(self, draw: int, number: int) -> Finding:
        run = self.runs[draw]
        if self.live:
            run = self.side.run(self.draws[draw], keep=True, parts_of=number)
        value, spot = run.values[number], self.seen.spot(number)
        assert spot is not None
        ours = np.asarray(self.differentiated[draw].cotangents[spot.key])[spot.turn]
        passed = self._bent_between(draw, number, value.cotangent)
        if self.live or value.cotangent is None:
            both = value.data, self.port.value(self.draws[draw], spot)
            reader, cause = backward.culprit(number, value.cotangent_data, ours, run, both)
        else:  # of the calls that read it, a dump cannot tell through which it goes wrong
            reader, cause = backward.first_reader(run, number), ""
        reader = None if passed else backward.through(run, self.seen, number, reader)
        at = value
        if reader is not None and not backward.moves_only(run, reader):
            at = run.values[reader]
        key = passed or backward.between(self.flow, self.seen, spot, reader)
        size = float(np.max(np.abs(ours), initial=0.0))
        worst = np.unravel_index(int(np.argmax(np.abs(ours))), ours.shape) if ours.size else ()
        torch_value = None if value.cotangent is None else float(magnitude(value.cotangent))
        return Finding(
            "backward",
            at.module or forward.ROOT,
            place(self.port.program, key),
            f"the cotangent of what it reads, torch's {value.name}, differs: its largest element "
            f"is {size_of(torch_value)} in torch, {size:.6g} in JAX",
            tuple(int(i) for i in worst),
            torch_value,
            size,
            True,
            cause,
            at.op,
        )

    def _bent_between(self, draw: int, number: int, theirs: np.ndarray | None) -> Key | None:
        """A JAX value with the same numbers whose cotangent is still right: what made it is not."""
        if theirs is None:
            return None
        spots = [self.seen.spots[k] for k in self.seen.candidates[number][1:9]]
        spots = [s for s in spots if s.path not in self.port.program.closed]
        spots = [s for s in spots if leaf_of(s.key) is None]
        if not spots:
            return None
        got = self.port.gradients(self.draws[draw], tuple(dict.fromkeys(s.key for s in spots)))
        for s in spots:
            print_ = fingerprint(np.asarray(got.cotangents[s.key])[s.turn])
            if float(apart(print_, theirs)) < 1e-10:
                return s.key
        return None

    def plant_cotangent(self) -> str:
        """Bend one cotangent inside the JAX program by 1e-9: it must be found."""
        if not self.differentiated or self.bend is None:
            return ""
        found = self._gradients(self.draws[0], 1 + PLANT)
        if self.wrong_cotangents(0, found) or any(
            j.verdict == "fail" for j in self.judged_gradients(0, found)
        ):
            where = place(self.port.program, self.bend)
            return f"{PLANT:g} planted in the cotangent at {where} was found"
        return ""


def numpy_inputs(inputs: Any) -> Any:
    """Inputs as fresh numpy arrays, floats as float64."""
    return map_leaves(lambda x: jax_program.widened(x) if hasattr(x, "dtype") else x, inputs)


def size_of(x: float | None) -> str:
    """For a person."""
    return "absent" if x is None else f"{x:.6g}"
