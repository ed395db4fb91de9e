# %% [markdown]
# # Custom gradients
#
# `torch.autograd.Function` is a class with `forward(ctx, ...)` and `backward(ctx, ...)`.
# `jaxgrad.from_function` takes such a class, in which only torch's function calls are renamed, and
# returns a JAX function with torch's rules for `None`, broadcasting and integers. Where the last
# column says `forward_only`, JAX differentiates the forward function directly and ignores the
# custom backward.
#
# **You will be able to** port an `autograd.Function`, and write straight-through estimators and
# gradient reversal whose second derivatives are right.
#
# **Time** 30 minutes · **Level** advanced · **Read first:** [backward](backward.ipynb)

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
from parity_tests.notebook.plain_jax import plain
from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, graph, show


# %% [markdown]
# ## A function with its own backward pass
#
# This one is the identity, and clamps the gradient. In plain JAX, `jax.custom_vjp` marks such a
# function, and `defvjp` gives it two rules: the first runs in the forward pass and returns the
# result with what the backward pass needs (here nothing); the second turns this and the gradient of
# the result into one gradient for each argument.

# %%
# torch
import torch


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


x = torch.tensor([0.0, 5.0], requires_grad=True)
(Clamped.apply(x) ** 2).sum().backward()
print(x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp


@jax.custom_vjp
def clamped(x):
    return x


clamped.defvjp(lambda x: (x, None), lambda kept, grad: (jnp.clip(grad, -1, 1),))
print(jax.grad(lambda x: jnp.sum(clamped(x) ** 2))(jnp.array([0.0, 5.0])))

# %%
# Try it: replace `-1, 1` by `-4, 4` in both cells. Without a clamp the second gradient is 10: what
# is it now?

# %% [markdown]
# `jaxgrad.from_function` takes torch's class instead. It keeps rules of torch that a raw
# `custom_vjp` does not have; most of this notebook is about them.

# %% [markdown]
# ## Huber loss
#
# The target is data, so its gradient is `None`.

# %%
show("custom/huber", claim=False)

# %% [markdown]
# **To change these programs,** unfold *the whole script* below one of them, copy it into a new cell
# and edit it there. (`show` runs the programs of the test suite, whatever you edit here.)

# %%
figure("huber")

# %% [markdown]
# ## Returning `None` from backward
#
# Two parameters, SGD with weight decay, and a `backward` that returns `None` for the second of
# them.

# %%
question("custom/none_gradient")

# %%
show("custom/none_gradient", asked=True)

# %% [markdown]
# `.grad` stays `None`, and the optimizer does not change that parameter, not even by weight decay.
# With a plain `jax.custom_vjp`, JAX replaces `None` by zeros before any caller can see it:

# %%
# torch
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


x, w = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0))
Scale.apply(x, w).backward()
print("x", x.grad, "w", w.grad)

# %%
# JAX differs from torch
import jax

import jaxgrad


@jax.custom_vjp
def scale(x, w):
    return x * w


scale.defvjp(lambda x, w: (x * w, w), lambda w, grad: (grad * w, None))
dx, dw = jaxgrad.grad(scale, (0, 1))(2.0, 5.0)
print("x", dx, "w", dw)

# %%
# Try it: replace `[0], None` by `[0], 7 * grad` in torch, and `(grad * w, None)` by
# `(grad * w, 7 * grad)` in JAX. Do they agree, although the derivative is wrong?

# %% [markdown]
# ## A gradient that is larger than its input
#
# The input was broadcast in forward, and backward returns a gradient of the broadcast shape: torch
# sums it to the shape of the input.

# %%
show("custom/broadcast_gradient", claim=False)

# %% [markdown]
# ## Other arguments: numbers, strings, integers
#
# Numbers, strings and defaults reach `forward` unchanged. torch's `backward` returns one value for
# each argument of `forward`, and `None` for those that are not differentiable. The same class works
# in `jaxgrad.from_function`.

# %%
show("custom/non_tensor_arguments", claim=False)

# %%
show("custom/integer_argument")

# %% [markdown]
# **Computing only the gradients that are needed.** `ctx.needs_input_grad` says which gradients are
# requested.

# %%
show("custom/needs_input_grad", only="*/needed/*", claim=False)

# %% [markdown]
# ## Captured variables
#
# The class uses a traced value without taking it as an argument. That value gets no gradient
# through forward, only through backward.

# %%
show("custom/closure", claim=False)

# %% [markdown]
# ## Second derivatives
#
# The second derivative is the derivative of `backward`; gradient penalties rely on it.

# %%
show("custom/double_backward", claim=False)

# %% [markdown]
# ## A saved tensor that was changed
#
# `save_for_backward` also stores the version of a tensor, so that torch notices an in-place change
# before the backward pass ([mutation](mutation.ipynb) explains it).

# %%
show("custom/saved_tensor_modified", claim=False)

# %% [markdown]
# ## Straight-through estimator
#
# Round in the forward pass and use the identity in the backward pass: `x + (round(x) -
# x).detach()`. In JAX `stop_gradient` replaces `detach`.

# %%
# torch
import torch


x = torch.tensor(2.6, requires_grad=True)
rounded = x + (x.round() - x).detach()
loss = rounded**2
loss.backward()
print(loss.item(), x.grad)

# %%
# JAX
import jax
import jax.numpy as jnp
from jax import lax


def loss(x):
    rounded = x + lax.stop_gradient(jnp.round(x) - x)
    return rounded**2


print(*jax.value_and_grad(loss)(2.6))

# %%
# Try it: replace `x + (x.round() - x).detach()` by `x.round()` in torch, and
# `x + lax.stop_gradient(jnp.round(x) - x)` by `jnp.round(x)` in JAX. Does the loss change, or
# the gradient?

# %%
plain("straight_through")

# %%
show("surrogate/straight_through", claim=False)

# %% [markdown]
# **The second derivative distinguishes right rules from wrong ones.**

# %%
question("surrogate/straight_through_twice")

# %%
show("surrogate/straight_through_twice", asked=True)

# %% [markdown]
# A common `custom_vjp` returns the plain rounded value from its forward rule, so the
# straight-through rule is lost in the second derivative: 0 instead of 2.

# %% [markdown]
# ## Gradient reversal
#
# The domain head learns to tell the domains apart, and the trunk learns to prevent it. In the
# second derivative the common `custom_vjp` has the wrong sign, -2 instead of 2.

# %%
plain("reverse_gradient")

# %%
show("surrogate/gradient_reversal", claim=False)

# %%
graph("surrogate/gradient_reversal")

# %%
show("surrogate/gradient_reversal_twice", claim=False)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("custom/slower_gradient")

# %%
# Your answer
import torch

import jaxgrad


class Slower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return 0.1 * grad_output


slower = ...

# %%
check("custom/slower_gradient", slower)

# %%
exercise("custom/clipped_straight_through")

# %%
# Your answer
import jax.numpy as jnp
from jax import lax


def quantize(x):
    return jnp.round(jnp.clip(x, -1, 1))  # the gradient of round is 0


# %%
check("custom/clipped_straight_through", quantize)

# %% [markdown]
# ## What to take away
#
# - `jaxgrad.from_function` keeps torch's rules: `None`, broadcasting, and no gradient for integers.
# - A custom rule can be right in the first derivative and wrong in the second.
# - A straight-through estimator needs only `stop_gradient`.
