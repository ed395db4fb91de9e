"""`port(style="nnx")` writes one flax class for each torch class, with torch's gradients."""

import re
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from flax import nnx
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

import jaxgrad.nnx
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.nnx.layers import is_layer
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Unit(nn.Module):
    def __init__(self, width, rate=0.0):
        super().__init__()
        self.fc, self.norm = nn.Linear(width, width), nn.BatchNorm1d(width)
        self.rate = rate

    def forward(self, x):
        # half of the residual branch
        return x + 0.5 * tf.dropout(self.norm(self.fc(x)).tanh(), self.rate, self.training)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.units = nn.ModuleList(Unit(3) for _ in range(2))
        self.wide = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), Unit(4), nn.GELU("tanh"))
        self.head = nn.Linear(3, 4)
        self.out = nn.Linear(4, 3, bias=False)
        self.left_over = nn.Linear(2, 2)
        self.head.weight.requires_grad_(False)

    def forward(self, x):
        for unit in self.units:
            x = unit(x)
        return self.out(self.wide(x) + self.head(x))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(3, 3), nn.Linear(3, 3)
        self.again = self.up
        self.down.weight = self.up.weight

    def forward(self, x):
        return self.again(self.down(self.up(x)).tanh())


class Own(nn.Module):
    """A module with parameters, a buffer that changes, and two that torch does not save."""

    scale: torch.Tensor
    table: torch.Tensor
    seen: torch.Tensor

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(3, 3)) for _ in range(2)])
        self.gates = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.shift = nn.Parameter(torch.zeros(3))
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]), persistent=False)
        self.table = torch.randn(100, 3)

    def forward(self, x):
        if self.training:
            self.seen += x.detach().mean(0)
        x = x * self.scale + self.table[:4] + self.seen
        x = x @ self.weights[0] @ self.weights[1] + self.shift
        return self.gates["a"](x) * self.gates["b"](x).sigmoid()


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.unit = Unit(3)
        self.norms = nn.Sequential(nn.BatchNorm1d(3), nn.Tanh())

    def forward(self, x):
        x = checkpoint(self.norms, x, use_reentrant=False)
        return checkpoint(self.unit, x, use_reentrant=False)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        if self.training:
            x = x + torch.randn_like(x)
        return self.fc(x)


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(3, 3, 5, 0.0, "gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.both = nn.Transformer(3, 1, 1, 1, 4, 0.0)
        self.act = nn.PReLU()

    def forward(self, x):
        return self.both(self.act(self.encoder(x)), x)


def written(module: nn.Module) -> str:
    """Return the source of a port that is not proved."""
    return port(module, (X,), style="nnx", prove=False).source


def agrees(module: nn.Module, *, without: str = "", instead: str = "") -> bool:
    """Return whether a port has torch's outputs, gradients and buffers after one call."""
    torch.manual_seed(0)
    ported = port(module, (X,), style="nnx", prove=False)
    assert without in ported.source, ported.source
    if without:
        space = dict(ported.space)
        exec(ported.source.replace(without, instead), space)
        ported.__dict__["space"] = space
    model: Any = ported.model(module.state_dict())
    grads = nnx.grad(lambda model: (model(X) ** 2).sum(), argnums=nnx.DiffState(0, nnx.Param))(
        model
    )
    module.zero_grad()
    out = module(torch.tensor(X))
    buffers = {name: x.numpy().copy() for name, x in module.named_buffers()}
    (out**2).sum().backward()
    named = module.named_parameters(remove_duplicate=False)
    wanted = {n: p.grad for n, p in named if p.grad is not None}
    got = {".".join(map(str, k)).replace("layers.", ""): v for k, v in nnx.to_flat_state(grads)}
    pairs = [(got[n].get_value(), g) for n, g in wanted.items() if n in got]
    state = jaxgrad.nnx.state_dict(model)
    pairs += [(state[n], b) for n, b in buffers.items() if n in state]
    assert len(pairs) >= 2
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [Tower, Tied, Own, Checkpointed])
def test_a_ported_model_has_the_gradients_and_buffers_of_torch(kind, training):
    """The gradients and the buffers after one call are torch's, in both modes."""
    torch.manual_seed(0)
    assert agrees(kind().train(training))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "line", "instead"),
    [
        (Tower, "0.5 * ", ""),
        (Tied, "self.down.weight = self.up.weight  # tied", "pass"),
        (Own, "self.seen[...] = ", "_ = "),
        (Own, "lax.stop_gradient(", "1.5 * ("),
    ],
)
def test_a_ported_model_without_a_line_differs(kind, line, instead):
    """Without a factor, a tie or a new buffer, gradients or buffers differ from torch's."""
    torch.manual_seed(0)
    assert not agrees(kind().train(), without=line, instead=instead)


