"""A port has a training step, which does what torch's training loop does."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn
from torch.optim import lr_scheduler

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof import step_proofs
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.training.recipes import Recipe
from jaxgrad.parity.port.training.selections import selection


RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((5, 3)).astype(np.float32), np.array([0, 1, 1, 0, 1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.head = nn.Linear(3, 4).requires_grad_(False), nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return {"logits": self.head(self.norm(self.trunk(x)))}


def smoothed(outputs, labels):
    logits = outputs["logits"]
    # a tenth of the mass is spread
    return tf.cross_entropy(logits, labels, label_smoothing=0.1)


def squared(y, labels):
    return (y[:, 0] - labels.to(y.dtype)).square().mean()


def adamw(params: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in params if p.requires_grad], lr=1e-2)


def groups(params: Any) -> torch.optim.Optimizer:
    params = list(params)
    rest = {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0, "lr": 0.02}
    return torch.optim.AdamW(
        [{"params": [p for p in params if p.ndim > 1]}, rest], lr=1e-2, betas=(0.9, 0.95)
    )


def warm_up(optimizer: Any) -> Any:
    linear = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
    return lr_scheduler.SequentialLR(optimizer, [linear, lr_scheduler.StepLR(optimizer, 2)], [2])


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (Net, dict(
        optimizer=lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
        loss=nn.CrossEntropyLoss(),
    )),
    "frozen": (Normed, dict(optimizer=adamw, loss=smoothed, scheduler=warm_up, clip=0.05)),
    "groups": (Net, dict(optimizer=groups, loss=squared, scheduler=warm_up)),
    "frozen group": (Normed, dict(
        optimizer=lambda ps: torch.optim.AdamW([dict(params=ps[:2]), dict(params=ps[2:], lr=0.02)]),
        loss=smoothed,
    )),
    "cycled": (Net, dict(
        optimizer=groups, loss=squared,
        scheduler=lambda opt: lr_scheduler.OneCycleLR(opt, [0.1, 0.2], total_steps=9),
    )),
}  # fmt: skip


def made(name: str, **changes: Any) -> tuple[nn.Module, Any, dict[str, Any]]:
    torch.manual_seed(0)
    kind, options = CASES[name]
    module, options = kind(), {**options, **changes}
    return module, port(module, (X,), targets=(Y,), prove=False, **options), options


def by_torch(module: nn.Module, options: dict[str, Any], steps: int) -> Any:
    """Run torch's training loop, and return its optimizer."""
    optimizer = options["optimizer"](list(module.parameters()))
    scheduler = options["scheduler"](optimizer) if "scheduler" in options else None
    module.train()
    for _ in range(steps):
        optimizer.zero_grad()
        options["loss"](module(torch.tensor(X)), torch.tensor(Y)).backward()
        if "clip" in options:
            nn.utils.clip_grad_norm_(module.parameters(), options["clip"])
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return optimizer


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_steps_of_the_port_are_those_of_torch(name):
    """After five steps the port has torch's weights, buffers and optimizer state."""
    module, ported, options = made(name)
    params = ported.params(module.state_dict())
    state = ported.space["init_optimizer"](params)
    step = jax.jit(ported.train_step)
    for _ in range(5):
        params, state, _ = step(params, state, X, Y)
    optimizer = by_torch(module, options, 5)

    want = ported.params(module.state_dict()), ported.opt_state(optimizer.state_dict())
    for a, b in zip(jax.tree.leaves((params, state)), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-6)


def test_a_step_with_frozen_weights_buffers_clipping_and_a_schedule_is_readable():
    """The file names what is trained, the optimizer with its schedule, and torch's order."""
    _, ported, _ = made("frozen")
    wanted = """\
    (loss, params), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(trained)
    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    _, others = jaxgrad.partition(params, is_trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss
"""
    assert ported.source.endswith(wanted)
    assert "    # a tenth of the mass is spread" in ported.source
    assert "optim.lr_scheduler.linear_lr(0.01, start_factor=0.1, total_iters=2)" in ported.source
    assert ported.space["is_trained"]("head/weight", None)
    assert not ported.space["is_trained"]("trunk/weight", None)
    assert not ported.space["is_trained"]("norm/running_mean", None)


def test_options_that_are_torchs_defaults_are_not_written():
    """The optimizer has the options that differ from the defaults."""
    assert "OPTIMIZER = optim.sgd(lr=0.1, momentum=0.9)\n" in made("sgd")[1].source
    assert '"weight_decay": 0.0' in made("groups")[1].source


def test_the_training_step_is_proved():
    """Loss and optimizer are proved, and a file with another learning rate is refused."""
    torch.manual_seed(0)
    module = Net()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    ported = port(module, (X,), targets=(Y,), optimizer=optimizer, loss=squared, clip=0.1)
    assert set(ported.reports) == {"train", "step"} and ported.report is not None
    assert ported.report.verdict == "pass"
    assert ported.reports["step"].name == "Net | train_step"

    recipe = Recipe(optimizer, squared, (Y,), None, 0.1)
    wrong = dataclasses.replace(ported, source=ported.source.replace("lr=0.1", "lr=0.2"))
    with pytest.raises(PortError, match="the training step of the port of Net is not proved"):
        step_proofs.step_proved(wrong, recipe, (X,), 0)


