"""PyTorch's gradient behaviour as pure JAX functions, with parity tests against torch.

`__all__` is the public API. Counterparts of torch functions have torch's names; others follow JAX.
"""

import importlib as _importlib
import typing as _typing

from jaxgrad.backward import accumulate as accumulate
from jaxgrad.backward import depends_on as depends_on
from jaxgrad.backward import grad as grad
from jaxgrad.backward import retain_grad as retain_grad
from jaxgrad.backward import value_and_grad as value_and_grad
from jaxgrad.backward import value_and_retained_grads as value_and_retained_grads
from jaxgrad.checkpointing import saved_bytes as saved_bytes
from jaxgrad.checkpointing import saved_tensors_hooks as saved_tensors_hooks
from jaxgrad.clipping import clip_grad_norm as clip_grad_norm
from jaxgrad.clipping import clip_grad_value as clip_grad_value
from jaxgrad.custom import from_function as from_function
from jaxgrad.custom import reverse_gradient as reverse_gradient
from jaxgrad.custom import straight_through as straight_through
from jaxgrad.grad_modes import combine as combine
from jaxgrad.grad_modes import no_grad as no_grad
from jaxgrad.grad_modes import partition as partition
from jaxgrad.hooks import backward_hook as backward_hook
from jaxgrad.hooks import hook as hook
from jaxgrad.precision.autocast import autocast as autocast
from jaxgrad.precision.grad_scaler import GradScaler as GradScaler


if _typing.TYPE_CHECKING:  # `__getattr__` imports these when they are first used
    from jaxgrad import distributed as distributed
    from jaxgrad import functional as functional
    from jaxgrad import graph as graph
    from jaxgrad import optim as optim
    from jaxgrad import parity as parity
    from jaxgrad import nnx as nnx  # isort: skip
    from jaxgrad.parity.port.port import port as port

_LAZY = ("distributed", "functional", "graph", "optim", "parity")
_LAZY_FLAX = ("nnx",)  # these import flax
_LAZY_FUNCTIONS = {"port": "jaxgrad.parity.port.port"}  # these import torch


def __getattr__(name: str) -> _typing.Any:
    """Import a namespace when it is first used, so that `import jaxgrad` stays cheap (PEP 562)."""
    if name in _LAZY or name in _LAZY_FLAX:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_FUNCTIONS:
        return getattr(_importlib.import_module(_LAZY_FUNCTIONS[name]), name)
    if name == "__version__":
        return _importlib.import_module(f"{__name__}._core.version").version()
    suggestions = _importlib.import_module("jaxgrad._core.suggestions")
    raise suggestions.missing(__name__, name, __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_FLAX, *_LAZY_FUNCTIONS})
