"""`prove` runs the user's module itself, so hooks count, and gives it back exactly as it was."""

import contextlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch import nn
from torch.nn.utils import weight_norm

from jaxgrad.parity import prove
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed, converted
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.linspace(-1.0, 2.0, 12).reshape(4, 3)


def linear(p: Any, x: Any) -> Any:
    return x @ p["weight"].T + p["bias"]


def halved(p: Any, x: Any) -> Any:
    """The same port, with a hook that halves the gradient of the weight."""
    w = p["weight"]
    return linear({**p, "weight": (w + jax.lax.stop_gradient(w)) / 2}, x)


def halve(p: Any) -> None:
    p.grad *= 0.5


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "add",
    [
        lambda w: w.register_hook(lambda grad: grad / 2),
        lambda w: w.register_post_accumulate_grad_hook(halve),
    ],
    ids=["hook", "post_accumulate_grad_hook"],
)
def test_hooks_on_parameters_count(add):
    """A port with the hook that a torch weight has passes, and one without it fails."""
    module = nn.Linear(3, 2)
    add(module.weight)

    assert prove(module, halved, arrays(module), (X,)).verdict == "pass"
    report = prove(module, linear, arrays(module), (X,))
    assert report.first is not None
    assert (report.first.surface, report.first.torch) == ("gradients", "weight")


def test_a_hook_that_a_forward_pass_registers_counts_once():
    """Each run starts without the hooks that an earlier run registered on a parameter."""

    class Hooked(nn.Linear):
        def forward(self, input: Any) -> Any:
            self.weight.register_hook(lambda grad: grad / 2)
            return super().forward(input)

    module = Hooked(3, 2)
    prove(module, halved, arrays(module), (X,)).check()
    assert not module.weight._backward_hooks


def test_functions_that_refer_to_the_module_see_its_weights():
    """A replaced forward, and an optimizer factory that names the module, use the weights."""
    module: Any = nn.Linear(3, 2)
    module.forward = lambda x: torch.nn.functional.linear(torch.sin(x), module.weight, module.bias)
    optimizer = (lambda _: torch.optim.SGD(module.parameters(), 0.1), optax.sgd(0.1))

    def right(p: Any, x: Any) -> Any:
        return linear(p, jnp.sin(x))

    for port, verdict in ((right, "pass"), (linear, "fail")):
        report = prove(module, port, arrays(module), (X,), optimizer=optimizer)
        assert report.verdict == verdict


