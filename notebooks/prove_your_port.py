# %% [markdown]
# # Prove your port
#
# You have a torch module and your own JAX function, and you want to know whether their gradients
# agree. `jaxgrad.parity.prove` takes both unchanged. It gives both the same weights and the same
# inputs in float64, matches intermediate values of the two programs by comparing their numbers, and
# compares the programs on six *surfaces*: which parameters have a gradient (structure), the outputs
# (forward), the cotangents (backward), the gradients, the optimizer's updates, and which values are
# rounded to bfloat16 or float16 (precision). A *cotangent* is the gradient of the loss with respect
# to an intermediate value. `prove` compares cotangents only if a gradient differs, to find the
# place. If the programs differ, it names the first place where they do.
#
# We start with a correct port, followed by three mistakes that are easy to make and hard to notice.
# Two of them leave the outputs and the loss unchanged.
#
# **You will be able to** check your own JAX port against its torch module, and read the report when
# they differ.
#
# **Time** 45 minutes · **Level** first steps ·
# **Read first:** [First steps](00_ten_minutes.ipynb)

# %%
# Setup: this notebook runs anywhere in a checkout of jaxgrad.
import pathlib
import sys


folders = [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]
checkout = next((path for path in folders if (path / "parity_tests").is_dir()), None)
if checkout is None:
    sys.exit(
        "Open this notebook in a checkout of jaxgrad, whose programs it runs; without one, "
        "the cells that begin with '# torch' and '# JAX' still run on their own."
    )
sys.path.insert(0, str(checkout))

import dataclasses

import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import Report, prove
from parity_tests.notebook.check import check
from parity_tests.notebook.practice import exercise, predict


# %% [markdown]
# ## The torch module
#
# It has one residual block between two linear layers.


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
# The port is a function of its parameters and the input. The parameters may be any tree; here they
# are torch's `state_dict`, unchanged.


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
# ## The arguments of `prove`
#
# Inputs are numpy arrays; the loss and the optimizer are given once for each framework. Without
# `loss` an output that is one number is differentiated as it is, and every other output gets a
# random cotangent; without `optimizer` the updates are not checked.


# %%
def mean_square(outputs):
    return (outputs**2).mean()


def torch_adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-2, weight_decay=0.1)


adamw = optax.adamw(1e-2, weight_decay=0.1)
inputs = (np.random.default_rng(0).standard_normal((5, 4)),)


def prove_port(fn, tx=adamw):
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
# ## A port that passes
#
# The lines `negative control` show that each check can fail: `prove` injected an error of 1e-9 and
# the check detected it. (The report ends with the time that each surface took, which is omitted
# here so that this page stays reproducible.)
#
# A place in the port is given as file and line; in a notebook as the cell and its line.


# %%
def print_report(report: Report):
    print(dataclasses.replace(report, seconds={}))


print_report(prove_port(port))

# %% [markdown]
# **The numbers in this report**, to look up when you need one:
#
# - *8 parameters* are the leaves of `params`. *2 constant tensors* are the weight and the bias of
#   the norm: a new norm has ones and zeros, which do not show which leaf is which, so `prove` pairs
#   them by name.
# - *relative to their scale*: the difference is divided by the largest absolute value of the array.
# - *5 of 5 torch modules* are the four layers and `Net` itself. A *matching JAX value* is an
#   intermediate value of the port that equals the module's output.
# - *in float32, JAX's error is at most 0.16 times torch's*: both programs also ran in float32, and
#   each result was compared with the one in float64.
# - *8 intermediate cotangents* belong to the operations whose outputs occur in both programs.
# - *9 gradients (1 of inputs)* are those of the 8 parameters and of `x`.
# - *3 steps* are those of `steps=3`. *16 optimizer moments*: AdamW keeps two averages for each of
#   the 8 parameters. *given the same gradients, 30 steps agree*: both optimizers alone, fed with
#   the same artificial gradients.
# - *at most 15 times torch's*, in the line of `updates`, is the same ratio for the weights after
#   the steps. It is not a mistake, because both errors are small: for `norm.bias`, which has the
#   largest ratio, they are 7e-6 of the change in JAX and 2e-7 in torch. optax computes AdamW's bias
#   correction in float32, torch in float64. With `jaxgrad.optim.adamw` the ratio is below 1.
#   A report adds a note if a ratio is above 30.
#
# ## First bug: another framework's epsilon
#
# The default epsilon of flax's LayerNorm is 1e-6, torch's is 1e-5. A test of the outputs with
# `atol=1e-4` passes.


# %%
def port_with_eps(p, x):
    h = jnp.tanh(dense(p, "embed", x))
    h = h + jnp.tanh(dense(p, "mix", normed(p, h, eps=1e-6)))
    return dense(p, "head", h)


report = prove_port(port_with_eps)
assert report.first and report.first.surface == "forward" and report.first.torch.startswith("norm")
print_report(report)

# %% [markdown]
# `originates here` means that the inputs of the norm agree in both programs, so that the norm
# itself is at fault, although every later value differs as well. The `likely cause` is tested:
# `prove` ran torch's layer again with that epsilon and got JAX's value. A line such as "JAX's
# gradient is torch's times 1.5" is an observation; it names no cause.
#
# ## Second bug: one `stop_gradient` too many
#
# The gradient of the branch is stopped, for example because someone misread a comment in the torch
# code.


# %%
def port_stopped(p, x):
    h = jnp.tanh(dense(p, "embed", x))
    h = h + lax.stop_gradient(jnp.tanh(dense(p, "mix", normed(p, h, eps=1e-5))))
    return dense(p, "head", h)


