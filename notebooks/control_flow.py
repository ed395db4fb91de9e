# %% [markdown]
# # Programs that depend on the data, and what they cost
#
# torch builds a graph at every call, so any Python `if` will do. JAX compiles a program once for
# each shape of its inputs; what depends on *values* is said with `lax.cond`, `lax.scan` or
# `jnp.where`. In return nothing is built at the second call.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import graph, show


# %% [markdown]
# ## A graph that depends on the data (S3-03)
#
# Some samples go through the network twice; others have their gradient clipped by the batch's mean
# size.

# %%
show("control_flow/data_dependent")

# %% [markdown]
# The graph that torch built for this batch, and JAX's, which is the same for every batch.

# %%
graph("control_flow/data_dependent")

# %% [markdown]
# **A loop whose length depends on the data (S3-03).** `lax.while_loop` has no backward pass,
# because what it would save has no bound. A `scan` of bounded length that does nothing once it is
# done has one.

# %%
show("control_flow/data_dependent_depth")

# %% [markdown]
# ## Static and dynamic graphs (S3-04)
#
# How often is the graph built? That is compared. What does a call cost? That is only measured, on
# whatever machine ran this; a network of this size is all overhead, and overhead is the question.

# %%
show("control_flow/static_and_dynamic", only="built/* *refuses* */loss")

# %% [markdown]
# ## Which stop is cheapest (S0-18)
#
# **The document's reason is wrong.** It says that `no_grad` is faster because `detach` copies.
# `detach` shares storage (the row `detach_shares_storage`). What it costs is the record of L1,
# made and thrown away; `no_grad` and `inference_mode` never make it. JAX saves nothing for what is
# stopped, so there the three keep the same bytes.

# %%
show("checkpointing/cheapest_stop", only="*no_grad_* *as_no_grad *shares*")

# %% [markdown]
# More about what is kept, and how to keep less, is in [memory](memory.ipynb).
