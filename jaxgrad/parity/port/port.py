"""The entry point `port`: write the JAX port of a torch module, and prove it."""

from __future__ import annotations


try:
    import torch
except ModuleNotFoundError as _error:
    _text = "jaxgrad.port runs the torch module, and torch is not installed; run: pip install torch"
    raise ModuleNotFoundError(_text, name="torch") from _error

import contextlib
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from jaxgrad._core import argument_names
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.finish.columns import with_named_columns
from jaxgrad.parity.port.finish.conventions import EXAMPLE, SIZES, conventions
from jaxgrad.parity.port.finish.distinct import with_distinct_names
from jaxgrad.parity.port.finish.finish import finished
from jaxgrad.parity.port.finish.shapes import shapes_of
from jaxgrad.parity.port.finish.ties import tie
from jaxgrad.parity.port.finish.tree_maps import with_tree_maps
from jaxgrad.parity.port.interpretation.interpretation import interpret
from jaxgrad.parity.port.loops.scans import scanned
from jaxgrad.parity.port.merging.constructor_defaults import with_constructor_defaults
from jaxgrad.parity.port.merging.merging import merged
from jaxgrad.parity.port.merging.numbers import with_named_numbers
from jaxgrad.parity.port.merging.wrappers import without_wrappers
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.proof.deviations import deviations_of
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.proof.returned import require_returned
from jaxgrad.parity.port.proof.step_proofs import step_proved
from jaxgrad.parity.port.proof.verifying import STYLES, beside_step, silent
from jaxgrad.parity.port.source.naming import (
    docstring,
    named,
    reading_order,
    with_shapes,
    with_unrolled,
)
from jaxgrad.parity.port.source.refusals import Hole, Interrupted, LeavesHoles, PortError
from jaxgrad.parity.port.source.writer import title_of, write_file
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.statements.holes import holes_of, note_of
from jaxgrad.parity.port.training.recipes import Recipe, recipe_of
from jaxgrad.parity.port.training.steps import Step, write_step
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.static_inputs import (
    FLAGS,
    NUMBERS,
    has_numbers,
    require_tuple,
    settled,
)
from jaxgrad.parity.prove.checks import as_limit
from jaxgrad.parity.prove.users import ProofError, kind_of, not_a_module


LEAVE_A_HOLE = (
    "; or pass holes=True (--holes in the shell), and write this statement, or the call around it, "
    "by hand"
)


@argument_names.spelt
def port(
    module: nn.Module,
    inputs: PyTree,
    *,
    also: Sequence[PyTree] = (),
    optimizer: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None,
    loss: Callable[..., Any] | None = None,
    targets: tuple[Any, ...] = (),
    scheduler: Callable[[Any], Any] | None = None,
    clip: float | None = None,
    total: int | None = None,
    style: str = "functions",
    holes: bool = False,
    scan: bool = False,
    prove: bool = True,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    time_limit: float | None = None,
) -> Ported:
    """Write the JAX port of a torch module as readable source, and prove its gradients.

    The forward pass runs on the example inputs in train and in eval mode, and each statement is
    written as it runs: what depends on the configuration is folded, what depends on sizes and
    tensors stays code. If the module depends on its mode, its port has the argument `training`.

    Args:
        module: A `torch.nn.Module`. If one of its modes cannot be ported, its own mode is ported
            alone, and the file says so.
        inputs: A tuple of numpy arrays or tensors, or a mapping for named arguments. A bool or a
            string is a setting, as if it were the default of `forward`. So is a number of Python's,
            if the module cannot be ported with an array in its place.
        also: Further inputs, of other sizes, on which the port is proved too.
        optimizer: torch's optimizer, or a factory of it, a function of the list of parameters or of
            the module, as `prove` takes it. With it the file has `train_step` too, which does what
            torch's training loop does.
        loss: torch's loss, a function of the outputs and the targets, for the training step; None
            if the module returns its loss.
        targets: A tuple of example targets for `loss`, numpy arrays or tensors.
        scheduler: Factory of torch's scheduler, a function of the optimizer. It is stepped after
            each optimizer step. The functions of a LambdaLR are written for JAX to trace.
        clip: Maximum norm for torch's `clip_grad_norm_`.
        total: Number of steps of the training run, over which the proof of the training step
            compares the schedule; by default what torch's scheduler says.
        style: "functions" for one function of a params tree for each class of the module, or "nnx"
            for one flax nnx class, made of the layers of `jaxgrad.nnx`.
        holes: Whether a statement that is refused becomes a function that raises
            NotImplementedError, with the torch line and the reason, instead of a PortError.
            `ported.holes` lists them, with what the proof leaves open.
        scan: Whether loops over layers of equal structure are `lax.scan` over stacked params, which
            compiles one layer instead of all. The file's function `stacked` stacks the params once.
        prove: Whether to prove the port.
        seed: Seed of the proof.
        progress: Function that is called with the name of each step as it begins, such as "write"
            or "train: align".
        time_limit: Seconds after which each proof ends: that of each mode, and that of the training
            step. The port is not proved if one of them ends so.

    Returns:
        A `Ported`: the source, the entry function, the params and the proof.

    Raises:
        PortError: The module uses something that cannot be re-expressed; the message names the
            line of the torch source. Or the port was written and is not proved; then `ported` of
            the error is the port, with its `source` and its `report`.

    Torch: `torch.export` captures a module as a graph; `port` writes source that keeps its classes
    and names.

    Example:
        >>> import jaxgrad, numpy as np, torch
        >>> ported = jaxgrad.port(torch.nn.Linear(3, 2), (np.ones((4, 3), np.float32),))
        >>> print(ported.source.split("\\n")[-2].strip())
        return F.linear(x, **p)
    """
    if style not in STYLES:
        raise PortError(f"style= is {style!r}; give one of {', '.join(map(repr, STYLES))}")
    if not isinstance(holes, bool):
        raise PortError(f"holes= needs True or False, got {type(holes).__name__}")
    if not isinstance(scan, bool):
        raise PortError(f"scan= needs True or False, got {type(scan).__name__}")
    if scan and style == "nnx":
        raise PortError('style="nnx" writes no lax.scan; leave out scan=')
    if not isinstance(module, nn.Module):
        raise PortError(not_a_module(module, "port(module, inputs)"))
    require_tuple("inputs=", inputs)
    if not isinstance(also, list | tuple):
        raise PortError(f"also= needs a list of inputs, as in also=[(x,)], got {kind_of(also)}")
    for number, other in enumerate(also):
        require_tuple(f"also[{number}]", other)
    recipe = recipe_of(module, optimizer, loss, targets, scheduler, clip, total)
    try:
        limit = as_limit(time_limit)
    except ProofError as error:
        raise PortError(str(error)) from None
    show = progress or silent
    return write_and_prove(
        Request(module, inputs, also, recipe, style, holes, scan, prove, seed, show, limit)
    )


