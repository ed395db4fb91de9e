# %% [markdown]
# # Many devices
#
# torch runs on two or four processes here, by gloo; JAX on as many CPU devices of one process. What
# the ranks have is stacked: the first axis of a result is the rank.

# %%
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")

from parity_tests.notebook.show import show, without


# %% [markdown]
# ## The mean of the ranks' gradients
#
# `DistributedDataParallel` averages while it goes backward. In `shard_map` the gradient of the mean
# of the losses is the same: what all devices have gets its gradients added up by JAX. The last
# column is without the `pmean`: four times as large.

# %%
show("distributed/ddp", only="loss */bias")

# %% [markdown]
# **Without naming any device.** Under `jit` the batch says where it lies, the mean of the loss is
# that of all rows, and XLA adds the reduction.

# %%
show("distributed/ddp_sharding", only="loss */bias")

# %% [markdown]
# ## Two traps
#
# The recipe of `pmap`, a `pmean` of the gradients, finds the sum already there when it is moved to
# `shard_map`. The last column is the remedy.

# %%
show("distributed/ddp_pmean_of_grads")

# %% [markdown]
# A sum over ranks inside of the loss gives each rank its own gradient times the number of ranks, in
# both frameworks.

# %%
show("distributed/sum_in_the_loss")

# %% [markdown]
# ## Uneven shards, and ranks that end early
#
# The mean of means is not the mean. Weighted by rows it is.

# %%
show("distributed/uneven_shards")

# %%
without("distributed/join", only="*/bias")

# %% [markdown]
# ## Accumulating without a reduction
#
# `no_sync` keeps gradients local until the last backward. In `shard_map` a cast makes the
# parameters local; without it the gradients are summed each time.

# %%
show("distributed/no_sync", only="*/l2/bias")

# %% [markdown]
# ## Parameters that a rank does not use

# %%
show("distributed/find_unused_parameters", only="*/bias")

# %%
show("distributed/unused_parameters")

# %% [markdown]
# ## Batch norm
#
# In DDP each rank has its own statistics, and rank 0's running ones count. A plain batch norm of a
# sharded batch is another thing: SyncBatchNorm.

# %%
show("distributed/batch_norm", only="mean */norm/*")

# %%
show("distributed/sync_batch_norm_sharding", only="mean */norm/*")

# %% [markdown]
# ## Sharded parameters
#
# `clip_grad_norm_` of FSDP has the norm of the whole. In `shard_map` the axis is named; under `jit`
# with sharded arrays nothing changes. What all of this sends, for how many devices, is on the page
# `docs/distributed.md`.

# %%
show("distributed/clip_sharded", only="norm */l2/bias")

# %%
show("distributed/clip_sharding", only="norm */l2/bias")