class Stopped(Net):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return super().forward(x) + self.shift.detach()


@pytest.mark.slow
def test_a_parameter_without_a_gradient_has_no_weight_decay():
    """torch skips a parameter behind `detach`, and so does the step that is proved."""
    module = Stopped()
    optimizer = adamw(module.parameters())
    ported = port(module, (X,), targets=(Y,), optimizer=optimizer, loss=squared)
    assert ported.reports["step"].verdict == "pass"
    params = ported.params(module.state_dict())
    state = ported.space["init_optimizer"](params)
    params, _, _ = ported.train_step(params, state, X, Y)
    np.testing.assert_array_equal(params["shift"], 1.0)


def test_a_step_that_differs_from_what_is_proved_is_refused():
    """A training step without its line of clipping is not the one that was proved."""
    _, ported, _ = made("frozen")
    line = "    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)\n"
    wrong = dataclasses.replace(ported, source=ported.source.replace(line, ""))
    recipe = Recipe(adamw(ported.layout.module.parameters()), smoothed, (Y,), warm_up, 0.05)

    params = ported.params(ported.layout.module.state_dict())
    step_proofs.require_same_steps(ported.step_functions(0), recipe, params, (X, Y))
    with pytest.raises(PortError, match="train_step differs from the loss and the optimizer"):
        step_proofs.require_same_steps(wrong.step_functions(0), recipe, params, (X, Y))


NOT_REDUCED = (
    r"loss= returns a tensor of shape \(5,\), but optimizer= needs a loss of one element; reduce it"
)


@pytest.mark.parametrize(
    "options, reason",
    [
        (dict(optimizer=None), "loss= needs optimizer="),
        (dict(optimizer=3), "optimizer= needs a torch optimizer or a function .* got int"),
        (
            dict(optimizer=lambda model: model.missing.parameters()),
            "optimizer=: the torch factory raised AttributeError .*list of parameters",
        ),
        (dict(clip="1"), "clip= needs a maximum norm, got str"),
        (dict(optimizer=lambda ps: torch.optim.SGD(ps[:1], lr=0.1)), "does not have inner.bias"),
        (dict(optimizer=torch.optim.LBFGS), "evaluates the loss several times"),
        (
            dict(scheduler=lr_scheduler.ReduceLROnPlateau),
            "ReduceLROnPlateau reads a metric after each epoch",
        ),
        (dict(loss=lambda y, t: tf.cross_entropy(y, t, reduction="none")), NOT_REDUCED),
        (dict(total=0), "total= needs a positive number of steps, got 0"),
    ],
)
def test_a_training_loop_that_cannot_be_written_is_refused(options, reason):
    """An argument of a wrong type, or a scheduler without a counterpart, is named."""
    with pytest.raises(PortError, match=reason):
        made("sgd", **options)


def test_a_factory_gets_the_parameters_or_the_module():
    """A factory of the module, as `prove` accepts it, makes the same port as one of the list."""
    by_list, by_module = (
        made("sgd", optimizer=factory)[1].source
        for factory in (
            lambda params: torch.optim.SGD(list(params), lr=0.1),
            lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
        )
    )
    assert by_list == by_module and "optim.sgd(lr=0.1)" in by_list


def test_a_group_whose_parameters_are_frozen_is_left_out():
    """The optimizer of the port has the other group alone."""
    _, ported, _ = made("frozen group")

    assert "OPTIMIZER = optim.adamw(lr=0.02)" in ported.source and "group_of" not in ported.source


def test_the_state_of_another_optimizer():
    """Other groups are refused in a state_dict, and found by identity in the optimizer itself."""
    module: Any
    module, ported, options = made("groups")
    head_first = torch.optim.AdamW(
        [{"params": module.outer.parameters()}, {"params": module.inner.parameters()}]
    )
    by_torch(module, {**options, "optimizer": lambda _: head_first, "scheduler": lambda x: x}, 1)
    state = ported.opt_state(head_first)
    for group, name, kind in ((0, "inner", "weight"), (1, "outer", "bias")):
        moment = state.groups[group].exp_avg[name][kind]
        expected = head_first.state[getattr(getattr(module, name), kind)]["exp_avg"]
        np.testing.assert_array_equal(moment, expected.numpy())

    one = torch.optim.AdamW(module.parameters()).state_dict()
    text = (
        r"groups of the state_dict have \[4\] parameters, but those of the optimizer that port was "
        r"given have \[2, 2\]: pass torch's optimizer itself, opt_state\(optimizer\)"
    )
    with pytest.raises(ValueError, match=text):
        ported.opt_state(one)


