"""A weight map converts checkpoints and gradients in both directions, and is saved as JSON."""

import json
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from torch import Tensor, nn

from jaxgrad import optim
from jaxgrad.parity import ProofError, WeightMap, prove, weight_map


class Net(nn.Module):
    """Two layers to stack, a table that is tied to the head, and a counter."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.q, self.k = nn.Linear(4, 3), nn.Linear(4, 3)
        self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight
        self.register_buffer("steps", torch.tensor(seed))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x) * (self.q(x) * self.k(x)).sum(-1, keepdim=True)


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: x.detach().numpy().copy() for name, x in module.state_dict().items()}


def params_of(module: nn.Module) -> Any:
    s = arrays(module)
    return {
        "layers": {
            "kernel": np.stack([s[f"layers.{i}.weight"].T for i in range(2)]),
            "bias": np.stack([s[f"layers.{i}.bias"] for i in range(2)]),
        },
        "qk": {
            "kernel": np.concatenate([s["q.weight"].T, s["k.weight"].T], 1),
            "bias": np.concatenate([s["q.bias"], s["k.bias"]]),
        },
        "embedding": s["table.weight"],
    }


def apply(p: Any, x: Any) -> Any:
    for i in range(2):
        x = jnp.tanh(x @ p["layers"]["kernel"][i] + p["layers"]["bias"][i])
    q, k = jnp.split(x @ p["qk"]["kernel"] + p["qk"]["bias"], 2, -1)
    return x @ p["embedding"].T * (q * k).sum(-1, keepdims=True)


def same(x: Any, y: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, x, y)


@pytest.fixture(scope="module")
def mapped() -> WeightMap:
    return weight_map(Net(), params_of(Net()))


def test_another_checkpoint_becomes_params_and_back(mapped):
    """Stacked, fused and tied weights of another checkpoint are converted both ways."""
    other = Net(1)
    params = mapped.to_jax(other.state_dict())
    same(params, params_of(other))

    fresh = Net(2)
    fresh.load_state_dict({**mapped.to_torch(params), "steps": other.steps})
    same(arrays(fresh), arrays(other))


def test_a_map_is_printed_as_a_table(mapped):
    """A line for each part of a leaf; the short form names no element."""
    assert str(mapped).splitlines() == [
        "leaf           shape  part      torch tensor     shape",
        "embedding      5×4    all       table.weight     5×4",
        "layers/bias    2×4    [0]       layers.0.bias    4",
        "                      [1]       layers.1.bias    4",
        "layers/kernel  2×4×4  [0]       layers.0.weight  4×4    transposed",
        "                      [1]       layers.1.weight  4×4    transposed",
        "qk/bias        6      [0:3]     q.bias           3",
        "                      [3:6]     k.bias           3",
        "qk/kernel      4×6    [:, 0:3]  q.weight         3×4    transposed",
        "                      [:, 3:6]  k.weight         3×4    transposed",
        "head.weight is tied to table.weight",
        "in the state_dict, but in no leaf: steps",
    ]
    assert repr(mapped) == "<WeightMap of 9 tensors and 5 leaves>"


def test_entries_that_no_leaf_holds_have_the_modules_values(mapped):
    """A counter is in the result of `to_torch`, so that torch can load it."""
    assert int(mapped.to_torch(params_of(Net(1)))["steps"]) == 0


def test_gradients_are_torchs(mapped):
    """The gradient of a tied weight is converted, and a leaf without a gradient is None."""
    module = Net()
    x = torch.ones(2, 4)
    module(x).sum().backward()
    grads = jax.grad(lambda p: apply(p, np.ones((2, 4), np.float32)).sum())(params_of(module))
    actual = mapped.gradients_to_torch({**grads, "embedding": None})

    assert actual["table.weight"] is None
    for name in ("layers.1.weight", "q.bias", "k.weight"):
        torch.testing.assert_close(actual[name], module.get_parameter(name).grad)


def test_a_file_is_readable_and_equal(mapped, tmp_path):
    """The JSON names the part of each leaf, and reading it gives the same map."""
    path = tmp_path / "map.json"
    text = mapped.to_json(path)
    holds = json.loads(text)["leaves"]["qk/kernel"]["holds"]

    assert holds[1] == {
        "tensor": "k.weight", "region": [[0, 4], [3, 6]], "start": 0, "strides": [1, 4]
    }  # fmt: skip
    assert json.loads(text)["leaves"]["embedding"]["holds"] == [
        {"tensor": "table.weight", "axes": [0, 1]}
    ]
    read = WeightMap.from_json(path, params_of(Net()))
    other = Net(1)
    same(read.to_jax(other.state_dict()), params_of(other))
    assert "steps" not in read.to_torch(params_of(other))
    assert read.to_json() == text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: s.pop("q.bias"),
            "the state_dict does not fit the weight map: missing: 'q.bias'",
        ),
        (lambda s: s.update(extra=np.ones(2)), "unexpected: 'extra'"),
        (lambda s: s.update({"q.bias": np.ones(4)}), r"'q.bias' has shape \[4\] instead of \[3\]"),
        (
            lambda s: s.update({"head.weight": np.ones((5, 4))}),
            "'table.weight' and 'head.weight' are tied, but their values differ",
        ),
    ],
)
def test_a_wrong_state_dict_is_refused(mapped, change, words):
    """Missing, unexpected and wrongly shaped tensors are named."""
    state = arrays(Net())
    change(state)
    with pytest.raises(ValueError, match=words):
        mapped.to_jax(state)


def test_wrong_params_are_refused(mapped):
    """Missing leaves and wrong shapes are named."""
    params = params_of(Net())
    with pytest.raises(ValueError, match="params does not fit the weight map: missing: 'embed"):
        mapped.to_torch({k: v for k, v in params.items() if k != "embedding"})
    with pytest.raises(ValueError, match=r"'embedding' has shape \[4, 5\] instead of \[5, 4\]"):
        mapped.to_torch({**params, "embedding": params["embedding"].T})


def test_leaves_without_a_tensor_are_an_error():
    """Params with other values have no map."""
    with pytest.raises(ProofError, match="could not be matched"):
        weight_map(nn.Linear(2, 2), {"kernel": np.ones((2, 2)) * 3.5})
    with pytest.raises(ProofError, match="the first argument is an int, not a torch.nn.Module"):
        weight_map(3, {"kernel": np.ones(2)})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match="the first argument is the class Net, not a torch.nn"):
        weight_map(Net, {})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match=r"; call weight_map\(module, params\)$"):
        weight_map(params_of, {})  # pyright: ignore[reportArgumentType]


def test_the_error_of_a_flax_module_with_fresh_weights_names_the_function_that_loads_them():
    """A function of params has no such function."""
    module = nn.Linear(2, 2)
    report = prove(module, nnx.Linear(2, 2, rngs=nnx.Rngs(0)), None, (np.ones((3, 2)),))
    load = "both models (jaxgrad.nnx.load_state_dict(model, module.state_dict())), or pass"
    assert report.verdict == "error" and load in report.text
    assert "not judged" not in str(report), "an error has no surface to speak of"
    with pytest.raises(ProofError, match="into both models, or pass weights="):
        weight_map(module, {"kernel": np.ones((2, 2)) * 3.5})


def test_equal_constants_are_warned_about():
    """Two fresh norms can be confused, so the map asks to be checked."""
    module = nn.Sequential(nn.LayerNorm(3), nn.LayerNorm(3))
    params = [{"scale": np.ones(3), "offset": np.zeros(3)} for _ in range(2)]
    with pytest.warns(UserWarning, match="some leaves are equal constants"):
        weight_map(module, params)


def test_a_flax_module_gives_a_flax_module():
    """nnx modules are converted to new modules, and nnx gradients to torch."""
    module = nn.Linear(3, 2)
    port: Any = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    port.kernel[...], port.bias[...] = (jnp.asarray(x).T for x in arrays(module).values())
    mapped = weight_map(module, port)
    other = nn.Linear(3, 2)
    converted = mapped.to_jax(other.state_dict())

    assert isinstance(converted, nnx.Linear)
    same(converted.kernel[...], arrays(other)["weight"].T)
    same(arrays(module)["weight"], mapped.to_torch(nnx.state(port, nnx.Param))["weight"])


def test_summed_biases_have_gradients_but_no_values():
    """equinox's GRU adds biases: they cannot be restored, but both have the gradient."""
    torch.manual_seed(0)
    module, cell = nn.GRUCell(3, 4), eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
    s = arrays(module)
    bias = np.concatenate([(s["bias_ih"] + s["bias_hh"])[:8], s["bias_ih"][8:]])
    leaves = (s["weight_ih"], s["weight_hh"], bias, s["bias_hh"][8:])
    read = lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n)  # noqa: E731
    cell = eqx.tree_at(read, cell, tuple(map(jnp.asarray, leaves)))
    mapped = weight_map(module, cell)

    assert isinstance(mapped.to_jax(module.state_dict()), eqx.nn.GRUCell)
    with pytest.raises(ValueError, match="leaf 'bias' holds a sum of tensors, so 'bias_ih'"):
        mapped.to_torch(cell)
    grads = jax.tree.map(jnp.ones_like, cell)
    assert np.all(mapped.gradients_to_torch(grads)["bias_hh"].numpy() == 1)


