# %% [markdown]
# # What the backward graph is
#
# torch's graph is built of nodes while the program runs: `grad_fn`, `next_functions`,
# `saved_tensors`. JAX has no such objects on its arrays. It has a *jaxpr*, the program as data,
# which can be read before anything runs. The same questions have the same answers.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import graph, nodes, show


# %% [markdown]
# ## The attributes of a tensor (S2-01)
#
# `data`, `grad`, `grad_fn`, `is_leaf`, `requires_grad` of every node of a small graph. In JAX they
# are answers to one question: does a differentiable path lead here from a leaf?

# %%
show("graph/attributes", only="[a-g]/is_leaf [a-g]/requires_grad")

# %% [markdown]
# **Leaves (S3-01).** v1 requires grad and v2 does not; the result does, because one of its inputs
# does.

# %%
show("graph/leaf_flags")

# %% [markdown]
# ## The names of nodes (S2-01, S2-02)
#
# torch names the function that goes back, JAX the primitive that went forward. Names are names:
# the difference is pinned, not bridged.

# %%
show("graph/grad_fn")

# %% [markdown]
# **Walked from the loss (S2-02).** `next_functions` lead back to the leaves, where
# `AccumulateGrad` waits. In a jaxpr the inputs of an equation lead back to the arguments.

# %%
show("graph/next_functions")

# %% [markdown]
# ## What is saved for backward (S2-02)
#
# A product saves its factors, and only those that a gradient needs; a sum saves nothing; `exp`
# saves its result. JAX calls them residuals.

# %%
show("graph/saved_tensors", only="*saved*")

# %% [markdown]
# For `sin`, `sqrt` and `square` torch saves what the derivative is computed from; JAX has computed
# the derivative already, and saves that.

# %%
show("graph/saved_derivative", only="*saved*")

# %% [markdown]
# **All of it for one network (S2-02).** Each node of torch's graph, each primitive of JAX's, and
# what it saves. In parentheses what is there anyway: parameters, inputs, and what was counted
# before.

# %%
nodes("grad_modes/nothing_stopped")

# %% [markdown]
# ## One node, three outputs (S2-06)

# %%
show("graph/unbind_node")

# %%
graph("graph/unbind_node")

# %% [markdown]
# ## Setting the flag in the middle (S2-14)
#
# On a result `b.requires_grad_(True)` is allowed: it says what is so already. `b.requires_grad =
# False`, `b.requires_grad_(False)` and even `b.requires_grad = True` raise. JAX has no flag to
# set; what is cut is said in the program.

# %%
show("graph/flag_on_non_leaf")

# %% [markdown]
# ## `nn.Parameter` of an intermediate (S2-15)
#
# It cuts the graph: f gets a gradient, w gets `None`. In torch this is a mistake that is easy to
# make; in JAX one has to write `stop_gradient` to make it.

# %%
show("graph/parameter_of_intermediate")
