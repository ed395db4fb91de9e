"""`jaxgrad.nnx`: a torch layer's state dict is loaded, and everything that follows is torch's."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.nn.utils import parametrizations

from jaxgrad.parity.compare import compare
from jaxgrad.parity.interop import to_jax, to_numpy, to_torch
from parity_tests.operators._harness.jax_side import QUICK


try:
    from flax import nnx

    from jaxgrad import nnx as layers
except Exception as error:  # with a newer JAX it is not always an ImportError
    pytest.skip(f"flax does not import here: {error}", allow_module_level=True)


F64 = torch.float64


class Cell(NamedTuple):
    """A layer in torch and here, and what it is called with."""

    torch: Callable[[], Any]
    jax: Callable[[], Any]
    inputs: list[Any]
    options: dict[str, Any] = {}  # noqa: RUF012


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def index(*shape: int, high: int = 5) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, high, size=shape)


def rngs() -> Any:
    return nnx.Rngs(0)


def cell(
    name: str, inputs: Any, *args: Any, call: Any = None, drawn: bool = True, **kw: Any
) -> Any:
    """The same constructor on both sides."""
    many = inputs if isinstance(inputs, list) else [inputs]
    more = {"rngs": rngs()} if drawn else {}
    return Cell(
        lambda: getattr(torch.nn, name)(*args, **kw, dtype=F64),
        lambda: getattr(layers, name)(*args, **kw, dtype=jnp.float64, **more),
        many,
        call or {},
    )


PAIR = [draw(4, 3)[None].repeat(2, 0) * 0.1, draw(2, 4, 3)]
CAUSAL = np.triu(np.ones((4, 4), bool), 1)
PADDING = np.array([[False, False, False, True], [False, False, True, True]])
X3, X4 = draw(4, 3, 5), draw(3, 2, 4, 4)
SEQ = draw(5, 2, 3)

CELLS = {
    "Linear": cell("Linear", draw(5, 3), 3, 4),
    "Linear/no bias": cell("Linear", draw(5, 3), 3, 4, bias=False),
    "Bilinear": cell("Bilinear", [draw(5, 3), draw(5, 2)], 3, 2, 4),
    "Embedding": cell("Embedding", index(3, 4), 5, 2),
    "Embedding/padding": cell("Embedding", index(3, 4), 5, 2, padding_idx=-2),
    "Embedding/freq": cell("Embedding", index(3, 4), 5, 2, scale_grad_by_freq=True),
    "EmbeddingBag": cell("EmbeddingBag", index(3, 4), 5, 2, padding_idx=1),
    "EmbeddingBag/sum": cell("EmbeddingBag", [index(6), np.array([0, 2])], 5, 2, mode="sum"),
    "EmbeddingBag/max": cell("EmbeddingBag", index(3, 4), 5, 2, mode="max"),
    "LayerNorm": cell("LayerNorm", draw(4, 3), 3, drawn=False),
    "LayerNorm/dims": cell("LayerNorm", X4, (4, 4), 1e-3, bias=False, drawn=False),
    "LayerNorm/plain": cell("LayerNorm", draw(4, 3), 3, elementwise_affine=False, drawn=False),
    "RMSNorm": cell("RMSNorm", draw(4, 3) * 1e-3, 3, drawn=False),
    "RMSNorm/eps": cell("RMSNorm", draw(4, 3), [3], 1e-2, False, drawn=False),
    "GroupNorm": cell("GroupNorm", draw(2, 6, 4), 3, 6, drawn=False),
    "GroupNorm/plain": cell("GroupNorm", draw(2, 6, 4), 2, 6, affine=False, drawn=False),
    "BatchNorm1d": cell("BatchNorm1d", draw(5, 3), 3, drawn=False),
    "BatchNorm1d/3d": cell("BatchNorm1d", X3, 3, momentum=0.3, drawn=False),
    "BatchNorm1d/cumulative": cell("BatchNorm1d", X3, 3, momentum=None, drawn=False),
    "BatchNorm1d/untracked": cell("BatchNorm1d", X3, 3, track_running_stats=False, drawn=False),
    "BatchNorm2d": cell("BatchNorm2d", X4, 2, eps=1e-3, drawn=False),
    "BatchNorm2d/plain": cell("BatchNorm2d", X4, 2, affine=False, drawn=False),
    "BatchNorm3d": cell("BatchNorm3d", draw(2, 3, 2, 2, 2), 3, drawn=False),
    "InstanceNorm1d": cell("InstanceNorm1d", X3, 3, drawn=False),
    "InstanceNorm1d/2d": cell("InstanceNorm1d", draw(3, 5), 3, affine=True, drawn=False),
    "InstanceNorm2d": cell(
        "InstanceNorm2d", X4, 2, affine=True, track_running_stats=True, drawn=False
    ),
    "InstanceNorm3d": cell("InstanceNorm3d", draw(2, 3, 2, 2, 2), 3, drawn=False),
    "Conv1d": cell("Conv1d", X3, 3, 4, 3, padding=1),
    "Conv1d/reflect": cell("Conv1d", X3, 3, 4, 3, padding=2, padding_mode="reflect"),
    # Not (3, 2): the gradient of that grouped float64 kernel aborts XLA (jaxlib 0.10, on CPU).
    "Conv2d": cell("Conv2d", X4, 2, 4, 3, 2, 1, groups=2),
    "Conv2d/same": cell("Conv2d", X4, 2, 3, (2, 3), padding="same", dilation=2, bias=False),
    "Conv2d/circular": cell("Conv2d", X4, 2, 3, (2, 3), padding="same", padding_mode="circular"),
    "Conv2d/replicate": cell("Conv2d", X4, 2, 3, 3, padding=(1, 2), padding_mode="replicate"),
    "Conv3d": cell("Conv3d", draw(1, 2, 3, 3, 3), 2, 2, 2),
    "ConvTranspose1d": cell("ConvTranspose1d", X3, 3, 4, 3, 2, 1, 1),
    "ConvTranspose2d": cell("ConvTranspose2d", X4, 2, 4, (3, 2), 2, groups=2),
    "ConvTranspose2d/size": cell("ConvTranspose2d", X4, 2, 3, 3, 2, call={"output_size": (10, 9)}),
    "ConvTranspose3d": cell("ConvTranspose3d", draw(1, 2, 2, 2, 2), 2, 2, 2, dilation=2),
    "RNN": cell("RNN", SEQ, 3, 4),
    "RNN/relu": cell("RNN", SEQ, 3, 4, 2, "relu", batch_first=True, bidirectional=True),
    "RNN/unbatched": cell("RNN", [draw(5, 3), draw(1, 4)], 3, 4),
    "GRU": cell("GRU", SEQ, 3, 4, 2, bidirectional=True),
    "GRU/state": cell("GRU", [SEQ, draw(1, 2, 4)], 3, 4, bias=False),
    "LSTM": cell("LSTM", SEQ, 3, 4, 2, bidirectional=True),
    "LSTM/state": cell("LSTM", [SEQ, (draw(1, 2, 4), draw(1, 2, 4) + 1)], 3, 4),
    "LSTM/projected": cell("LSTM", SEQ, 3, 4, 2, bidirectional=True, proj_size=2),
    "LSTM/unbatched": cell("LSTM", draw(5, 3), 3, 4, batch_first=True),
    "RNNCell": cell("RNNCell", [draw(2, 3), draw(2, 4)], 3, 4, nonlinearity="relu"),
    "GRUCell": cell("GRUCell", draw(2, 3), 3, 4),
    "LSTMCell": cell("LSTMCell", [draw(2, 3), (draw(2, 4), draw(2, 4) + 1)], 3, 4, False),
    "MultiheadAttention": cell("MultiheadAttention", [draw(4, 2, 6)] * 3, 6, 2),
    "MultiheadAttention/masks": cell(
        "MultiheadAttention",
        [draw(2, 4, 6), draw(2, 4, 6) + 1, draw(2, 4, 6) - 1],
        6,
        3,
        batch_first=True,
        call={"attn_mask": CAUSAL, "key_padding_mask": PADDING, "average_attn_weights": False},
    ),
    "MultiheadAttention/floats": cell(
        "MultiheadAttention",
        [draw(4, 2, 6)] * 3,
        6,
        2,
        bias=False,
        call={"attn_mask": draw(4, 4, 4), "need_weights": False},
    ),
    "MultiheadAttention/more keys": cell(
        "MultiheadAttention",
        [draw(4, 2, 6), draw(5, 2, 3), draw(5, 2, 2)],
        6,
        2,
        kdim=3,
        vdim=2,
        add_bias_kv=True,
        add_zero_attn=True,
        call={"attn_mask": draw(4, 5)},
    ),
    "MultiheadAttention/unbatched": cell(
        "MultiheadAttention",
        [draw(4, 6)] * 3,
        6,
        2,
        call={"attn_mask": CAUSAL, "is_causal": True, "need_weights": False},
    ),
    "weight_norm": Cell(
        lambda: parametrizations.weight_norm(torch.nn.Linear(3, 4, dtype=F64)),
        lambda: layers.weight_norm(layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs())),
        [draw(5, 3)],
    ),
    "weight_norm/dim": Cell(
        lambda: parametrizations.weight_norm(torch.nn.Conv1d(3, 4, 2, dtype=F64), dim=1),
        lambda: layers.weight_norm(layers.Conv1d(3, 4, 2, dtype=jnp.float64, rngs=rngs()), dim=1),
        [X3],
    ),
    "spectral_norm": Cell(
        lambda: parametrizations.spectral_norm(torch.nn.Linear(3, 4, dtype=F64)),
        lambda: layers.spectral_norm(
            layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs()), rngs=rngs()
        ),
        [draw(5, 3)],
    ),
    "spectral_norm/transposed": Cell(
        lambda: parametrizations.spectral_norm(
            torch.nn.ConvTranspose2d(2, 3, 2, dtype=F64), n_power_iterations=2
        ),
        lambda: layers.spectral_norm(
            layers.ConvTranspose2d(2, 3, 2, dtype=jnp.float64, rngs=rngs()),
            n_power_iterations=2,
            rngs=rngs(),
        ),
        [X4],
    ),
}


def moved(inputs: Any, step: int) -> Any:
    """Other numbers at each step; indices as they are."""
    return jax.tree.map(lambda x: x * (1 + 0.3 * step) if x.dtype == np.float64 else x, inputs)


def weighted(out: Any, arange: Any) -> Any:
    """A loss in which every element of every output counts differently."""
    total = 0.0
    for leaf in jax.tree.leaves(out):
        count = arange(leaf)
        total = total + (leaf.reshape(-1) * count).sum() + (leaf.reshape(-1) ** 2 * count).sum()
    return total


def torch_run(module: Any, inputs: Any, options: Any) -> Any:
    tensors = to_torch(inputs)
    leaves = [t for t in jax.tree.leaves(tensors) if t.is_floating_point()]
    for t in leaves:
        t.requires_grad_()
    module.zero_grad()
    out = module(*tensors, **to_torch(options))
    weighted(out, lambda x: torch.arange(1, x.numel() + 1, dtype=F64)).backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return to_numpy(
        {
            "out": [t.detach() for t in jax.tree.leaves(out)],
            "params": grads,
            "inputs": [t.grad for t in leaves],
            "state": dict(module.state_dict()),
        }
    )


def program(graph: Any, inputs: Any, options: Any) -> Callable[..., Any]:
    """(params, state, floats of the inputs) -> gradients by params and floats, output, state."""
    leaves, treedef = jax.tree.flatten(inputs)

    def run(params: Any, rest: Any, given: list[Any]) -> Any:
        def loss(params: Any, given: list[Any]) -> Any:
            left = iter(given)
            full = [next(left) if _moves(x) else x for x in leaves]
            model = nnx.merge(graph, params, rest, copy=True)
            out = model(*jax.tree.unflatten(treedef, full), **options)
            state = nnx.split(model, nnx.Param, ...)[2]
            return weighted(out, lambda x: jnp.arange(1.0, x.size + 1)), (out, state)

        return jax.grad(loss, (0, 1), has_aux=True)(params, given)

    return run


def _moves(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def jax_run(module: Any, inputs: Any, options: Any, compiled: dict[bool, Any], jit: bool) -> Any:
    """`compiled` is kept from step to step: one program for training, one for evaluation."""
    inputs, options = to_jax(inputs), to_jax(options)
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    training = all(m.training for _, m in nnx.iter_graph(module) if hasattr(m, "training"))
    if training not in compiled:
        run = program(graph, inputs, options)
        compiled[training] = jax.jit(run, compiler_options=QUICK) if jit else run
    given = [x for x in jax.tree.leaves(inputs) if _moves(x)]
    (grads, moved), (out, state) = compiled[training](params, rest, given)
    nnx.update(module, state)
    named = layers.state_dict(nnx.merge(graph, grads, rest))
    own = {key for key, _ in _parameters(module)}
    return to_numpy(
        {
            "out": list(jax.tree.leaves(out)),
            "params": {key: x for key, x in named.items() if key in own},
            "inputs": moved,
            "state": layers.state_dict(module),
        }
    )


def _parameters(module: Any) -> list[Any]:
    from jaxgrad.nnx.loading import _variables

    return [(k, v) for k, v in _variables(module) if isinstance(v, nnx.Param)]


def none_as_zeros(theirs: Any, ours: Any) -> Any:
    """torch has None where nothing passed; `jax.grad` has zeros."""
    pairs = zip(theirs["inputs"], ours["inputs"], strict=True)
    theirs["inputs"] = [np.zeros_like(j) if t is None else t for t, j in pairs]
    return theirs


EAGER = ("Linear", "Embedding", "LayerNorm", "BatchNorm1d", "GRUCell", "spectral_norm")
RUNS = [(name, True) for name in CELLS] + [(name, False) for name in EAGER]


@pytest.mark.parametrize("name, jit", RUNS, ids=[f"{n}-{'eager jit'.split()[j]}" for n, j in RUNS])
def test_layer(name, jit):
    """Three steps of training and one of evaluation: outputs, gradients, running statistics."""
    torch.manual_seed(0)
    theirs, ours = CELLS[name].torch(), CELLS[name].jax()
    with torch.no_grad():  # norms begin with ones and zeros
        for p in theirs.parameters():
            p.add_(torch.linspace(0.1, 0.3, p.numel(), dtype=F64).reshape(p.shape))
    assert layers.load_state_dict(ours, theirs.state_dict()) == ([], [])
    compiled: dict[bool, Any] = {}
    for step in range(4):
        if step == 3:
            theirs.eval()
            ours.eval()
        inputs = moved(CELLS[name].inputs, step)
        wanted = torch_run(theirs, inputs, CELLS[name].options)
        got = jax_run(ours, inputs, CELLS[name].options, compiled, jit)
        found = compare(none_as_zeros(wanted, got), got)
        assert found.verdict in ("bitwise", "close"), (step, found.first)


@pytest.mark.parametrize("name", CELLS)
def test_round_trip(name):
    """Key by key in torch's order, bit for bit, and back into torch."""
    torch.manual_seed(1)
    theirs, ours = CELLS[name].torch(), CELLS[name].jax()
    given = theirs.state_dict()
    layers.load_state_dict(ours, given)
    saved = layers.state_dict(ours)
    assert list(saved) == list(given)
    for key, x in saved.items():
        assert x.dtype == given[key].numpy().dtype
        assert x.tobytes() == given[key].numpy().tobytes()
    CELLS[name].torch().load_state_dict(to_torch(saved))


