# %% [markdown]
# # Where gradients stop: detach, no_grad, inference_mode
#
# The network is input → L1 → L2 → loss, and only L2 is to be trained. torch offers several ways to
# do this, and they are not equivalent. In JAX you first decide what to restrict:
#
# | you restrict | torch | JAX |
# |---|---|---|
# | a path of the gradient | `detach`, `no_grad`, `inference_mode` | `lax.stop_gradient` |
# | the differentiated leaves | `requires_grad_(False)` | `jaxgrad.partition` |
# | the parameters that move | the optimizer's parameter list | labels, as in `optax.partition` |
#
# This notebook is about the first row. [freezing](freezing.ipynb) covers the other two.
#
# **You will be able to** choose between `detach`, `no_grad`, `inference_mode` and
# `requires_grad_(False)`, predict which gradients each of them leaves, and write the same in JAX.
#
# **Time** 70 minutes · **Level** first steps ·
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

from parity_tests.notebook.check import check
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, graph, network, show


# %% [markdown]
# The programs below use the following network, and all of them have the same parameters, inputs and
# targets, so that you can compare their losses and gradients. In JAX they call
# `jaxgrad.value_and_grad`, which works like `jax.value_and_grad`, but returns `None` where torch's
# `.grad` is `None`. (Exceptions are in [none_or_zero](none_or_zero.ipynb).)

# %%
network()

# %% [markdown]
# ## Nothing is stopped
#
# This is the control: both layers get their gradients.

# %%
show("grad_modes/nothing_stopped", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.) Or change
# a pair of cells like the next one: the same network, with one number for each layer.

# %%
# torch
import torch


w1 = torch.tensor(2.0, requires_grad=True)
w2 = torch.tensor(3.0, requires_grad=True)
h = w1 * 5
loss = w2 * h
loss.backward()
print("loss", loss.item())
print("w1", w1.grad)
print("w2", w2.grad)

# %%
# JAX
import jaxgrad


def loss(w1, w2):
    h = w1 * 5
    return w2 * h


value, (dw1, dw2) = jaxgrad.value_and_grad(loss, (0, 1))(2.0, 3.0)
print("loss", value)
print("w1", dw1)
print("w2", dw2)

# %%
# Try it: replace `w2 * h` by `w2 + h` in both cells. Work out the three lines before you run them.

# %% [markdown]
# ## `detach`
#
# L1 runs and is recorded, but L2 receives L1's output without the record. In JAX
# `lax.stop_gradient` is applied to the same value.

# %%
question("grad_modes/detach")

# %%
show("grad_modes/detach", prints="grads", asked=True)

# %% [markdown]
# Nothing is written to L1's `.grad`: it stays `None`, not zero, or keeps the value of an earlier
# backward pass. The loss is the one above, to the last digit: stopping a gradient does not change
# the forward pass. Here is the pair of cells from above, with `detach`.

# %%
# torch
import torch


w1 = torch.tensor(2.0, requires_grad=True)
w2 = torch.tensor(3.0, requires_grad=True)
h = (w1 * 5).detach()
loss = w2 * h
loss.backward()
print("loss", loss.item())
print("w1", w1.grad)
print("w2", w2.grad)

# %%
# JAX
from jax import lax

import jaxgrad


def loss(w1, w2):
    h = lax.stop_gradient(w1 * 5)
    return w2 * h


value, (dw1, dw2) = jaxgrad.value_and_grad(loss, (0, 1))(2.0, 3.0)
print("loss", value)
print("w1", dw1)
print("w2", dw2)

# %%
# Try it: delete `.detach()`, and replace `lax.stop_gradient(w1 * 5)` by `w1 * 5`. Which of the
# three lines changes?

# %% [markdown]
# ## `no_grad`
#
# The gradients are the same as with `detach`, for a different reason: L1 is never recorded. A JAX
# array never carries a record, so there is nothing to switch off: `jaxgrad.no_grad` turns a
# function into one whose results are passed through `stop_gradient`.