def test_a_report_has_the_map():
    """The map of a proof converts other checkpoints, and is not part of its JSON."""
    report = prove(Net(), apply, params_of(Net()), (np.ones((2, 4)) / 3,)).check()
    same(report.weights.to_jax(Net(1).state_dict()), params_of(Net(1)))

    assert "weights" not in report.to_dict()


def torch_training(optimizer: Any, steps: int = 3) -> tuple[nn.Module, Any]:
    module = Net()
    made = optimizer(module.parameters())
    for _ in range(steps):
        made.zero_grad()
        module(torch.ones(2, 4)).sum().backward()
        made.step()
    return module, made


def jax_training(tx: Any, steps: int = 3) -> Any:
    params = params_of(Net())
    state = tx.init(params)
    for _ in range(steps):
        grads = jax.grad(lambda p: apply(p, np.ones((2, 4), np.float32)).sum())(params)
        updates, state = tx.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return state


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("optimizer", "tx"),
    [
        (lambda p: torch.optim.Adam(p, 1e-2), optax.adam(1e-2)),
        (lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9), optax.sgd(1e-2, momentum=0.9)),
        (lambda p: torch.optim.Adam(p, 1e-2), optim.adam(1e-2)),
        (
            lambda p: torch.optim.Adam(p, 1e-2),
            optax.chain(optax.clip_by_global_norm(1e9), optax.inject_hyperparams(optax.adam)(1e-2)),
        ),
    ],
    ids=["optax.adam", "optax.sgd", "jaxgrad.adam", "chain"],
)
def test_optimizer_state_is_filled(mapped, optimizer, tx):
    """The moments of stacked, fused and tied leaves are those of training in JAX."""
    _, made = torch_training(optimizer)
    actual = optim.state_from_torch(tx, params_of(Net()), made.state_dict(), mapped)
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(
            np.ravel(x)[:1] if np.ndim(y) == 0 else x, np.ravel(y)[:1] if np.ndim(y) == 0 else y,
            rtol=1e-4, atol=1e-5,
        ),
        actual,
        jax_training(tx),
    )  # fmt: skip