@pytest.mark.parametrize(
    ("names", "others", "expected"),
    [
        (["a/bias", "b/0/bias"], ["b/1/weight"], 'name.split("/")[-1] == "bias"'),
        (["a/x", "a/y", "c"], ["b/x", "b/y"], 'name.startswith("a/") or name == "c"'),
        (["a/freq"], ["a/weight", "b/weight"], 'name == "a/freq"'),
        (["a/freq", "c/freq"], ["b/freq", "a/w"], 'name in ("a/freq", "c/freq")'),
    ],
)
def test_names_are_selected_by_a_short_test(names, others, expected):
    """The test compares the last part or the prefix of a path only if several paths share it."""
    test = selection(names, others)
    assert test == expected
    assert [bool(eval(test, {"name": n})) for n in names] == [True] * len(names)
    assert [bool(eval(test, {"name": n})) for n in others] == [False] * len(others)


class Twice(nn.Module):
    """A trained and an untrained leaf with the same last name."""

    def __init__(self):
        super().__init__()
        self.freq = nn.Parameter(torch.ones(3))
        self.inner = nn.Linear(3, 2)
        self.inner.register_buffer("freq", torch.full((2,), 0.5))

    def forward(self, x):
        return self.inner(x * self.freq) * self.inner.freq


def test_a_buffer_with_the_last_name_of_a_parameter_is_not_trained():
    optimizer = lambda params: torch.optim.SGD(params, 0.1)  # noqa: E731
    ported = port(Twice(), (X,), optimizer=optimizer, loss=lambda y: y.square().mean())
    assert ported.report is not None and ported.report.verdict == "pass", ported.report
    assert 'return name != "inner/freq"' in ported.source, ported.source[-1500:]


class Complex(nn.Module):
    """A module that returns its loss, with complex parameters and a frozen layer."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(3, 3, dtype=torch.complex64))
        self.fc, self.frozen = nn.Linear(3, 3), nn.Linear(3, 3).requires_grad_(False)

    def forward(self, x):
        h = torch.tanh(self.frozen(self.fc(x)))
        return (self.mix @ h.T.to(self.mix.dtype)).abs().square().mean()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_with_complex_parameters_are_those_of_torch(name, style):
    """`jax.grad` gives the conjugate of torch's `.grad`, and the step conjugates it."""
    torch.manual_seed(0)
    module, clip = Complex(), 0.5 if name == "adamw" else None

    def optimizer(params: Any) -> torch.optim.Optimizer:
        return OPTIMIZERS[name]([p for p in params if p.requires_grad])

    ported: Any = port(module, (X,), optimizer=optimizer, clip=clip, style=style, prove=False)
    is_tree = style == "functions"
    state_dict = module.state_dict()
    params = ported.params(state_dict) if is_tree else ported.model(state_dict)
    state, own = ported.space["init_optimizer"](params), optimizer(module.parameters())
    for _ in range(4):
        if is_tree:
            params, state, loss = ported.train_step(params, state, X)
        else:
            state, loss = ported.train_step(params, state, X)
        own.zero_grad()
        expected = module(torch.tensor(X))
        expected.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        own.step()
        assert np.allclose(loss, expected.detach(), rtol=1e-4)
    found = params["mix"] if is_tree else params.mix[...]
    assert np.allclose(found, module.mix.detach(), atol=1e-5), ported.source


@pytest.mark.parametrize("style", ["functions", pytest.param("nnx", marks=pytest.mark.slow)])
def test_a_step_with_complex_parameters_is_proved(style):
    """Without the conjugates the proof fails."""

    def optimizer(params: Any) -> torch.optim.Optimizer:
        return OPTIMIZERS["sgd"]([p for p in params if p.requires_grad])

    module = Complex()
    ported = port(module, (X,), optimizer=optimizer, style=style)
    recipe = Recipe(optimizer(module.parameters()), None, (), None, None)
    line = "    grads = jax.tree.map(jnp.conj, grads)\n"
    assert line in ported.source, ported.source
    wrong = dataclasses.replace(ported, source=ported.source.replace(line, ""))

    assert ported.reports["step"].verdict == "pass"
    with pytest.raises(PortError, match="train_step differs from the loss and the optimizer"):
        step_proofs.step_proved(wrong, recipe, (X,), 0)


def test_a_step_with_real_parameters_has_no_conjugates():
    assert "conj" not in made(next(iter(CASES)))[1].source


class Predictions(nn.Linear):
    """A layer whose outputs are returned in a container."""

    def __init__(self, container):
        super().__init__(3, 2)
        self.container = container

    def forward(self, input):
        y = super().forward(input)
        return {"list": [y, y], "dict": {"logits": y}}[self.container]


@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize(
    "module, words",
    [
        (nn.Linear(3, 2), "returns a tensor of shape (5, 2), but optimizer= needs a loss of one"),
        (Predictions("list"), "the module returns a list, but"),
        (Predictions("dict"), "the module returns a dict, but"),
    ],
    ids=["tensor", "list", "dict"],
)
def test_a_module_that_returns_predictions_needs_a_loss(style, module, words):
    """Without `loss=` the error says what the module returns, and what to pass."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(PortError) as raised:
        port(module, (X,), optimizer=optimizer, style=style)
    assert words in str(raised.value)
    assert "pass loss=, a function of the outputs and the targets, and targets=" in str(
        raised.value
    )
