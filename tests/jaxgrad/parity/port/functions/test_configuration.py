"""Python functions without tensors run once, as they are, and the port has their results."""

import contextvars

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port


X = np.ones((2, 3), np.float32)
KEEP = np.array([True, False])
ACTIVE: contextvars.ContextVar = contextvars.ContextVar("active", default=None)


class Registry(dict):
    def get(self, key, default=None):
        return super().get(str(key), default)


SCALES = Registry({str(nn.Linear): 3.0})


class Switch:
    """A setting that may be reset once for each time it is set."""

    def start(self):
        return ACTIVE.set("on")

    def stop(self, token):
        ACTIVE.reset(token)


SWITCH = Switch()


def asks():
    return torch.compiler.is_compiling()


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        token = SWITCH.start()
        try:
            return self.fc(x) * SCALES.get(type(self.fc))
        finally:
            SWITCH.stop(token)


class Asking(nn.Module):
    def forward(self, x, keep):
        if not asks() and keep.all():
            return x * 2
        return x * keep[..., None] * 2


def test_a_function_with_an_effect_runs_once():
    """A token that can be used once, and `super()` of an object that is not a module."""
    ported = port(Configured(), (X,))

    assert 'F.linear(x, **p["fc"]) * 3.0' in ported.source
    assert {r.verdict for r in ported.reports.values()} == {"pass"}


def test_a_function_that_asks_whether_torch_compiles_is_told_so():
    """The test on values that the module makes only outside of tracing is left out."""
    source = port(Asking(), (X, KEEP), prove=False).source

    assert "return x * keep[..., None] * 2" in source
    assert not torch.compiler.is_compiling()


BACKENDS: dict[type, str] = {}


def backend(tensor):
    """Return a name that a library looks up by type, and finds in a search at the first call."""
    if type(tensor) in BACKENDS:
        return BACKENDS[type(tensor)]
    kinds = []
    for number, kind in enumerate((np.ndarray, torch.Tensor)):
        kinds.insert(number, kind)
    BACKENDS.update({kind: kind.__name__ for kind in kinds})
    return BACKENDS[type(tensor)]


class Cached(nn.Module):
    def forward(self, x):
        return x * 2 if backend(x) == "Tensor" else x


def test_a_library_may_fill_its_caches_at_the_first_call():
    """A search through classes cannot be ported, and a second call does not make it."""
    assert "return x * 2" in port(Cached(), (X,), prove=False).source
    assert BACKENDS[torch.Tensor] == "Tensor"
