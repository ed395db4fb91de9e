# %% [markdown]
# # Parameter groups, freezing, and None against zero
#
# What torch's optimizers know about a parameter beside its gradient.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import show


# %% [markdown]
# ## torch's groups in torch's words
#
# `jaxgrad.optim` has torch's optimizers with torch's arguments and defaults. `param_groups` gives a
# group its own options, and its learning rate a schedule of its own; labels are a function of the
# path, or a tree.

# %%
show("param_groups/group_schedules", only="params/0/* params/3/*")

# %% [markdown]
# A group may join during training. Those that are there already keep their momentum.

# %%
show("param_groups/add_param_group", only="params/2/* params/4/*/bias")

# %% [markdown]
# ## Freezing: not by `optax.masked`
#
# The label "frozen" is `requires_grad_(False)`: no step, no weight decay, no state. `optax.masked`
# applies the optimizer where the mask is True, and elsewhere hands on the raw gradient, which is
# then added: in the last column the frozen layer l1 climbs.

# %%
show("param_groups/frozen", only="params/*/bias")

# %% [markdown]
# ## None against zero (P131, P132, P133)
#
# torch passes over a parameter whose gradient is `None`: no weight decay, no stale momentum, and
# its step count, on which Adam's bias correction depends, stays. A zero gradient does all three.

# %%
show("param_groups/none_gradient", only="step/* params/*/l1/bias")

# %% [markdown]
# Under jit a tree cannot have a `None` in one step and not in the next. `live` says the same with
# arrays: here two heads take turns.

# %%
show("param_groups/live", only="params/*/a/bias params/*/b/bias")

# %% [markdown]
# ## The same name, another optimizer
#
# The last column is what optax has under the same name. AdamW's default weight decay differs by a
# factor of 100; RMSprop's eps is outside or inside of the square root.

# %%
show("optimizers/adamw", only="losses")

# %%
show("optimizers/rmsprop_eps", only="losses")

# %% [markdown]
# And a torch optimizer's `state_dict` is where the next step goes on from.

# %%
show("param_groups/resume", only="step params/2/*/bias")