def test_defaults_and_argument_names_are_torchs():
    """Each constructor: names, order and defaults, less what has no meaning here."""
    left_out = {"self", "device", "dtype", "inplace", "_weight", "_freeze", "bias", "rngs"}
    for name in ("RNN", "GRU", "LSTM"):  # torch's take *args
        assert list(inspect.signature(getattr(layers, name).__init__).parameters)[1:4] == [
            "input_size",
            "hidden_size",
            "num_layers",
        ]
    for name in dir(layers):
        theirs = getattr(torch.nn, name, None)
        if theirs is None or name in ("RNN", "GRU", "LSTM", "init") or not inspect.isclass(theirs):
            continue
        sides = [
            [
                (p.name, p.default)
                for p in inspect.signature(made.__init__).parameters.values()
                if p.name not in left_out
            ]
            for made in (theirs, getattr(layers, name))
        ]
        assert sides[0] == sides[1], name


# --- state dicts ----------------------------------------------------------------------------------


class Net(nnx.Module):
    def __init__(self) -> None:
        more = {"dtype": jnp.float64, "rngs": rngs()}
        self.layers = nnx.List([layers.Linear(3, 4, **more), layers.BatchNorm1d(4)])
        self.drop = layers.Dropout(0.5, rngs=rngs())
        self.head = layers.Linear(4, 2, **more)


class TorchNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)])
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(4, 2)


def test_nested_keys():
    """Lists count, dropouts and their keys have no entry; counters are int64."""
    saved = layers.state_dict(Net())
    wanted = TorchNet().state_dict()
    assert list(saved) == list(wanted)
    assert saved["layers.1.num_batches_tracked"].dtype == np.int64
    layers.load_state_dict(Net(), wanted)


def torch_text(state: Any) -> str:
    with pytest.raises(RuntimeError) as error:
        torch.nn.Linear(3, 4).load_state_dict(state)
    return str(error.value)


PROBLEMS = {
    "missing": {"weight": np.zeros((4, 3))},
    "unexpected": {"weight": np.zeros((4, 3)), "bias": np.zeros(4), "kernel": np.zeros(2)},
    "shape": {"weight": np.zeros((3, 4)), "bias": np.zeros(4)},
    "all": {"weight": np.zeros((3, 4)), "kernel": np.zeros(2), "scale": np.zeros(1)},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_strict_errors_are_torchs(name):
    """torch's text, and nothing is written."""
    ours = layers.Linear(3, 4, rngs=rngs())
    before = layers.state_dict(ours)
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(ours, PROBLEMS[name])
    theirs = torch_text(to_torch(PROBLEMS[name]))
    assert sorted(str(error.value).split("\n")) == sorted(theirs.split("\n"))
    assert all((x == before[k]).all() for k, x in layers.state_dict(ours).items())


def test_not_strict():
    ours = layers.Linear(3, 4, rngs=rngs())
    found = layers.load_state_dict(ours, {"bias": np.ones(4), "more": np.ones(1)}, strict=False)
    assert found == (["weight"], ["more"])
    assert (layers.state_dict(ours)["bias"] == 1).all()
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        layers.load_state_dict(ours, {"bias": np.ones(3)}, strict=False)


def test_old_state_dict_without_counter():
    """As torch: a dict without metadata may be older than the counter."""
    old = {k: v.numpy() for k, v in torch.nn.BatchNorm1d(3).state_dict().items()}
    del old["num_batches_tracked"]
    assert layers.load_state_dict(layers.BatchNorm1d(3), old) == ([], [])
    torch.nn.BatchNorm1d(3).load_state_dict(to_torch(old))


def test_half_precision_is_kept_by_the_module():
    """The module's dtype stays, as torch's `copy_` has it."""
    ours = layers.Linear(3, 4, dtype=jnp.bfloat16, rngs=rngs())
    layers.load_state_dict(ours, torch.nn.Linear(3, 4).state_dict())
    assert ours.weight[...].dtype == jnp.bfloat16
    theirs = torch.nn.Linear(3, 4, dtype=torch.bfloat16)
    layers.load_state_dict(ours, theirs.state_dict())
    saved = layers.state_dict(ours)["weight"]
    assert saved.tobytes() == to_numpy(theirs.weight).tobytes()


# --- errors, conventions --------------------------------------------------------------------------

ERRORS = {
    "one value": (lambda n: n.BatchNorm1d(3), (1, 3), ValueError, "Expected more than 1 value per"),
    "dims": (lambda n: n.BatchNorm2d(3), (2, 3), ValueError, "expected 4D input (got 2D input)"),
    "dims 1d": (
        lambda n: n.BatchNorm1d(3),
        (2, 3, 4, 5),
        ValueError,
        "expected 2D or 3D input (got 4D input)",
    ),
    "rnn dims": (lambda n: n.GRU(3, 4), (3,), ValueError, "Expected input to be 2D or 3D, got 1D"),
    "rnn size": (lambda n: n.GRU(3, 4), (5, 2, 2), (RuntimeError, ValueError), "Expected 3, got 2"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_call_errors(name):
    make, shape, kind, words = ERRORS[name]
    with pytest.raises(kind) as theirs:
        make(torch.nn)(torch.ones(shape))
    assert words in str(theirs.value)
    with pytest.raises(kind) as ours:
        make(_Drawn())(jnp.ones(shape))
    assert words in str(ours.value)


class _Drawn:
    """`layers`, with keys where they are needed."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kw: getattr(layers, name)(*args, **kw, rngs=rngs())


MADE = {
    "groups": (lambda n: n.Conv1d(3, 4, 2, groups=2), "in_channels must be divisible by groups"),
    "group norm": (lambda n: n.GroupNorm(2, 3), "num_channels (3) must be divisible by num_groups"),
    "dropout": (lambda n: n.Dropout(1.5), "dropout probability has to be between 0 and 1, but"),
    "padding mode": (lambda n: n.Conv1d(3, 4, 2, padding_mode="same"), "padding_mode must be one"),
    "projection": (lambda n: n.LSTM(3, 4, proj_size=4), "proj_size has to be"),
    "heads": (lambda n: n.MultiheadAttention(5, 2), "embed_dim must be divisible by num_heads"),
    "padding row": (lambda n: n.Embedding(3, 2, padding_idx=3), "must be within num_embeddings"),
}


@pytest.mark.parametrize("name", MADE)
def test_constructor_errors(name):
    make, words = MADE[name]
    with pytest.raises((ValueError, AssertionError)) as ours:
        make(_Drawn())
    assert words in str(ours.value)
    with pytest.raises((ValueError, AssertionError)):
        make(torch.nn)


def test_what_is_not_supported_says_so():
    with pytest.raises(ValueError, match="max_norm=1.0: torch's forward pass writes"):
        layers.Embedding(3, 2, max_norm=1.0, rngs=rngs())
    with pytest.raises(TypeError, match="Linear draws its parameters; pass rngs="):
        layers.Linear(3, 2)


def test_an_error_leaves_the_running_statistics():
    norm = layers.BatchNorm1d(3)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm(jnp.ones((1, 3)))
    assert norm.num_batches_tracked[...] == 0 and (norm.running_mean[...] == 0).all()


def test_train_and_eval_reach_every_layer():
    net = Net()
    net.eval()
    assert not net.layers[1].training and not net.drop.training
    net.train()
    assert net.layers[1].training and net.drop.training


def test_parametrized_keeps_the_parameter():
    """The module that was given stays; the new one's parameter is not overwritten (P211)."""
    plain = layers.Linear(3, 4, dtype=jnp.float64, rngs=rngs())
    before = np.array(plain.weight[...])
    normed = layers.spectral_norm(plain, rngs=rngs())
    normed(jnp.ones((2, 3)))
    saved = layers.state_dict(normed)["parametrizations.weight.original"]
    assert (saved == before).all() and (plain.weight[...] == before).all()
    assert type(normed) is type(layers.spectral_norm(plain, rngs=rngs()))
    # 15 iterations at the start (P212).
    largest = np.linalg.norm(layers.spectral_norm(plain, rngs=rngs()).weight, 2)
    assert abs(largest - 1) < 0.01
    # g begins as the norm of v: the function is unchanged (P213).
    x = jnp.ones((2, 3))
    np.testing.assert_allclose(layers.weight_norm(plain)(x), plain(x), rtol=1e-14)
    with pytest.raises(ValueError, match="does not have a parameter with name 'kernel'"):
        layers.weight_norm(plain, "kernel")


def test_two_biases_move_twice_as_far():
    """Both biases get the same gradient (P116)."""
    gru = layers.GRUCell(3, 4, dtype=jnp.float64, rngs=rngs())
    graph, params, rest = nnx.split(gru, nnx.Param, ...)
    grads = jax.grad(lambda p: nnx.merge(graph, p, rest)(jnp.ones((2, 3))).sum())(params)
    both = layers.state_dict(nnx.merge(graph, grads, rest))
    rows = 2 * 4  # the new gate's second bias is inside of the reset
    np.testing.assert_array_equal(both["bias_ih"][:rows], both["bias_hh"][:rows])
    assert (both["bias_ih"][rows:] != both["bias_hh"][rows:]).all()


# --- dropouts -------------------------------------------------------------------------------------

DROPOUTS = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout".split()


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout(name):
    """The values that torch's gives, as often; a new mask in each call; nothing in evaluation."""
    shape = {"Dropout1d": (50, 40, 3), "Dropout3d": (50, 40, 2, 2, 2)}.get(name, (50, 40, 2, 2))
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(0.25)(torch.ones(shape)).numpy()
    layer = getattr(layers, name)(0.25, rngs=rngs())
    ours = np.asarray(layer(jnp.ones(shape)))
    values = [np.unique(np.round(side, 5)) for side in (theirs, ours)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)
    whole = name in ("Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout")
    for side in (theirs, ours):
        kept = side.reshape(2000, -1) == side.max()
        assert (kept.all(1) | ~kept.any(1)).all() == whole
        assert abs(kept.mean() - 0.75) < 0.05
    assert (np.asarray(layer(jnp.ones(shape))) != ours).any()
    layer.eval()
    assert (layer(jnp.ones(shape)) == 1).all()


def test_dropout_by_a_key():
    layer = layers.Dropout(0.5)
    key = jax.random.key(1)
    np.testing.assert_array_equal(layer(jnp.ones(9), key=key), layer(jnp.ones(9), key=key))
    with pytest.raises(ValueError, match="key"):
        layer(jnp.ones(9))


def test_dropout_between_recurrent_layers():
    gru = layers.GRU(3, 4, 2, dropout=0.5, rngs=rngs())
    x = jnp.ones((5, 2, 3), jnp.float32)
    assert (gru(x)[0] != gru(x)[0]).any()
    gru.eval()
    assert (gru(x)[0] == gru(x)[0]).all()
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        layers.GRU(3, 4, dropout=0.5, rngs=rngs())


# --- initialisers ---------------------------------------------------------------------------------

DRAWN = {
    "uniform": ({}, {"a": -1.0, "b": 3.0}),
    "normal": ({}, {"mean": 1.0, "std": 0.1}),
    "trunc_normal": ({}, {"std": 0.5, "a": -0.2, "b": 0.9}),
    "xavier_uniform": ({}, {"gain": 2.0}),
    "xavier_normal": ({}, {"gain": 2.0}),
    "kaiming_uniform": (
        {},
        {"a": 5**0.5},
        {"mode": "fan_out", "nonlinearity": "relu"},
    ),
    "kaiming_normal": ({}, {"mode": "fan_out", "nonlinearity": "tanh"}),
}
SHAPE = (300, 100, 2)


def moments(x: np.ndarray) -> list[float]:
    return [x.mean(), x.std(), (x**4).mean() ** 0.25, x.min(), x.max()]


@pytest.mark.parametrize("name", DRAWN)
def test_distributions(name):
    """Mean, spread, fourth moment and bounds; 60000 draws on either side."""
    bounded = "normal" not in name or name.startswith("trunc")
    for options in DRAWN[name]:
        torch.manual_seed(0)
        theirs = getattr(torch.nn.init, f"{name}_")(torch.empty(SHAPE), **options).numpy()
        ours = np.asarray(getattr(layers.init, name)(**options)(jax.random.key(0), SHAPE))
        scale = theirs.std()
        count = 5 if bounded else 3
        np.testing.assert_allclose(
            moments(ours)[:count], moments(theirs)[:count], atol=0.02 * scale
        )


def test_deterministic_initialisers():
    """Bit for bit."""
    for name, shape, args in (
        ("zeros", (2, 3), ()),
        ("ones", (2, 3), ()),
        ("constant", (2, 3), (0.3,)),
        ("eye", (2, 3), ()),
        ("dirac", (6, 3, 2), ()),
        ("dirac", (4, 3, 3, 2), (2,)),
        ("dirac", (4, 3, 3, 2, 4), ()),
    ):
        theirs = getattr(torch.nn.init, f"{name}_")(torch.empty(shape), *args).numpy()
        ours = getattr(layers.init, name)(*args)(None, shape)
        np.testing.assert_array_equal(ours, theirs, strict=True)


def test_orthogonal_and_sparse():
    for shape in ((3, 5), (5, 3), (2, 2, 3)):
        q = np.asarray(layers.init.orthogonal(2.0)(jax.random.key(0), shape, jnp.float64))
        q = q.reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)
    x = np.asarray(layers.init.sparse(0.3)(jax.random.key(0), (7, 500)))
    assert ((x == 0).sum(0) == 3).all() and abs(x[x != 0].std() - 0.01) < 1e-3


def test_gains():
    for name in ("linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "selu"):
        assert layers.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.2, 1):
        theirs = torch.nn.init.calculate_gain("leaky_relu", slope)
        assert layers.init.calculate_gain("leaky_relu", slope) == theirs
    with pytest.raises(ValueError, match="Unsupported nonlinearity gelu"):
        layers.init.calculate_gain("gelu")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        layers.init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="Fan in and fan out can not be computed"):
        layers.init.kaiming_uniform()(jax.random.key(0), (3,))
    with pytest.raises(ValueError, match="Mode fan not supported"):
        layers.init.kaiming_uniform(mode="fan")(jax.random.key(0), (3, 3))


FRESH = {
    "Linear": (200, 300),
    "Bilinear": (40, 30, 20),
    "Embedding": (300, 100),
    "Conv2d": (40, 60, 3),
    "ConvTranspose2d": (40, 60, 3),
    "GRU": (100, 80),
    "LSTMCell": (100, 80),
    "MultiheadAttention": (64, 2),
}


@pytest.mark.parametrize("name", FRESH)
def test_fresh_layers_are_distributed_as_torchs(name):
    """Every parameter's mean, spread and bounds (P106, P117)."""
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*FRESH[name]).state_dict()
    ours = layers.state_dict(getattr(layers, name)(*FRESH[name], rngs=rngs()))
    for key, x in ours.items():
        t = theirs[key].numpy()
        assert x.dtype == t.dtype and x.shape == t.shape
        scale = max(np.abs(t).max(), 1e-9)
        share = 0.5 if x.size < 1000 else 0.1  # of few draws
        spread = [np.std(t), np.std(x)]
        assert abs(np.mean(x) - np.mean(t)) < share * scale
        assert abs(spread[0] - spread[1]) <= share * max(spread)
        if name != "Embedding":  # normal: unbounded
            assert np.abs(x).max() <= scale * 1.1


