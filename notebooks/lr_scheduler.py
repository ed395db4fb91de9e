# %% [markdown]
# # Schedules, averages, and the scaler's state
#
# In torch a scheduler changes the optimizer's learning rate from step to step. In JAX a schedule is
# a function, step -> learning rate, which may be called inside of `jit`, in any order. Those of
# `jaxgrad.optim.lr_scheduler` give torch's learning rate at every step, and go wherever optax takes
# a schedule.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import matplotlib.pyplot as plt

from parity_tests.notebook.show import show, without


def plot(names):
    """What torch had at each step, what JAX has, and what is there without the tool."""
    _, axes = plt.subplots(len(names) // 4, 4, figsize=(10, len(names) / 2), dpi=80)
    for name, axis in zip(names, axes.flat, strict=True):
        torch_s, jax_s, usual = show(f"lr_scheduler/{name}").values.values()
        axis.plot(torch_s["lr"], color="#d95f02", linewidth=3, alpha=0.6, label="torch")
        axis.plot(jax_s["lr"], color="#1b6ca8", linewidth=1, label="JAX")
        axis.plot(usual["lr"], "--", color="gray", linewidth=0.8, label="the usual")
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=6)
    axes.flat[0].legend(fontsize=6)
    plt.tight_layout()


# %% [markdown]
# ## Every scheduler
#
# Learning rate over sixty steps of a training. torch is the broad line, JAX the thin one in it. The
# dashed line is optax's nearest schedule where there is one, else no schedule.

# %%
plot(
    [
        "lambda_lr",
        "multiplicative_lr",
        "step_lr",
        "multi_step_lr",
        "constant_lr",
        "linear_lr",
        "exponential_lr",
        "polynomial_lr",
        "cosine_annealing_lr",
        "cosine_annealing_warm_restarts",
        "one_cycle_lr",
        "cyclic_lr",
        "sequential_lr",
        "chained_scheduler",
        "swalr",
        "reduce_lr_on_plateau",
    ]
)
plt.show()

# %% [markdown]
# ## A cosine goes up again
#
# `CosineAnnealingLR` is a recursion that knows no end. `optax.cosine_decay_schedule` stays down.

# %%
show("lr_scheduler/cosine_annealing_lr", only="w")

# %% [markdown]
# ## One cycle
#
# optax's cycle has its peak one step later, and its end too. torch cycles the momentum with it,
# which here is a second schedule, `.momentum`.

# %%
show("lr_scheduler/one_cycle_lr", only="w")

# %% [markdown]
# ## One after the other, and all at once
#
# In torch a scheduler that is next in a `SequentialLR` starts from the initial learning rate if it
# has a closed form, and from the last one if it has none. In a `ChainedScheduler` each one changes
# what the one before has left: a factor and a cosine with an `eta_min` are not a product.

# %%
show("lr_scheduler/sequential_lr", only="w")

# %%
show("lr_scheduler/chained_scheduler", only="w")

# %% [markdown]
# ## When the loss stays where it is
#
# This one depends on what happens, so it has a state: `init() -> state`,
# `update(state, metric) -> state`, and the learning rate is `state.lr`. It works in `jit` and
# `scan`. optax's reduces one bad epoch early.

# %%
without("lr_scheduler/reduce_lr_on_plateau", only="lr")

# %% [markdown]
# ## Averages of the weights
#
# `AveragedModel` holds the mean of the models that it has seen, or a moving average. The first one
# is copied; `optax.ema`, the last column, starts at zero and corrects the bias of that.

# %%
show("swa_utils/averaged_model", only="averages/4/* n_averaged")

# %%
show("swa_utils/averaged_model_buffers", only="averages/4/*")

# %%
show("swa_utils/ema", only="averages/*/w")

# %% [markdown]
# ## The scaler's state (S4-08)
#
# Forty steps, two optimizers, some losses infinite or NaN. Each optimizer skips by its own
# gradients; a bad one halves the scale, and three good steps in a row make it grow. The whole
# training is one `lax.scan`.

# %%
values = show("precision/scaler_state", only="scale growth_tracker").values
_, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7, 3), dpi=90)
for axis, key in ((top, "scale"), (bottom, "growth_tracker")):
    axis.step(range(40), values["torch"][key], where="mid", color="#d95f02", label="torch")
    axis.plot(range(40), values["JAX"][key], "o", color="#1b6ca8", markersize=3, label="JAX")
    axis.set_ylabel(key, fontsize=8)
top.set_yscale("log")
top.legend(fontsize=8)
bottom.set_xlabel("step")
plt.tight_layout()
plt.show()

# %% [markdown]
# `scaler.state_dict(state)` gives what torch's `scaler.state_dict()` gives, and
# `scaler.load_state_dict` takes it.