@dataclasses.dataclass(frozen=True)
class Request:
    """The checked arguments of a call of `port`.

    Attributes:
        module: The torch module.
        inputs: Its example inputs.
        also: Further inputs, on which the port is proved too.
        recipe: torch's training loop, for a training step.
        style: "functions" or "nnx".
        holes: Whether a refused statement is left to be written by hand.
        scan: Whether loops over layers of equal structure are `lax.scan`.
        prove: Whether to prove the port.
        seed: Seed of the proof.
        show: Function that is called with the name of each step as it begins.
        time_limit: Seconds after which each proof ends.
    """

    module: nn.Module
    inputs: PyTree
    also: Sequence[PyTree]
    recipe: Recipe | None
    style: str
    holes: LeavesHoles
    scan: bool
    prove: bool
    seed: int
    show: Callable[[str], None]
    time_limit: float | None


def write_and_prove(request: Request) -> Ported:
    """Write a port and, if the request asks for it, prove it. Every call of `port` ends here.

    Raises:
        PortError: The module cannot be re-expressed, or its port is not proved.
    """
    try:
        return _as_arrays_or_settings(request)
    except PortError as error:
        if request.holes or error.place is None or error.ported is not None:
            raise
        holes = _holes(request)
        if not holes:
            raise
        others = [f"\nalso refused: {x.place}: {x.reason}" for x in holes if x.place != error.place]
        reason = f"{error.reason}{LEAVE_A_HOLE}{''.join(dict.fromkeys(others))}"
        raise PortError(reason, error.place) from error


def _holes(request: Request) -> tuple[Hole, ...]:
    """Return the refused statements of a port that can be written without them, or nothing."""
    with contextlib.suppress(Exception):
        trial = dataclasses.replace(request, holes=True, prove=False, show=silent)
        holes = _as_arrays_or_settings(trial).holes
        if all(hole.statements == 1 for hole in holes):
            return holes
        return _as_arrays_or_settings(dataclasses.replace(trial, holes="each")).holes
    return ()


def _as_arrays_or_settings(request: Request) -> Ported:
    """Write and prove a port; if it is refused, write another with numbers as settings."""
    try:
        return _with_settings(request, FLAGS)
    except PortError:
        if not has_numbers(request.inputs):
            raise
    return _with_settings(request, NUMBERS)  # such as a position, at which a slice begins


def _with_settings(request: Request, kinds: Sequence[type], *, both_arms: bool = True) -> Ported:
    """Write and prove a port in which inputs of some types are settings."""
    module, recipe, show = request.module, request.recipe, request.show
    with settled(module, request.inputs, request.also, kinds) as (given, others):
        show("write")
        how = {"holes": request.holes, "both_arms": both_arms}
        if request.style == "nnx":
            ported = _written_as_classes(module, given, recipe, **how)
        else:
            ported = _written(module, given, recipe, scan=request.scan, **how)
        require_returned(ported, given)
        if not request.prove:
            return ported
        try:
            return _proved(ported, request, given, others)
        except _OneArm:
            return _with_settings(request, kinds, both_arms=False)