class Stateful(nn.Module):
    """A module whose forward pass changes all that a forward pass can change."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        self.calls, self.cache, self.total = 0, {"x": [1]}, torch.zeros(1, dtype=torch.float64)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.cache["x"].append(self.calls)
        self.cache["last"] = x
        self.total += 1
        self.new = np.random.rand()  # noqa: NPY002
        return self.norm(self.linear(x)) * float(self.total)


def record(module: Any) -> list[Any]:
    """Return everything about a module that running it could change."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    grads = [p.grad for p in module.parameters()]
    return [
        [(n, x.dtype, x.data_ptr(), x.requires_grad, x.tolist()) for n, x in tensors],
        [None if g is None else (g.data_ptr(), g.tolist()) for g in grads],
        [(m.training, sorted(vars(m)), len(m._forward_hooks)) for m in module.modules()],
        [module.calls, str(module.cache), module.total.item()],
        [torch.get_rng_state().tolist(), str(np.random.get_state())],  # noqa: NPY002
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fails", [False, True], ids=["judged", "raises"])
def test_the_module_is_given_back_as_it_was(fails):
    """After a proof, even one that raises half-way, the module is bit for bit as before."""
    module: Any = Stateful()
    module(torch.ones(4, 3)).sum().backward()
    module.norm.weight.requires_grad_(False)
    before = record(module)

    def port(p: Any, x: Any) -> Any:
        if fails:
            raise OSError("no room")
        h = x @ p["linear.weight"].T + p["linear.bias"]
        h = (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)
        stop = jax.lax.stop_gradient(p["norm.weight"])
        return (h * stop + p["norm.bias"]) * 2

    optimizer = (lambda p: torch.optim.Adam(p, 0.1), optax.adam(0.1))
    accept = {"updates": {"norm.running_*": "not ported", "total": "not ported"}}
    report = prove(module, port, arrays(module), (X,), optimizer=optimizer, accept=accept)
    assert report.verdict == ("error" if fails else "pass"), report
    assert record(module) == before


def test_a_run_starts_from_the_attributes_that_were_given():
    """A module that counts its calls is deterministic, because each run counts from the start."""
    module: Any = Stateful().eval()
    borrowed = Borrowed(module)
    first = module(torch.ones(2, 3).double())
    borrowed.rewind()
    assert torch.equal(module(torch.ones(2, 3).double()), first)
    assert module.calls == 1
    borrowed.give_back()
    assert module.calls == 0 and module.linear.weight.dtype == torch.float32


def test_a_borrowed_module_runs_in_other_dtypes_for_a_while():
    """The module takes another dtype, or its own dtypes and values, and returns to float64."""
    module = nn.Sequential(nn.Linear(2, 1).bfloat16(), nn.Linear(1, 1))
    first, last = list(module.parameters())[::2]
    before = first.tolist()
    borrowed = Borrowed(module)
    first.data.zero_()
    with borrowed.in_dtype(torch.float32):
        assert first.dtype == last.dtype == torch.float32 and not first.any()
    with borrowed.in_dtype(None):
        assert (first.dtype, last.dtype) == (torch.bfloat16, torch.float32)
        assert first.tolist() == before
    assert first.dtype == torch.float64 and not first.any()
    borrowed.give_back()
    assert first.dtype == torch.bfloat16 and first.tolist() == before


def test_views_of_one_memory_stay_views_of_one_memory():
    """Tensors that overlap still do in another dtype, and others are copied one by one."""
    whole = torch.arange(6.0)
    parts = [whole[1:5].view(2, 2), whole[3:].flip(0)[:1], whole[2:4], torch.arange(2)]
    with contextlib.suppress(RuntimeError):
        parts.append(torch.ones(2, 2).to_sparse())

    wide = converted(parts, torch.float64)
    assert [x.tolist() for x in wide[:4]] == [x.tolist() for x in parts[:4]]
    wide[0][1, 0] = 9.0
    assert wide[2].tolist() == [2.0, 9.0] and parts[2].tolist() == [2.0, 3.0]
    assert [x.dtype for x in wide[1:4]] == [torch.float64, torch.float64, torch.int64]


def test_parameters_tied_by_their_data_stay_tied():
    """Two parameters with one memory are redrawn together, and each has its own gradient."""
    torch.manual_seed(0)
    first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    second.weight.data = first.weight.data
    module = nn.Sequential(first, nn.Tanh(), second)

    def port(p: Any, x: Any, factor: float = 1.0) -> Any:
        return jnp.tanh(x @ p["0"].T) @ p["1"].T * factor

    params = {name: first.weight.detach().numpy() for name in "01"}
    weights = {"0.weight": "0", "2.weight": "1"}
    assert prove(module, port, params, (X,), weights=weights).verdict == "pass"
    wrong = prove(module, lambda p, x: port({**p, "1": p["1"].T}, x), params, (X,), weights=weights)
    assert wrong.verdict == "fail"


def test_a_module_that_deepcopy_refuses_is_proved():
    """A module whose attributes were computed, as by the old `weight_norm`, can be proved."""
    torch.manual_seed(0)
    with pytest.warns(FutureWarning, match="deprecated"):
        module: Any = weight_norm(nn.Linear(3, 2))
    module(torch.ones(1, 3))

    def port(p: Any, x: Any, power: float = 1.0) -> Any:
        norm = jnp.linalg.norm(p["weight_v"], axis=1, keepdims=True)
        return x @ (p["weight_g"] * p["weight_v"] / norm**power).T + p["bias"]

    assert prove(module, port, arrays(module), (X,)).verdict == "pass"
    assert prove(module, lambda p, x: port(p, x, 2.0), arrays(module), (X,)).verdict == "fail"


def stepping(module: Any) -> Any:
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    module.weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    return module


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.LazyLinear(2), "the module is lazy: 'weight' has no shape yet"),
        (lambda: nn.Linear(3, 2, device="meta"), "'weight' is on the meta device"),
        (lambda: stepping(nn.Linear(3, 2)), "a hook changes the parameter 'weight' during"),
    ],
)
def test_modules_that_cannot_be_run_are_explained(make, words):
    """Weights without values, and an optimizer step inside a hook, are explained."""
    report = prove(make(), linear, None, (X,), weights=dict)
    assert report.verdict == "error" and words in report.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "wrap",
    [torch.compile, lambda m: m.compile() or m, torch.jit.script],
    ids=["compile", "compiled in place", "script"],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated:DeprecationWarning")
