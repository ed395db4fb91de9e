# %% [markdown]
# # Gradient clipping and mixed precision
#
# Both change gradients between `backward` and `step`. In JAX they are functions from gradients to
# gradients.
#
# **You will be able to** clip gradients exactly as torch does, and use autocast and a gradient
# scaler in a compiled step.
#
# **Time** 30 minutes · **Level** intermediate ·
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

import jax.numpy as jnp
import matplotlib.pyplot as plt
import torch

import jaxgrad
from parity_tests.notebook.check import check
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, show


# %% [markdown]
# ## Clipping by norm
#
# A gradient that is longer than `max_norm` is shortened to that norm. torch's function and
# jaxgrad's also return the norm before clipping. One infinite gradient makes the factor zero: every
# other gradient becomes 0, and the infinite one NaN, because 0 · ∞ is NaN.
# `optax.clip_by_global_norm` gives the same values there. With `error_if_nonfinite=True` both
# torch's function and jaxgrad's raise instead.
#
# The gradient (3, 4) has the norm 5. With a bound of 2.5 it becomes half as long, up to a small
# term that is explained below.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.zeros(2))
w.grad = torch.tensor([3.0, 4.0])
norm = torch.nn.utils.clip_grad_norm_([w], max_norm=2.5)
print(norm.item(), w.grad)

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


grad = jnp.array([3.0, 4.0])
clipped, norm = jaxgrad.clip_grad_norm(grad, max_norm=2.5)
print(norm, clipped)

# %%
# Try it: replace `max_norm=2.5` by `max_norm=10.0`. The gradient is shorter than the bound now: is
# it made longer?

# %% [markdown]
# For a network all gradients share one norm. In the last column the norm is only measured, and
# nothing is clipped.

