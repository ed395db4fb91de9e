"""Compare outputs and gradients on further inputs: those of `also=`, and those of other sizes.

A port is traced for the sizes of its inputs. It may have the first batch size or sequence length
built in, or an `if` on a size decided, and still agree with torch on inputs of these sizes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove import checks, wording
from jaxgrad.parity.prove.beside import random_keys, random_masks
from jaxgrad.parity.prove.causes import edited
from jaxgrad.parity.prove.evidence import Evidence, gather
from jaxgrad.parity.prove.judge import Judged
from jaxgrad.parity.prove.record import tables
from jaxgrad.parity.prove.record.adapters import ProofError
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.jax_side.flow import Flow
from jaxgrad.parity.prove.record.jax_side.inject import inject
from jaxgrad.parity.prove.record.jax_side.layouts import SAME, Layout, related
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.lazy import replaced
from jaxgrad.parity.prove.record.sides import PerSide
from jaxgrad.parity.prove.record.torch_side.side import Drawn
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import backward, forward, gradients


class Variant(NamedTuple):
    """Further inputs, and how a report names them."""

    name: str
    inputs: Any
    layout: Layout = SAME
    ratios: frozenset[tuple[int, int]] = frozenset()  # the first sizes and these, if prove chose


def surfaces(
    evidence: Evidence, request: Request, judged: dict[str, Judgement]
) -> dict[str, Judgement]:
    """Return the surfaces that further inputs change, given the surfaces of the first inputs."""
    if any(judged[name].surface.verdict == "fail" for name in ("forward", "gradients")):
        return {}
    masks = random_masks.surface(evidence) or random_keys.surface(evidence)
    if masks is not None:
        return {"forward": _with_notes(masks, judged["forward"])}
    agreeing, notes = [], []
    given = _variants(evidence, request) if evidence.rerunnable else ()
    for variant in itertools.chain(given, _chosen(evidence)):
        with evidence.clock("other inputs"):
            result = _compare(evidence, request, variant)
        if isinstance(result, dict):
            return {name: _with_notes(x, judged[name]) for name, x in result.items()}
        if isinstance(result, str):
            notes.append(result)
        elif result:
            agreeing.append(variant.name)
            if variant.ratios:
                break  # a smaller change of the sizes shows nothing else
    with evidence.clock("other inputs"):
        edges = () if evidence.port.program.layout.fixed else evidence.torch_side.edges()
        notes += filter(None, (_edge_note(evidence, *edge) for edge in edges))
    first, rest, _ = judged["forward"]
    if agreeing:
        text = f"{first.text}; outputs and gradients also agree with {' and '.join(agreeing)}"
        first = dataclasses.replace(first, text=text)
    return {"forward": Judgement(first, (*rest, *notes))}


def differing(evidence: Evidence, request: Request) -> str:
    """Return the first inputs of `also=` on which the port differs, or an empty text."""
    for variant in _variants(evidence, request):
        if isinstance(_compare(evidence, request, variant, locates=False), dict):
            return variant.name
    return ""


def _with_notes(new: Judgement, old: Judgement) -> Judgement:
    return Judgement(new.surface, (*old.notes, *new.notes))


def _variants(evidence: Evidence, request: Request) -> Iterator[Variant]:
    """Yield the inputs of `also=`."""
    layout = evidence.port.program.layout
    per_side = evidence.torch_side.jax_inputs is not None
    for k, inputs in enumerate(checks.further_inputs(request, per_side)):
        if isinstance(inputs, PerSide):
            own = dataclasses.replace(related(inputs.torch, inputs.jax), axes=layout.axes)
            yield Variant(f"also[{k}]", inputs.torch, own)
        else:
            yield Variant(f"also[{k}]", inputs, layout)


def _chosen(evidence: Evidence) -> Iterator[Variant]:
    """Yield the first inputs with other sizes, unless the port takes inputs of its own."""
    layout = evidence.port.program.layout
    if evidence.rerunnable and not layout.fixed:
        for variant in other_sizes(evidence.draws[0].inputs, evidence.draws[1].inputs):
            yield variant._replace(layout=layout)


def other_sizes(inputs: Any, more: Any) -> Iterator[Variant]:
    """Yield the inputs with another batch size: first also with another length, then without.

    A batch of three or more loses its last row. A smaller one gets the first row of `more`, because
    a batch of one may be treated differently. Sequences lose their last element.
    """
    _, leaves, fill = jax_program.flat(inputs)
    rows = {x.shape[0] for x in leaves if x.ndim}
    if len(rows) != 1 or (size := rows.pop()) == 0:
        return
    new = size - 1 if size > 2 else size + 1
    pairs = zip(leaves, jax_program.flat(more)[1], strict=True)
    resized = [np.concatenate([x, y])[:new] if x.ndim else x for x, y in pairs]
    length = _length(leaves)
    batch = f"a batch of {new} instead of {size}"
    if length is not None:
        name = f"{batch} and a length of {length - 1} instead of {length}"
        ratios = frozenset({(size, new), (length, length - 1), (size * length, new * (length - 1))})
        yield Variant(name, fill([_shortened(x, length) for x in resized]), ratios=ratios)
    yield Variant(batch, fill(resized), ratios=frozenset({(size, new)}))


def _length(leaves: Sequence[np.ndarray]) -> int | None:
    """Return the length of the sequences of tokens or of vectors, if all have the same length."""
    sequences = [x for x in leaves if x.ndim == (2 if x.dtype.kind in "iu" else 3)]
    lengths = {x.shape[1] for x in sequences}
    if len(lengths) != 1 or (length := lengths.pop()) < 3:
        return None
    widths = {n for x in sequences for n in x.shape[2:]}
    return length if length not in widths else None


def _shortened(x: np.ndarray, length: int) -> np.ndarray:
    """Drop the last element along each axis of this length except the first axis."""
    cuts = tuple(slice(n - (n == length and k > 0)) for k, n in enumerate(x.shape))
    return np.asarray(x[cuts])  # without dimensions, it would be a numpy scalar


def _compare(
    evidence: Evidence, request: Request, variant: Variant, *, locates: bool = True
) -> dict[str, Judgement] | str | bool:
    """Return whether the port agrees with torch, a note, or the surfaces that differ.

    False means that torch does not accept sizes that `prove` chose.
    """
    chosen = bool(variant.ratios)
    draw = Draw(evidence.draws[1].state, variant.inputs, 2)
    try:
        run = evidence.torch_side.run(draw, watch=False)
    except ProofError as error:
        if chosen:
            return False
        raise ProofError(f"{variant.name}: {error}") from error
    if chosen and not _is_resized(evidence.runs[1], run, variant.ratios):
        return False
    try:
        program = _traced(evidence, request, variant)
        judged = _judged(evidence, program, draw, run)
        if _fails(judged):
            evidence, program = _with_tables(evidence, program, draw)
            draw = Draw(evidence.draws[1].state, variant.inputs, 2)
            judged = _judged(evidence, program, draw, evidence.torch_side.run(draw, watch=False))
    except ProofError as error:
        called = wording.jax_program(evidence.reference)
        if chosen:
            return f"torch accepts {variant.name}, {called} does not: {error}"
        finding = Finding("forward", "(the outputs)", "fn", f"with {variant.name}, {error}")
        return _failed("forward", f"{called} rejects {variant.name}", (finding,))
    if (wrong := _fails(judged)) and not locates:
        return _failed(wrong[0][0], "", ())
    if wrong:
        return _located(evidence, request, variant, *wrong[0])
    noisy = [(name, j) for name, j in judged if j.verdict == "inconclusive"]
    if not noisy:
        return True
    (surface, j), *_ = noisy
    text = f"with {variant.name}, rounding alone changes {j.name} too much to compare ({j.doubt})"
    if chosen:
        return text
    return {surface: Judgement(Surface(surface, "inconclusive", text))}


def _is_resized(first: TorchRun, run: TorchRun, ratios: Collection[tuple[int, int]]) -> bool:
    """Whether each dimension of torch's outputs is as it was or changes in one of the ratios."""

    def scaled(x: np.ndarray, y: np.ndarray) -> bool:
        pairs = zip(x.shape, y.shape, strict=False)
        return x.ndim == y.ndim and all(
            m == n or any(m * new == n * size for size, new in ratios) for m, n in pairs
        )

    pairs = [(x, run.outputs.get(name)) for name, x in first.outputs.items()]
    known = [(x, y) for x, y in pairs if y is not None]
    return len(known) == len(pairs) == len(run.outputs) and all(
        scaled(x, y) and np.isfinite(y).all() == np.isfinite(x).all() for x, y in known
    )


