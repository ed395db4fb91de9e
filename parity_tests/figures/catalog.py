"""The figures by name, with the cases that each of them pictures."""

from collections.abc import Callable
from typing import Any, NamedTuple

from parity_tests.figures import (
    chain_rule,
    checkpoint_depth,
    clipping_ball,
    critic_slope,
    fgsm,
    fork_sum,
    freed_buffers,
    frozen_group,
    hook_uses,
    huber,
    kept_gradients,
    matrix,
    optimizer_losses,
    ring,
    schedules,
    stop_bytes,
    tangent,
    version_counter,
)
from parity_tests.runner.settings import configure


class Figure(NamedTuple):
    """A figure: the cases that it pictures, the run that gives its numbers, and the drawing."""

    cases: tuple[str, ...]
    record: Callable[[], Any]
    draw: Callable[[Any], str]


FIGURES = {
    "chain_rule": Figure((chain_rule.CASE,), chain_rule.record, chain_rule.draw),
    "checkpoint_depth": Figure(
        ("checkpointing/checkpoint", "checkpointing/checkpoint_sequential"),
        checkpoint_depth.record,
        checkpoint_depth.draw,
    ),
    "clipping_ball": Figure(
        ("clipping/clip_grad_norm", "clipping/clip_grad_value"),
        clipping_ball.record,
        clipping_ball.draw,
    ),
    "critic_slope": Figure(
        ("higher_order/gradient_penalty",), critic_slope.record, critic_slope.draw
    ),
    "fgsm": Figure((fgsm.CASE,), fgsm.record, fgsm.draw),
    "fork_sum": Figure((fork_sum.CASE, "backward/several_uses"), fork_sum.record, fork_sum.draw),
    "freed_buffers": Figure(
        (freed_buffers.CASE, "retain_graph/retain_graph"), freed_buffers.record, freed_buffers.draw
    ),
    "hook_uses": Figure(
        (hook_uses.CASE, "hooks/register_hook_sum"), hook_uses.record, hook_uses.draw
    ),
    "kept_gradients": Figure((kept_gradients.CASE,), kept_gradients.record, kept_gradients.draw),
    "none_or_zero": Figure((matrix.LOST,), matrix.record_lost, matrix.draw),
    "optimizer_losses": Figure(
        tuple(optimizer_losses.CASES.values()), optimizer_losses.record, optimizer_losses.draw
    ),
    "ring": Figure((ring.CASE,), ring.record, ring.draw),
    "frozen_group": Figure((frozen_group.CASE,), frozen_group.record, frozen_group.draw),
    "huber": Figure((huber.CASE,), huber.record, huber.draw),
    "stop_bytes": Figure((stop_bytes.CASE,), stop_bytes.record, stop_bytes.draw),
    "tangent": Figure((tangent.CASE,), tangent.record, tangent.draw),
    "schedules": Figure(
        tuple(f"lr_scheduler/{name}" for name in schedules.NAMES),
        schedules.record,
        schedules.draw,
    ),
    "stopped_layers": Figure(
        (
            matrix.STOPPED,
            "grad_modes/nothing_stopped",
            "grad_modes/detach",
            "grad_modes/no_grad",
            "freezing/optimizer_subset",
            "grad_modes/inference_clone",
        ),
        matrix.record_stopped,
        matrix.draw,
    ),
    "version_counter": Figure(
        (version_counter.CASE, "mutation/inplace_after_use"),
        version_counter.record,
        version_counter.draw,
    ),
}


def figure(name: str) -> str:
    """Run the programs of a figure and return it as SVG."""
    configure()
    found = FIGURES[name]
    return found.draw(found.record())
