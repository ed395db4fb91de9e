"""The entry point `prove`: compare the gradients of a torch module with those of its JAX port.

    report = jaxgrad.parity.prove(torch_module, fn, params, inputs)

Neither model is edited: intermediate values are matched by their numbers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.prove import arguments, checks, listings, origins, progress_line, users
from jaxgrad.parity.prove.beside import unused_results
from jaxgrad.parity.prove.causes import edited
from jaxgrad.parity.prove.clock import Clock, TimeLimit
from jaxgrad.parity.prove.evidence import NO_CAUSE, Evidence, gather
from jaxgrad.parity.prove.judge import STRUCTURAL_ZERO
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.torch_side.factory import open_torch_side
from jaxgrad.parity.prove.report import (
    NO_OPTIMIZER,
    SURFACES,
    Finding,
    Judgement,
    Report,
    Surface,
    overall_verdict,
)
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.training import Training, as_training
from jaxgrad.parity.prove.weights.checkpoints import WeightMap
from jaxgrad.parity.prove.weights.template import Template
from jaxgrad.parity.prove.wording import JAX, LOSES, MADE, TORCH
from jaxgrad.parity.weight_map import from_leaf_map


if TYPE_CHECKING:
    from torch import nn


@argument_names.spelt
def prove(
    module: nn.Module | str | os.PathLike[str],
    fn: Any,  # a function or a flax or equinox module
    params: PyTree = None,
    inputs: PyTree = None,
    *,
    also: Sequence[PyTree] = (),
    weights: Callable[..., Any] | Mapping[str, Any] | None = None,
    outputs: tuple[Callable[..., Any] | None, Callable[..., Any] | None] | None = None,
    loss: tuple[Callable[..., Any] | None, Callable[..., Any] | None] | None = None,
    trainable: PyTree = None,
    optimizer: tuple[Callable[..., Any] | None, Any] | Training | None = None,
    steps: int | None = None,
    has_state: bool = False,
    accept: Mapping[str, Mapping[str, str | tuple[str, float]]] | None = None,
    seed: int = 0,
    reference: str = TORCH,
    progress: Callable[[str], None] | None = None,
    time_limit: float | None = None,
) -> Report:
    """Compare the gradients of a torch module with those of its JAX port on six surfaces.

    Args:
        module: A `torch.nn.Module`, in the mode (train or eval) to compare; or the path of a
            `dump` of one, where torch is not installed.
        fn: A function `fn(params, *inputs) -> outputs`, or one with `params=` among its later
            arguments; or a flax nnx, linen or equinox module. One that draws random numbers, as
            dropout does, holds a key: its calls of `jax.random` get the numbers that torch draws.
        params: The port's params, any tree; for linen its variables; None for a module that
            holds its own.
        inputs: A tuple of numpy arrays, passed to both models; a mapping for named arguments. A
            dump contains its own inputs. Where they differ by framework (channels first and last),
            a pair (torch_inputs, jax_inputs) of tuples, or a `PerSide`.
        also: Further inputs, each like `inputs`, of other sizes or on other branches. Outputs and
            gradients are compared on each. Another batch size and another sequence length are
            always tried.
        weights: A converter `state_dict -> params`, or a dict from torch names to a path,
            (path, axes) or (path, function). Needed only if the weights cannot be matched by value.
        outputs: A pair (torch_pick, jax_pick) of functions that select the outputs to compare.
        loss: A pair (torch_loss, jax_loss) of scalar functions of the outputs, or of outputs and
            inputs; without it every floating output gets a random cotangent.
        trainable: Which JAX leaves the training updates. By default, those whose torch parameter
            has `requires_grad`. To state it yourself, give a tree of bools like the params; a
            function of the path, such as `lambda path: path.startswith("head/")`; or a list of
            paths with wildcards, such as `["head/*"]`, each of which has to match a leaf.
        optimizer: A pair (torch_factory, optax transformation); the factory takes the parameters,
            or the module for parameter groups.
            Or a `Training`, which also has torch's scheduler, clipping, accumulation and average.
        steps: Number of optimizer steps to compare, by default 1. The weights are compared after
            every step, and the outputs and the state of at least as many calls.
        has_state: Whether `fn` returns (outputs, new_state). The state is compared with all that
            torch's forward pass changes: buffers, parameters and attributes. A change that the port
            does not return fails if a further call of the module reads it, and is listed in a note
            otherwise. The state that an nnx or linen module holds is compared without `has_state`.
            If params hold the state, both models are called at least three times with the state of
            the last call, and then in eval mode if the port has it for the same params (nnx's
            `.eval()`, equinox's `inference_mode`).
        accept: Known differences, each with the reason why it is accepted: surface -> pattern of
            torch's names -> reason, as in `{"updates": {"*running_var": "flax's is biased"}}`; or a
            pair of the reason and the largest accepted difference, relative as the report prints
            it, as in `{"updates": {"*": ("optax clips without torch's 1e-6", 1e-5)}}`. They are
            reported. A pattern that no longer matches a difference fails.
        seed: Seed of the cotangents and of the second draw.
        reference: The framework of the original, "torch" or "jax". With "jax", torch is the port:
            the report then says what torch's code does differently, names its lines and suggests
            changes of it. The verdict and the numbers are the same.
        progress: Function that is called with the name of each step as it begins, and with each
            cause that a search tries. By default, a proof that takes some seconds shows them in a
            line on stderr, if stderr is a terminal.
        time_limit: Seconds after which the proof ends with what is known by then. The surfaces that
            were not judged are reported as such, and the verdict is "inconclusive", unless a
            surface has failed. The limit is checked between runs, so that it may be exceeded by the
            time of a run or a compilation.

    Returns:
        A `Report`. `prove` does not raise: the verdict of unusable arguments, and of a bug in
        jaxgrad itself, is "error". After an interrupt (Ctrl-C), the module is as it was before.

    Raises:
        ModuleNotFoundError: torch is not installed, and `module` is not the path of a dump.

    JAX's gradient of a complex parameter is the conjugate of torch's. The gradients are compared as
    conjugates, and `optimizer=` passes the optax transformation JAX's own gradients, as a training
    step without `jnp.conj(grads)` does.

    Torch: `torch.autograd.gradcheck` compares a module with its own numerical derivative; `prove`
    compares it with another implementation.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np, torch
        >>> from jaxgrad.parity import prove
        >>> layer = torch.nn.Linear(3, 2)
        >>> params = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
        >>> def port(params, x):
        ...     return x @ params["weight"].T + params["bias"]
        >>> prove(layer, port, params, (np.ones((4, 3)),)).verdict
        'pass'

        Any key gives torch's mask:

        >>> def drop(params, x):
        ...     keep = jax.random.bernoulli(jax.random.key(0), 0.75, x.shape)
        ...     return jnp.where(keep, x / 0.75, 0)
        >>> prove(torch.nn.Dropout(0.25), drop, {}, (np.ones((4, 3)),)).verdict
        'pass'
    """
    none = (None, None)
    request = Request(
        module, fn, params, inputs, also=also, weights=weights,
        outputs=none if outputs is None else outputs,
        loss=none if loss is None else loss, trainable=trainable, optimizer=optimizer, steps=steps,
        has_state=has_state, accept=accept, seed=seed, reference=reference,
    )  # fmt: skip
    with progress_line.shown(progress) as show:
        clock = Clock(show)
        name, known = "", reference if isinstance(reference, str) and reference == JAX else TORCH
        try:
            checks.check_reference(reference)
            clock.limit = checks.as_limit(time_limit)
            name = _name(module, fn)
            with adapters.float64_on_cpu():
                return _proved(request, clock, name)
        except users.ProofError as error:
            return Report.error(str(error), name, clock.seconds, known)
        except TimeLimit:
            surfaces = {surface: _unjudged(surface) for surface in SURFACES}
            return Report("inconclusive", surfaces, text=_ended(surfaces, time_limit), name=name,
                          seconds=clock.seconds, reference=known)  # fmt: skip
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name == "torch":
                raise  # the command line and the test fixture say what to install
            return Report.error(users.bug(error), name, clock.seconds, known)


def _name(module: Any, fn: Any) -> str:
    dumped = pathlib.Path(module).name if isinstance(module, str | os.PathLike) else None
    return f"{dumped or type(module).__name__} | {adapters.name_of(fn)}"


def _proved(request: Request, clock: Clock, name: str) -> Report:
    checks.check_arguments(request)
    with clock("torch"):
        side = open_torch_side(request)
    with contextlib.closing(side):
        if request.optimizer is not None and side.module is not None:
            from jaxgrad.parity.prove.record.torch_side.loop import build_optimizer

            build_optimizer(as_training(request.optimizer).torch, side.module)  # a check, early
        evidence = gather(request, clock, side)
        evidence.waivers.check("structure", evidence.torch_side.state)
        evidence.waivers.check("gradients", evidence.torch_gradients(evidence.runs[0]))
        judgements: dict[str, Judgement] = {}
        limit, judged = clock.limit, evidence
        try:
            judged = _judge_surfaces(evidence, request, judgements)
        except TimeLimit:
            clock.limit = None  # to report what is known
            judgements = {name: edited.without_edits(j) for name, j in judgements.items()}
            if "structure" in judgements:
                from jaxgrad.parity.prove.surfaces import structure

                own = structure.without_refused(judgements["structure"], judged)
                judgements["structure"] = own
        ended = [name for name in SURFACES if name not in judgements]
        judgements |= {name: Judgement(_unjudged(name)) for name in ended}
        judgements = evidence.waivers.settle(judgements, evidence.torch_side.state)
        surfaces = {
            name: arguments.named(judgements[name].surface, side.module) for name in SURFACES
        }
        # This may compare gradients, for which torch runs: it must come before the module is
        # given back.
        surfaces = origins.marked(judged, surfaces)
        first = origins.first_divergence(surfaces)
        verdict = overall_verdict(surfaces)
        notes = tuple(n for j in judgements.values() for n in j.notes) + clock.notes()
        if verdict == "fail":
            notes = (*unused_results.notes(evidence), *notes)
    shown = _listings(evidence, request, first)
    return Report(
        verdict="inconclusive" if ended and verdict == "pass" else verdict,
        surfaces=surfaces,
        first=first,
        text=_ended(ended, limit) if ended else "",
        name=name,
        notes=evidence.notes + notes,
        not_visible=() if surfaces["forward"].verdict == "fail" else tuple(evidence.not_visible),
        matched=_matched_before(evidence, first),
        objective=_objective(evidence),
        seconds=clock.seconds,
        versions=adapters.versions() | dict(evidence.torch_side.versions),
        listings=shown,
        functions=_functions(evidence, request, first, shown),
        reference=request.reference,
        weights=_weights(evidence, request),
    )


_TIME_LIMIT = "time limit"


def _unjudged(name: str) -> Surface:
    return Surface(name, "not judged", _TIME_LIMIT)


def _ended(surfaces: Collection[str], limit: float | None) -> str:
    """Say which surfaces were not judged before the time limit."""
    *most, last = surfaces
    names = f"{', '.join(most)} and {last}" if most else last
    were = "were" if most else "was"
    return f"The time limit of {limit:g} s ended the proof before {names} {were} judged."


def _listings(
    evidence: Evidence, request: Request, first: Finding | None
) -> dict[str, listings.Listing]:
    """Return the source of both programs by framework, with the lines of a finding marked.

    If a value is computed in a helper function, the function that calls it is shown, with the
    helper if both are short, or else the helper alone.
    A wrong update is not in the forward pass: its programs are the optimizers and their schedules.
    """
    if first is not None and _is_update(evidence, request, first):
        training = as_training(request.optimizer)
        optimizers = {
            "torch": listings.of_functions(training.torch, training.scheduler),
            "jax": listings.of_functions(training.schedule, training.optax),
        }
        return {name: x for name, x in optimizers.items() if x is not None}
    equations = evidence.port.program.equations.values()
    finding = first or Finding("", "", "", "")
    place, _, caller = finding.jax.partition(" (")[0].partition(", called from ")
    line = caller or ":".join(finding.source.split(":")[:2])
    port = listings.with_callees(listings.of_jax(request.fn, equations, line), equations)
    if caller and port is not None and not port.has(place):  # both functions are too long for one
        port = listings.with_callees(listings.of_jax(request.fn, equations, place), equations)
    module = evidence.torch_side.module
    torch_listing = listings.of_torch(module, finding.torch, finding.torch_line)
    pair = {
        "torch": listings.with_class(torch_listing, module),
        "jax": port,
    }
    named = f"{finding.cause} {finding.edit or ''} {finding.jax if caller else ''}"
    return {name: x.marking(named) for name, x in pair.items() if x is not None}


def _functions(
    evidence: Evidence,
    request: Request,
    first: Finding | None,
    shown: Mapping[str, listings.Listing],
) -> dict[str, tuple[listings.Listing, ...]]:
    """Return the user's functions that both programs call and that are not in `shown`."""
    if first is not None and _is_update(evidence, request, first):
        return {}
    module, equations = evidence.torch_side.module, evidence.port.program.equations.values()
    called = list(dict.fromkeys(c.module for c in evidence.runs[0].calls))
    pair = {
        "torch": listings.called_by_torch(module, called, shown.get("torch")),
        "jax": listings.called_by_jax(request.fn, equations, shown.get("jax")),
    }
    named = "" if first is None else f"{first.torch_line} {first.jax} {first.cause}"
    return {name: tuple(x.marking(named) for x in found) for name, found in pair.items() if found}


def _is_update(evidence: Evidence, request: Request, first: Finding) -> bool:
    """Return whether a finding is in the training step; buffers are updated by the module."""
    side = evidence.torch_side
    # A buffer is updated in a call of torch's module, which has a name.
    is_buffer = bool(first.op) or (first.torch in side.state and first.torch not in side.flags)
    return first.surface == "updates" and request.optimizer is not None and not is_buffer


def _objective(evidence: Evidence) -> str:
    """Say what the gradients are gradients of."""
    if evidence.torch_side.has_loss:
        return "The gradients are those of the loss that was given."
    outputs = [x for name, x in evidence.runs[0].outputs.items() if name != "loss"]
    if len(outputs) == 1 and outputs[0].size == 1:
        return (
            "The output is one number, and the gradients are its gradients. With redrawn weights "
            "they are multiplied by a random number."
        )
    return (
        "The outputs are multiplied by random numbers and summed, and the gradients are those of "
        "this sum. Pass loss= to see the gradients of your loss."
    )


def _matched_before(evidence: Evidence, first: Finding | None) -> tuple[str, ...]:
    """Return the torch modules that ran and matched before the outputs diverged."""
    names = list(dict.fromkeys(c.module for c in evidence.runs[0].calls if c.module and c.outputs))
    if first is None or first.surface != "forward" or first.torch not in names:
        return ()
    before = names[: names.index(first.torch)]
    return tuple(name for name in before if name not in evidence.not_visible)


def _weights(evidence: Evidence, request: Request) -> WeightMap:
    """Return the map of a proof, for params of the user's type in float32."""
    port, side = evidence.port, evidence.torch_side
    params = request.fn if request.params is None else request.params
    if callable(request.weights) or isinstance(params, tuple):
        shapes = [jax.ShapeDtypeStruct(np.shape(x), np.float32) for x in port.program.params]
        params = port.program.fill(shapes)
    values = {} if side.module is None else side.module.state_dict()
    rest = {key: copy_to_numpy(x) for key, x in values.items() if key not in side.names or
            side.names[key] not in port.weights.names}  # fmt: skip
    return from_leaf_map(port.weights, side.names, side.flags, Template(params), rest)


def _judge_surfaces(
    evidence: Evidence, request: Request, judgements: dict[str, Judgement]
) -> Evidence:
    """Judge the six surfaces, and return the runs on which the gradients were judged.

    If the forward pass differs, these are runs of a torch that makes its mistakes; if the mistakes
    are not known, the later surfaces are skipped.

    The judgements are added one after the other, so that the first ones are there if the time limit
    ends the proof.
    """
    from jaxgrad.parity.prove.beside import idle_bounds, other_inputs, unread_buffers
    from jaxgrad.parity.prove.dtypes import single_precision
    from jaxgrad.parity.prove.surfaces import forward, precision, structure, updates

    has_optimizer = request.optimizer is not None
    judgements["structure"] = structure.surface(evidence, has_optimizer=has_optimizer)
    judgements["forward"] = forward.surface(evidence)
    if judgements["forward"].surface.verdict == "fail":
        later, judged = _after_mistakes(evidence, request, judgements)
        judgements |= later
        judgements["forward"] = edited.proved(
            evidence, request, judgements["forward"], differing=other_inputs.differing
        )
        return judged
    judgements["forward"] = idle_bounds.noted(evidence, judgements["forward"])
    judgements["forward"] = unread_buffers.noted(evidence, judgements["forward"])
    _judge_gradients(evidence, judgements)
    judgements |= single_precision.surfaces(evidence, judgements)
    if request.optimizer is None:
        evidence.free_gradients()
    judgements |= other_inputs.surfaces(evidence, request, judgements)
    with evidence.clock("updates"):
        judgements["updates"] = updates.surface(evidence, request)
    with evidence.clock("precision"):
        judgements["precision"] = precision.surface(evidence, request)
    for name in ("structure", "backward", "gradients", "updates"):
        view = _view(name)
        differing = None if view is not None else other_inputs.differing
        judgements[name] = edited.proved(evidence, request, judgements[name], view, differing)
    judgements["structure"] = structure.without_refused(judgements["structure"], evidence)
    return evidence


def _view(name: str) -> edited.View | None:
    """Return the function that gives the outputs with which a surface located a difference."""
    from jaxgrad.parity.prove.training_steps import buffer_updates

    return buffer_updates.as_outputs if name == "updates" else None


def _judge_gradients(evidence: Evidence, judgements: dict[str, Judgement]) -> None:
    """Add the gradients and the backward surface, and the causes in the structure surface."""
    from jaxgrad.parity.prove.causes import gradients as gradient_causes
    from jaxgrad.parity.prove.surfaces import backward, gradients, structure

    why, notes = None, ()
    if evidence.failed_gradient_draw is not None or judgements["structure"].surface.findings:
        why, notes = evidence.locate(lambda: gradient_causes.explain(evidence), None, NO_CAUSE)
    judgements["structure"] = structure.explained(judgements["structure"], evidence, why)
    judged = gradients.surface(evidence, why)
    judgements["gradients"] = judged._replace(notes=(*judged.notes, *notes))
    judgements["backward"] = backward.surface(evidence, why)


def _after_mistakes(
    evidence: Evidence, request: Request, earlier: Mapping[str, Judgement]
) -> tuple[dict[str, Judgement], Evidence]:
    """Judge the surfaces after a forward pass that differs, and return the runs that were judged.

    If its mistakes are known, they are judged on a torch that makes them too.

    Args:
        evidence: All runs.
        request: The arguments of the proof.
        earlier: The structure and the forward surface.
    """
    from jaxgrad.parity.prove.surfaces import updates

    texts = dict.fromkeys(SURFACES[2:], "the forward pass already differs")
    has_updates = request.optimizer is not None or request.has_state
    if not has_updates:
        texts["updates"] = NO_OPTIMIZER
    judgements = {n: Judgement(Surface(n, "not judged", text)) for n, text in texts.items()}
    mistakes = earlier["forward"].mistakes
    made = None
    if mistakes is not None and evidence.may_search("the surfaces after the forward pass"):
        from jaxgrad.parity.prove.causes import changed as opening

        made, _ = evidence.locate(lambda: opening.making(evidence, mistakes), None)
    if made is None:
        return judgements, evidence
    lost = _without_gradient(evidence, made)
    if lost:
        forward = _unconfirmed(earlier["forward"], lost, request.reference)
        return judgements | {"forward": forward}, evidence
    found = {"structure": earlier["structure"]}
    _judge_gradients(made, found)
    judgements["structure"] = found.pop("structure")
    if has_updates:
        with made.clock("updates"):
            found["updates"] = updates.surface(made, request)
    text = MADE.says(request.reference)
    judgements |= {name: _made(judgement, text) for name, judgement in found.items()}
    proved = {n: edited.proved(made, request, x, _view(n)) for n, x in judgements.items()}
    return proved, made


_NEGLIGIBLE = 1e-9  # of a gradient's largest element


def _without_gradient(evidence: Evidence, made: Evidence) -> str:
    """Return a parameter that loses torch's gradient with the mistakes, and has one in JAX.

    Such mistakes explain the outputs alone: a factor that is always 1 is not a missing factor.
    """
    before, after = (each.torch_gradients(each.runs[0]) for each in (evidence, made))
    zero = STRUCTURAL_ZERO * max(map(_largest, before.values()), default=0.0)
    in_jax = evidence.by_torch_name(made.jax_gradients[0])
    for name in made.torch_side.flags:
        least = _NEGLIGIBLE * _largest(before.get(name))
        if _largest(before.get(name)) <= zero:
            continue  # it is rounding alone, as that of a bias before a softmax
        if 0 < least < _largest(in_jax.get(name)) and _largest(after.get(name)) < least:
            return name
    return ""


def _largest(x: np.ndarray | None) -> float:
    return 0.0 if x is None else float(np.max(np.abs(x), initial=0.0))


def _unconfirmed(judgement: Judgement, lost: str, reference: str) -> Judgement:
    """Return the forward surface with causes that are not confirmed, because a gradient is lost."""
    why = LOSES.says(reference).format(lost)
    findings = tuple(
        dataclasses.replace(x, cause=f"{x.cause}; not confirmed, {why}", tested=False, edit=None)
        if x.tested
        else x
        for x in judgement.surface.findings
    )
    return judgement._replace(surface=dataclasses.replace(judgement.surface, findings=findings))


def _made(judgement: Judgement, made: str) -> Judgement:
    """Say that torch made the mistakes of the forward pass when a surface was judged."""
    surface = judgement.surface
    if surface.verdict == "not judged":
        return judgement
    text = f"{made}: {surface.text}"
    return judgement._replace(surface=dataclasses.replace(surface, text=text))