def _fails(judged: Sequence[tuple[str, Judged]]) -> list[tuple[str, Judged]]:
    return [(name, j) for name, j in judged if j.verdict == "fail"]


def _traced(evidence: Evidence, request: Request, variant: Variant) -> jax_program.JaxProgram:
    """Trace the port for other inputs."""
    options = request.outputs[1], request.loss[1], request.has_state
    model, inputs, layout = evidence.model, variant.inputs, variant.layout
    known = {piece.leaf for piece in evidence.port.weights.pieces}
    program = checks.guarded(
        lambda: jax_program.program(model.fn, model.params, inputs, *options, layout, known),
        inputs,
    )
    first = evidence.port.program
    return dataclasses.replace(program, numbers=first.numbers, tables=first.tables)


def _with_tables(
    evidence: Evidence, program: jax_program.JaxProgram, draw: Draw
) -> tuple[Evidence, jax_program.JaxProgram]:
    """Replace float32 tables of torch and of the port for other inputs, as for the first ones.

    The port may compute, or hold, as many rows of a table as its inputs need.
    """
    known = evidence.torch_side.state
    near = tables.for_torch(evidence.tables, program)
    new = {name: x for name, (x, off) in near.items() if off}
    if new:
        own = {name: x for name, x in new.items() if name in known}
        drawn = [
            dataclasses.replace(
                d, draw=dataclasses.replace(d.draw, state=replaced(d.draw.state, own))
            )
            for d in evidence.drawn
        ]
        side = evidence.torch_side.replacing(new)
        evidence = dataclasses.replace(evidence, torch_side=side, drawn=drawn)
    side = evidence.torch_side
    kept = side.run(Draw(evidence.draws[1].state, draw.inputs, 2), keep=True)
    other = side.run(Draw(evidence.draws[0].state, draw.inputs, 2))
    held = tables.for_jax(program, kept, other)
    return evidence, dataclasses.replace(program, tables=held or program.tables)


