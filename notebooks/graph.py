# %% [markdown]
# # What the backward graph is
#
# torch builds its graph from node objects while the program runs: `grad_fn`, `next_functions`,
# `saved_tensors`. JAX arrays carry no such objects. Instead a JAX function can be traced to a
# *jaxpr*, the program as data, which can be inspected before anything runs. It answers the same
# questions.
#
# **You will be able to** read torch's graph and a jaxpr, and say which tensors the backward pass
# saves.
#
# **Time** 25 minutes · **Level** advanced · **Read first:** [backward](backward.ipynb)

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
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import graph, nodes, show


# %% [markdown]
# ## Does it depend on a leaf?
#
# The flag `requires_grad` of a result says whether a path leads back to a leaf that requires grad.
# `jaxgrad.depends_on` says the same about a function: whether a path leads from each argument to
# the result.

# %%
# torch
import torch


def f(a, b):
    return a**2 + b.detach()


for a_, b_ in ((True, False), (False, True)):
    a = torch.tensor(2.0, requires_grad=a_)
    b = torch.tensor(3.0, requires_grad=b_)
    print(f(a, b).requires_grad)

# %%
# JAX
from jax import lax

import jaxgrad


def f(a, b):
    return a**2 + lax.stop_gradient(b)


for depends in jaxgrad.depends_on(f, 2.0, 3.0):
    print(depends)

# %%
# Try it: replace `b.detach()` by `b` in torch, and `lax.stop_gradient(b)` by `b` in JAX. Which
# line changes?

# %% [markdown]
# ## The attributes of a tensor
#
# The program reads `data`, `grad`, `grad_fn`, `is_leaf` and `requires_grad` of every node of a
# small graph; the table shows the last two. In JAX they follow from one question: is there a
# differentiable path from a leaf to this value?

# %%
show("graph/attributes", only="[a-g]/is_leaf [a-g]/requires_grad", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)
#
# **Leaves.** v1 requires grad and v2 does not; the result does, because one of its inputs does.

# %%
show("graph/leaf_flags")

# %% [markdown]
# ## The names of nodes
#
# torch names the function of the backward pass, JAX the primitive of the forward pass. These names
# are recorded on both sides and not translated into each other.

# %%
show("graph/grad_fn")

# %% [markdown]
# **Walking back from the loss.** `next_functions` lead back to the leaves, each of which ends in an
# `AccumulateGrad` node. In a jaxpr the inputs of each equation lead back to the arguments.

# %%
show("graph/next_functions", claim=False)

# %% [markdown]
# ## Tensors saved for backward
#
# A product saves its factors, and only those that are needed for a requested gradient. A sum saves
# nothing. `relu`, `exp`, `tanh`, `sigmoid` and `sqrt` save their result; `sin`, `pow` and `log`
# save their input. JAX calls the saved values residuals.

# %%
show("graph/saved_tensors", only="*saved*", claim=False)

# %% [markdown]
# For `sin`, `sqrt` and `square` torch saves the value from which it later computes the derivative;
# JAX has already computed the derivative in the forward pass, and saves that.

# %%
show("graph/saved_derivative", only="*saved*", claim=False)

# %% [markdown]
# **All of it for one network.** The table lists each node of torch's graph, each JAX primitive, and
# the tensors that they save. Parentheses mark tensors that need no extra memory: parameters,
# inputs, and tensors already counted above.

# %%
nodes("grad_modes/nothing_stopped")

# %% [markdown]
# ## One node with three outputs

# %%
show("graph/unbind_node", claim=False)

# %%
graph("graph/unbind_node")

# %% [markdown]
# ## Setting the flag on an intermediate
#
# On an intermediate, `b.requires_grad_(True)` is allowed, because the flag is already True.
# `b.requires_grad = False`, `b.requires_grad_(False)` and even `b.requires_grad = True` raise. JAX
# has no such flag; you cut a gradient explicitly in the program.

# %%
show("graph/flag_on_non_leaf", claim=False)

# %% [markdown]
# ## `nn.Parameter` of an intermediate
#
# Someone computes a weight from another weight, and wraps the result so that the optimizer finds
# it.

# %%
question("graph/parameter_of_intermediate")

# %%
show("graph/parameter_of_intermediate", asked=True)

# %% [markdown]
# It cuts the graph: f gets a gradient, and w gets `None`. In torch this mistake is easy to make; in
# JAX you would have to write `stop_gradient` to make it.

# %%
# torch
import torch


w = torch.tensor(2.0, requires_grad=True)
f = torch.nn.Parameter(3 * w)
loss = 5 * f
loss.backward()
print("w", w.grad)

# %%
# JAX
from jax import lax

import jaxgrad


def loss(w):
    f = lax.stop_gradient(3 * w)
    return 5 * f


print("w", jaxgrad.grad(loss)(2.0))

# %%
# Try it: replace `torch.nn.Parameter(3 * w)` by `3 * w`, and `lax.stop_gradient(3 * w)` by `3 * w`.
# What does w get now?

# %%
graph("graph/parameter_of_intermediate")

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("graph/bytes_that_are_kept")

# %%
# Your answer
by_exp = ...  # numbers of bytes
by_sum = ...

# %%
check("graph/bytes_that_are_kept", by_exp, by_sum)

# %%
exercise("graph/read_both_graphs")

# %%
# Your answer
import jax
import jax.numpy as jnp
import torch


x = torch.tensor(1.0, requires_grad=True)
node, names = (torch.sin(x) * x).grad_fn, []
# follow node.next_functions, and collect node.name()

jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0)
primitives = ...  # of jaxpr.eqns

# %%
check("graph/read_both_graphs", names, primitives)

# %% [markdown]
# ## What to take away
#
# - torch's graph consists of nodes that exist while tensors hold them. A jaxpr is a program as
#   data.
# - A product saves its factors, a sum nothing, `relu` and `exp` their result, `sin` its input.
# - `nn.Parameter` of an intermediate cuts the graph.