class _OneArm(Exception):
    """A port with both arms of a condition is not proved; one with the arm that ran may be."""


def _proved(
    ported: Ported, request: Request, inputs: PyTree, also: Sequence[PyTree]
) -> Ported:  # fmt: skip
    """Return a port with the proofs of its modes and of its training step.

    Raises:
        PortError: The port is not proved.
        Interrupted: The user interrupts a proof.
        _OneArm: The port is not proved, and has arms that did not run.
    """
    module, recipe, show = request.module, request.recipe, request.show
    seed, limit = request.seed, request.time_limit
    try:
        try:
            inputs_of_all = [*also, *ported.witnesses]
            ported = proved(ported, module, inputs, inputs_of_all, seed, show, limit)
        except PortError:
            if not ported.witnesses:
                raise
            raise _OneArm from None
        if recipe is None:
            return ported
        if ported.holes:
            return dataclasses.replace(ported, reports=beside_step(ported.reports))
        return step_proved(ported, recipe, inputs, seed, show, limit)
    except KeyboardInterrupt:
        raise Interrupted(ported) from None


def _written(
    module: nn.Module, inputs: PyTree, recipe: Recipe | None, *, scan: bool, holes: LeavesHoles,
    both_arms: bool,
) -> Ported:  # fmt: skip
    """Return the port as functions of a params tree."""
    program = interpret(module, inputs, holes=holes, both_arms=both_arms)
    run, written = program.run, program.functions
    entry = written[-1]
    layout = Layout(module, program.used, program.constants)
    written = with_named_columns(with_tree_maps(written, layout))
    tree = layout.tree(dict.fromkeys(layout.paths(), True))
    written = [*tie(entry, layout.ties(), tree, stateful=run.stateful), *written]
    step = Step([], [], (), ())
    if recipe is not None:
        step = write_step(recipe, run, written, layout, has_state=run.stateful)
    tail = [w for w in step.section if isinstance(w, Written)]
    written = without_wrappers(written)
    entry.pinned = True  # its constants are those of the module, not of a copy that it calls
    functions = merged([*step.functions, *written, *tail], module)
    functions = with_constructor_defaults(with_named_numbers(functions))
    deviations = deviations_of(functions)
    named_first = with_distinct_names([w for w in functions if w not in tail], module)
    functions = [*named_first, *(w for w in functions if w in tail)]
    functions = named(finished(scanned(functions) if scan else functions, tail))
    undocumented = [w for w in functions if not w.doc]
    for function in undocumented:
        function.doc = docstring(function, module)
    notes = [*program.notes, *note_of(holes_of(functions))]

    own = [w for w in functions if w not in tail]
    arguments = [a.arg for a in (*entry.node.args.args, *entry.node.args.kwonlyargs)]
    options = zip(entry.node.args.kwonlyargs, entry.node.args.kw_defaults, strict=True)
    draws_in_eval = draws.RNG in [a.arg for a, default in options if default is None]
    shared = conventions(
        own, stateful=run.stateful, draws_in_eval=draws_in_eval, paths=layout.paths(),
        buffers=layout.buffers(), complex_parameters=layout.complex_parameters(),
    )  # fmt: skip

    def source(sizes: str = "") -> str:
        lines = "\n".join(filter(None, [shared, sizes]))
        about = [lines, *notes] if lines else notes
        return write_file(
            title_of(module), reading_order(own), program.assumptions, about, step.section,
            deviations,
        )  # fmt: skip

    ported = Ported(
        source(), entry.name, program.assumptions, layout, draws.RNG in arguments, run.stateful,
        TRAINING in arguments, program.modes, step.order, holes_of(functions),
        idle=program.idle, witnesses=program.witnesses, leftovers=program.leftovers,
    )  # fmt: skip
    params = ported.params(module.state_dict())
    ordered = [*(w for w in own if w is not entry), entry]
    shapes = shapes_of(ported.space, ordered, params, to_numpy(inputs))
    for function in undocumented:
        if function.name in shapes:
            function.doc = with_shapes(function.doc, shapes[function.name])
    for function in functions:
        function.doc = with_unrolled(function.doc, function.node, program.growing)
    if not shapes:
        return dataclasses.replace(ported, source=source())
    has_letters = re.search(r"\((\w+, )*[A-Za-z]", " ".join(shapes.values()))
    return dataclasses.replace(ported, source=source(SIZES if has_letters else EXAMPLE))


def _written_as_classes(
    module: nn.Module, inputs: PyTree, recipe: Recipe | None, *, holes: LeavesHoles,
    both_arms: bool,
) -> Ported:  # fmt: skip
    """Return the port as flax classes.

    Raises:
        PortError: flax is not installed.
    """
    try:
        from jaxgrad.parity.port.nnx.port import port_to_nnx
    except ModuleNotFoundError as error:
        raise PortError(
            f'style="nnx" needs flax, and {error.name} is not installed; run: pip install flax'
        ) from None
    return port_to_nnx(module, inputs, recipe, holes=holes, both_arms=both_arms)
