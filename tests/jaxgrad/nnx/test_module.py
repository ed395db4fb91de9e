"""Properties that all layers of `jaxgrad.nnx` share."""

import inspect
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import Net, draw, rngs


def test_argument_names_order_and_defaults_are_torchs():
    """Constructors take torch's arguments in torch's order, except those meaningless in JAX."""
    left_out = {"self", "device", "dtype", "_weight", "_freeze", "bias", "rngs"}
    left_out |= {"size_average", "reduce"}  # deprecated
    left_out |= {"torch_gradient"}  # where torch's gradient is not that of the function
    left_out |= {"torch"}  # the version of torch
    for name in ("RNN", "GRU", "LSTM"):  # torch's constructors take *args
        assert list(inspect.signature(getattr(layers, name).__init__).parameters)[1:4] == [
            "input_size",
            "hidden_size",
            "num_layers",
        ]
    for name in dir(layers):
        torch_class = getattr(torch.nn, name, None)
        if name in ("RNN", "GRU", "LSTM", "init") or not inspect.isclass(torch_class):
            continue
        signatures = [
            [
                (p.name, getattr(p.default, "__name__", p.default))  # functions by name
                for p in inspect.signature(cls.__init__).parameters.values()
                if p.name not in left_out and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            ]
            for cls in (torch_class, getattr(layers, name))
        ]
        assert signatures[0] == signatures[1], name


def test_train_and_eval_reach_every_layer():
    """A model's `train()` and `eval()` also set the mode of layers inside lists."""
    net = Net()
    net.eval()
    assert not net.layers[1].training and not net.drop.training
    net.train()
    assert net.layers[1].training and net.drop.training


def test_importing_jaxgrad_does_not_import_flax():
    """`import jaxgrad` alone does not load flax."""
    program = "import sys, jaxgrad; assert 'flax' not in sys.modules, 'flax'"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_model_trains_under_flax_transformations():
    """`nnx.jit` and `nnx.value_and_grad` update running statistics and power iterations."""

    class Model(nnx.Module):
        def __init__(self) -> None:
            self.first = layers.spectral_norm(layers.Linear(3, 4, rngs=rngs()), rngs=rngs())
            self.norm = layers.BatchNorm1d(4)
            self.drop = layers.Dropout(0.5, rngs=rngs())
            self.second = layers.weight_norm(layers.Linear(4, 1, rngs=rngs()))

        def __call__(self, x: Any) -> Any:
            return self.second(self.drop(self.norm(self.first(x))))

    @nnx.jit
    def step(model: Any, x: Any) -> Any:
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        params = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
        return loss

    model, x = Model(), jnp.asarray(draw(8, 3), jnp.float32)
    before = layers.state_dict(model)
    losses = [float(step(model, x)) for _ in range(20)]
    after = layers.state_dict(model)
    assert losses[-1] < losses[0]
    unchanged = {key for key in before if (before[key] == after[key]).all()}
    assert unchanged <= {"first.bias"}  # a bias in front of a batch norm has no gradient
    assert after["norm.num_batches_tracked"] == 20


FRACTION: Any = 3.0


@pytest.mark.parametrize(
    ("construct", "message"),
    [
        (lambda: layers.Linear(3, -4, rngs=rngs()), r"Linear: .* a negative dimension: \[-4, 3\]"),
        (lambda: layers.Conv1d(-3, 4, 3, rngs=rngs()), r"Conv1d: .* dimension: \[4, -3, 3\]"),
        (
            lambda: layers.Linear(FRACTION, 4, rngs=rngs()),
            r"Linear: sizes must be ints, but weight wou",
        ),
        (lambda: layers.LayerNorm(-3), r"LayerNorm: .* a weight with a negative dimension: \[-3\]"),
        (lambda: layers.GroupNorm(0, 6), "num_groups must not be 0"),
    ],
)
def test_impossible_sizes_are_named(construct, message):
    """Negative and fractional sizes raise an error with the layer's name and the shape."""
    with pytest.raises((RuntimeError, TypeError, ZeroDivisionError), match=message):
        construct()


def test_sizes_of_numpy_are_sizes():
    """A NumPy integer is a size, as in torch."""
    two: Any = np.int64(2)
    x = jnp.ones((1, 2, 4, 4), "float32")
    layer = layers.Conv2d(two, two, two, stride=two, rngs=rngs())
    assert layer(x).shape == layers.MaxPool2d(two)(x).shape == (1, 2, 2, 2)
    assert layers.ZeroPad2d(two)(x).shape == (1, 2, 8, 8)
    assert layers.AdaptiveAvgPool2d(two)(x).shape == (1, 2, 2, 2)