# %%
show("clipping/clip_grad_norm", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# **Below the bound** the gradient stays bit-identical. The last column shows a common first
# attempt: always scaling, which also enlarges small gradients.

# %%
show("clipping/clip_grad_norm_below", only="before grads/* unchanged/*", claim=False)

# %% [markdown]
# **Exactly at the bound.** The norm of the gradient is `max_norm`, to the last digit.

# %%
question("clipping/clip_grad_norm_at_max")

# %%
show("clipping/clip_grad_norm_at_max", asked=True)

# %% [markdown]
# torch multiplies by max_norm / (norm + 1e-6). At the bound this is less than 1, so torch shortens
# the gradient a little, and `optax.clip_by_global_norm` does not. A gradient keeps its bits if its
# norm is less than max_norm - 1e-6. Above the bound the clipped norm is slightly smaller than
# max_norm; the first table rounds it to 1.
#
# All of this is float64. In float32 the factor is rounded. At a bound up to 12 it is below 1.
# At a larger bound it can be 1, so a gradient with the norm 40 at the bound 40 is not shortened
# (nor is 31 at the bound 31), while 41 at the bound 41 becomes shorter in its last digit. A clipped
# norm can also be rounded to a value above the bound.

# %%
plain("clip_grad_norm")

# %%
sizes = [10 ** (power / 8) for power in range(-16, 17)]


def in_torch(size):
    w = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    w.grad = torch.full((4,), size / 2, dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return w.grad.norm().item()


def in_jax(size):
    clipped, _ = jaxgrad.clip_grad_norm(jnp.full(4, size / 2), 1.0)
    return jnp.linalg.norm(clipped).item()


plt.figure(figsize=(6, 2.5), dpi=90)
plt.loglog(sizes, sizes, "--", color="gray", linewidth=0.8, label="not clipped")
plt.loglog(sizes, [in_torch(size) for size in sizes], color="#d95f02", label="torch")
plt.loglog(sizes, [in_jax(size) for size in sizes], "o", color="#2f81c7", markersize=3, label="JAX")
plt.xlabel("norm before")
plt.ylabel("norm after")
plt.title("max_norm = 1")
plt.legend(fontsize=8)
plot("norm before and after clipping, torch and JAX")

# %% [markdown]
# **Other norms**, then parameters without a gradient, which do not contribute to the norm.

# %%
show("clipping/clip_grad_norm_types", only="*/before */fc2/bias")

# %%
show("clipping/clip_grad_norm_none")

# %% [markdown]
# **One norm per group**, as when you call torch's function once for each of
# `optimizer.param_groups`: inside `optax.partition`, the transformation
# `jaxgrad.optim.clip_grad_norm` sees only its own group. The last column uses one norm for all
# parameters.

# %%
show("clipping/clip_grad_norm_by_group", only="grads/*/bias", claim=False)

# %% [markdown]
# ## Clipping by value
#
# The other usual function takes a bound for the values instead of one for the norm.

# %%
question("clipping/clip_grad_value")

# %%
show("clipping/clip_grad_value", asked=True)

# %% [markdown]
# Each element is clamped by itself, which in general changes the direction of the gradient.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.zeros(3))
w.grad = torch.tensor([3.0, -4.0, 1.0])
torch.nn.utils.clip_grad_value_([w], 2.0)
print(w.grad)

# %%
# JAX
import jax.numpy as jnp

import jaxgrad


print(jaxgrad.clip_grad_value(jnp.array([3.0, -4.0, 1.0]), 2.0))

# %%
# Try it: replace `2.0)` by `1.0)` in both cells. From which bound on do all three elements have the
# same size?

# %%
plain("clip_grad_value")

# %% [markdown]
# **A ball and a square.** Five gradients of two parameters, before and after both kinds of clipping
# with a bound of 1.

# %%
figure("clipping_ball")

# %% [markdown]
# ## Mixed precision
#
# `autocast` computes linear layers in bfloat16, and their result stays bfloat16. Losses such as
# `mse_loss` are computed in float32, and a float32 parameter has a float32 gradient. A bfloat16 has
# 8 significant bits, so it holds every integer up to 256, but not 257.

# %%
# torch
import torch


linear = torch.nn.functional.linear
w = torch.tensor([[1.0]], requires_grad=True)
x = torch.tensor([[257.0]])
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = linear(x, w)
y.sum().backward()
print("y", y.item(), "w", w.grad.item())

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def layer(w, x):
    return jnp.sum(jaxgrad.autocast(lambda w, x: x @ w.T, jnp.bfloat16)(w, x))


w, x = jnp.array([[1.0]], jnp.float32), jnp.array([[257.0]], jnp.float32)
y, grad = jax.value_and_grad(layer)(w, x)
print("y", y, "w", grad.item())

# %%
# Try it: replace `257.0` by `255.0` in both cells, and then by 258 and 259. Which of these
# numbers survive?

# %%
show("precision/autocast", claim=False)

# %% [markdown]
# **Composite operations.** torch's autocast lists name whole operations, but in a JAX program a
# norm or a softmax consists of several equations. `autocast` recognizes them in the program,
# computes them in float32 and rounds once. A gradient marked `≠` under a ✓ differs by more than
# float32 rounding, but its error relative to a float64 run is at most three times torch's own
# error.

# %%
show(
    "precision/autocast_operations",
    only="normed softmax loss grads/weight",
    prints="normed softmax loss grads",
)

# %% [markdown]
# **Regions.** A nested `autocast` inside an autocast function sets its own dtype or disables
# autocast. In a disabled region everything is computed in float32 without further changes; torch
# needs a `.float()` for that.

# %%
show("precision/autocast_regions", only="h off half", claim=False)

# %% [markdown]
# **Loops.** torch caches a weight's cast for the next iteration; in JAX the cast happens once,
# outside the scan.

# %%
show("precision/autocast_scan", only="last loss grads/fc2/bias", claim=False)

# %% [markdown]
# **The gradient scaler** multiplies the loss by a scale, so that small gradients do not become zero
# in float16, and divides the gradients by it before the step. If a gradient is infinite or NaN, it
# skips the step and halves the scale; after a number of good steps in a row it doubles the scale.
# In JAX the scaler's state is an argument and a return value, and the step is skipped by a select
# on the device instead of an `if` on the host.
#
# Here the loss is w times 2, infinity and 3, the learning rate is 1, and the scale doubles after
# each good step. `unscale` also returns whether a gradient was infinite or NaN.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(10.0))
optimizer = torch.optim.SGD([w], lr=1.0)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
for factor in (2.0, float("inf"), 3.0):
    optimizer.zero_grad()
    scaler.scale(w * factor).backward()
    scaler.step(optimizer)
    scaler.update()
    print(w.item(), scaler.get_scale())

# %%
# JAX
import jax
import jax.numpy as jnp

import jaxgrad


def scaled_loss(w, factor, state):
    return scaler.scale(state, w * factor)


w, tx = jnp.array(10.0), jaxgrad.optim.sgd(lr=1.0)
scaler = jaxgrad.GradScaler(init_scale=8.0, growth_interval=1)
state, opt_state = scaler.init(), tx.init(w)
for factor in (2.0, float("inf"), 3.0):
    grad = jax.grad(scaled_loss)(w, factor, state)
    grad, found_inf = scaler.unscale(state, grad)
    w, opt_state = scaler.step(found_inf, tx, grad, opt_state, w)
    state = scaler.update(state, found_inf)
    print(w, state.scale)

# %%
# Try it: replace `float("inf")` by `1.0`. Does the second step move w now, and where does the
# scale end?

# %% [markdown]
# In the next program a network takes five steps, and the third (step 2 in the
# plot) has an infinite gradient. The scale
# doubles after two good steps. Clipping comes after `unscale_`, so it sees the unscaled gradient.

# %%
show("precision/amp", only="*/scale */skipped", claim=False)

# %%
values = show("precision/amp").values
torch_scale = [step["scale"] for step in values["torch"]]
jax_scale = [step["scale"] for step in values["JAX"]]
plt.figure(figsize=(6, 2.2), dpi=90)
plt.step(range(5), torch_scale, where="mid", color="#d95f02", label="torch")
plt.plot(range(5), jax_scale, "o", color="#2f81c7", label="JAX")
plt.yscale("log", base=2)
plt.xticks(range(5))
plt.xlabel("step; the gradient of step 2 is infinite")
plt.title("the scale after each step")
plt.legend(fontsize=8)
plot("the gradient scaler's scale after each step, torch and JAX")

# %% [markdown]
# On an NVIDIA GPU that has TF32 (Ampere or newer) there is one more difference: by default JAX
# multiplies float32 matrices in TF32, whereas torch uses TF32 only for convolutions. Set
# `jax.default_matmul_precision("highest")` before comparing; `python -m parity_tests
# precision/tf32` shows the difference.

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("clipping/by_hand")

# %%
# Your answer
import jax.numpy as jnp


def clip(grads, max_norm):  # a dict of gradients
    norm = ...
    return grads


# %%
check("clipping/by_hand", clip)

# %%
exercise("clipping/each_its_own")

# %%
# Your answer
import jax

import jaxgrad


def clip_each(grads, max_norm):
    return jaxgrad.clip_grad_norm(grads, max_norm)[0]  # clips by the common norm


# %%
check("clipping/each_its_own", clip_each)

# %% [markdown]
# ## What to take away
#
# - torch divides by norm + 1e-6, so the clipped norm is a little below the bound. In float32
#   rounding can hide this if the norm is above 12.
# - Clipping by norm keeps the direction of the gradient; clipping by value in general does not.
# - The scaler's state is an argument and a return value, and a step is skipped on the device.
