"""A port to flax classes has a training step, which does what torch's training loop does."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from flax import nnx
from torch import nn
from torch.optim import lr_scheduler

import jaxgrad.nnx
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import step_proofs
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.training.recipes import Recipe


RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((5, 3)).astype(np.float32), np.array([0, 1, 1, 0, 1])


class Net(nn.Module):
    """Parts in a Sequential, a frozen layer, running statistics and a parameter without use."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 4).requires_grad_(False)
        self.body = nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh())
        self.head, self.left_over = nn.Linear(4, 2), nn.Linear(2, 2)
        self.shift = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.head(self.body(self.trunk(x))) + self.shift.detach()


class Tied(nn.Module):
    """A module whose outputs are its loss, with one weight under two names."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(3, 3), nn.Linear(3, 3)
        self.down.weight = self.up.weight

    def forward(self, x, labels):
        return tf.cross_entropy(self.down(self.up(x).tanh()), labels)


def adamw(params: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(params, lr=1e-2, weight_decay=0.1)


def groups(params: Any) -> torch.optim.Optimizer:
    params = list(params)
    rest = {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0, "lr": 0.02}
    return torch.optim.AdamW([{"params": [p for p in params if p.ndim > 1]}, rest], lr=1e-2)


def warm_up(optimizer: Any) -> Any:
    linear = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
    return lr_scheduler.SequentialLR(optimizer, [linear, lr_scheduler.StepLR(optimizer, 2)], [2])


def smoothed(logits, labels):
    return tf.cross_entropy(logits, labels, label_smoothing=0.1).reshape(1)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "clipped": (Net, dict(optimizer=adamw, loss=smoothed, scheduler=warm_up, clip=0.05)),
    "groups": (Net, dict(optimizer=groups, loss=nn.CrossEntropyLoss())),
    "cycled": (Net, dict(
        optimizer=groups, loss=nn.CrossEntropyLoss(),
        scheduler=lambda opt: lr_scheduler.OneCycleLR(opt, [0.1, 0.2], total_steps=9),
    )),
    "tied": (Tied, dict(optimizer=lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9))),
}  # fmt: skip


def made(name: str) -> tuple[nn.Module, Any, dict[str, Any]]:
    torch.manual_seed(0)
    kind, options = CASES[name]
    module = kind()
    inputs, targets = ((X,), (Y,)) if "loss" in options else ((X, Y), ())
    ported: Any = port(module, inputs, targets=targets, style="nnx", prove=False, **options)
    return module, ported, options


def by_torch(module: nn.Module, options: dict[str, Any], steps: int) -> Any:
    """Run torch's training loop, and return its optimizer."""
    optimizer = options["optimizer"](module.parameters())
    scheduler = options["scheduler"](optimizer) if "scheduler" in options else None
    x, labels = torch.tensor(X), torch.tensor(Y)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = options["loss"](module(x), labels) if "loss" in options else module(x, labels)
        loss.sum().backward()
        if "clip" in options:
            nn.utils.clip_grad_norm_(module.parameters(), options["clip"])
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return optimizer


def runs_as_torch(name: str, *, without: str = "", instead: str = "") -> bool:
    """Return whether five steps, of which torch makes the first two, give what torch's five give.

    The weights, the buffers and the state of the optimizer are compared.
    """
    module, ported, options = made(name)
    assert without in ported.source, ported.source
    if without:
        source = ported.source.replace(without, instead)
        ported = dataclasses.replace(ported, source=source)
    module.train()
    begun = None if "scheduler" in options else by_torch(module, options, 2)
    model = ported.model(module.state_dict())
    state = ported.space["init_optimizer"](model)
    if begun is not None:
        state = ported.opt_state(begun.state_dict())
    step = nnx.jit(ported.train_step)
    for _ in range(3):
        state, _ = step(model, state, X, Y)

    torch.manual_seed(0)
    other = CASES[name][0]().train()
    optimizer = by_torch(other, options, 3 if begun is None else 5)
    found = jaxgrad.nnx.state_dict(model)
    pairs = [(found[n], x.numpy()) for n, x in other.state_dict().items() if n in found]
    wanted = ported.opt_state(optimizer.state_dict())
    pairs += zip(jax.tree.leaves(state), jax.tree.leaves(wanted), strict=True)
    assert len(pairs) > 8
    return all(np.allclose(a, b, rtol=2e-4, atol=2e-6) for a, b in pairs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_steps_of_a_flax_model_are_those_of_torch(name):
    """Weights, statistics and optimizer state are torch's, from the start and from its state."""
    assert runs_as_torch(name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "line", "instead"),
    [
        ("clipped", "    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)\n", ""),
        ("clipped", "params, others)\n    return", "params)\n    return"),
        ("clipped", "value_and_grad(loss_of", "value_and_grad(loss_of, unused='zeros'"),
        ("clipped", 'not name.startswith("trunk/")', "True"),
        ("groups", "        return 1\n    return 0", "        return 0\n    return 1"),
    ],
)  # fmt: skip
def test_steps_without_a_line_differ(name, line, instead):
    """Without clipping, new statistics, None for unused, freezing or groups they differ."""
    assert not runs_as_torch(name, without=line, instead=instead)


def test_a_step_of_a_flax_model_is_readable():
    """The filter names what is trained, and the lines are in torch's order."""
    source = made("clipped")[1].source
    wanted = """\
    graph, params, others = nnx.split(model, TRAINED, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x, labels), nnx.state(model, nnx.Not(TRAINED))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
"""
    assert source.endswith(wanted), source
    tied = made("tied")[1].source
    assert "return loss_fn(nnx.merge(graph, params), x, labels)" in tied, tied


@pytest.mark.slow
def test_the_step_of_a_flax_model_is_proved(tmp_path):
    """A file with another learning rate is refused, and `write` and `verify` accept the right."""
    torch.manual_seed(0)
    module = Net()
    optimizer = adamw(module.parameters())
    options: dict[str, Any] = dict(targets=(Y,), optimizer=optimizer, loss=smoothed, clip=0.1)
    ported = port(module, (X,), style="nnx", **options)
    assert {name: r.verdict for name, r in ported.reports.items()} == {
        "train": "pass", "eval": "pass", "step": "pass",
    }  # fmt: skip
    ported.write(tmp_path / "net.py")
    assert main(["verify", str(tmp_path / "net.py")]) == 0

    recipe = Recipe(optimizer, smoothed, (Y,), None, 0.1)
    wrong = dataclasses.replace(ported, source=ported.source.replace("lr=0.01", "lr=0.02"))
    with pytest.raises(PortError, match="the training step of the port of Net is not proved"):
        step_proofs.step_proved(wrong, recipe, (X,), 0)


@pytest.mark.slow
def test_draws_of_a_flax_model_differ_from_step_to_step():
    """The keys of dropout advance in the model that the step changes."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    ported: Any = port(
        module, (X,), targets=(Y,), style="nnx", loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(module.parameters(), lr=0.0),
    )  # fmt: skip
    assert ported.reports["step"].verdict == "pass"
    model = ported.model(module.state_dict())
    state, step = ported.space["init_optimizer"](model), nnx.jit(ported.train_step)
    losses = []
    for _ in range(4):
        state, loss = step(model, state, X, Y)
        losses.append(float(loss))
    assert len(set(losses)) > 1
