"""Learning rate schedulers: each trains a parameter for sixty steps and records every rate."""

import torch
from torch import nn, optim
from torch.optim import lr_scheduler as schedulers
from torch.optim.swa_utils import SWALR


def _train(w, target, scheduler_of, *, momentum=False):
    w = nn.Parameter(w.clone())
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9 if momentum else 0.0)
    scheduler = scheduler_of(optimizer)
    rates, momenta = [], []
    for _ in range(60):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.zero_grad()
        (0.5 * (w - target).square().sum()).backward()
        optimizer.step()
        scheduler.step()
    record = {"lr": torch.tensor(rates, dtype=w.dtype), "w": w.detach()}
    return record | {"momentum": torch.tensor(momenta, dtype=w.dtype)} if momentum else record


def lambda_lr(w, target):
    return _train(w, target, lambda o: schedulers.LambdaLR(o, lambda epoch: 0.95**epoch))


def multiplicative_lr(w, target):
    return _train(w, target, lambda o: schedulers.MultiplicativeLR(o, lambda epoch: 0.95))


def step_lr(w, target):
    return _train(w, target, lambda o: schedulers.StepLR(o, step_size=20, gamma=0.5))


def multi_step_lr(w, target):
    return _train(w, target, lambda o: schedulers.MultiStepLR(o, [10, 30, 30], gamma=0.5))


def constant_lr(w, target):
    return _train(w, target, lambda o: schedulers.ConstantLR(o, factor=0.25, total_iters=20))


def linear_lr(w, target):
    return _train(w, target, lambda o: schedulers.LinearLR(o, total_iters=20))


def exponential_lr(w, target):
    return _train(w, target, lambda o: schedulers.ExponentialLR(o, gamma=0.95))


def polynomial_lr(w, target):
    return _train(w, target, lambda o: schedulers.PolynomialLR(o, total_iters=40, power=2.0))


def cosine_annealing_lr(w, target):
    return _train(w, target, lambda o: schedulers.CosineAnnealingLR(o, T_max=25, eta_min=0.01))


def cosine_annealing_warm_restarts(w, target):
    return _train(w, target, lambda o: schedulers.CosineAnnealingWarmRestarts(o, T_0=10, T_mult=2))


def one_cycle_lr(w, target):
    return _train(
        w, target, lambda o: schedulers.OneCycleLR(o, max_lr=0.5, total_steps=60), momentum=True
    )


def cyclic_lr(w, target):
    return _train(
        w,
        target,
        lambda o: schedulers.CyclicLR(o, 0.01, 0.2, step_size_up=10, mode="triangular2"),
        momentum=True,
    )


def sequential_lr(w, target):
    def scheduler_of(o):
        warmup = schedulers.LinearLR(o, total_iters=10)
        decay = schedulers.MultiplicativeLR(o, lambda epoch: 0.95)
        return schedulers.SequentialLR(o, [warmup, decay], milestones=[5])

    return _train(w, target, scheduler_of)


def chained_scheduler(w, target):
    def scheduler_of(o):
        warmup = schedulers.LinearLR(o, total_iters=10)
        cosine = schedulers.CosineAnnealingLR(o, T_max=30, eta_min=0.05)
        return schedulers.ChainedScheduler([warmup, cosine])

    return _train(w, target, scheduler_of)


def swalr(w, target):
    return _train(w, target, lambda o: SWALR(o, swa_lr=0.02, anneal_epochs=20))


def reduce_lr_on_plateau(w, target):
    w = nn.Parameter(w.clone())
    optimizer = optim.SGD([w], lr=0.5)
    scheduler = schedulers.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    rates, losses = [], []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (w - target).abs().sum()
        loss.backward()
        optimizer.step()
        scheduler.step(loss)
        losses.append(loss.detach())
        rates.append(optimizer.param_groups[0]["lr"])
    return {"lr": torch.tensor(rates, dtype=w.dtype), "losses": torch.stack(losses)}
