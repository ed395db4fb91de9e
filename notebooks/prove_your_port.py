# %% [markdown]
# # Prove your port in ten minutes
#
# You have a torch module and your own JAX function, and you want to know whether the gradients are
# the same. `jaxgrad.parity.prove` takes both as they are. It gives both the same weights and the
# same inputs in float64, recognises the values inside by what they are, and answers five questions
# in this order: which parameters have a gradient, the forward pass, the cotangents inside, the
# gradients, the updates of an optimizer. Where the two part, it names the first place.
#
# First a port that is right, then three mistakes that are easy to make and hard to see. Two of them
# leave outputs and loss as they are.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import dataclasses

import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import Report, prove


# %% [markdown]
# ## The torch module
#
# One residual block between two layers.


# %%
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.mix = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        h = h + torch.tanh(self.mix(self.norm(h)))
        return self.head(h)


torch.manual_seed(0)
net = Net()

# %% [markdown]
# ## The port
#
# A function of its parameters. They may be any tree; here it is torch's `state_dict`, as it is.


# %%
def dense(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def normed(p, x, eps):
    centered = x - x.mean(-1, keepdims=True)
    return centered / jnp.sqrt(x.var(-1, keepdims=True) + eps) * p["norm.weight"] + p["norm.bias"]


def port(p, x):
    h = jnp.tanh(dense(p, "embed", x))
    h = h + jnp.tanh(dense(p, "mix", normed(p, h, eps=1e-5)))
    return dense(p, "head", h)


params = {name: p.numpy().copy() for name, p in net.state_dict().items()}

# %% [markdown]
# ## What both are given
#
# Inputs as numpy arrays; the loss and the optimizer once for each side. Without `loss` every output
# gets a random cotangent, without `optimizer` the updates are not judged.


# %%
def mean_square(outputs):
    return (outputs**2).mean()


def torch_adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-2, weight_decay=0.1)


adamw = optax.adamw(1e-2, weight_decay=0.1)
inputs = (np.random.default_rng(0).standard_normal((5, 4)),)


def proof(fn, tx=adamw):
    return prove(
        net,
        fn,
        params,
        inputs,
        loss=(mean_square, mean_square),
        optimizer=(torch_adamw, tx),
        steps=3,
    )


# %% [markdown]
# ## It holds
#
# `can fail` is why you may believe it: on each surface an error of 1e-9 was planted, and found.
# (The report ends with the time that it took, left out here so that the page stays the same.)
#
# A place in the port is a file, a line and a column. In a notebook it is the line of a cell.


# %%
def tell(report: Report):
    print(dataclasses.replace(report, seconds={}))


tell(proof(port))

# %% [markdown]
# ## First bug: another framework's epsilon
#
# flax's LayerNorm has 1e-6, torch's 1e-5. A test of the outputs with `atol=1e-4` passes.


# %%
def port_with_eps(p, x):
    h = jnp.tanh(dense(p, "embed", x))
    h = h + jnp.tanh(dense(p, "mix", normed(p, h, eps=1e-6)))
    return dense(p, "head", h)


found = proof(port_with_eps)
assert found.first.surface == "forward" and found.first.torch.startswith("norm")
tell(found)

# %% [markdown]
# `originates here` is the point: everything behind the norm differs too, but what goes *into* it is
# the same on both sides. The cause is more than a guess: torch's layer was run again with that
# epsilon, and then gives JAX's value.
#
# ## Second bug: a `stop_gradient` too many
#
# The branch is stopped, say, because a comment in the torch code was misread. Outputs and loss are
# the same to the last digit; the block never learns.


# %%
def port_stopped(p, x):
    h = jnp.tanh(dense(p, "embed", x))
    h = h + lax.stop_gradient(jnp.tanh(dense(p, "mix", normed(p, h, eps=1e-5))))
    return dense(p, "head", h)


found = proof(port_stopped)
assert found.surfaces["forward"].verdict == "pass" and found.first.surface == "structure"
tell(found)

# %% [markdown]
# The norm and the layer behind it have a gradient in torch and no path in JAX: that is a difference
# of structure, `None` against a value. All findings are in the report, surface by surface:

# %%
for finding in found.surfaces["structure"].findings:
    print(f"{finding.torch:<12} {finding.text}")

# %% [markdown]
# ## Third bug: coupled weight decay
#
# Adam with the decay added to the *gradient*, as `torch.optim.Adam(weight_decay=...)` does it, for
# AdamW, which takes it from the weight. Forward, backward and gradients are all right; only the
# steps go elsewhere.

# %%
coupled = optax.chain(optax.add_decayed_weights(0.1), optax.adam(1e-2))
found = proof(port, tx=coupled)
assert found.surfaces["gradients"].verdict == "pass" and found.first.surface == "updates"
tell(found)

# %% [markdown]
# ## In a test of your own
#
# `check()` returns the report where the proof holds; else it raises, and the text is the report.

# %%
try:
    proof(port_with_eps).check()
except AssertionError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## When your parameters look different
#
# `prove` pairs the leaves of your tree with torch's parameters by their values, also where a
# kernel is transposed or layers are stacked. Where values cannot tell (all zeros, all ones), names
# do; where neither does, it says so, and `weights=` takes your own conversion. `trainable=` says
# what is frozen on the JAX side, `outputs=` picks what is compared, `has_state=True` compares
# buffers. A flax nnx, linen or equinox module may stand in the place of the function.
#
# The other notebooks have each of these mistakes as a lesson: [README.md](README.md) has the order.
