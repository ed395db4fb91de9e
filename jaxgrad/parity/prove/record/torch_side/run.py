"""Run a torch module in float64, and record every value and every cotangent."""

from __future__ import annotations

import contextlib
import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.interop import to_numpy, to_torch
from jaxgrad.parity.prove.record.jax_side.program import call_loss
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.record.torch_side import functions
from jaxgrad.parity.prove.record.torch_side.lifting import Lifting
from jaxgrad.parity.prove.record.torch_side.randomness import Randomness
from jaxgrad.parity.prove.record.torch_side.trees import (
    flat_outputs,
    is_inexact,
    numbers_in,
    version_of,
)
from jaxgrad.parity.prove.record.torch_side.trees import leaves as tree_leaves
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun
from jaxgrad.parity.prove.record.torch_side.watcher import Watcher
from jaxgrad.parity.prove.users import ProofError, running


Pick = Callable[[Any], Any]


def copy_in_dtype(module: nn.Module, dtype: torch.dtype = torch.float64) -> nn.Module:
    """Copy a module to the CPU in this dtype; complex tensors take the complex counterpart.

    The copy lacks hooks on parameters; `Borrowed` runs the module itself.
    """
    attributes = (x for part in module.modules() for x in vars(part).values())
    computed = [x for x in attributes if isinstance(x, Tensor) and not x.is_leaf]
    memo: dict[int, Any] = {id(x): x.detach().clone() for x in computed}  # deepcopy refuses these
    copied = copy.deepcopy(module, memo).to("cpu")
    for x in (*copied.parameters(), *copied.buffers()):
        if is_inexact(x):
            x.data = x.data.to(dtype.to_complex() if x.is_complex() else dtype)
    return copied


