# %% [markdown]
# # Port a model
#
# `jaxgrad.port` takes a torch module and example inputs. It writes the module as a Python file of
# pure JAX functions, and then proves that the gradients of this file are torch's. The file imports
# JAX and jaxgrad, not torch, and it is meant to be read, kept and edited.
#
# Here we port a small image classifier with BatchNorm and dropout together with its training loop,
# read the file, train with it, and prove it again after an edit.
#
# **You will be able to** port your own module and its training step, and check the file after you
# have changed it.
#
# **Time** 15 minutes · **Level** first steps ·
# **Read first:** [prove_your_port](prove_your_port.ipynb)

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

import importlib
import os
import subprocess
import tempfile

import jax
import numpy as np
import torch
import torch.nn.functional as tf
from torch import nn

import jaxgrad
from jaxgrad.parity.compare import flatten
from jaxgrad.parity import PortError
from parity_tests.notebook.check import check
from parity_tests.notebook.practice import exercise, predict


# %% [markdown]
# ## The torch module


# %%
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        # the skip keeps the gradients of early blocks large
        return x + self.drop(tf.relu(self.norm(self.conv(x))))


class Classifier(nn.Module):
    def __init__(self, channels=4, blocks=2, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList(Block(channels) for _ in range(blocks))
        self.head = nn.Linear(channels, classes)

    def forward(self, image):
        features = self.stem(image)
        for block in self.blocks:
            features = block(features)
        pooled = features.mean((2, 3))
        return self.head(pooled)


torch.manual_seed(0)
classifier = Classifier()

# %% [markdown]
# ## Port it
#
# The example inputs say which shapes and dtypes the module takes; another batch size works too. The
# other arguments describe the training loop, and are torch's own objects. `port` raises unless each
# proof passes: one for train mode, one for eval mode, and one for the training step.

# %%
rng = np.random.default_rng(0)
image = rng.standard_normal((6, 1, 8, 8)).astype(np.float32)
label = np.array([0, 1, 2, 0, 1, 2])

ported = jaxgrad.port(
    classifier,
    (image,),
    loss=nn.CrossEntropyLoss(),
    targets=(label,),
    clip=1.0,
    optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
    scheduler=lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100),
)
for mode, report in ported.reports.items():
    print(mode, {name: surface.verdict for name, surface in report.surfaces.items()})

# %% [markdown]
# ## Read it
#
# Each class is one function of its params `p`, whose keys are torch's names. Local names and
# comments are those of the torch source. The loop is a loop. BatchNorm's buffers are returned as
# new params, dropout draws from a key, and `training` takes the place of `module.train()`.

# %%
model_code, step_code = ported.source.split("def loss_fn")
print(model_code.rstrip())

# %% [markdown]
# The training step follows, in the order of torch's loop: loss, gradients, clipping, optimizer,
# schedule.

# %%
print("def loss_fn" + step_code.rstrip())

# %% [markdown]
# ## Write it, and train with it
#
# `write` stores the file, with what is needed to prove it again beside it. `ported.params` converts
# torch's `state_dict` to params once; training itself needs no torch.

# %%
folder = pathlib.Path(tempfile.mkdtemp())
ported.write(folder / "my_classifier.py")
print(*sorted(path.name for path in folder.iterdir()), sep="\n")

sys.path.insert(0, str(folder))
my_classifier = importlib.import_module("my_classifier")

start = ported.params(classifier.state_dict())
params, opt_state = start, my_classifier.init_optimizer(start)
train_step = jax.jit(my_classifier.train_step)
losses = []
for key in jax.random.split(jax.random.key(0), 60):
    params, opt_state, loss = train_step(params, opt_state, image, label, key)
    losses.append(float(loss))
assert losses[-1] < losses[0]

# %%
leaves = {name: np.asarray(x).dtype for name, x in flatten(start).items()}
untrained = {
    name: f"{dtype}, changed: {not np.array_equal(flatten(params)[name], flatten(start)[name])}"
    for name, dtype in leaves.items()
    if not my_classifier.is_trained(name, None)
}
predict(
    "Which leaves of the params does AdamW not train, and do they change in these 60 steps?",
    untrained,
    "They are BatchNorm's buffers. The forward pass of train mode returns their new values, so "
    "that they change although they have no gradient.",
)

# %% [markdown]
# ## Prove it again, after an edit
#
# The file is yours now. Suppose that you tidy it up and lose the new running mean. The loss and all
# gradients of train mode stay the same. The command `verify` proves the file again, without torch's
# module, and names what is lost.

# %%
statement = 'x, p["running_mean"], p["running_var"] ='
assert statement in ported.source
code = ported.source.replace(statement, 'x, _, p["running_var"] =')


def verify(source):
    (folder / "my_classifier.py").write_text(source)
    command = [sys.executable, "-m", "jaxgrad.parity", "verify", "my_classifier.py"]
    path = os.pathsep.join([str(checkout), *sys.path])
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


edited, restored = verify(code), verify(ported.source)
assert (edited.returncode, restored.returncode) == (1, 0)
assert "Error" not in edited.stdout  # the edited file runs; only the running mean is wrong
lost = [line.strip() for line in edited.stdout.splitlines() if "running_mean" in line]
assert lost
print(lost[0])
print("edited:  ", edited.stdout.splitlines()[-1])
print("restored:", restored.stdout.splitlines()[-1])

# %% [markdown]
# ## From the shell
#
# If a function `make_model` in `mymodel.py` returns `(module, inputs)`, then
#
#     python -m jaxgrad.parity port mymodel.py::make_model -o my_model.py
#     python -m jaxgrad.parity verify my_model.py
#
# do the same. `--style nnx` writes flax classes, `--scan` writes loops over equal layers as
# `lax.scan`.
#
# ## When `port` refuses
#
# A statement that cannot be written in JAX with torch's gradient is an error that names the line
# and says what to write instead. With `holes=True` that statement becomes a function for you to
# write, and the rest of the module is ported.


# %%
class Rescaled(nn.Module):
    def forward(self, x):
        if x.abs().max().item() > 1:
            x = x / x.abs().max()
        return x


try:
    jaxgrad.port(Rescaled(), (image,))
except PortError as error:
    print(error)

# %% [markdown]
# ## Exercises
#
# Each task has a cell for your answer and one that checks it: change the answer, then run both. The
# check runs torch and says what differs. The solution is folded.

# %%
exercise("port_a_model/without_item")

# %%
# Your answer
from torch import nn


class Rescaled(nn.Module):
    def forward(self, x):
        if x.abs().max().item() > 1:
            x = x / x.abs().max()
        return x


module = Rescaled()

# %%
check("port_a_model/without_item", module)

# %% [markdown]
# ## What to take away
#
# - `port` writes what a person would write: one function for each class, with the author's names.
# - It returns only ports that are proved, in train mode, in eval mode, and over steps of training.
# - After an edit, `python -m jaxgrad.parity verify` proves the file again without torch.