report = prove_port(port_stopped)
predict(
    "A port stops the gradient of one residual branch, which torch does not stop: "
    "`h = h + lax.stop_gradient(branch(h))`. `prove` compares structure, forward pass, backward "
    "pass (the cotangents of intermediate values), gradients, updates and precision. Which of "
    "these six surfaces differ?",
    {name: surface.verdict for name, surface in report.surfaces.items()},
    "The values of the forward pass do not depend on where gradients are stopped.",
)

# %% [markdown]
# Outputs and loss agree as in the right port, but the block never learns.

# %%
assert report.surfaces["forward"].verdict == "pass" and report.first
assert report.first.surface == "structure"
print_report(report)

# %% [markdown]
# The norm and the layer after it have a gradient in torch, and in JAX no path leads from the loss
# to them. That is a difference of the structure: `None` instead of a value. The report contains all
# findings, surface by surface:

# %%
for finding in report.surfaces["structure"].findings:
    print(f"{finding.torch:<12} {finding.text}")

# %% [markdown]
# Each surface counts something else. These 4 parameters are counted under `structure`, because one
# side has no gradient to compare. The line `gradients` counts the other 5 gradients: those of
# `embed.weight`, `embed.bias` and `x` differ, since they lack the part that comes through the
# stopped branch, and those of `head` agree. The line `updates` counts weights: all but the two of
# `head` differ after step 1.
#
# ## Third bug: coupled weight decay
#
# This port uses Adam with the weight decay added to the *gradient*, as
# `torch.optim.Adam(weight_decay=...)` does it. The torch side uses AdamW, which subtracts the decay
# from the weight directly. Outputs and gradients agree; only the updates differ.

# %%
coupled = optax.chain(optax.add_decayed_weights(0.1), optax.adam(1e-2))
report = prove_port(port, tx=coupled)
assert report.surfaces["gradients"].verdict == "pass" and report.first
assert report.first.surface == "updates"
print_report(report)

# %% [markdown]
# 7 of the 8 weights differ after step 1: `norm.bias` starts at 0, where there is nothing to decay.
# Adam divides a gradient by its own size, so a decay that is added to a small gradient can turn the
# sign of the step; a relative difference near 2 says that it did.
#
# ## In your own tests
#
# `check()` returns the report if the proof holds. Otherwise it raises, and the error message is the
# report.

# %%
try:
    prove_port(port_with_eps).check()
except AssertionError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## If your parameters have a different layout
#
# `prove` pairs the leaves of your tree with torch's parameters by their values, even if a kernel is
# transposed or layers are stacked. Where values are ambiguous (all zeros, all ones) it uses names;
# if names are ambiguous as well, it says so, and `weights=` accepts your own conversion.
# `trainable=` tells it which parameters are frozen on the JAX side, `outputs=` selects the outputs
# to compare, and `has_state=True` compares buffers. `also=` takes inputs of other sizes. You can
# pass a flax nnx, linen or equinox module instead of a function.
# `optimizer=` also takes a `Training`, with torch's scheduler, clipping, accumulation and average
# of the weights. `accept=` lists differences that you know and accept, each with a reason; the
# report names them.
#
# The other notebooks explain each of these mistakes; [README.md](README.md) lists them in reading
# order.

# %% [markdown]
# ## A model of flax nnx
#
# `prove` takes an nnx model in the place of the function, and None for `params`, since the model
# has its own. `jaxgrad.nnx.load_state_dict` loads torch's weights into flax's layers. A kernel of
# flax is the transpose of torch's weight, and it transposes it.

# %%
from flax import nnx

import jaxgrad.nnx


class NnxNet(nnx.Module):
    def __init__(self, rngs, **norm):
        self.embed = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.LayerNorm(8, rngs=rngs, **norm)
        self.mix = nnx.Linear(8, 8, rngs=rngs)
        self.head = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        h = jnp.tanh(self.embed(x))
        h = h + jnp.tanh(self.mix(self.norm(h)))
        return self.head(h)


def prove_nnx(**norm):
    model = NnxNet(nnx.Rngs(0), **norm)
    jaxgrad.nnx.load_state_dict(model, net.state_dict())
    return prove(net, model, None, inputs, loss=(mean_square, mean_square))


report = prove_nnx()
assert report.first
print(report.first.where, report.first.cause, sep="\n")

# %% [markdown]
# This is the first bug again: nobody wrote `1e-6`, it is flax's default. With torch's epsilon the
# proof holds.

# %%
prove_nnx(epsilon=1e-5).check()
print("the nnx model has torch's gradients")

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("prove_your_port/default_of_gelu")

# %%
# Your answer
import jax

torch.manual_seed(0)
layers = nn.Sequential(nn.Linear(2, 3), nn.GELU())
weights = {name: p.numpy().copy() for name, p in layers.state_dict().items()}
points = (np.array([[1.0, -0.5], [0.2, 2.0]]),)


def port(params, x):
    return jax.nn.gelu(x @ params["0.weight"].T + params["0.bias"])


# Compare `layers` with `port` here: call `prove` and print the report.


# %%
check("prove_your_port/default_of_gelu", port)

# %% [markdown]
# ## What to take away
#
# - Equal outputs and equal losses do not show that gradients are equal.
# - `prove` checks structure, forward pass, gradients, updates and precision, in this order. It
#   looks at cotangents of intermediate values only to locate a gradient that differs.
# - It names the first place that differs. A cause with "rerunning ..." behind it was tested; a line
#   such as "JAX's gradient is torch's times 1.5" is an observation.