def test_the_file_has_flax_classes_with_the_names_of_torch():
    """Sizes that differ are arguments, sequences hold functions, and layers are jaxgrad's."""
    source = written(Tower())
    for line in (
        "from jaxgrad.nnx import BatchNorm1d, Linear",
        "class Tower(nnx.Module):",
        "        self.units = nnx.List([Unit(in_features=3, rngs=rngs) for _ in range(2)])",
        "        self.left_over = Linear(2, 2, rngs=rngs)",
        "        for unit in self.units:",
        "    def __init__(self, in_features, *, rngs: nnx.Rngs):",
        "        self.fc = Linear(in_features, in_features, rngs=rngs)",
        "        # half of the residual branch",
    ):
        assert line in source.splitlines(), source
    assert (
        "Linear(3, 4, rngs=rngs),\n            jax.nn.relu,\n            Unit(in_features=4"
        in source
    )
    assert source.count("class ") == 2 and "torch." not in source.replace("torch's", "")


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # of `nn.Transformer`
def test_transformers_are_layers():
    """A transformer and its layers are one call each, whose settings come from their parts."""
    torch.manual_seed(0)
    module: Any = Attending().eval()
    ported = port(module, (X,), style="nnx", prove=False)
    source = " ".join(ported.source.split())
    layer = "TransformerEncoderLayer( 3, 3, dim_feedforward=5, dropout=0.0,"
    assert layer in source and 'activation="gelu", rngs=rngs ) for _ in range(2)' in source
    assert "self.both = Transformer( 3, nhead=1, dim_feedforward=4, dropout=0.0," in source
    assert "self.act = PReLU()" in source
    model: Any = ported.model(module.state_dict())
    wanted = module(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(jax.jit(model)(X), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", ["eps", "function", "hook", "module"])
def test_a_transformer_layer_with_other_parts_is_a_class(change):
    """A layer of which the user changed a part is written out and has torch's gradients."""
    torch.manual_seed(0)
    module: Any = nn.Sequential(nn.TransformerEncoderLayer(3, 3, 5, 0.0))
    if change == "eps":
        module[0].norm2.eps = 0.5
    elif change == "function":
        module[0].activation = torch.tanh
    elif change == "hook":
        module[0].linear1.register_forward_hook(lambda module, args, out: 2 * out)
        assert not is_layer(module[0])
        return
    else:
        module[0].norm1 = nn.RMSNorm(3)
    assert not is_layer(module[0])
    assert "class TransformerEncoderLayer(nnx.Module):" in written(module)
    assert agrees(module)


def test_the_settings_of_a_module_become_attributes():
    """Two modules of one class that differ in a number of their forward have it as attribute."""
    module = nn.Sequential()
    module.stack = nn.Sequential(Unit(3, 0.1), Unit(3, 0.2))
    source = written(module)
    assert "def __init__(self, rate, *, rngs: nnx.Rngs):\n        self.rate = rate\n" in source
    assert "F.dropout(y, p=self.rate, training=not self.deterministic, key=dropout_rng)" in source
    assert "dropout_rng = None if self.deterministic else self.rngs()" in source
    assert "Unit(rate=0.2, rngs=rngs)" in source


class Split(nn.Module):
    def __init__(self, dim, heads, sow=2.0):
        super().__init__()
        self.heads, self.scale, self.sow = heads, (dim // heads) ** -0.5, sow
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(x.shape[0], 3, self.heads, -1).permute(1, 2, 0, 3)
        attention = ((q @ k.mT) * self.scale).softmax(-1)
        return (attention @ v).permute(1, 0, 2).reshape(x.shape) / self.sow


class Stack(nn.Module):
    def __init__(self, *heads):
        super().__init__()
        self.norm = nn.Linear(3, 4)
        self.blocks = nn.ModuleList(Split(4, n) for n in heads)
        self.alpha = 0.3

    def forward(self, x):
        x = self.norm(x)
        for block in self.blocks:
            x = x + self.alpha * block(x)
        return x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("heads", [(2, 2), (1, 4)])
def test_numbers_of_the_configuration_are_attributes(heads):
    """Numbers and formulas have the author's names; those that differ are arguments."""
    torch.manual_seed(0)
    module = Stack(*heads)
    source = written(module)
    assert "        self.alpha = 0.3\n" in source and "self.alpha * " in source
    assert "reshape(x.shape[0], 3, self.heads, -1)" in source and "* self.scale" in source
    assert "*, sow=2.0)" in source  # flax has a method of this name
    if heads == (2, 2):
        assert "        self.heads = 2\n        self.scale = 2**-0.5\n" in source
    else:
        assert "    def __init__(self, heads, scale, *, rngs: nnx.Rngs):\n" in source
        assert "Split(heads=1, scale=0.5, rngs=rngs)" in source
    assert source.count("class ") == 2
    assert agrees(module)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = 2
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        b, n, d = x.shape

        def split(t):
            return t.reshape(b, n, self.heads, d // self.heads).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        return (q @ k.mT / (8 // self.heads) ** 0.5).softmax(-1) @ v


def test_lines_fit_with_the_names_of_attributes():
    """A tuple that is too long for one line becomes a statement for each part, as in functions."""
    source = port(Heads(), (np.ones((3, 5, 8), np.float32),), style="nnx", prove=False).source
    assert max(map(len, source.splitlines())) <= 100
    assert re.search(r"\n        q = self\.query\(x\)\..*\n        k = self\.key\(x\)", source)


def test_a_checkpoint_of_a_module_that_changes_takes_it_as_argument():
    """`nnx.remat` gets the module, so that new statistics leave the recomputed function."""
    source = written(Checkpointed())
    assert "nnx.remat(type(self.unit).__call__)(self.unit, x)" in source
    assert "nnx.remat(lambda self, x: self.norms(x))(self, x)" in source


def test_draws_of_train_mode_alone_leave_the_model_as_it_is_in_eval_mode():
    """A model in eval mode can be called under `jax.jit`, where no key can be drawn."""
    module: Any = Noisy()
    model: Any = port(module, (X,), style="nnx", prove=False).model(module.state_dict())
    assert not np.allclose(model(X), model(X))
    model.eval()
    with torch.no_grad():
        want = module.eval()(torch.tensor(X)).numpy()
    np.testing.assert_allclose(jax.jit(model)(X), want, rtol=1e-5)


def test_a_state_dict_loads_into_a_new_model():
    """`load_state_dict` accepts torch's keys strictly; a small constant is in the source."""
    torch.manual_seed(0)
    module = Own().eval()
    ported = port(module, (X,), style="nnx", prove=False)
    model: Any = ported.fn(rngs=nnx.Rngs(3))
    found = jaxgrad.nnx.load_state_dict(model, module.state_dict())
    assert found.missing_keys == [] and found.unexpected_keys == []
    assert "self.scale = nnx.Cache(jnp.array([1.0, 2.0, 3.0]" in ported.source
    model.table[...] = module.table.numpy()
    model.eval()
    want = module(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(model(X), want, rtol=1e-4, atol=1e-5)


def test_layers_in_another_mode_stay_in_it():
    """A BatchNorm that the user froze in eval mode is in eval mode in the ported model."""
    module: Any = Tower().train()
    module.units[1].norm.eval()
    model: Any = port(module, (X,), style="nnx", prove=False).model(module.state_dict())
    assert model.units[0].norm.training and not model.units[1].norm.training


def test_a_port_to_flax_is_proved_and_verified(tmp_path, capsys):
    """Both modes are proved as a flax module, and again from the written files."""

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.Dropout(0.5))
            self.out = nn.Linear(3, 1)

        def forward(self, x):
            return self.out(self.body(x))

    torch.manual_seed(0)
    module = Small()
    ported = port(module, (X,), style="nnx")
    assert {mode: r.verdict for mode, r in ported.reports.items()} == {
        "train": "pass",
        "eval": "pass",
    }
    chosen = nnx.to_flat_state(nnx.state(ported.model(module.state_dict()), ported.trainable))
    assert [path for path, _ in chosen] == [("out", "bias"), ("out", "weight")]

    ported.write(tmp_path / "small.py")
    assert main(["verify", str(tmp_path / "small.py")]) == 0
    source = (tmp_path / "small.py").read_text().replace("self.body(x)", "jnp.sin(self.body(x))")
    (tmp_path / "small.py").write_text("import jax.numpy as jnp\n" + source)
    assert main(["verify", str(tmp_path / "small.py")]) == 1
    assert "has changed since it was written" in capsys.readouterr().err


def test_the_filter_knows_a_module_that_is_called_layers():
    """`layers` is a name of torch here, and flax's own name of the modules in a Sequential."""

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
            self.head = nn.Sequential(nn.Linear(3, 2).requires_grad_(False), nn.Linear(2, 1))

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return self.head(x)

    module = Stack()
    ported: Any = port(module, (X,), style="nnx", prove=False)
    model = ported.model(module.state_dict())
    chosen = nnx.to_flat_state(nnx.state(model, ported.trainable))
    names = {"/".join(map(str, path)) for path, _ in chosen}

    wanted = {f"{owner}/{i}" for owner, i in (("layers", 0), ("layers", 1), ("head/layers", 1))}
    assert names == {f"{layer}/{kind}" for layer in wanted for kind in ("weight", "bias")}


class Row(nn.Sequential):
    """A list class of the user's, which goes over itself."""

    def forward(self, input):
        x = input
        for part in self:
            x = part(x)
        return x


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.row, self.last = Row(nn.Linear(3, 3), nn.Linear(3, 3)), Row(nn.Linear(3, 3))

    def forward(self, x):
        return self.last(self.row(x).tanh())


@pytest.mark.parametrize("kind", [Rows, lambda: nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))])
def test_a_class_of_numbered_parts_can_be_iterated_over(kind):
    """A Sequential that is the module itself, or the user's own, goes over its parts."""
    torch.manual_seed(0)
    module = kind()
    assert "    def __iter__(self):" in written(module)
    assert agrees(module)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.sow = nn.Linear(3, 3)

    def forward(self, x):
        return self.sow(x)


class Replaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        new = {n: 2 * p for n, p in self.fc.named_parameters()}
        return torch.func.functional_call(self.fc, new, (x,))


class Hooked(Named):
    def __init__(self):
        super().__init__()
        self.sow.weight.register_hook(lambda grad: 2 * grad)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Named, "an attribute 'sow', which is flax's name of something else; rename it"),
        (Replaced, 'a flax module holds its own; write the port with style="functions"'),
        (
            Hooked,
            "sow.weight has a hook, and a flax module has no place where a parameter comes in",
        ),
    ],
)
def test_what_flax_cannot_express_is_refused(kind, words):
    """A refusal is one sentence with the name and what to write."""
    with pytest.raises(PortError, match=words):
        port(kind(), (X,), style="nnx", prove=False)


