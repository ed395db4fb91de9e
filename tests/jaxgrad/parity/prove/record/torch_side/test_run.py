"""A run records outputs, gradients and values, and leaves torch's settings as they were."""

import contextlib
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity import ProofError
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side.run import run


X = np.array([[1.0, 2.0], [3.0, 5.0]])


class Scale(nn.Module):
    """Multiply an input by a weight; integers are returned too."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, -1.0], dtype=torch.float64))
        self.unused = nn.Parameter(torch.ones(1, dtype=torch.float64))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor, *ids: Tensor) -> Any:
        self.calls += 1
        return {"y": self.weight * x, "ids": torch.arange(2)}


def ones(output: np.ndarray) -> np.ndarray:
    return np.ones(output.shape)


def test_a_run_has_outputs_gradients_and_buffers():
    """A parameter that is not used and an integer input have no gradient."""
    result = run(Scale(), (X, np.array([1])), cotangents=lambda y: 2 * ones(y))

    assert list(result.outputs) == ["ids", "y"]
    np.testing.assert_array_equal(result.outputs["y"], X * [2.0, -1.0])
    np.testing.assert_array_equal(result.grads["weight"], 2 * X.sum(0))
    np.testing.assert_array_equal(result.input_grads[0], [[4.0, -2.0]] * 2)
    assert result.grads["unused"] is None and result.input_grads[1] is None
    assert result.buffers["calls"] == 1 and result.loss == 2 * (X @ [2.0, -1.0]).sum()


def test_a_run_without_cotangents_is_forward_alone():
    """Nothing is differentiated, not even a loss."""
    result = run(Scale(), (X,))
    assert result.loss is None and result.grads["weight"] is None
    result = run(Scale(), (X,), loss=lambda y, *_: y["y"].sum())
    assert result.loss == X @ [2, -1] @ [1, 1] and result.grads["weight"] is None


def test_a_loss_is_an_output_that_is_differentiated():
    """A loss is differentiated as a function of outputs and inputs; the cotangents do not count."""
    result = run(Scale(), (X,), loss=lambda y, x: (3 * y["y"] * x).sum(), cotangents=ones)
    np.testing.assert_array_equal(result.grads["weight"], 3 * (X**2).sum(0))
    assert result.outputs["loss"] == result.loss
    assert {v.module for v in result.values if v.op == "sum"} == {"loss"}
    assert np.isfinite(result.output_values[-1] or np.nan)


def test_a_loss_of_constants_has_no_gradient():
    """A loss that depends on no weight gives `None` as the gradient."""
    result = run(Scale(), (X,), loss=lambda *_: torch.tensor(3.0), cotangents=ones)
    assert result.loss == 3.0 and result.grads["weight"] is None


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda *_: 3.0, "the torch loss returned float; it must"),
        (lambda y, *_: y["y"], r"the torch loss returned Tensor of shape \(2, 2\); it must"),
        (lambda y, *_: y["y"][:0, 0], r"of shape \(0,\); it must return one number"),
    ],
)
def test_a_loss_must_be_one_number(loss, words):
    """If a loss returns anything but one number, the error names what it returned."""
    with pytest.raises(ProofError, match=words):
        run(Scale(), (X,), loss=loss, cotangents=ones)


def test_a_loss_may_have_one_element_in_several_dimensions():
    """torch differentiates it."""
    result = run(Scale(), (X,), loss=lambda y, *_: y["y"].sum().reshape(1, 1), cotangents=ones)
    np.testing.assert_array_equal(result.grads["weight"], X.sum(0))


def test_named_inputs_and_selected_outputs():
    """Inputs may be a mapping; `pick` selects what is compared, and its errors are explained."""
    result = run(Scale(), {"x": X}, pick=lambda out: out["y"][0])
    assert list(result.outputs) == [""] and result.outputs[""].shape == (2,)
    with pytest.raises(ProofError, match="outputs=: torch_pick"):
        run(Scale(), (X,), pick=lambda out: out.logits)


def test_values_are_recorded_on_request():
    """The values of a forward pass end with its outputs; `split` needs a record too."""
    watched = run(Scale(), (X,), cotangents=ones)
    assert [v.op for v in watched.values] == ["input", "mul"] or len(watched.values) >= 2
    last = watched.output_values[1]
    assert last is not None and watched.values[last].cotangent is not None
    assert watched.calls and not watched.contributions

    plain = run(Scale(), (X,), cotangents=ones, watch=False)
    assert not plain.values and not plain.calls and plain.output_values == [None, None]
    assert not plain.contributions
    np.testing.assert_array_equal(plain.grads["weight"], watched.grads["weight"])
    assert run(Scale(), (X,), cotangents=ones, keep=True, split=0).contributions


def test_gradients_are_cleared_before_and_after():
    """With `clear=False` they are added to those of earlier runs, and the result is a copy."""
    module = Scale()
    for total in (1, 2):
        result = run(module, (X,), cotangents=ones, clear=False)
        np.testing.assert_array_equal(result.grads["weight"], total * X.sum(0))
    assert module.weight.grad is not None
    result.grads["weight"][:] = 0
    assert module.weight.grad.sum() == 2 * X.sum()

    result = run(module, (X,), cotangents=ones)
    np.testing.assert_array_equal(result.grads["weight"], X.sum(0))
    assert module.weight.grad is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("take", [True, False])
def test_a_gradient_is_taken_in_double_precision_and_copied_otherwise(dtype, take):
    """A gradient that is taken is not stored twice."""
    x = torch.zeros(2, dtype=dtype)
    x.grad = torch.ones(2, dtype=dtype)
    grad = torch_run._grad(x, take)
    assert grad is not None and grad.astype(complex).tolist() == [1, 1]
    assert (x.grad is None) == (take and dtype == torch.float64)
    assert torch_run._grad(torch.zeros(2), take) is None


def test_cotangents_of_complex_outputs_and_of_constants():
    """An output that requires no gradient has no term."""
    x = torch.tensor([1 + 2j], requires_grad=True)
    outputs = {"x": x, "constant": torch.ones(1), "ids": torch.ones(1, dtype=torch.int64)}
    total = torch_run._weighted_sum(outputs, lambda x: 3 * np.ones(x.shape))
    assert total is not None and total.item() == 3.0
    assert torch_run._weighted_sum(outputs, None) is None
    assert torch_run._weighted_sum({"constant": torch.ones(1)}, ones) is None


def test_a_hook_that_updates_a_parameter_is_refused():
    """The message names the parameter."""
    module = Scale()
    module.weight.register_post_accumulate_grad_hook(_step)
    with pytest.raises(ProofError, match="a hook changes the parameter 'weight' during"):
        run(module, (X,), cotangents=ones)


def _step(p: Tensor) -> None:
    with torch.no_grad():
        p.add_(1.0)


class Drops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.5)


def test_random_numbers_are_recorded_or_replayed():
    """A salt seeds torch's generator, which is left as it was."""
    x, state = np.ones(64), torch.get_rng_state()
    first, again, other = (run(Drops(), (x,), noise=(), salt=k) for k in (0, 0, 1))
    assert [n.kind for n in first.noise] == ["bernoulli"]
    np.testing.assert_array_equal(first.outputs[""], again.outputs[""])
    assert not np.array_equal(first.outputs[""], other.outputs[""])
    replayed = run(Drops(), (x,), noise=first.noise, salt=1)
    np.testing.assert_array_equal(replayed.outputs[""], first.outputs[""])
    assert not run(Drops(), (x,)).noise
    assert torch.equal(state, torch.get_rng_state())


