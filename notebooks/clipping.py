# %% [markdown]
# # Clipping, and mixed precision
#
# What is done to a gradient between `backward` and `step`. In JAX these are functions from
# gradients to gradients.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

import jax.numpy as jnp
import matplotlib.pyplot as plt
import torch

import jaxgrad
from parity_tests.notebook.show import show, without


# %% [markdown]
# ## By norm (S4-07)
#
# torch multiplies by max_norm / (norm + 1e-6), so that the result is a little shorter than
# max_norm; it returns the norm from before.

# %%
show("clipping/clip_grad_norm")

# %%
without("clipping/clip_grad_norm")

# %% [markdown]
# **Below the bound** nothing changes, to the last bit. The last column is what one writes first:
# scaling always, which stretches too.

# %%
show("clipping/clip_grad_norm_below", only="before grads/* unchanged/*")

# %% [markdown]
# **Exactly at the bound** torch still shortens, by that 1e-6. `optax.clip_by_global_norm`, the
# last column, does not.

# %%
show("clipping/clip_grad_norm_at_max")

# %%
sizes = [10 ** (power / 8) for power in range(-16, 17)]


def in_torch(size):
    w = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    w.grad = torch.full((4,), size / 2, dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return w.grad.norm().item()


def in_jax(size):
    clipped, _ = jaxgrad.clip_grad_norm(jnp.full(4, size / 2), 1.0)
    return jnp.linalg.norm(clipped).item()


plt.figure(figsize=(6, 2.5), dpi=90)
plt.loglog(sizes, sizes, "--", color="gray", linewidth=0.8, label="not clipped")
plt.loglog(sizes, [in_torch(size) for size in sizes], color="#d95f02", label="torch")
plt.loglog(sizes, [in_jax(size) for size in sizes], "o", color="#1b6ca8", markersize=3, label="JAX")
plt.xlabel("norm before")
plt.ylabel("norm after")
plt.title("max_norm = 1")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# **Other norms**, and parameters without a gradient, which do not count.

# %%
show("clipping/clip_grad_norm_types", only="*/before */fc2/bias")

# %%
show("clipping/clip_grad_norm_none")

# %% [markdown]
# **By group**, as when torch's function is called for each of `optimizer.param_groups`: in
# `optax.partition` the transformation `jaxgrad.optim.clip_grad_norm` sees its own group only. The
# last column has one norm for all.

# %%
show("clipping/clip_grad_norm_by_group", only="grads/*/bias")

# %% [markdown]
# ## By value
#
# Each element on its own; this changes the direction.

# %%
show("clipping/clip_grad_value")

# %% [markdown]
# ## Mixed precision (S4-08)
#
# `autocast` computes linear layers in bfloat16; the loss and the gradients are float32.

# %%
show("precision/autocast")

# %% [markdown]
# **What is one operation.** torch's lists name operations; in a JAX program a norm or a softmax is
# several equations. `autocast` finds them in the program, computes them in float32 and rounds once.

# %%
show("precision/autocast_operations", only="normed softmax loss grads/weight")

# %% [markdown]
# **Regions.** Inside an autocast function another `autocast` has its own dtype, or is off: there
# everything is as wide as without, which in torch takes a `.float()`.

# %%
show("precision/autocast_regions", only="h off half")

# %% [markdown]
# **Loops.** torch keeps a weight's cast for the next turn; here it is made once, outside the scan.

# %%
show("precision/autocast_scan", only="last loss grads/fc2/bias")

# %% [markdown]
# **The scaler (S4-08).** Five steps, the third with an infinite gradient: that step is skipped and
# the scale halves. After two good steps it doubles. Clipping comes after `unscale_`, so that it
# sees the true gradient. In JAX the scaler's state goes in and comes out, and the step is skipped
# by a select on the device, not by an `if` on the host.

# %%
show("precision/amp", only="*/scale */skipped")

# %%
values = show("precision/amp").values
torch_scale, jax_scale = ([step["scale"] for step in values[side]] for side in ("torch", "JAX"))
plt.figure(figsize=(6, 2.2), dpi=90)
plt.step(range(5), torch_scale, where="mid", color="#d95f02", label="torch")
plt.plot(range(5), jax_scale, "o", color="#1b6ca8", label="JAX")
plt.yscale("log", base=2)
plt.xticks(range(5))
plt.xlabel("step; the gradient of step 2 is infinite")
plt.title("the scale after each step")
plt.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# On a GPU there is one more difference: by default JAX multiplies float32 matrices in TF32, where
# torch only convolves so. Set `jax.default_matmul_precision("highest")` before comparing; the
# runner has this as `precision/tf32`.
