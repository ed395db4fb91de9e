"""Write docs/torch_layers.md: the classes of `torch.nn`, and those that `jaxgrad.nnx` lacks.

python -m parity_tests.site.torch_names.layers
"""

import inspect
import sys

from parity_tests.runner.settings import ROOT
from parity_tests.site.api import table
from parity_tests.site.torch_names.reasons import Reason


PAGE = ROOT / "docs" / "torch_layers.md"
TEXT = """\
# Layers of `torch.nn`

`jaxgrad.nnx` has the layers of `torch.nn` as flax nnx modules, with torch's names, arguments,
defaults, initial parameters and state-dict keys. Channels come first. `model.train()` and
`model.eval()` set the mode, and `rngs=` gives the keys for parameters and dropout. A test fails if
torch {torch} has a class that is in neither of the two lists.

```python
import numpy as np, torch
from flax import nnx
from jaxgrad import nnx as layers


class TorchNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).mean((2, 3)))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv, self.norm = layers.Conv2d(1, 4, 3, rngs=rngs), layers.BatchNorm2d(4)
        self.head = layers.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.norm(self.conv(x)).mean((2, 3)))


in_torch, model = TorchNet().eval(), Net(nnx.Rngs(0))
layers.load_state_dict(model, in_torch.state_dict())
model.eval()

x = np.ones((2, 1, 5, 5), np.float32)
np.testing.assert_allclose(model(x), in_torch(torch.tensor(x)).detach(), rtol=1e-5)
in_torch.load_state_dict({{k: torch.tensor(v) for k, v in layers.state_dict(model).items()}})
```

`load_state_dict` also loads a checkpoint into [flax's own
layers](weights.md#load-a-checkpoint-into-flaxs-own-layers), so a model may contain both.

Differences from torch:

- `inplace=True` raises: JAX arrays are immutable.
- The deprecated arguments `size_average=` and `reduce=` are left out, and the arguments after them
  are keyword-only.
- Embeddings have no `max_norm=`, which would write to the weight in the forward pass.
- `Sequential` takes functions, such as `jax.nn.relu`, besides modules.
- Outside of training and without gradients, torch's `TransformerEncoder` takes a fast path that
  returns zeros for padded positions. Here they have the values that torch computes with gradients.
- A target outside of the classes gives NaN in `AdaptiveLogSoftmaxWithLoss`; torch raises.

## Layers that `jaxgrad.nnx` has

{offered}

## Classes without a counterpart

{lacking}
"""
REASONS = (
    Reason(
        "A lazy layer finds its sizes in the first call. JAX traces functions without changing "
        "the model: use the layer without `Lazy` and give it the sizes.",
        r"Lazy\w+ Uninitialized(Parameter|Buffer)",
    ),
    Reason(
        "Use `BatchNorm1d`, `BatchNorm2d` or `BatchNorm3d`: under `jax.jit`, the statistics of a "
        "batch that is sharded over devices are those of the whole batch.",
        "SyncBatchNorm",
    ),
    Reason(
        "Shard the batch over the devices: [the notebook](../notebooks/distributed.ipynb).",
        "DataParallel",
    ),
    Reason(
        "Use `flax.nnx.List` or `flax.nnx.Dict` of `flax.nnx.Param`: the keys of the state dict "
        "are torch's.",
        "ParameterList ParameterDict",
    ),
    Reason(
        "Use `flax.nnx.Module`, `flax.nnx.Param` and `flax.nnx.BatchStat`.",
        "Module Parameter Buffer",
    ),
    Reason("These are base classes for torch's own layers.", "RNNBase RNNCellBase"),
    Reason(
        "These are deprecated in torch: use `Sequential` or `ModuleList`, and `NLLLoss`.",
        "Container NLLLoss2d",
    ),
    Reason(
        "Use `LocalResponseNorm`. `CrossMapLRN2d` is not documented, and it keeps the first "
        "channel in its sum when the window has left it.",
        "CrossMapLRN2d",
    ),
    Reason(
        "The options choose among torch's kernels, and `LinearCrossEntropyLoss` ignores them.",
        "LinearCrossEntropyOptions",
    ),
)


def names() -> list[str]:
    """Return the public classes of `torch.nn`."""
    from torch import nn

    return [name for name in dir(nn) if name[0] != "_" and inspect.isclass(getattr(nn, name))]


def offered() -> list[str]:
    """Return the classes of `torch.nn` that `jaxgrad.nnx` has."""
    from jaxgrad import nnx

    return [name for name in names() if hasattr(nnx, name)]


def lacking() -> dict[str, list[Reason]]:
    """Return the other classes with their reasons."""
    return {
        name: [reason for reason in REASONS if reason.covers(name)]
        for name in sorted(set(names()) - set(offered()))
    }


def page() -> str:
    """Return the text of the page."""
    import torch

    without = lacking()
    rows = []
    for reason in REASONS:
        classes = [f"`{name}`" for name, reasons in without.items() if reason in reasons]
        rows.append([" ".join(classes), reason.text])
    version = ".".join(torch.__version__.split(".")[:2])
    return TEXT.format(
        torch=version,
        offered=" ".join(f"`{name}`" for name in offered()),
        lacking=table(("torch.nn", "instead, or why not"), rows),
    )


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page(), encoding="utf-8") * 0)