def again(*args: Any, **options: Any) -> TorchRun:
    """Call `run` without the warnings, which the first run of the module has shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(*args, **options)


def run(
    module: nn.Module,
    inputs: Any,
    pick: Pick | None = None,
    loss: Callable[..., Any] | None = None,
    cotangents: Callable[[np.ndarray], np.ndarray] | None = None,
    *,
    watch: bool = True,
    keep: bool = False,
    split: int | None = None,
    salt: int = 0,
    rough: int | None = None,
    rounds: int | None = None,
    dtype: torch.dtype = torch.float64,
    clear: bool = True,
    noise: Sequence[Noise] | None = None,
    changes: Sequence[Change] = (),
    opened: bool = False,
    attach: bool = True,
) -> TorchRun:
    """Run `module`, which is already a copy in `dtype`, forward and backward.

    Args:
        module: Module to run; its buffers may change.
        inputs: A tuple of numpy arrays for positional arguments, or a mapping for named ones.
        pick: Function that selects the outputs to compare.
        loss: Scalar function of the selected outputs; without it each floating output gets a
            cotangent.
        cotangents: Function from an output to its cotangent; None for a forward run alone.
        watch: Whether to record intermediate values.
        keep: Whether to keep the values, not only their fingerprints.
        split: Index of a value whose cotangent is recorded separately for each of its consumers.
        salt: Seed for torch's random number generator.
        rough: Seed for float32-sized noise added to constants that the module stores in float32.
        rounds: Number of a rerun that rounds the result of every call to one bit less.
        dtype: Dtype of the run; in float64 the module's own casts are lifted.
        clear: Whether to clear the gradients, before the run and after it.
        noise: Random numbers to draw in place of torch's, as far as there are any; None if the
            module is known to draw none.
        changes: Replacements for some calls; to count these, values are recorded.
        opened: Whether to compute attention and recurrent layers step by step.
        attach: Whether the inputs require gradients.
    """
    args = to_torch(inputs)
    leaves = [x for x in tree_leaves(args) if isinstance(x, Tensor)]
    for x in filter(is_inexact, leaves):
        x.requires_grad_(attach)
    if clear:
        module.zero_grad()
    watcher = Watcher(module, leaves, keep, split) if watch or changes else None
    drawn = None if noise is None else Randomness(noise)
    with (
        _settings(dtype, salt),
        functions.differentiated({change.function for change in changes} - {""}),
        Lifting(watcher, dtype, rough, changes, opened, drawn, rounds) as lifting,
        drawn or contextlib.nullcontext(),
        watcher or contextlib.nullcontext(),
    ):
        result = module(**args) if isinstance(args, Mapping) else module(*args)
        if pick is not None:
            with running("outputs=: torch_pick", f"It was called with {type(result).__name__}"):
                result = pick(result)
        outputs = dict(flat_outputs(result))
        if loss is not None:
            if watcher:
                watcher.begin("loss")
            with running("loss=: torch_loss"):
                outputs["loss"] = _scalar(call_loss(loss, result, args))
        if watcher:
            watcher.stop()
        if drawn is not None:
            drawn.on = False  # recomputed activations draw the same numbers again
        total = outputs["loss"] if loss is not None else _weighted_sum(outputs, cotangents)
        casts = [*lifting.casts]
        if total is not None and total.requires_grad and cotangents is not None:
            _backward(module, total.sum())
    return TorchRun(
        values=watcher.finish() if watcher else [],
        calls=watcher.calls if watcher else [],
        discrete=watcher.discrete if watcher else (),
        outputs={k: to_numpy(x) for k, x in outputs.items()},
        output_values=[watcher.index.get(id(x)) if watcher else None for x in outputs.values()],
        grads={name: _grad(p, clear) for name, p in module.named_parameters()},
        input_grads=[_grad(x, clear) for x in leaves],
        buffers={name: to_numpy(b) for name, b in module.named_buffers()},
        loss=float(total.detach()) if total is not None else None,
        casts=casts,
        low=lifting.low,
        reads_dtype=lifting.reads_dtype,
        hooks=watcher.hooks if watcher else (),
        attached=attach,
        numbers=sorted(lifting.numbers),
        noise=[] if drawn is None else drawn.noise,
        skipped=numbers_in(result),
        low_constants=bool(lifting.wide),
        contributions={k: to_numpy(g) for k, g in watcher.contributions.items()} if watcher else {},
    )


def _backward(module: nn.Module, total: Tensor) -> None:
    """Differentiate, and check that no hook updates a parameter meanwhile."""
    before = {name: version_of(p) for name, p in module.named_parameters()}
    _differentiate(total)
    changed = [name for name, p in module.named_parameters() if version_of(p) != before.get(name)]
    if changed:
        raise ProofError(
            f"a hook changes the parameter {changed[0]!r} during the backward pass: remove the "
            "hook, and pass optimizer= to compare its steps"
        )


def _differentiate(total: Tensor) -> None:
    """Call `total.backward()`, and lift the casts of a checkpoint that recomputes too.

    The method `backward` itself goes through the mode that lifts casts, and the mode is off while
    it handles a call; so the engine is called.
    """
    engine: Any = torch.autograd.Variable._execution_engine
    seed = (torch.ones_like(total),)
    engine.run_backward((total,), seed, False, False, (), True, accumulate_grad=True)


def _scalar(loss: Any) -> Tensor:
    """Check that a loss is one number."""
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return loss
    shape = f" of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else ""
    raise ProofError(
        f"loss=: the torch loss returned {type(loss).__name__}{shape}; it must return one number"
    )


def _weighted_sum(
    outputs: Mapping[str, Tensor], cotangents: Callable[[np.ndarray], np.ndarray] | None
) -> Tensor | None:
    """Return <outputs, cotangents>, or None if no output requires a gradient."""
    if cotangents is None:
        return None
    terms = [
        torch.real((x * torch.as_tensor(cotangents(to_numpy(x))).to(x.dtype)).sum())
        for x in outputs.values()
        if is_inexact(x) and x.requires_grad
    ]
    return torch.stack(terms).sum() if terms else None


def _grad(x: Tensor, take: bool) -> np.ndarray | None:
    """Return the gradient of a tensor: a copy, or with `take` the gradient itself."""
    if x.grad is None:
        return None
    if not take or x.grad.dtype not in (torch.float64, torch.complex128):
        return to_numpy(x.grad)
    grad, x.grad = x.grad.detach().resolve_conj().resolve_neg(), None
    return grad.numpy()


@contextlib.contextmanager
def _settings(dtype: torch.dtype, salt: int) -> Iterator[None]:
    before = torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled()
    torch.set_default_dtype(dtype)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]), _eager():
            torch.default_generator.manual_seed(salt)  # `torch.manual_seed` formats the stack, too
            yield
    finally:
        torch.set_default_dtype(before[0])
        torch.backends.mha.set_fastpath_enabled(before[1])


def _eager() -> contextlib.AbstractContextManager[Any]:
    """Run functions that the user compiled with `torch.compile` without the compiler."""
    if "torch._dynamo" not in sys.modules:  # nothing was compiled, and its import is slow
        return contextlib.nullcontext()
    return torch.compiler.set_stance("force_eager")