def _judged(
    evidence: Evidence, program: jax_program.JaxProgram, draw: Draw, run: TorchRun
) -> list[tuple[str, Judged]]:
    """Compare the outputs and gradients of the port's program on a draw with torch's."""
    side = evidence.torch_side
    port = evidence.port.of(program)
    shapes = [tuple(x.shape) for x in program.jaxpr.out_avals[: len(program.out_paths)]]
    unlike = [
        (name or "output", x, shape)
        for (name, x), shape in zip(run.outputs.items(), shapes, strict=True)
        if x.shape != shape and not (name == "loss" and x.size == np.prod(shape))
    ]
    if unlike:
        name, x, shape = unlike[0]
        size = float(np.max(np.abs(x), initial=0.0))
        return [("forward", Judged(name, "fail", size, 0.0, size, (), list(x.shape), list(shape)))]
    if run.noise:
        draw = dataclasses.replace(draw, noise=tuple(run.noise))
        port, _ = inject(port, Flow(program), Drawn(draw, run, []))
    with side.idle():
        result = checks.guarded(lambda: port.gradients(draw), draw.inputs)

    rough = evidence.drawn[0].rough
    drawn = Drawn(draw, run, side.reruns(draw, run), rough=rough)
    runs = [Watched(result.outputs, {})]
    own = dataclasses.replace(evidence, port=port, drawn=[drawn], jax_runs=runs)
    outputs = [("forward", j) for j in own.judge_outputs(0, result.outputs)]
    return outputs + [("gradients", j) for j in own.judge_gradients(0, result)]


