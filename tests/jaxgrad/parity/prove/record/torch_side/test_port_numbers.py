"""Numbers of the port's optimizer are tried in torch's training loop, one setting at a time."""

from typing import Any

import pytest
import torch
from torch import nn

from jaxgrad.parity.prove.record.torch_side import loop, port_numbers
from jaxgrad.parity.prove.record.torch_side.variants import Variant, clipping_by
from jaxgrad.parity.prove.training import Training


NET = nn.Linear(2, 1, bias=False)


def sgd(**settings: Any) -> Training:
    return Training(lambda ps: torch.optim.SGD(ps, lr=0.5), **settings)


def adam() -> Training:
    return Training(lambda ps: torch.optim.Adam(ps, lr=0.5, betas=(0.9, 0.99), eps=0.25))


def texts(variants: Any) -> list[str]:
    return [v.text for v in variants]


def settings_of(variant: Variant) -> Any:
    return loop.build_optimizer(variant.training.torch, NET).param_groups[0]


@pytest.mark.parametrize(
    ("clip", "torchs"),
    [
        (None, "torch clips to another norm"),
        (2.0, "torch's is 2"),
        (2, "torch's is 2"),
        (lambda ps: None, "torch clips to another norm"),
    ],
)
def test_each_positive_number_is_tried_as_a_norm(clip, torchs):
    """torch's own norm is left out; a clipping function of the user has no norm to leave out."""
    found = texts(port_numbers.clips(sgd(clip=clip), [-1.0, 0.0, 0.5, 2.0]))
    numbers = [0.5] if torchs.endswith("2") else [0.5, 2.0]

    assert len(found) == 2 * len(numbers)
    assert [text.split()[7] for text in found[::2]] == [f"{number:g}," for number in numbers]
    assert all(text.endswith(torchs) for text in found)


def test_a_norm_is_applied_by_optax_and_by_torch():
    """torch adds 1e-6 to the norm, and optax does not."""
    sizes = []
    for variant in port_numbers.clips(sgd(), [0.5]):
        weight = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        weight.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
        with clipping_by(variant):
            nn.utils.clip_grad_norm_([weight], 9.0)
        sizes.append(float(torch.linalg.vector_norm(weight.grad)))
    assert sizes[0] == pytest.approx(0.5, abs=1e-12)
    assert sizes[1] == pytest.approx(0.5 * 5 / (5 + 1e-6), abs=1e-12)


def test_each_setting_is_tried_with_each_other_number():
    """The learning rate and the decay have their own variants; flags are not numbers."""
    found = list(port_numbers.settings(adam(), NET, [0.25, 0.9]))
    assert texts(found) == [
        "beta1 is 0.25, torch uses 0.9",
        "beta2 is 0.25, torch uses 0.99",
        "beta2 is 0.9, torch uses 0.99",
        "eps is 0.9, torch uses 0.25",
    ]
    assert [settings_of(v)["betas"] for v in found] == [
        (0.25, 0.99),
        (0.9, 0.25),
        (0.9, 0.9),
        (0.9, 0.99),
    ]
    assert settings_of(found[-1])["eps"] == 0.9


def test_a_pair_that_is_not_of_betas_is_named_by_its_index():
    """Rprop has two pairs."""
    training = Training(lambda ps: torch.optim.Rprop(ps, etas=(0.5, 1.25), step_sizes=(1e-6, 50)))
    assert texts(port_numbers.settings(training, NET, [0.75])) == [
        "etas[0] is 0.75, torch uses 0.5",
        "etas[1] is 0.75, torch uses 1.25",
        "step_sizes[0] is 0.75, torch uses 1e-06",
        "step_sizes[1] is 0.75, torch uses 50",
    ]


def scheduled(make: Any, numbers: list[float]) -> list[tuple[str, list[float]]]:
    """Return each variant of a schedule, with its first rates."""
    result = []
    for variant in port_numbers.schedules(sgd(scheduler=make), NET, numbers):
        optimizer = loop.build_optimizer(variant.training.torch, NET)
        assert variant.training.scheduler is not None
        scheduler, rates = variant.training.scheduler(optimizer), []
        for _ in range(3):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        result.append((variant.text, rates))
    return result


def test_a_number_of_a_schedule_may_be_a_rate_or_a_part_of_the_first_rate():
    """0.125 is a quarter of the rate 0.5, so a factor of 0.25 is tried as well."""
    step = torch.optim.lr_scheduler.StepLR
    found = dict(scheduled(lambda opt: step(opt, 2, gamma=0.75), [0.125, 1.0, 2.0, 0.0]))

    assert "gamma of the schedule is 0.125, torch uses 0.75" in found
    assert "gamma of the schedule is 0.25, torch uses 0.75" in found  # 0.125 / 0.5
    assert "gamma of the schedule is 0.0625, torch uses 0.75" in found  # 0.125 * 0.5
    assert "gamma of the schedule is 0, torch uses 0.75" in found
    assert [text for text in found if text.startswith("step_size")] == [
        "step_size of the schedule is 1, torch uses 2",
        "step_size of the schedule is 4, torch uses 2",
    ]
    assert found["step_size of the schedule is 1, torch uses 2"] == [0.5, 0.375, 0.28125]
    assert all(text.startswith(("gamma", "step_size")) for text in found)


def test_each_part_of_a_chain_of_schedules_is_tried():
    """The numbers of the second part change that part alone."""
    schedules = torch.optim.lr_scheduler

    def make(optimizer: Any) -> Any:
        warm = schedules.ConstantLR(optimizer, factor=0.5, total_iters=1)
        decay = schedules.ExponentialLR(optimizer, gamma=0.5)
        return schedules.SequentialLR(optimizer, [warm, decay], milestones=[1])

    found = dict(scheduled(make, [0.25]))
    assert found["gamma of the schedule is 0.25, torch uses 0.5"] == [0.25, 0.5, 0.125]


def test_a_loop_without_a_scheduler_has_no_variant_of_one():
    """Nothing is tried."""
    assert not list(port_numbers.schedules(sgd(), NET, [0.5]))