def test_compiled_modules_are_proved(wrap):
    """A module that torch compiled is proved as the module itself is."""
    module = nn.Linear(3, 2)
    assert prove(wrap(module), linear, arrays(module), (X,)).verdict == "pass"
    assert prove(wrap(module), halved, arrays(module), (X,)).verdict == "fail"


def test_the_users_weights_are_read_in_float64():
    """The state has the user's numbers, even while the borrowed module holds others."""
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    own = arrays(module)
    borrowed = Borrowed(module)
    state = borrowed.state()
    with torch.no_grad():
        next(module.parameters()).zero_()

    assert set(state) == {*dict(module.named_parameters()), *dict(module.named_buffers())}
    assert state["0.weight"].dtype == np.float64
    assert np.array_equal(state["0.weight"], own["0.weight"])
    assert state["1.num_batches_tracked"].dtype == np.int64
    borrowed.give_back()


def test_a_freed_module_holds_the_users_parameters():
    """A freed module has the user's memory until `widen` copies it to float64 again."""
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    weight, mean = next(module.parameters()), next(module.buffers())
    data, numbers = weight.data_ptr(), weight.tolist()
    borrowed = Borrowed(module)
    with torch.no_grad():
        weight.fill_(5.0)
        mean.fill_(7.0)

    borrowed.free()
    borrowed.free()
    assert weight.data_ptr() == data
    assert weight.dtype == torch.float32
    assert borrowed.widen()
    assert not borrowed.widen()
    assert weight.dtype == torch.float64
    assert weight.data_ptr() != data
    assert weight.tolist() == numbers
    assert mean.tolist() == [7.0] * 2
    borrowed.free()
    borrowed.give_back()
    assert not borrowed.widen()  # the report asks for the module afterwards
    assert weight.data_ptr() == data


def test_parameters_that_share_memory_are_not_freed():
    module = nn.Linear(3, 3)
    module.row = module.weight.detach()[0]
    borrowed = Borrowed(module)
    borrowed.free()
    assert module.weight.dtype == torch.float64
    assert not borrowed.widen()
    with torch.no_grad():
        module.weight.fill_(5.0)
    assert module.row.tolist() == [5.0] * 3
    borrowed.give_back()


@pytest.mark.parametrize("dtype", [torch.float32, None])
def test_a_freed_module_takes_another_dtype_without_its_float64_weights(dtype):
    """In the other dtype it has copies, so that the user's own numbers stay."""
    module = nn.Linear(3, 2)
    numbers = module.weight.tolist()
    borrowed = Borrowed(module)
    borrowed.free()
    with borrowed.in_dtype(dtype):
        assert not borrowed.widen()
        assert module.weight.dtype == torch.float32
        module.weight.data.fill_(5.0)
    assert module.weight.tolist() == numbers
    assert borrowed.widen()
    assert module.weight.dtype == torch.float64
    borrowed.give_back()


def test_a_module_as_given_has_the_users_own_memory():
    module = nn.Linear(3, 2)
    data = module.weight.data_ptr()
    borrowed = Borrowed(module)
    wide = module.weight.data_ptr()
    with borrowed.as_given():
        assert module.weight.data_ptr() == data
    assert module.weight.data_ptr() == wide
    borrowed.give_back()
