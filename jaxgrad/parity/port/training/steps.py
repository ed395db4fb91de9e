"""Write the training step: the loss, its gradients, clipping, the optimizer and its schedule."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training import optimizers
from jaxgrad.parity.port.training.losses import argument_names, write_loss
from jaxgrad.parity.port.training.recipes import Recipe, Training, training_of
from jaxgrad.parity.port.training.schedules import write_rates
from jaxgrad.parity.port.training.selections import negated, selection
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.scope import Run


CONJUGATE = "    grads = jax.tree.map(jnp.conj, grads)"
CONJUGATE_COMMENT = "# jax.grad gives the conjugate of torch's .grad for complex parameters"
STEP_DOC = "Make one step of torch's training loop, in its order: {}."


@dataclasses.dataclass(frozen=True)
class Step:
    """What the file has beside the module's functions.

    Attributes:
        functions: The functions that the loss calls.
        section: The statements at the end of the file.
        trained: The names of the leaves that the optimizer trains.
        order: The names of the parameters in each group of the optimizer, in its order.
    """

    functions: list[Written]
    section: list[Written | ast.stmt]
    trained: tuple[str, ...]
    order: tuple[tuple[str, ...], ...]


def write_step(
    recipe: Recipe, run: Run, functions: Sequence[Written], layout: Layout, *, has_state: bool
) -> Step:
    """Return the training step of a module whose functions are written.

    Args:
        recipe: torch's training loop.
        run: The run of the module in train mode.
        functions: The functions of the port; the entry is the last one.
        layout: The params of the port.
        has_state: Whether the entry returns its params too.

    Raises:
        PortError: The loss, the optimizer or the scheduler has no counterpart.
    """
    training = training_of(recipe, layout.module, layout.names())
    paths = layout.paths()
    trained = [n for n in paths if training.trains(n)]
    others = [n for n in paths if n not in trained]
    loss = write_loss(recipe, run, functions, has_state=has_state)
    keys = ["rng"] if draws.RNG in argument_names(functions[-1]) else []
    section: list[Written | ast.stmt] = [loss.written]
    if others:
        code = test_of(*(_paths(names) for names in (trained, others)))
        section.append(helper(f"def is_trained(name, _):\n    return {code}",
                              "Return whether torch's optimizer trains a leaf."))  # fmt: skip
    groups = [_paths(n for n in group if n in trained) for group in training.groups]
    written = [*functions, *loss.functions]
    taken = {PARAMS, *(n for w in written for n in (w.name, *syntax.assigned(w.node)))}
    optimizer, done = optimizer_section(recipe, training, groups, taken)
    section += optimizer
    section += _training_functions(
        [*loss.batch, *keys], recipe, done,
        partial=bool(others), has_state=has_state, has_complex=training.has_complex,
    )  # fmt: skip
    return Step(loss.functions, section, tuple(trained), training.groups)


def _paths(names: Iterable[str]) -> list[str]:
    """Convert torch's parameter names to paths in the params."""
    return [name.replace(".", "/") for name in names]


def test_of(trained: Sequence[str], others: Sequence[str]) -> str:
    """Return the shorter expression in `name` that is true for the trained paths only."""
    test, positive = selection(others, trained), selection(trained, others)
    return positive if len(positive) <= len(test) else negated(test)


def optimizer_section(
    recipe: Recipe, training: Training, groups: Sequence[Sequence[str]], taken: Iterable[str]
) -> tuple[list[Written | ast.stmt], str]:
    """Return the statements that define `OPTIMIZER`, and the order of torch's operations.

    Args:
        recipe: torch's training loop.
        training: The parameters that its optimizer trains.
        groups: The port's paths of the parameters that each group trains. A group that trains
            nothing is left out.
        taken: Names that the functions of the port use.
    """
    section: list[Written | ast.stmt] = []
    kept = [number for number, own in enumerate(groups) if own] or [0]
    if len(kept) > 1:
        section.append(_group_of([groups[number] for number in kept]))
    rates = write_rates(training.optimizer, recipe.scheduler, taken, kept)
    transformation = optimizers.write_optimizer(training.optimizer, rates, kept)
    section += rates.section
    section.append(ast.Assign([ast.Name("OPTIMIZER", ast.Store())], transformation))
    done = ["loss", "gradients", *([] if recipe.clip is None else ["clipping"])]
    kinds = [training.optimizer, *([rates.scheduler] if rates.scheduler else [])]
    return section, ", ".join([*done, *(type(x).__name__ for x in kinds)])


def helper(source: str, doc: str, comments: Mapping[int, str] | None = None) -> Written:
    """Return a function of the training step from its source, with comments above some lines.

    Args:
        source: The function, one statement on each line.
        doc: Its docstring.
        comments: The comment above a line, by its number in the source, counted from 1.
    """
    written = Written.helper(source, doc, write_step)
    for statement in written.node.body:
        if comments is not None and statement.lineno in comments:
            on_statement(statement).comments = (comments[statement.lineno],)
    return written


def _group_of(groups: Sequence[Sequence[str]]) -> Written:
    """Return the function that maps a path to the number of its parameter group."""
    lines = ["def group_of(name):"]
    for number, own in list(enumerate(groups))[1:]:
        test = selection(own, [n for group in groups for n in group if n not in own])
        lines += [f"    if {test}:", f"        return {number}"]
    return helper("\n".join([*lines, "    return 0"]), "Return the parameter group of a leaf.")


def _training_functions(
    batch: list[str], recipe: Recipe, done: str, *, partial: bool, has_state: bool,
    has_complex: bool,
) -> list[Written]:  # fmt: skip
    """Return `init_optimizer` and `train_step`, in torch's order of operations."""
    held = "jaxgrad.partition(params, is_trained)[0]" if partial else "params"
    start = helper(
        f"def init_optimizer(params):\n    return OPTIMIZER.init({held})",
        "Return the state of the optimizer before the first step.",
    )
    names = ", ".join(batch)
    lines = [f"def train_step(params, opt_state, {names}):"]
    function, over, aux = "loss_fn", f"params, {names}", ", has_aux=True" if has_state else ""
    value = "(loss, params)" if has_state else "loss"
    if partial:
        lines += [
            "    trained, others = jaxgrad.partition(params, is_trained)",
            "    def loss_of(trained):",
            f"        return loss_fn(jaxgrad.combine(trained, others), {names})",
        ]
        function, over = "loss_of", "trained"
    lines.append(f"    {value}, grads = jaxgrad.value_and_grad({function}{aux})({over})")
    comments = {}
    if has_complex:
        lines.append(CONJUGATE)
        comments[len(lines)] = CONJUGATE_COMMENT
    if recipe.clip is not None:
        lines.append(f"    grads, _ = jaxgrad.clip_grad_norm(grads, {float(recipe.clip)})")
    stepped = "trained" if partial else "params"
    lines.append(f"    {stepped}, opt_state = OPTIMIZER.step(grads, opt_state, {stepped})")
    if partial:
        if has_state:
            lines.append("    _, others = jaxgrad.partition(params, is_trained)")
        lines.append("    params = jaxgrad.combine(trained, others)")
    lines.append("    return params, opt_state, loss")
    return [start, helper("\n".join(lines), STEP_DOC.format(done), comments)]
