# %% [markdown]
# # Custom gradients
#
# `torch.autograd.Function` is a class with `forward(ctx, ...)` and `backward(ctx, ...)`.
# `jaxgrad.from_function` takes such a class, with torch's calls renamed and nothing else, and
# gives a JAX function with torch's rules: `None` for an input, sums over broadcast dimensions,
# integers without a gradient. Where the last column says `forward_only`, it is the forward alone,
# differentiated as it stands.

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
# ## Huber loss (S4-12)
#
# The target is data: its gradient is `None`.

# %%
show("custom/huber")

# %% [markdown]
# ## `None` from backward
#
# `.grad` stays `None`, and the optimizer does not move that parameter, not even by weight decay. A
# raw `jax.custom_vjp` fills a `None` with zeros before anyone can see it.

# %%
show("custom/none_gradient")

# %% [markdown]
# ## A gradient that is too large
#
# An input was broadcast, and its author forgot: torch sums the gradient to the shape of the input.

# %%
show("custom/broadcast_gradient")

# %% [markdown]
# ## What goes in: numbers, strings, integers

# %%
show("custom/non_tensor_arguments")

# %%
show("custom/integer_argument")

# %% [markdown]
# **Only what is needed.** `ctx.needs_input_grad` says which gradients are asked for.

# %%
show("custom/needs_input_grad", only="*/needed/*")

# %% [markdown]
# ## A value from around
#
# The class uses a traced value without taking it as an argument. It has no gradient through
# forward, only through what backward does with it.

# %%
show("custom/closure")

# %% [markdown]
# ## Twice
#
# The second derivative is the derivative of `backward`; a gradient penalty (S4-13) is built on it.

# %%
show("custom/double_backward")

# %% [markdown]
# ## A saved tensor that changed

# %%
show("custom/saved_tensor_modified")

# %% [markdown]
# ## Straight through
#
# Rounded on the way forward, the identity on the way back: `x + (round(x) - x).detach()`, the same
# words in JAX.

# %%
show("surrogate/straight_through")

# %% [markdown]
# **The second derivative tells good rules from bad ones.** The usual `custom_vjp` returns the bare
# value from its forward and so forgets the rule: 0 instead of 2. It is the last column.

# %%
show("surrogate/straight_through_twice")

# %% [markdown]
# ## Gradient reversal
#
# The domain head learns, and the trunk learns to defeat it. Here the usual rule has the wrong
# sign, -2 instead of 2.

# %%
show("surrogate/gradient_reversal")

# %%
graph("surrogate/gradient_reversal")

# %%
show("surrogate/gradient_reversal_twice")
