# %% [markdown]
# # torch's optimizers, and optax's of the same name
#
# `jaxgrad.optim` has torch's rules, arguments and defaults. In the last column the obvious choice
# of optax is in its place: it starts elsewhere, or goes elsewhere.

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
# ## Momentum, second moments and signs
#
# SGD's dampening (P127), AMSGrad (P123), NAdam (P124), RAdam (P125), Adagrad (P120), Rprop (P126).

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
# ## Those that optax has not, or has otherwise
#
# ASGD, Adafactor and SparseAdam are P128, Muon is P130, L-BFGS is P129.

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