def test_importing_jaxgrad_does_not_import_flax():
    program = "import sys, jaxgrad; assert 'flax' not in sys.modules, 'flax'"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_trains_under_flax_transformations():
    """`nnx.jit` and `nnx.value_and_grad` move the running statistics and the power iteration."""

    class Model(nnx.Module):
        def __init__(self) -> None:
            self.first = layers.spectral_norm(layers.Linear(3, 4, rngs=rngs()), rngs=rngs())
            self.norm = layers.BatchNorm1d(4)
            self.drop = layers.Dropout(0.5, rngs=rngs())
            self.second = layers.weight_norm(layers.Linear(4, 1, rngs=rngs()))

        def __call__(self, x: Any) -> Any:
            return self.second(self.drop(self.norm(self.first(x))))

    @nnx.jit
    def step(model: Any, x: Any) -> Any:
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        params = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
        return loss

    model, x = Model(), jnp.asarray(draw(8, 3), jnp.float32)
    before = layers.state_dict(model)
    losses = [float(step(model, x)) for _ in range(20)]
    after = layers.state_dict(model)
    assert losses[-1] < losses[0]
    still = [key for key in before if (before[key] == after[key]).all()]
    assert set(still) <= {"first.bias"}  # before a batch norm a bias has no gradient
    assert after["norm.num_batches_tracked"] == 20