def test_other_styles_and_their_limits_are_named():
    """A wrong style and the params of a flax port have a message each."""
    module = nn.Linear(3, 3)
    with pytest.raises(PortError, match="style= is 'flax'; give one of 'functions', 'nnx'"):
        port(module, (X,), style="flax")
    with pytest.raises(AttributeError, match='for a flax module write it with style="nnx"'):
        port(module, (X,), prove=False).model({})
    with pytest.raises(AttributeError, match=r"use ported.model\(state_dict\)"):
        _ = port(module, (X,), style="nnx", prove=False).params({})


def test_a_mode_that_the_user_asks_for_is_restored():
    """After `port`, torch's module is in the mode that it had before."""
    module = Tower().eval()
    with in_mode(module, True):
        written(module)
        assert module.training
    assert not module.training


class Documented(nn.Module):
    """Adds a residual. The rest is not quoted."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return x + self.fc(x)


def test_a_class_keeps_the_summary_of_its_docstring():
    """The author's first sentence is above the place of the source, as in the functions style."""
    text = port(Documented(), (X,), style="nnx", prove=False).source
    assert re.search(
        r'class Documented\(nnx.Module\):\n    """Adds a residual.\n\n'
        r'    Documented \(nnx/test_port.py:\d+\).\n    """\n',
        text,
    ), text


