# %% [markdown]
# # Many devices
#
# torch runs on two or four processes here, with the gloo backend; JAX runs on the same number of
# CPU devices in one process. The results of all ranks are stacked, so the first axis of each result
# is the rank.
#
# **You will be able to** translate DDP, SyncBatchNorm and FSDP to `shard_map` and sharded arrays,
# and avoid two traps that scale gradients.
#
# **Time** 25 minutes · **Level** advanced · **Read first:** [control_flow](control_flow.ipynb)

# %%
# Setup: this notebook runs in the folder notebooks/ of a checkout of jaxgrad.
import pathlib
import sys


if not pathlib.Path("../parity_tests").is_dir():
    raise FileNotFoundError("run this notebook in the folder notebooks/ of a checkout of jaxgrad")
sys.path.insert(0, "..")

from parity_tests.notebook.practice import exercise, question
from parity_tests.notebook.show import figure, show, without


# %% [markdown]
# ## The mean of the ranks' gradients
#
# `DistributedDataParallel` averages gradients during the backward pass. Inside `shard_map`,
# differentiating the mean of the losses does the same, because JAX sums the gradients of parameters
# that are replicated over the devices. The last column omits the `pmean`, and its gradients are
# four times as large.

# %%
show("distributed/ddp", only="loss */bias")

# %% [markdown]
# **How the mean reaches every rank.** Each rank sends a quarter of its gradient to the next rank.
# After three steps every quarter is summed somewhere, after three more it is everywhere. The
# picture follows the first element, in a ring written with `lax.ppermute`.

# %%
figure("ring")

# %% [markdown]
# **Without naming any device.** Under `jit` the batch carries its own sharding, the mean of the
# loss is the mean over all rows, and XLA inserts the reduction.

# %%
show("distributed/ddp_sharding", only="loss */bias")

# %% [markdown]
# ## Two traps
#
# The usual `pmap` recipe is a `pmean` of the gradients. In `shard_map` with `check_vma=True`, its
# default, it changes nothing. JAX has already summed the gradients of replicated parameters, so
# every device has the same sum, and the mean of equal sums is that sum: on 4 devices, 4 times the
# mean. The last column shows the fix, the gradient of the `pmean` of the loss.
#
# With `check_vma=False` nothing is summed, and it is the other way round: the `pmean` of the
# gradients is right, and the gradient of the `pmean` of the loss is each device's own.

# %%
show("distributed/ddp_pmean_of_grads")

# %% [markdown]
# A sum over ranks inside the loss multiplies each rank's own gradient by the number of ranks, in
# both frameworks.

# %%
question("distributed/sum_in_the_loss")

# %%
show("distributed/sum_in_the_loss")

# %% [markdown]
# ## Uneven shards, and ranks that run out of data
#
# The mean of the shards' means is not the mean over all rows; weighting by the number of rows makes
# it correct. In the second table a rank that has run out of data either still counts in the mean,
# as in torch's `Join`, or does not.

# %%
show("distributed/uneven_shards")

# %%
without("distributed/join", only="*/bias")

# %% [markdown]
# ## Accumulating gradients without communication
#
# `no_sync` keeps gradients local until the last backward. In `shard_map`, a cast makes the
# parameters local to each device; without it the gradients are summed at every step.

# %%
show("distributed/no_sync", only="*/l2/bias")

# %% [markdown]
# ## Parameters that a rank does not use
#
# With `find_unused_parameters`, a parameter that only some ranks use counts as zero on the others,
# and one that no rank uses keeps `None`. Without it, torch raises in the next step.

# %%
show("distributed/find_unused_parameters", only="*/bias")

# %%
show("distributed/unused_parameters")

# %% [markdown]
# ## Batch norm
#
# With DDP each rank normalizes by its own statistics, and the running statistics start from rank
# 0's. A plain batch norm of a sharded batch under `jit` is different: it is SyncBatchNorm.

# %%
show("distributed/batch_norm", only="mean */norm/*")

# %%
show("distributed/sync_batch_norm_sharding", only="mean */norm/*")

# %% [markdown]
# ## Sharded parameters
#
# FSDP's `clip_grad_norm_` uses the norm of the whole gradient. In `shard_map` you name the axis for
# that; under `jit` with sharded arrays the code does not change. The page `docs/distributed.md`
# lists the communication of all of these, for several numbers of devices.

# %%
show("distributed/clip_sharded", only="norm */l2/bias")

# %%
show("distributed/clip_sharding", only="norm */l2/bias")

# %% [markdown]
# ## Exercises
#
# The solution and what it prints are folded.

# %%
exercise("distributed/average_the_loss")

# %%
exercise("distributed/norm_of_a_sharded_gradient")

# %% [markdown]
# ## What to take away
#
# - In `shard_map` the gradients of replicated parameters are summed already: average the loss, not
#   the gradients.
# - A sum over ranks in the loss multiplies every gradient by the number of ranks.
# - Under `jit` with sharded arrays, one program is written as for one device.