# %%
plain("no_grad")

# %%
show("grad_modes/no_grad", prints="grads")

# %% [markdown]
# **Around one term of a sum.** At x = 1 the gradient of x² + x³ is 2x + 3x² = 5. It is 3 or 2 when
# one of the terms is computed inside `no_grad`. With both terms inside, torch's `backward` raises.
# JAX allows you to differentiate a constant: `jaxgrad.grad` returns `None`, or raises as torch does
# with `unused="error"`.

# %%
# torch
import torch


x = torch.tensor(1.0, requires_grad=True)
with torch.no_grad():
    square = x**2
loss = square + x**3
loss.backward()
print(loss.item(), x.grad)

# %%
# JAX
import jaxgrad


def loss(x):
    square = jaxgrad.no_grad(lambda x: x**2)(x)
    return square + x**3


value, grad = jaxgrad.value_and_grad(loss)(1.0)
print(value, grad)

# %%
# Try it: replace `torch.no_grad()` by `torch.enable_grad()`, and
# `jaxgrad.no_grad(lambda x: x**2)(x)` by `x**2`. Does the loss change, or the gradient, or both?

# %% [markdown]
# The same as a picture, with a vector of ten ones for x, so that the norms of the gradients are √10
# times 5, 3 and 2. (Section 2 of [First steps](00_ten_minutes.ipynb) says how to read it.)

# %%
graph("grad_modes/no_grad_part")

# %% [markdown]
# **The `requires_grad` flag.** Every torch tensor carries this flag, and `no_grad` concerns only
# what is computed inside.

# %%
question("grad_modes/requires_grad_flag")

# %%
show("grad_modes/requires_grad_flag", asked=True)

# %% [markdown]
# A value computed inside `no_grad` does not require grad; values computed afterwards from other
# leaves do again. A JAX array has no such flag. `jaxgrad.depends_on` answers the underlying
# question: is there a differentiable path from the inputs to this value?

# %% [markdown]
# ## `inference_mode`
#
# `inference_mode` is stricter than `no_grad`: an inference tensor cannot be saved for backward, and
# may not be changed in place outside the mode. (It has no version counter, with which torch counts
# the in-place changes of a tensor.) Here the forward pass raises, in `l2(h)`, because the gradient
# of L2's weight needs h. A sum `h + v` saves nothing, so it runs, and v gets its gradient. JAX does
# not need a third mode, because arrays are immutable and a constant can be used anywhere: there the
# same program trains L2.

# %%
show("grad_modes/inference_mode", claim=False)

# %%
graph("grad_modes/inference_mode")

# %% [markdown]
# After `torch.clone` the value can be saved for backward, so that w gets its gradient.

# %%
# torch
import torch


w = torch.tensor(3.0, requires_grad=True)
with torch.inference_mode():
    h = 5 * torch.tensor(2.0)
try:
    loss = w * h
except RuntimeError as error:
    print("torch raises:", str(error).split(".")[0])
loss = w * h.clone()
loss.backward()
print("w", w.grad)

# %%
# JAX
import jaxgrad


def loss(w):
    h = jaxgrad.no_grad(lambda x: 5 * x)(2.0)
    return w * h


print("w", jaxgrad.grad(loss)(3.0))

# %%
# Try it: replace `w * h` by `w + h` in both cells, also in `w * h.clone()`. A sum saves nothing:
# does torch still raise?

# %%
show("grad_modes/inference_clone", prints="grads", claim=False)

# %% [markdown]
# ## Leaving the graph: `detach`, `numpy`, `item`, `tolist`
#
# Each of these returns a value that autograd treats as a constant. In JAX write
# `lax.stop_gradient`. A conversion to Python or numpy is no substitute for it. Under `jit` all of
# them raise, because a traced array has no numbers yet. Under `jax.grad` alone `float(x)`,
# `x.tolist()` and `numpy.asarray(x)` raise too, but `x.item()`, `int(x)` and `bool(x)` return a
# number and silently stop the gradient: `jax.grad(lambda x: x.item() * x)(3.0)` is 3, not 6.

