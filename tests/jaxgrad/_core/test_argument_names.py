"""Factories name torch's argument when they are given another one."""

import inspect
import pickle

import pytest
import torch

import jaxgrad
from jaxgrad import nnx, optim, parity
from jaxgrad._core.argument_names import check
from jaxgrad.optim import lr_scheduler
from jaxgrad.optim.lr_scheduler import (
    chained_scheduler,
    cosine_annealing_lr,
    multi_step_lr,
    step_lr,
)
from jaxgrad.optim.swa_utils import averaged_model
from parity_tests.audits.optimizers import OPTIMIZERS


SCHEDULERS = [name for name in vars(lr_scheduler) if name.endswith(("_lr", "_restarts", "swalr"))]


@pytest.mark.parametrize("name", [*OPTIMIZERS, *SCHEDULERS])
def test_every_factory_names_torchs_learning_rate(name):
    """optax's `learning_rate=` raises an error with torch's name."""
    factory = getattr(optim if name in OPTIMIZERS else lr_scheduler, name)
    text = rf"{name}\(\) has no argument learning_rate; torch's name is lr"
    with pytest.raises(TypeError, match=text):
        factory(learning_rate=0.1)


PROBLEMS = {
    "b1": (optim.adam, {"b1": 0.5}, "adam() has no argument b1; torch's name is betas=(b1, b2)"),
    "decay": (optim.rmsprop, {"decay": 0.5}, "torch's name is alpha"),
    "decay_rate": (optim.adafactor, {"decay_rate": 0.5}, "torch's name is beta2_decay"),
    "eps_root": (optim.adam, {"eps_root": 0.5}, "torch adds eps to the root and nothing under it"),
    "mask": (optim.adamw, {"mask": None}, "options of param_groups"),
    "mu_dtype": (optim.adam, {"mu_dtype": None}, "the state has the dtype of each parameter"),
    "nesterov": (optim.adam, {"nesterov": True}, "in sgd, nadam and muon"),
    "typo": (optim.sgd, {"momentun": 0.5}, "did you mean momentum?"),
    "params": (optim.adamw, {"params": 0}, "the parameters are arguments of init, update and step"),
    "params first": (optim.sgd, {"lr": {"w": 0.5}}, "a schedule, but got {'w': 0.5}; the param"),
    "unlike": (optim.sgd, {"qqq": 0.5}, "it has lr, momentum, dampening"),
    "text": (optim.asgd, {"lambd": "a"}, "asgd(): lambd must be a number, but got 'a'"),
    "pair": (optim.rprop, {"etas": 1}, "etas must be two numbers, but 1 was given"),
    "optax schedule": (step_lr, {"init_value": 0.5}, "step_lr() has no argument init_value; torch"),
    "T_max": (cosine_annealing_lr, {"t_max": 5}, "did you mean T_max?"),
    "optimizer": (
        step_lr,
        {"optimizer": 0, "step_size": 1},
        "give the initial learning rate as lr",
    ),
    "missing": (step_lr, {"lr": 0.5}, "step_lr(): missing a required argument: 'step_size'"),
    "no rate": (step_lr, {"lr": optim, "step_size": 1}, "the rate that the optimizer starts with"),
    "milestones": (
        multi_step_lr,
        {"lr": 1, "milestones": 3},
        "must be a list of epochs, but got 3",
    ),
    "one schedule": (chained_scheduler, {"schedulers": step_lr(1, 2)}, "takes a list of schedules"),
    "average": (averaged_model, {"avg_fn": 1}, "avg_fn must be a function or None, but got 1"),
    "clip": (optim.clip_grad_value, {"max_delta": 1.0}, "torch's name is clip_value"),
    "linear": (
        nnx.Linear,
        {"din": 1, "dout": 2},
        "Linear() has no argument din; torch's name is in",
    ),
    "seed": (nnx.Linear, {"key": 0}, "Linear() has no argument key; write rngs=nnx.Rngs(seed)"),
    "strides": (
        nnx.Conv2d,
        {"strides": 2},
        "Conv2d() has no argument strides; torch's name is str",
    ),
    "norm": (nnx.BatchNorm1d, {"n_features": 2}, "torch's name is num_features"),
    "device": (nnx.LayerNorm, {"device": "cpu"}, "see jax.default_device"),
    "mode": (nnx.Dropout, {"deterministic": True}, "call train() or eval() on the layer"),
    "kernel_init": (nnx.Linear, {"kernel_init": 0}, "assign to the layer's weight and bias"),
    "size_average": (
        nnx.MSELoss,
        {"size_average": True},
        "write reduction='mean', 'sum' or 'none'",
    ),
    "positional": (nnx.Linear, {"in_features": 1}, "Linear(): missing a required argument: 'out_f"),
    "window": (
        nnx.MaxPool2d,
        {"kernel_size": "a"},
        "must be an int or a tuple of ints, but got 'a'",
    ),
    "padding": (nnx.MaxPool1d, {"kernel_size": 2, "padding": "SAME"}, "of ints, but got 'SAME'"),
    "slope": (nnx.LeakyReLU, {"negative_slope": "a"}, "must be a number, but got 'a'"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_error_says_what_to_write(name):
    """A wrong argument raises torch's name, the nearest name, the list of names or the type."""
    factory, arguments, text = PROBLEMS[name]
    with pytest.raises((TypeError, ValueError)) as error:
        factory(**arguments)
    assert text in str(error.value)


def test_the_error_about_a_long_value_names_its_type():
    """A value whose text is long is described by its type."""
    with pytest.raises(TypeError, match="but got SGD; pass the rate"):
        step_lr(torch.optim.SGD([torch.ones(9)], 0.1), 3)  # pyright: ignore[reportArgumentType]


def test_a_factory_with_any_arguments_is_not_checked():
    """A user-defined factory that takes `**options` accepts every name."""
    check(lambda **options: options, ["anything"])
    with pytest.raises(TypeError, match="has no argument anything"):
        check(lambda lr: lr, ["anything"])


def test_a_checked_factory_keeps_its_identity():
    """Factories keep their name, docstring and signature, and can be pickled."""
    assert optim.adamw.__name__ == "adamw" and "Torch:" in (optim.adamw.__doc__ or "")
    assert pickle.loads(pickle.dumps(optim.adamw)) is optim.adamw


PUBLIC = [
    *(getattr(parity, name) for name in ("prove", "dump", "lint", "weight_map", "compare")),
    *(getattr(optim, name) for name in ("state_from_torch", "state_to_torch", "add_param_group")),
    *(jaxgrad.port, jaxgrad.clip_grad_norm, jaxgrad.clip_grad_value, parity.Training),
]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_a_misspelt_keyword_has_a_suggestion(function):
    """A keyword with two exchanged letters is named with the argument that was meant."""
    parameters = inspect.signature(function).parameters.values()
    meant = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    label = function.__name__

    for name in (name for name in meant if len(name) > 4):
        misspelt = f"{name[:2]}{name[3]}{name[2]}{name[4:]}"
        with pytest.raises(TypeError) as error:
            function(**{misspelt: None})
        begins = f"{label}() has no argument {misspelt!r}; did you mean "
        assert str(error.value).startswith(begins) and repr(name) in str(error.value)
    with pytest.raises(TypeError) as error:
        function(zzz=None)
    assert str(error.value).startswith(f"{label}() has no argument 'zzz'; it has ")


def test_a_suggestion_changes_neither_the_signature_nor_the_other_errors():
    """The documented arguments, their types and the docstring are those of the function."""
    assert list(inspect.signature(parity.prove).parameters)[:3] == ["module", "fn", "params"]
    assert inspect.signature(parity.Training).parameters["clip"].default is None
    assert (parity.prove.__doc__ or "").startswith("Compare the gradients of a torch module")
    assert parity.lint.__name__ == "lint" and parity.Training.__name__ == "Training"
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        jaxgrad.clip_grad_norm()  # pyright: ignore[reportCallIssue] - that is the test