class Recomputes(nn.Module):
    """Draw numbers, and again in the backward pass."""

    def forward(self, x: Tensor) -> Any:
        return checkpoint(nn.functional.dropout, x, 0.5, use_reentrant=False)


def test_a_recomputed_activation_draws_no_further_numbers():
    """torch's checkpoint restores its own generator."""
    assert len(run(Recomputes(), (np.ones(8),), cotangents=ones, noise=()).noise) == 1


def test_torchs_settings_are_restored():
    """The default dtype and the fast path of attention are the user's, even after an error."""
    fast = torch.backends.mha.get_fastpath_enabled()
    seen: list[Any] = []

    class Looks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            seen.append((torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled()))
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        run(Looks(), (X,))
    assert seen == [(torch.float64, False)]
    assert torch.get_default_dtype() == torch.float32
    assert torch.backends.mha.get_fastpath_enabled() == fast


def test_gradients_are_enabled_in_a_run():
    """The user may call `prove` under `no_grad`."""
    with torch.no_grad():
        assert run(Scale(), (X,), cotangents=ones).grads["weight"] is not None


def test_a_copy_has_another_dtype_and_no_memory_in_common():
    """Complex tensors and integers keep their kind; tensors that torch computed are copied."""
    module = Scale().float()
    module.phase = nn.Parameter(torch.ones(1, dtype=torch.complex64))
    module.computed = module.weight * 2
    copied: Any = torch_run.copy_in_dtype(module)

    assert copied.weight.dtype == torch.float64 and copied.phase.dtype == torch.complex128
    assert copied.calls.dtype == torch.int64 and module.weight.dtype == torch.float32
    assert copied.computed is not module.computed and not copied.computed.requires_grad
    assert torch_run.copy_in_dtype(module, torch.float32).phase.dtype == torch.complex64
    with torch.no_grad():
        copied.weight.add_(1)
    assert module.weight.tolist() == [2.0, -1.0]


def test_functions_are_run_without_the_compiler_only_once_it_is_imported(monkeypatch):
    """The import of the compiler takes seconds."""
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    assert isinstance(torch_run._eager(), contextlib.nullcontext)
    stances = []
    monkeypatch.setitem(sys.modules, "torch._dynamo", torch)
    monkeypatch.setattr(torch.compiler, "set_stance", stances.append)
    torch_run._eager()
    assert stances == ["force_eager"]