class Normed(nn.Module):
    """weight_norm of two layers, the weight of one of which is read by other code."""

    def __init__(self, deep=False):
        super().__init__()
        self.a: Any = parametrizations.weight_norm(nn.Linear(3, 4))
        dim: Any = None if deep else 1
        self.b: Any = parametrizations.weight_norm(nn.Linear(4, 2, bias=False), dim=dim)
        self.deep = deep

    def forward(self, x):
        inner = self.a.parametrizations.weight.original0 if self.deep else self.a.weight
        return self.b(torch.tanh(self.a(x))) + inner.sum()


@pytest.mark.parametrize("deep", [False, True])
def test_weight_norm_is_that_of_the_layers(deep):
    """The port has torch's gradients without a class for torch's private modules."""
    ported = port(Normed(deep), (X,), style="nnx")
    assert ported.report is not None and ported.report.verdict == "pass", ported.report
    assert "self.a = weight_norm(Linear(3, 4, rngs=rngs))" in ported.source
    dim = None if deep else 1
    assert f"weight_norm(Linear(4, 2, bias=False, rngs=rngs), dim={dim})" in ported.source
    assert "import Linear, weight_norm" in ported.source and "Parametriz" not in ported.source


def test_a_class_of_torch_is_named_by_its_package():
    """A file of torch's, shortened to `utils/parametrize.py`, would look like one of the user's."""

    class Doubled(nn.Module):
        def forward(self, weight):
            return weight * 2

    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Doubled())
    text = port(nn.Sequential(layer, nn.Tanh()), (X,), style="nnx", prove=False).source
    assert '"""torch.nn.utils.parametrize.ParametrizationList.\n' in text
    assert not re.search(r"(linear|parametrize|container)\.py", text), text
