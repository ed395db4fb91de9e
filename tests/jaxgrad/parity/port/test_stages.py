"""A log has one line for each stage of writing and proving a port."""

import pytest

from jaxgrad.parity.port import stages


STEPS = (
    "write", "train: torch", "train: weights", "train: trace", "train: torch", "train: trace",
    "train: jax forward", "train: align", "train: float32", "train: jax backward",
    "train: jax backward", "train: float32", "train: other inputs", "train: updates",
    "train: precision", "step: torch", "step: trace", "step: torch", "step: jax forward",
    "step: jax backward", "step: other inputs", "step: updates", "step: precision", "save",
)  # fmt: skip


def test_a_log_has_one_line_a_stage(capsys):
    seconds = iter(range(100))
    show = stages.in_log("port", lambda: next(seconds))
    for step in STEPS:
        show(step)

    assert capsys.readouterr().err.splitlines() == [
        "port, 1 s: writing the port",
        "port, 2 s: proving train mode: forward",
        "port, 3 s: proving train mode: gradients",
        "port, 4 s: proving train mode: other inputs",
        "port, 5 s: proving the training step: gradients",
        "port, 6 s: proving the training step: updates",
        "port, 7 s: writing the files",
    ]


def test_a_stage_that_begins_again_has_a_line_again(capsys):
    """A port that is refused may be written in another way."""
    show = stages.in_log("port")
    for step in (*STEPS[:13], *STEPS[:13]):
        show(step)
    assert capsys.readouterr().err.count("writing the port") == 2


def test_verify_compares_a_training_step_in_one_stage():
    assert stages.stage_of("step") == "comparing the training step with the proved one"


@pytest.mark.parametrize("step", ["train: align", "step: precision", "torch", "other: torch"])
def test_a_step_inside_of_a_stage_has_no_line(step):
    assert stages.stage_of(step) == ""
