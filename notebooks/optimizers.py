# %% [markdown]
# # torch's optimizers, and the optax functions of the same name
#
# `jaxgrad.optim` provides torch's update rules, arguments and defaults. In the last column of each
# table the most similar optax optimizer, or a plausible mistake, takes its place: it trains
# differently, or does not raise where torch does.

# %%
# On Colab this installs the dependencies; elsewhere it only adds the checkout to the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import show


# %% [markdown]
# ## Momentum, second moments and signs
#
# SGD with dampening, AMSGrad, NAdam, RAdam, Adagrad and Rprop.

# %%
show("optimizers/sgd_dampening", only="losses")

# %%
show("optimizers/adam_amsgrad", only="losses")

# %%
show("optimizers/nadam", only="losses")

# %%
show("optimizers/radam", only="losses")

# %%
show("optimizers/adagrad", only="losses")

# %%
show("optimizers/rprop", only="losses")

# %% [markdown]
# ## Optimizers that optax does not provide, or defines differently
#
# ASGD, Adafactor, SparseAdam, Muon and L-BFGS.

# %%
show("optimizers/asgd", only="losses")

# %%
show("optim/adafactor", only="7/l2/*")

# %%
show("optim/sparse_adam", only="2")

# %%
show("optim/muon", only="2")

# %%
show("optim/muon_of_a_vector")

# %%
show("optim/lbfgs")
