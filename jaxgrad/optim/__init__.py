"""torch's optimizers as optax transformations, with torch's names, arguments, defaults and state.

To freeze a parameter, give it no gradient, which is what `requires_grad=False` does in torch: pass
None as its gradient, pass `live={"trunk": False, "head": True}` (which may change between steps),
or label it "frozen" in `param_groups`, which allocates no state. `optax.masked(tx, mask)` does not
freeze: it passes masked-out gradients through unchanged, and `apply_updates` adds them.

`exact=True` reproduces torch's bits for parameters and state on a CPU, in float32 and float64,
eager or compiled. The reference is torch's single-tensor implementation (`foreach=False`) with a
correctly rounded square root. Stock torch takes the square root from MKL, which is sometimes off by
one unit in the last place; `benchmarks/OPTIM_BITS.md` counts the parameters that differ then. XLA
flushes subnormal numbers to zero.
"""

import typing as _typing

from jaxgrad._core import suggestions as _suggestions
from jaxgrad.optim import lr_scheduler as lr_scheduler
from jaxgrad.optim import swa_utils as swa_utils
from jaxgrad.optim._adadelta import adadelta as adadelta
from jaxgrad.optim._adafactor import adafactor as adafactor
from jaxgrad.optim._adagrad import adagrad as adagrad
from jaxgrad.optim._adam import adam as adam
from jaxgrad.optim._adam import adamw as adamw
from jaxgrad.optim._adamax import adamax as adamax
from jaxgrad.optim._asgd import asgd as asgd
from jaxgrad.optim._core.transformation import Transformation as Transformation
from jaxgrad.optim._lbfgs.lbfgs import lbfgs as lbfgs
from jaxgrad.optim._muon import muon as muon
from jaxgrad.optim._nadam import nadam as nadam
from jaxgrad.optim._radam import radam as radam
from jaxgrad.optim._rmsprop import rmsprop as rmsprop
from jaxgrad.optim._rprop import rprop as rprop
from jaxgrad.optim._sgd import sgd as sgd
from jaxgrad.optim._sparse_adam import sparse_adam as sparse_adam
from jaxgrad.optim.clipping import clip_grad_norm as clip_grad_norm
from jaxgrad.optim.clipping import clip_grad_value as clip_grad_value
from jaxgrad.optim.groups import add_param_group as add_param_group
from jaxgrad.optim.groups import param_groups as param_groups
from jaxgrad.optim.state_dict import state_from_torch as state_from_torch
from jaxgrad.optim.state_dict import state_to_torch as state_to_torch


if not _typing.TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> _typing.Any:
        """Raise the error for an unknown name, with the names that are spelt alike."""
        raise _suggestions.missing(__name__, name, globals())
