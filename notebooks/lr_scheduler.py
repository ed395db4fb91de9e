# %% [markdown]
# # Learning-rate schedules, weight averages, and the gradient scaler's state
#
# In torch a scheduler changes the optimizer's learning rate at every step. In JAX a schedule is a
# function from the step to the learning rate, and can be called under `jit` and in any order. The
# schedules in `jaxgrad.optim.lr_scheduler` return torch's learning rate at every step, and can be
# used wherever optax accepts a schedule.
#
# **You will be able to** use torch's learning-rate schedules and weight averages in JAX, and see
# where the obvious optax choice differs.
#
# **Time** 20 minutes · **Level** reference · **Read first:** [optim](optim.ipynb)

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

import matplotlib.pyplot as plt

from parity_tests.notebook.check import check
from parity_tests.notebook.plots import plot
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, show, without


# %% [markdown]
# ## Every scheduler
#
# Each plot shows the learning rate over sixty training steps. torch is the line, JAX the dots on
# it. The dashed line is a contrast: optax's schedule with its usual settings, the plain product of
# the factors for `ChainedScheduler`, or a constant learning rate. The contrast is constant for the
# exponential, polynomial and warm-restart schedules too, although optax does provide those, as
# `exponential_decay`, `polynomial_schedule` and `sgdr_schedule`.

# %%
figure("schedules")

# %% [markdown]
# **By hand.** The learning rate is 8 and is halved every two steps. torch's scheduler changes the
# optimizer; in JAX you call a function.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(0.0))
optimizer = torch.optim.SGD([w], lr=8.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for step in range(6):
    print(step, optimizer.param_groups[0]["lr"])
    optimizer.step()
    scheduler.step()

# %%
# JAX
from jaxgrad.optim import lr_scheduler


schedule = lr_scheduler.step_lr(8.0, step_size=2, gamma=0.5)
for step in range(6):
    print(step, schedule(step))

# %%
# Try it: replace `step_size=2` by `step_size=3` in both cells. At which step does the learning rate
# change first?

# %% [markdown]
# ## A cosine after its minimum
#
# A cosine takes the learning rate from its initial value to `eta_min` in `T_max` steps. Training
# goes on.

# %%
question("lr_scheduler/cosine_annealing_lr")

# %%
show("lr_scheduler/cosine_annealing_lr", only="w", asked=True)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# `CosineAnnealingLR` is a recursion without an end, so the learning rate rises again after `T_max`.
# `optax.cosine_decay_schedule` stays at its minimum.

# %%
# torch
import torch


w = torch.nn.Parameter(torch.tensor(0.0))
optimizer = torch.optim.SGD([w], lr=8.0)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
for step in range(5):
    print(step, round(optimizer.param_groups[0]["lr"], 3))
    optimizer.step()
    scheduler.step()

# %%
# JAX differs from torch
import optax


schedule = optax.cosine_decay_schedule(8.0, decay_steps=2)
for step in range(5):
    print(step, round(float(schedule(step)), 3))

# %%
# Try it: replace `range(5)` by `range(3)` in both cells. How long do the two schedules agree?

# %% [markdown]
# ## One cycle
#
# optax's cycle reaches its peak and its end one step later than torch's. torch also cycles the
# momentum, which is a second schedule here, `.momentum`.

# %%
show("lr_scheduler/one_cycle_lr", only="w", claim=False)

# %% [markdown]
# ## Schedulers in sequence, and chained
#
# When `SequentialLR` switches to the next scheduler, that scheduler starts from the initial
# learning rate if it has a closed form, and otherwise from the current learning rate. In a
# `ChainedScheduler` each scheduler modifies the result of the previous one: combining a factor with
# a cosine that has an `eta_min` is not a product.

# %%
show("lr_scheduler/sequential_lr", only="w", claim=False)

# %%
show("lr_scheduler/chained_scheduler", only="w", claim=False)

# %% [markdown]
# ## Reducing the learning rate on a plateau
#
# This scheduler depends on the loss, so it has a state: `init() -> state`, `update(state, metric)
# -> state`, and the learning rate is `state.lr`. It works under `jit` and inside `scan`. optax's
# version reduces the learning rate one bad epoch earlier.

# %%
without("lr_scheduler/reduce_lr_on_plateau", only="lr")

# %% [markdown]
# ## Averages of the weights
#
# `AveragedModel` holds the mean of all models so far, or their exponential moving average. The
# first model is copied, whereas `optax.ema`, in the last column of the third table, starts at zero
# and corrects the resulting bias.

# %%
show("swa_utils/averaged_model", only="averages/4/* n_averaged")

# %%
show("swa_utils/averaged_model_buffers", only="averages/4/*")

# %%
show("swa_utils/ema", only="averages/*/w", claim=False)

# %% [markdown]
# ## The gradient scaler's state
#
# Forty steps with two optimizers; some losses are infinite or NaN. Each optimizer skips a step
# based on its own gradients; a bad gradient halves the scale, and three good steps in a row
# increase it. The whole training loop is one `lax.scan`.

# %%
values = show("precision/scaler_state", only="scale growth_tracker").values
_, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7, 3), dpi=90)
for axis, key in ((top, "scale"), (bottom, "growth_tracker")):
    axis.step(range(40), values["torch"][key], where="mid", color="#d95f02", label="torch")
    axis.plot(range(40), values["JAX"][key], "o", color="#2f81c7", markersize=3, label="JAX")
    axis.set_ylabel(key, fontsize=8)
top.set_yscale("log")
top.legend(fontsize=8)
bottom.set_xlabel("step")
plot("the scaler's scale and growth tracker at each step, torch and JAX")

# %% [markdown]
# `scaler.state_dict(state)` returns the same dict as torch's `scaler.state_dict()`, and
# `scaler.load_state_dict` accepts it.

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("lr_scheduler/warm_up")

# %%
# Your answer
import optax


schedule = optax.linear_schedule(0.25, 1.0, 4)

# %%
check("lr_scheduler/warm_up", schedule)

# %%
exercise("lr_scheduler/average_from_the_first_model")


# %%
# Your answer
def average(weights):  # a list with one weight for each step
    mean = 0.0
    for weight in weights:
        mean = 0.5 * mean + 0.5 * weight
    return mean


# %%
check("lr_scheduler/average_from_the_first_model", average)

# %% [markdown]
# ## What to take away
#
# - A schedule in JAX is a function from the step to the learning rate.
# - Some optax schedules have the same shape as torch's but are shifted by a step, or end
#   differently.
# - A schedule that depends on the loss has a state.
