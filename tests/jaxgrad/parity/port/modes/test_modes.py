"""A port is written for train and for eval mode, with `training=` where the mode matters."""

import random
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity.port.modes import mode_expressions
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Auxiliary(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(3, 3), nn.Linear(3, 2), nn.BatchNorm1d(3)

    def forward(self, x):
        scale = 0.5 if self.training else 1.0
        h = self.norm(self.a(x)) * scale
        if self.training:
            h = h.clamp(max=1.0)
            return self.b(h), h.mean()
        return self.b(h)


class WithAuxiliary(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = Auxiliary(), nn.Linear(2, 2)

    def forward(self, x):
        if self.training:
            y, loss = self.inner(x)
            return self.out(y), loss
        return self.out(self.inner(x))


class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def inner(self, x):
        y = self.fc(x)
        return y * 2 if self.training else y

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False) + x


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Doubled() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Dropped(nn.Module):
    def __init__(self, rate=0.5):
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(rate)

    def forward(self, x):
        return self.drop(self.norm(self.fc(x)))


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def drop_path(self, x):
        if not self.training:
            return x
        kept = x.new_empty((x.shape[0], 1)).bernoulli_(0.8)
        return x * kept / 0.8

    def forward(self, x):
        # noise that only training has
        if self.training:
            x = x + 0.1 * torch.randn_like(x)
        return x + self.drop_path(self.fc(x))


class ReadsInTrainMode(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        y = self.fc(x)
        return y * float(x.max()) if self.training else y


def outputs(module: nn.Module, training: bool) -> tuple[list[Any], list[Any]]:
    """Return the outputs of torch and of the port in one mode."""
    torch.manual_seed(0)
    ported = port(module, (X,), prove=False)
    params = ported.params(module.state_dict())
    got = ported.fn(params, X, training=training)
    with in_mode(module, training):
        want = module(torch.tensor(X))
    want = [x.detach().numpy() for x in jax.tree.leaves(want)]
    return want, jax.tree.leaves(got[0] if ported.has_state else got)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [WithAuxiliary, Checkpointed])
def test_one_function_has_the_outputs_of_both_modes(kind, training):
    """Branches, constants and new buffers that depend on the mode follow `training`."""
    want, got = outputs(kind(), training)
    assert len(want) == len(got)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_what_depends_on_the_mode_is_written_once():
    """A module whose outputs depend on its mode has the branches of the torch source."""
    source = port(WithAuxiliary(), (X,), prove=False).source
    for line in (
        "def with_auxiliary(p, x, *, training=False):",
        "    h = h * (0.5 if training else 1.0)",
        "        h = F.clamp(h, max=1.0)",
        "        y, loss = x",
        '        p["num_batches_tracked"] = p["num_batches_tracked"] + 1',
    ):
        assert line in source.splitlines()
    assert (
        'p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training' in source
    )


def test_a_checkpointed_function_gets_its_mode():
    """A function that is passed to `jax.checkpoint` has its mode bound by `partial`."""
    source = port(Checkpointed(), (X,), prove=False).source
    assert "from functools import partial" in source
    assert "jax.checkpoint(partial(inner, training=training))(p, x) + x" in source


def test_dropout_needs_a_key_in_train_mode_alone():
    """A port that draws in train mode alone runs in eval mode without a key."""
    module = Dropped().eval()
    ported = port(module, (X,), prove=False)
    params = ported.params(module.state_dict())

    assert "def dropped(p, x, *, rng=None, training=False):" in ported.source
    assert "training=training, key=rng" in ported.source
    want = module(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(ported.fn(params, X)[0], want, atol=1e-6)
    with pytest.raises(ValueError, match="key"):
        ported.fn(params, X, training=True)
    drawn, _ = ported.fn(params, X, training=True, rng=jax.random.key(0))
    assert (np.asarray(drawn) == 0).any()


def test_noise_of_train_mode_is_inside_of_a_branch():
    """A statement of train mode alone is in a branch; its key is split where the others are."""
    source = port(Noisy(), (X,), prove=False).source
    branch = """\
    normal_rng, drop_path_rng = split_rng(rng)
    if training:
        # noise that only training has
        x = x + 0.1 * jax.random.normal(normal_rng, x.shape, x.dtype)
"""
    assert branch in source
    assert "jax.random.bernoulli(rng, 0.8, (x.shape[0], 1)).astype(x.dtype)" in source


def test_a_module_without_a_mode_has_no_argument():
    """A port takes no `training` if both modes are alike."""
    ported = port(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.0)), (X,), prove=False)
    assert not ported.takes_mode and "training" not in ported.source