# %%
show("grad_modes/leave_graph", claim=False)

# %% [markdown]
# **Shared storage.** `detach()` does not copy: writing to the detached tensor also changes the
# original. If the backward pass needs the value, torch notices this through the version counter and
# raises. It does not notice writes through `.detach().numpy()`, and the gradient is silently wrong.
# JAX arrays are immutable, so neither can happen.

# %%
show("grad_modes/detach_shares_storage", claim=False)

# %% [markdown]
# **`numpy()` on a tensor that requires grad** raises. A JAX array has no flag that could forbid the
# conversion.

# %%
show("grad_modes/numpy")

# %% [markdown]
# ## The whole graph is cut off
#
# A common claim is that `backward()` on a fully detached result leaves `None` in `.grad`. It is
# wrong: torch raises, because there is no graph to walk. `jaxgrad` does return `None`.

# %%
show("grad_modes/detach_backward", claim=False)

# %% [markdown]
# ## An overview: recorded, reachable, stopped
#
# In torch, L1 is either on the path of the loss, recorded but not reached from the loss, or never
# recorded. Under `detach` L1 is recorded but not reached. Under `no_grad` and `inference_mode` it
# was never recorded. L1 is fully in the graph if you merely leave it out of the optimizer or zero
# its gradient by hand.
#
# [The stepper](../docs/stepper.md) shows these cases one operation at a time.

# %%
graph("grad_modes/recorded")

# %% [markdown]
# **As a table.** In torch, *recorded* says whether the layer is in the graph at all, and
# *reachable* whether the loss leads to it. JAX has no record to look into. Its column says whether
# a path of the program leads from L1's weight to the values of the forward pass (*recorded*) and to
# the loss (*reachable*); `jaxgrad.depends_on` answers both.

# %%
show(
    "grad_modes/recorded",
    only="*/recorded/l1/weight */reachable/l1/weight",
    claim=False,
)

# %% [markdown]
# **What is left in `.grad`.** The norm of each layer's gradient after one step.

# %%
figure("stopped_layers")

# %% [markdown]
# [control_flow](control_flow.ipynb) compares the costs of these ways to stop a gradient.
# [freezing](freezing.ipynb) covers freezing individual parameters, and shows why `eval()` does not
# stop any gradient.

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("grad_modes/one_term_of_a_sum")

# %%
# Your answer
from jax import lax


def in_torch(x):
    return x**2 + x**3


def in_jax(x):
    return x**2 + x**3


# %%
check("grad_modes/one_term_of_a_sum", in_torch, in_jax)

# %%
exercise("grad_modes/stopped_too_early")

# %%
# Your answer
import jax
import jax.numpy as jnp
from jax import lax


def f(x):
    return jnp.sum(x**2)


def stopped(x):
    return f(x)


x = lax.stop_gradient(jnp.array([1.0, 2.0]))  # your colleague's line
print(jax.grad(stopped)(x))

# %%
check("grad_modes/stopped_too_early", stopped)

# %%
exercise("grad_modes/same_value_other_gradient")

# %%
# Your answer
from jax import lax


def loss(a, b):
    return a * b + a


# %%
check("grad_modes/same_value_other_gradient", loss)

# %% [markdown]
# ## What to take away
#
# - `detach` and `no_grad` leave the same gradients. They differ in what torch records on the way.
# - Nothing is written to the `.grad` of a layer that is cut off. If it was `None`, it stays `None`,
#   and the optimizer skips the layer.
# - `requires_grad_(False)` freezes parameters and lets the gradient pass to the input; `no_grad`
#   does not.
# - In JAX `lax.stop_gradient` stops a path, `jaxgrad.partition` selects the leaves that are
#   differentiated, and the labels of `optax.partition` select the parameters that move. (Not
#   `optax.masked`: [param_groups](param_groups.ipynb) says why.)
