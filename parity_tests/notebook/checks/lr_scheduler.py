"""Checks of the exercises in the notebook lr_scheduler."""

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn


def warm_up(schedule):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=4)
    for step in range(6):
        yield f"the learning rate at step {step}", schedule(step), optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def average_from_the_first_model(average):
    for weights in ([1.0, 2.0, 4.0], [3.0]):
        model = torch.nn.Linear(1, 1, bias=False)
        averaged = AveragedModel(model, avg_fn=get_ema_avg_fn(0.5))
        for weight in weights:
            torch.nn.init.constant_(model.weight, weight)
            averaged.update_parameters(model)
        (wanted,) = averaged.parameters()
        yield f"the average of {weights}", average(weights), wanted.item()