def test_a_layer_that_the_user_froze_in_eval_mode_stays_there():
    """A BatchNorm in eval mode inside of a module in train mode never uses the batch."""
    module = Dropped().train()
    module.norm.eval()
    ported = port(module, (X,), prove=False)

    assert not ported.has_state and "batch_norm(x, p[" in ported.source
    assert "training=training, key" in ported.source
    assert module.training and module.drop.training and not module.norm.training


def test_a_mode_that_cannot_be_ported_is_named_in_the_file():
    """The module's own mode is ported alone if the other one is refused."""
    source = port(ReadsInTrainMode().eval(), (X,), prove=False).source
    header = " ".join(source.split('"""')[1].split())
    assert "It is for eval mode only. The train mode of the module cannot be ported" in header
    assert "test_modes.py" in header and "training=" not in source
    with pytest.raises(PortError, match="test_modes.py"):
        port(ReadsInTrainMode().train(), (X,), prove=False)


def test_both_modes_are_proved(monkeypatch):
    """A port is proved in both modes, and one that is wrong in eval mode is not returned."""
    assert set(port(Doubled(), (X,)).reports) == {"train", "eval"}

    class Scaled(Doubled):
        def forward(self, x):
            return self.fc(x) * (0.5 if self.training else 1.0) + tf.dropout(x, 0.5, self.training)

    monkeypatch.setattr(mode_expressions, "choice", lambda train, _: train)
    with pytest.raises(PortError, match="the port of Scaled is not proved in eval mode:\nFAIL"):
        port(Scaled(), (X,))


class DropsLayers(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.fc, self.draw = nn.Linear(3, 3), draw

    def forward(self, x):
        if self.training and self.draw() < 0.5:
            return x
        return self.fc(x)


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_numbers_of_other_generators_are_refused(draw):
    """A number that Python or numpy draws would be the same in every call of the port."""
    with pytest.raises(PortError, match="draws from the generator of Python or numpy"):
        port(DropsLayers(draw).train(), (X,), prove=False)
    header = port(DropsLayers(draw).eval(), (X,), prove=False).source.split('"""')[1]
    assert "It is for eval mode only." in header


class Normalized(nn.Module):
    """A weight that is divided by its spectral norm, of which train mode makes an estimate."""

    def __init__(self):
        super().__init__()
        self.fc = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4))

    def forward(self, x):
        return torch.relu(self.fc(x))


def test_spectral_norm_in_train_mode():
    torch.manual_seed(0)
    ported = port(Normalized().double(), (X.astype(np.float64),))
    assert ported.report is not None and ported.report.verdict == "pass"
    assert 'p["_u"] = lax.stop_gradient(F.normalize(weight_mat @ p["_v"], dim=0))' in ported.source
    assert 'p["0"] = spectral_norm(p["0"], p["original"], training=training)' in ported.source


class NoisyCopies(nn.Module):
    """A flow that adds noise in train mode, so that its modes call a method differently."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def encode(self, x):
        h = self.net(x)
        return h * 2, h.sum(-1)

    def forward(self, x):
        noise = torch.rand_like(x) if self.training else 0.0
        z, total = self.encode(x + noise)
        return z + total[:, None]


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_a_function_that_both_modes_call_with_other_arguments_is_written_once(style):
    source = port(NoisyCopies(), (X,), style=style, prove=False).source

    assert source.count("def encode") == 1
    assert "encode_2" not in source