def _located(
    evidence: Evidence, request: Request, variant: Variant, name: str, wrong: Judged
) -> dict[str, Judgement]:
    """Prove the port on the inputs on which it differs, to find the first place."""
    at = f"with {variant.name}"
    text = f"{at}, {wrong.name} {wrong.off}"
    plain = Finding(name, "(the outputs)", "fn", text, **wrong.worst)
    own = dataclasses.replace(request, inputs=variant.inputs, also=())
    try:
        jax_inputs = to_numpy(variant.layout.inputs(variant.inputs))
        moves = variant.layout is not SAME
        side = evidence.torch_side.on(variant.inputs, jax_inputs if moves else None)
        nested = gather(own, evidence.clock, side)
        judged = {"forward": edited.proved(nested, own, forward.surface(nested))}
        if judged["forward"].surface.verdict != "fail":
            judged["gradients"] = gradients.surface(nested)
            judged["backward"] = backward.surface(nested)
    except ProofError as error:
        return _failed(name, f"{text}; not located: {error}", (plain,))
    failed = {key: x for key, x in judged.items() if x.surface.verdict == "fail"}
    if not failed:
        return _failed(name, text, (plain,))
    return {key: _named(at, x) for key, x in failed.items()}


def _named(at: str, judgement: Judgement) -> Judgement:
    """Say in a surface's text and findings on which inputs it differs."""
    surface = judgement.surface
    findings = [dataclasses.replace(f, text=f"{at}, {f.text}") for f in surface.findings]
    text = f"{at}, {surface.text}"
    changed = dataclasses.replace(surface, text=text, findings=tuple(findings))
    return Judgement(changed, judgement.notes)


def _failed(name: str, text: str, findings: Sequence[Finding]) -> dict[str, Judgement]:
    return {name: Judgement(Surface(name, "fail", text, findings=tuple(findings)))}


def _edge_note(evidence: Evidence, name: str, inputs: Any) -> str:
    """Say how the port differs on an edge case that the given inputs do not contain, if it does."""
    draw = dataclasses.replace(evidence.draws[0], inputs=inputs, number=3)
    try:
        run = evidence.torch_side.run(draw, watch=False)
        gradients = evidence.gradients(draw)
    except Exception:
        return ""
    grads = [g for g in (*run.grads.values(), *run.input_grads) if g is not None]
    first = evidence.runs[0].outputs
    same = all(x.shape == first[name].shape for name, x in run.outputs.items())
    if not same or not all(np.isfinite(x).all() for x in (*run.outputs.values(), *grads)):
        return ""
    side = evidence.torch_side
    few, rough = side.reruns(draw, run, forward=True), evidence.drawn[0].rough
    drawn = Drawn(draw, run, few, lambda: side.reruns(draw, run), rough)
    runs = [Watched(gradients.outputs, {})]
    own = dataclasses.replace(evidence, drawn=[drawn], jax_runs=runs)
    outputs = own.judge_outputs(0, gradients.outputs)
    judged = [("", j) for j in outputs]
    judged += [("the gradient of ", j) for j in own.judge_gradients(0, gradients)]
    wrong = [(prefix, j) for prefix, j in judged if j.verdict == "fail"]
    if not wrong:
        return ""
    prefix, j = wrong[0]
    at = f" at {list(j.index)}" if j.index else ""
    return (
        f"not judged: with {name}, which your inputs do not contain, {prefix}{j.name} differs{at}: "
        f"torch gives {j.torch}, JAX gives {j.jax}"
    )
