"""A function splits its random key once."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as tf
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity.port.port import port


X = np.ones((2, 3), np.float32)


class Once(nn.Module):
    def forward(self, x):
        return tf.dropout(torch.tanh(x), 0.5, self.training)


class Twice(nn.Module):
    def forward(self, x):
        x = tf.dropout(x, 0.5, self.training)
        if self.training:
            x = x + torch.randn_like(x)
        return tf.dropout(torch.tanh(x), 0.5, self.training)


class Loops(nn.Module):
    def __init__(self, over_modules):
        super().__init__()
        self.layers, self.over_modules = (
            nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)]),
            over_modules,
        )

    def forward(self, x):
        for layer in self.layers:
            x = tf.dropout(layer(x), 0.5, self.training)
        if not self.over_modules:
            for t in range(x.shape[0]):
                x = x + tf.dropout(x[t], 0.5, self.training)
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.cross = Once(), Once()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.drop(self.own(x))
        return x + self.drop(self.cross(x))


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return torch.tanh(self.fc(x)) + x


class Residual(Block):
    def __init__(self):
        super().__init__()
        self.own, self.cross = Attend(), Attend()

    def forward(self, x):
        x = x + self.drop(self.own(x))
        x = x + self.drop(self.cross(x))
        return self.drop(x**2)


def source(module: nn.Module) -> str:
    return port(module, (X,), prove=False).source


def test_a_key_with_one_use_is_not_split():
    """The draw takes the key of the function, and the file has no helper that splits."""
    text = source(Once())
    assert "return F.dropout(jnp.tanh(x), p=0.5, training=training, key=rng)" in text
    assert "split" not in text.split('"""')[2]


def test_several_keys_are_split_at_once_and_have_names_of_their_own():
    """Two draws of one kind get different keys, one of a branch too."""
    text = source(Twice())
    assert "    dropout_rng_1, normal_rng, dropout_rng_2 = split_rng(rng, 3)\n" in text
    assert text.count("split_rng(rng") == 2  # the definition and the call
    assert "key=dropout_rng_1)" in text and "key=dropout_rng_2)" in text


def test_a_loop_over_modules_goes_over_keys_too():
    """The keys of a loop are split before it; a loop over a size splits in each iteration."""
    text = source(Loops(True))
    head = 'for layer, layer_rng in zip(p["layers"], split_rng(rng, len(p["layers"]))):'
    assert head in text and text.count("split_rng(") == 2
    text = source(Loops(False))
    assert "    rng, layers_rng = split_rng(rng)\n" in text
    assert "        rng, dropout_rng = split_rng(rng)\n" in text


def test_keys_of_one_kind_are_named_after_the_modules_that_they_are_for():
    """Two dropouts follow the modules `own` and `cross`, and one follows none."""
    text = source(Residual())
    assert 'F.dropout(attend(p["own"], x), p=0.1, training=training, key=own_rng)' in text
    assert "own_rng, cross_rng, drop_rng = split_rng(rng, 3)\n" in text
    text = source(Block())  # the modules draw too, with keys of these names
    assert "    own_rng, drop_rng_1, cross_rng, drop_rng_2 = split_rng(rng, 4)\n" in text


class Heads(nn.Module):
    """One dropout draws in each iteration of a loop, and once more after it."""

    def __init__(self):
        super().__init__()
        self.q, self.k = (nn.ModuleList([nn.Linear(3, 3) for _ in range(2)]) for _ in range(2))
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        heads = []
        for n in range(2):
            head = self.q[n](x) * self.k[n](x)
            dropped = self.drop(head)
            heads.append(dropped)
        return self.drop(torch.stack(heads).mean(0))


def test_a_loop_does_not_replace_a_key_of_the_function():
    text = source(Heads())
    assert "        rng, loop_drop_rng = split_rng(rng)\n" in text
    assert "    rng, drop_rng = split_rng(rng)\n" in text
    ported = port(Heads(), (X,))
    assert ported.report is not None and ported.report.verdict == "pass"


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        def inner(x):
            x = tf.dropout(self.fc(x), 0.5, self.training)
            return x.sin() * tf.dropout(x, 0.1, self.training)

        return checkpoint(inner, x, use_reentrant=False)


def test_a_recomputed_function_reads_its_keys_from_outside():
    """Each of its draws has a key of its own, so that recomputing repeats the draws."""
    assert "    dropout_rng_1, dropout_rng_2 = split_rng(rng)\n" in source(Recomputed())
    for style in ("functions", "nnx"):
        ported = port(Recomputed(), (X,), style=style)
        assert ported.report is not None and ported.report.verdict == "pass"


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(3, 3), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.fc(x))


class Scanned(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(3)])
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(x)
        for layer in self.layers:
            x = layer(x)
        return self.drop(x)


def test_a_scan_carries_the_key_that_its_layers_split():
    """The other keys of the function are split once, and `rng` is kept for the scan."""
    ported = port(Scanned(), (X,), scan=True)
    assert "    rng, drop_rng_1, drop_rng_2 = split_rng(rng, 3)\n" in ported.source
    assert "    def layer_2(carry, layer):\n        rng, x = carry\n" in ported.source
    assert "        rng, layer_rng = split_rng(rng)\n" in ported.source
    assert ported.report is not None and ported.report.verdict == "pass"
