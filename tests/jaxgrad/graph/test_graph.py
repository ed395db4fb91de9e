"""The picture of the backward graph: what it says is what the two frameworks did."""

# torch, flax and numpy type their results as unions that a test knows to be narrower.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

import dataclasses
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen, nnx
from jax import lax
from torch import nn

import jaxgrad
from jaxgrad.graph import (
    ABSENT,
    REACHED,
    RECORDED,
    Graph,
    Leaf,
    Setting,
    backward_graph,
    png,
    side_by_side,
    table,
)
from jaxgrad.graph._panels import fit
from jaxgrad.graph._words import describe
from jaxgrad.parity.torch_graph import record
from parity_tests.case import CaseError, identity, load
from parity_tests.cases import mobilenet
from parity_tests.cases._net import linear, mse
from parity_tests.pictures import draw_case as pictures
from parity_tests.pictures import pairing as pairs
from parity_tests.runner.settings import ROOT


CASES = load()
X, Y = jnp.ones((3, 6)), jnp.ones((3, 1))


def net(*sizes: int) -> Any:
    """Parameters of linear layers l1, l2, ..."""
    rng = np.random.default_rng(0)
    return {
        f"l{i + 1}": {
            "weight": jnp.asarray(rng.standard_normal((b, a))),
            "bias": jnp.asarray(rng.standard_normal(b)),
        }
        for i, (a, b) in enumerate(itertools.pairwise(sizes))
    }


def loss(params, x, stop=identity):
    h = stop(jnp.tanh(linear(params["l1"], x)))
    return mse(linear(params["l2"], h), Y)


def states(graph: Graph) -> dict[str, set[str]]:
    """Module -> the states of its operations."""
    found: dict[str, set[str]] = {}
    for op in graph.ops:
        found.setdefault(".".join(op.scope), set()).add(op.state)
    return found


def grads(graph: Graph) -> dict[str, float | None]:
    return {leaf.name: leaf.grad for leaf in graph.leaves if leaf.slot}


def drawn(svg: str) -> str:
    """A picture without its words."""
    body = svg[svg.index("</style>") :]
    return re.sub(r"<(title|text)[^>]*>[^<]*</\1>", "", body)


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


# ---- JAX's side


def test_operations_of_the_vjp_are_found_by_the_operation_they_belong_to():
    """Each operation has the primitives that the VJP's jaxpr has for it, and no others."""
    params = net(6, 4, 1)
    graph = backward_graph(loss, params, X)
    _, pull = jax.vjp(lambda p: loss(p, X), params)
    wanted = [e.primitive.name for e in jax.make_jaxpr(pull)(1.0).eqns]

    assert sorted(s for op in graph.ops for s in op.steps) == sorted(
        name for name in wanted if name != "add_any"
    )
    assert [op.name for op in graph.ops if op.drawn][:4] == [
        "transpose",
        "dot_general",
        "broadcast_in_dim",
        "add",
    ]


def test_norms_are_those_of_jax_grad():
    params = net(6, 4, 1)
    wanted = jax.grad(loss)(params, X)
    found = grads(backward_graph(loss, params, X))

    assert set(found) == {"l1.weight", "l1.bias", "l2.weight", "l2.bias"}
    for name, norm in found.items():
        layer, leaf = name.split(".")
        assert norm == pytest.approx(float(jnp.linalg.norm(jnp.ravel(wanted[layer][leaf]))))


def test_stop_gradient_leaves_outlines_and_none():
    """Behind a cut nothing is in the VJP; what would be there is known, and lands as None."""
    params = net(6, 4, 1)
    plain = backward_graph(loss, params, X)
    stopped = backward_graph(lambda p: loss(p, X, lax.stop_gradient), params)

    assert [op.kind for op in plain.ops] == [op.kind for op in stopped.ops]
    assert [op.steps for op in plain.ops[:4]] == [op.steps for op in stopped.ops[:4]]
    assert {op.state for op in plain.ops} == {REACHED}
    assert {op.state for op in stopped.ops[:5]} == {ABSENT}
    assert {edge.cut for op in stopped.ops for edge in op.edges} == {"", "stop_gradient"}
    assert grads(stopped)["l1.weight"] is None and grads(plain)["l1.weight"]
    zeros = backward_graph(lambda p: loss(p, X, lax.stop_gradient), params, unused="zeros")
    assert grads(zeros)["l1.weight"] == 0.0


def test_what_has_no_derivative_may_stand_behind_a_cut():
    def on_host(x):
        return jax.pure_callback(lambda a: a + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def fun(w):
        return jnp.sum(jaxgrad.no_grad(on_host)(w * 2) * w)

    graph = backward_graph(fun, jnp.ones(3))
    assert [op.name for op in graph.ops if op.state == REACHED] == ["mul", "reduce_sum"]


@jax.custom_vjp
def doubled(x):
    return jnp.sin(x)


doubled.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * jnp.cos(x) * g,))


def test_jit_is_inlined_and_the_rest_is_folded_into_named_boxes():
    def fun(w):
        h = jax.jit(lambda h: jnp.sin(h) * h)(w)
        h = jax.nn.relu(doubled(h))
        h = jax.checkpoint(jnp.tanh)(h)
        h, _ = lax.scan(lambda c, _: (jnp.sin(c) * w, None), h, None, length=5)
        return jnp.sum(lax.cond(h[0] > 0, jnp.sin, jnp.cos, h))

    graph = backward_graph(fun, jnp.arange(3.0))
    assert [op.name for op in graph.ops] == [
        "sin", "mul", "custom_vjp doubled", "custom_jvp relu", "remat tanh", "scan ×5", "cond",
        "reduce_sum",
    ]  # fmt: skip
    folded = [op.folded for op in graph.ops if op.folded]
    assert folded == ["doubled", "relu", "remat tanh", "scan ×5", "cond"]
    assert set(folded) <= set(texts(side_by_side({"": graph})))
    assert "cos" in graph.ops[2].steps  # what the rule does is in its own box


def test_lanes_come_from_named_scopes_else_from_parameters():
    params = {"w1": jnp.ones((6, 4)), "w2": jnp.ones((4, 1))}

    def scoped(params):
        with jax.named_scope("encoder"):
            h = jnp.tanh(X @ params["w1"])
        with jax.named_scope("decoder"):
            out = h @ params["w2"]
        return mse(out, Y)

    def unscoped(params):
        return mse(jnp.tanh(X @ params["w1"]) @ params["w2"], Y)

    named = texts(side_by_side({"": backward_graph(scoped, params)}))
    assert [t for t in named if t in ("encoder", "decoder", "loss")] == [
        "encoder", "decoder", "loss",
    ]  # fmt: skip
    plain = texts(side_by_side({"": backward_graph(unscoped, params)}))
    assert [t for t in plain if t in ("w1", "w2", "loss")] == ["w1", "w2", "loss"]


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1, name="l2")(jnp.tanh(linen.Dense(4, name="l1")(x)))


class NnxNet(nnx.Module):
    def __init__(self, rngs):
        self.l1, self.l2 = nnx.Linear(6, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(jnp.tanh(self.l1(x)))


class EqxNet(eqx.Module):
    l1: eqx.nn.Linear
    l2: eqx.nn.Linear
    activation: Any

    def __call__(self, x):
        return self.l2(self.activation(self.l1(x)))


def linen_net():
    module = LinenNet()
    params = module.init(jax.random.key(0), X)
    return backward_graph(lambda params: mse(jnp.asarray(module.apply(params, X)), Y), params)


def nnx_net():
    definition, state = nnx.split(NnxNet(nnx.Rngs(0)))
    return backward_graph(lambda state: mse(nnx.merge(definition, state)(X), Y), state)


def nnx_module():
    return backward_graph(lambda model: mse(model(X), Y), NnxNet(nnx.Rngs(0)))


def equinox_net():
    a, b = jax.random.split(jax.random.key(0))
    model = EqxNet(eqx.nn.Linear(6, 4, key=a), eqx.nn.Linear(4, 1, key=b), jnp.tanh)
    return backward_graph(lambda model: mse(jax.vmap(model)(X), Y), model)


@pytest.mark.parametrize("make", [linen_net, nnx_net, nnx_module, equinox_net])
def test_modules_of_every_library_give_the_same_lanes(make):
    graph = make()
    words = texts(side_by_side({"": graph}))

    assert [w for w in words if w in ("l1", "l2", "loss")] == ["l1", "l2", "loss"]
    assert {name.split(".")[0] for name in grads(graph)} == {"l1", "l2"}
    assert all(norm for norm in grads(graph).values())


def test_shapes_are_enough_where_no_norm_is_wanted():
    params = net(6, 4, 1)
    graph = backward_graph(loss, jax.eval_shape(lambda: params), X)

    assert [op.steps for op in graph.ops] == [
        op.steps for op in backward_graph(loss, params, X).ops
    ]
    assert "∇weight" in [t.strip() for t in texts(side_by_side({"": graph}))]


def test_a_nan_is_shown():
    graph = backward_graph(lambda w: jnp.sum(jnp.sqrt(w) * 0), jnp.zeros(2))
    assert "∇w nan" in texts(side_by_side({"": graph}))


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (lambda w: {"loss": w}, "returned dict: return the loss, or (loss, aux) with has_aux=True"),
        (jnp.argmax, "returned int"),
    ],
)
def test_a_function_that_returns_no_loss_is_refused(fun, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        backward_graph(fun, jnp.ones(3))


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="unused must be .none. .torch. or .zeros. .jax.grad., got 'zero'"):
        backward_graph(jnp.sum, jnp.ones(3), unused="zero")
    with pytest.raises(ValueError, match="settings is empty"):
        side_by_side({})
    graph = backward_graph(jnp.sum, jnp.ones(3))
    with pytest.raises(ValueError, match="got JAX, JAX"):
        table(graph, graph)
    with pytest.raises(ValueError, match="got nothing"):
        table()


# ---- torch's side


def torch_net() -> nn.Module:
    torch.manual_seed(0)
    layers = {"l1": nn.Linear(6, 4), "act": nn.Tanh(), "l2": nn.Linear(4, 1)}
    model = nn.Module()
    for name, layer in layers.items():
        model.add_module(name, layer)
    return model


def torch_step(cut: str = "") -> Graph:
    model: Any = torch_net()
    x, y = torch.ones(3, 6), torch.ones(3, 1)
    modes = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}

    def program():
        with modes.get(cut, torch.enable_grad)():
            h = model.act(model.l1(x))
        h = {"detach": h.detach, "inference_mode": h.clone}.get(cut, lambda: h)()
        nn.functional.mse_loss(model.l2(h), y).backward()

    (graph,) = record(program)
    return graph


def test_torch_has_three_states():
    """detach and no_grad have the same gradients, and are not the same graph."""
    assert states(torch_step()) == {m: {REACHED} for m in ("l1", "act", "l2", "")}
    assert states(torch_step("detach"))["l1"] == {RECORDED}
    assert states(torch_step("no_grad"))["l1"] == {ABSENT}
    assert states(torch_step("inference_mode"))["l1"] == {ABSENT}
    assert grads(torch_step("detach")) == grads(torch_step("no_grad"))
    for cut in ("detach", "no_grad", "inference_mode"):
        graph = torch_step(cut)
        assert {edge.cut for op in graph.ops for edge in op.edges} == {"", cut}
        assert grads(graph)["l1.weight"] is None and grads(graph)["l2.weight"]


def test_a_frozen_module_is_passed_and_lands_none():
    model: Any = torch_net()
    model.l2.requires_grad_(False)
    (graph,) = record(lambda: model.l2(model.l1(torch.ones(3, 6))).sum().backward())

    assert {op.state for op in graph.ops} == {REACHED}
    assert grads(graph)["l2.weight"] is None and grads(graph)["l1.weight"]


def test_an_unused_parameter_is_shown():
    model: Any = torch_net()
    (graph,) = record(lambda: model.l1(torch.ones(3, 6)).sum().backward())
    svg = side_by_side({"": graph})

    assert grads(graph)["l1.bias"] and grads(graph)["l2.bias"] is None
    assert [t for t in texts(svg) if t in ("l1", "l2", "not used")] == ["l1", "l2", "not used"]

    def fun(params):
        return jnp.sum(linear(params["l1"], X))

    twin = texts(side_by_side({"": backward_graph(fun, net(6, 4, 1))}))
    assert [t for t in twin if t in ("l1", "l2", "not used")] == ["l1", "l2", "not used"]


def test_a_graph_is_read_at_each_backward_and_old_ones_are_gone():
    w = torch.ones(3, requires_grad=True)
    kept = []

    def program():
        for _ in range(3):
            loss = (w * 2).sum()
            loss.backward()
            kept.append(loss)

    graphs = record(program)
    assert [[op.name for op in g.ops] for g in graphs] == [["MulBackward0", "SumBackward0"]] * 3
    assert [grads(g)["w"] for g in graphs] == pytest.approx([2 * n * 3**0.5 for n in (1, 2, 3)])


def test_two_losses_share_a_trunk():
    """What the other loss recorded is there, and this loss does not reach it."""
    model: Any = torch_net()
    x = torch.ones(3, 6)

    def program():
        h = model.act(model.l1(x))
        first, second = model.l2(h).sum(), (h * 3).sum()
        second.backward(retain_graph=True)
        first.backward()

    graphs = record(program)
    assert states(graphs[0])["l2"] == {RECORDED} and states(graphs[0])["l1"] == {REACHED}
    assert states(graphs[1])["l2"] == {REACHED}


def test_autograd_grad_and_a_program_that_only_returns_its_loss():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (graph,) = record(lambda: torch.autograd.grad((x * w).sum(), [x]))
    assert grads(graph) == {"x": pytest.approx(3**0.5), "w": None}
    assert x.grad is None

    (graph,) = record(lambda: torch.sum(x * w))
    assert {op.state for op in graph.ops} == {REACHED}
    assert grads(graph) == {"x": None, "w": None}


def test_errors_are_where_they_rose():
    a, w = torch.arange(3.0), torch.ones(3, requires_grad=True)

    def overwritten():
        loss = (torch.exp(w) * a).sum()
        a.add_(1)
        loss.backward()

    def twice():
        loss = torch.exp(w).sum()
        loss.backward()
        loss.backward()

    def unsaved():
        with torch.inference_mode():
            h = a * 2
        return h * w

    for program, name, words in (
        (overwritten, "MulBackward0", "modified by an inplace operation"),
        (twice, "ExpBackward0", "backward through the graph a second time"),
        (unsaved, "mul", "Inference tensors cannot be saved for backward"),
    ):
        graph = record(program)[-1]
        assert graph.failure is not None and graph.failure.op is not None
        assert graph.ops[graph.failure.op].name == name
        assert graph.failure.text.startswith("RuntimeError: ") and words in graph.failure.text
        svg = side_by_side({"": graph})
        assert "✗" in texts(svg) and words in svg
    failure = record(lambda: (w.detach() * 2).sum().backward())[0].failure
    assert failure is not None and failure.op is None


def test_an_error_of_the_programs_own_is_not_swallowed():
    def program():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        record(program)


def test_recording_changes_nothing():
    """Gradients, hooks and what is freed are the same under the recorder."""
    seen = []

    def program(x):
        w = x.clone().requires_grad_()
        h = torch.tanh(w * 2)
        h.register_hook(lambda g: seen.append(g) or g * 2)
        (h**2).sum().backward()
        return w.grad

    x = torch.linspace(-1, 1, 5)
    plain = program(x)
    held: list[Any] = []
    record(lambda: held.append(program(x)))
    assert plain is not None and torch.equal(plain, held[0]) and len(seen) == 2
    assert not nn.modules.module._global_forward_hooks


def test_several_models_have_their_own_names():
    actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    (graph,) = record(lambda: critic(actor(torch.ones(1, 3))).sum().backward())
    assert list(grads(graph)) == ["actor.weight", "actor.bias", "critic.weight", "critic.bias"]


def test_a_function_of_ones_own_is_a_node():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, *grad_outputs):
            return grad_outputs[0] * 2

    w = torch.ones(3, requires_grad=True)
    (graph,) = record(lambda: Double.apply(w).sum().backward())
    assert [op.name for op in graph.ops] == ["DoubleBackward", "SumBackward0"]
    assert [str(s) for s in graph.ops[0].saved] == ["w float32[3]"]


# ---- the table


def test_the_table_counts_what_saved_bytes_counts():
    params = net(6, 4, 1)
    model: Any = torch_net()

    def program():
        out = model.l2(model.act(model.l1(torch.ones(3, 6))))
        nn.functional.mse_loss(out, torch.ones(3, 1)).backward()

    (graph,) = record(program)
    both = table(graph, backward_graph(loss, params, X))

    assert both.jax_bytes == jaxgrad.saved_bytes(lambda p: loss(p, X), params)
    assert both.torch_bytes == 4 * (3 * 4 + 3 * 1)  # tanh's result, and the output
    first = next(row for row in both.rows if row.torch == "AddmmBackward0")
    assert first.module == "l1" and [s.extra for s in first.torch_saved] == [False]
    text = str(both)
    assert "| l1 | AddmmBackward0 |" in text and "TanhBackward0" in text
    assert "dot_general, transpose" in text and f"{both.jax_bytes} bytes" in text


def test_a_table_of_one_framework():
    rows = table(backward_graph(lambda a: jnp.sum(jnp.exp(a) * a), jnp.ones(3, "float32"))).rows
    assert [(row.jax, row.torch) for row in rows] == [("exp", ""), ("mul", ""), ("reduce_sum", "")]
    assert [str(s) for s in rows[1].jax_saved] == ["exp float32[3]", "a float32[3]"]
    counts = [s.extra for row in rows for s in row.jax_saved if s.what == "exp"]
    assert counts.count(True) == 1 < len(counts)  # exp's result is read twice and counts once


# ---- the picture


def test_the_same_graphs_give_the_same_bytes():
    """Also in another process: nothing depends on hashes or addresses."""
    program = (
        "import jax, jax.numpy as jnp; from jaxgrad.graph import *; import hashlib\n"
        "p = {'l1': {'w': jnp.ones((6, 4))}, 'l2': {'w': jnp.ones((4, 1))}}\n"
        "f = lambda p: jnp.sum(jnp.tanh(jnp.ones((3, 6)) @ p['l1']['w']) @ p['l2']['w'])\n"
        "print(hashlib.sha256(side_by_side({'a': backward_graph(f, p)}).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_a_picture_is_well_formed_and_described():
    svg = side_by_side({"detach <h>": Setting(torch_step("detach"), note="a & b")}, title="1 < 2")
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"

    assert root.get("role") == "img"
    labelled = str(root.get("aria-labelledby")).split()
    title, desc = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None and desc is not None and [title.get("id"), desc.get("id")] == labelled
    assert title.text == "1 < 2"
    assert "detach <h>, torch: l1 recorded, not reached" in str(desc.text)
    assert "gradient stopped by detach" in str(desc.text)
    assert "l1 weight None" in str(desc.text)
    assert "prefers-color-scheme:dark" in svg
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", svg[svg.index("<style>") + 7 : svg.index("@media")])
    assert all(".jaxgrad-graph" in name for rule in rules for name in rule.split(","))


def test_states_differ_in_shape_not_in_colour_alone():
    shapes = {
        cut: set(re.findall(r'<rect [^>]*class="([^"]+)"', side_by_side({"": torch_step(cut)})))
        for cut in ("", "detach", "no_grad")
    }
    assert "thin hollow" in shapes["detach"] and "none" in shapes["no_grad"]
    assert "thin hollow" not in shapes["no_grad"] and "thin hollow" not in shapes[""]


def test_one_layout_for_all_settings():
    """A box has the same place in its row whether it is there or an outline."""
    plain = backward_graph(loss, net(6, 4, 1), X)
    stopped = backward_graph(lambda p: loss(p, X, lax.stop_gradient), net(6, 4, 1))
    svg = side_by_side({"plain": plain, "stopped": stopped})
    rows = drawn(svg).split('class="rule"')[1:]
    places = [re.findall(r'<rect x="([\d.]+)"', row) for row in rows]

    assert len(places) == 2 and sorted(places[0])[:20] == sorted(places[1])[:20]
    assert drawn(side_by_side({"": plain})) != drawn(side_by_side({"": stopped}))


def test_graphs_show_themselves_in_notebooks():
    graph = backward_graph(loss, net(6, 4, 1), X)
    assert graph._repr_svg_() == side_by_side({"": graph})


def test_png_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'jaxgrad\[png\]'"):
        png("<svg/>")


def test_graphs_need_neither_torch_nor_flax():
    program = "import sys, jaxgrad.graph; print({'torch', 'flax', 'resvg_py'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"


# ---- a real model


class Attention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(torch.softmax(q @ k.T, -1) @ v)


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.Sequential(Block(8), Block(8))
        self.head = nn.Linear(8, 11)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


class JaxAttention(linen.Module):
    @linen.compact
    def __call__(self, x):
        q, k, v = jnp.split(linen.Dense(24, name="qkv")(x), 3, -1)
        return linen.Dense(8, name="out")(jax.nn.softmax(q @ k.T) @ v)


class JaxBlock(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = x + JaxAttention(name="attn")(linen.LayerNorm(name="norm1")(x))
        h = linen.Dense(16, name="ff1")(linen.LayerNorm(name="norm2")(x))
        return x + linen.Dense(8, name="ff2")(jax.nn.gelu(h))


class JaxTransformer(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        x = linen.Embed(11, 8, name="embed")(tokens)
        for i in range(2):
            x = JaxBlock(name=f"layers.{i}")(x)
        return linen.Dense(11, name="head")(x)


def test_a_transformer_is_legible():
    """Blocks of both frameworks are lanes with a handful of boxes, not a hundred."""
    torch.manual_seed(0)
    tokens = np.arange(5)
    model, twin = Transformer(), JaxTransformer()
    labels = torch.tensor(tokens)
    (left,) = record(lambda: nn.functional.cross_entropy(model(labels), labels).backward())
    params = twin.init(jax.random.key(0), tokens)

    def objective(params):
        return -jnp.mean(
            jax.nn.log_softmax(jnp.asarray(twin.apply(params, tokens)))[tokens, tokens]
        )

    right = backward_graph(objective, params)
    svg = side_by_side({"transformer": Setting(left, right)})
    words = texts(svg)

    for lane in ("embed", "layers.0", "layers.1", "head", "loss"):
        assert words.count(lane) == 2
    assert len(left.ops) + len(right.ops) > 150
    assert len(re.findall("<title>", svg)) < 70
    assert {"norm1", "attn", "norm2"} <= set(words)
    assert "stop_gradient" not in words, "log_softmax stops a maximum; its other way is open"
    width = float(re.findall(r'width="([\d.]+)"', svg)[0])
    assert width < 1200, "too small to read on a page of 900 pixels"


def test_mobilenet_is_legible():
    """158 parameters and a thousand operations in some twenty boxes."""
    inputs = CASES["mobilenet/all_gradients"].inputs
    shapes = {
        name: jax.ShapeDtypeStruct(leaf.sample(np.random.default_rng(0)).shape, "float32")
        for name, leaf in inputs["weights"].items()
    }
    buffers = {name: s for name, s in shapes.items() if mobilenet._is_buffer(name)}
    params = {name: s for name, s in shapes.items() if name not in buffers}

    def objective(params, buffers, mask, x):
        return jnp.sum(mobilenet._forward(params, buffers, mask, x)[0] ** 2)

    mask = jax.ShapeDtypeStruct((4, mobilenet.LAST), "float32")
    x = jax.ShapeDtypeStruct((4, 3, 64, 64), "float32")
    graph = backward_graph(objective, params, buffers, mask, x)
    words = texts(side_by_side({"MobileNetV2": graph}))

    assert len(graph.ops) > 700
    for lane in ("features.0", "features.1", "features.2 … 17 ×16", "features.18", "classifier.1"):
        assert lane in words
    assert len(words) < 45


# ---- the pictures of cases


def test_pictures_of_the_ways_to_stop_l1_differ_where_torch_differs():
    """S0-01 ... S0-07: two pictures are the same only where torch's graphs are."""
    ids = {
        "S0-01": "grad_modes/nothing_stopped",
        "S0-02": "grad_modes/detach",
        "S0-03": "grad_modes/no_grad",
        "S0-04": "grad_modes/no_grad_part",
        "S0-05": "grad_modes/inference_mode",
        "S0-06": "grad_modes/inference_clone",
        "S0-07": "freezing/optimizer_subset",
    }
    graphs, seen = {}, {}
    for row, name in ids.items():
        assert row in CASES[name].source
        settings = pictures.settings(CASES[name])
        graphs[row] = [
            (
                [(op.name, op.state, tuple(e.cut for e in op.edges)) for op in s.torch.ops],
                bool(s.torch.failure),
            )
            for s in settings.values()
            if s.torch is not None
        ]
        bare = {f"row {i}": Setting(s.torch, s.jax) for i, s in enumerate(settings.values())}
        seen[row] = re.sub(r"\d\.\d+(e-\d+)?", "", " ".join(texts(side_by_side(bare, title="-"))))
        seen[row] += re.sub(r'id="[^"]*"', "", drawn(side_by_side(bare, title="-")))
    for a in ids:
        for b in ids:
            if graphs[a] != graphs[b]:
                assert seen[a] != seen[b], f"torch differs between {a} and {b}, the pictures do not"
    assert graphs["S0-02"] != graphs["S0-03"] and graphs["S0-03"] != graphs["S0-06"]


def seen(graphs: dict[str, Graph]) -> dict[str, str]:
    """What is drawn of each setting, in words: the state of each lane, cuts, pills, errors."""
    (panel,) = fit([graphs]).panels
    return {name: describe(panel.diagram, view) for name, view in panel.views.items()}


def test_the_drawn_states_of_torch_differ_where_its_states_do():
    """S0-01 ... S0-06 on one layout: what is said of L1 differs, and says how."""
    names = "nothing_stopped detach no_grad inference_mode inference_clone".split()
    rows = {name: pictures.settings(CASES[f"grad_modes/{name}"]) for name in names}
    torch_side = seen({n: s.torch for n, row in rows.items() for s in row.values() if s.torch})
    jax_side = seen({n: s.jax for n, row in rows.items() for s in row.values() if s.jax})

    assert "l1 is on the path of the loss" in torch_side["nothing_stopped"]
    assert "l1 recorded, not reached" in torch_side["detach"]
    for name, cut in {"no_grad": "no_grad", "inference_clone": "inference_mode"}.items():
        assert "l1 not recorded" in torch_side[name]
        assert f"gradient stopped by {cut}" in torch_side[name]
    assert "l2 raises" in torch_side["inference_mode"]
    assert len(set(torch_side.values())) == len(names)
    for name in names[1:]:
        assert "l1 not in the VJP" in jax_side[name]
        assert "gradient stopped by stop_gradient" in jax_side[name]


def test_no_grad_around_a_part_and_an_optimizer_of_a_part():
    """S0-04 and S0-07: each part that is left out is cut; a gradient that nobody applies is so."""
    rows = pictures.settings(CASES["grad_modes/no_grad_part"])
    said = seen({name: row.torch for name, row in rows.items() if row.torch})
    assert len(set(said.values())) == 4 and "does not require grad" in said["both_inside"]
    (first, *_) = pictures.settings(CASES["freezing/optimizer_subset"]).values()
    for graph in (first.torch, first.jax):
        assert graph is not None and "l1 computed, not applied" in seen({"": graph})[""]


def test_a_cut_inside_a_folded_box_is_shown():
    """S0-16: both stops of the critic's loss are seen, though its operations are folded."""
    stopped = pictures.settings(CASES["actor_critic/critic_loss"])["stopped"]
    svg = side_by_side({"": Setting(jax=stopped.jax)})
    assert texts(svg).count("stop_gradient") == 2
    svg = side_by_side({"": Setting(torch=stopped.torch)})
    assert texts(svg).count("detach") == 2


def test_graphs_are_paired_by_what_lands():
    """A twin may ask for other derivatives besides; they are not drawn as if they were torch's."""
    for name in ("graph/next_functions", "graph/leaf_flags"):
        (row,) = pictures.settings(CASES[name]).values()
        assert row.torch is not None and row.jax is not None
        assert pairs.same_leaves(row.torch, row.jax)


@pytest.mark.parametrize(
    "name, lanes",
    {
        "backward/chain_rule": ["b", "d"],
        "backward/simple_nn": ["l1", "l2", "loss"],
        "hooks/register_hook": ["fc1", "fc2", "loss"],
    }.items(),
)
def test_both_sides_have_the_same_lanes(name, lanes):
    """Numbers, a list's or an nn.Sequential's, are no names where the other side has one."""
    (row,) = pictures.settings(CASES[name]).values()
    assert row.torch is not None and row.jax is not None
    for panel in fit([{"": row.torch}, {"": row.jax}]).panels:
        assert list(panel.diagram.lanes) == lanes


def test_deep_copies_have_names_of_their_own():
    """A network that an object of the program holds is called what the object calls it."""
    stopped = pictures.settings(CASES["actor_critic/critic_loss"])["open"].torch
    assert stopped is not None
    networks = {leaf.name.split(".")[0] for leaf in stopped.leaves}
    assert networks == {"actor", "critic", "target_actor", "target_critic"}


def test_two_losses_that_land_alike_are_not_renamed():
    """Two parameters with the same gradient are not told apart, and keep their numbers."""
    theirs = Graph("torch", "", (), (Leaf("0.w", 1.0), Leaf("1.w", 1.0)))
    ours = Graph("JAX", "", (), (Leaf("a.w", 1.0), Leaf("b.w", 1.0)))
    assert pairs.named_alike((theirs, ours)) == [(theirs, ours)]


@pytest.mark.parametrize("name", ["grad_modes/detach", "grad_modes/no_grad"])
def test_taking_the_tool_out_changes_the_picture(name):
    made = CASES[name]
    without = dataclasses.replace(made, fun=made.without_tool())
    (left,), (right,) = (
        [s.jax for s in pictures.settings(c).values() if s.jax is not None] for c in (made, without)
    )

    assert "stop_gradient" in side_by_side({"": left})
    assert "stop_gradient" not in side_by_side({"": right})
    assert drawn(side_by_side({"": left})) != drawn(side_by_side({"": right}))


def test_the_picture_of_the_five_ways():
    """S0-17, in both frameworks: what each way leaves of L1."""
    rows = pictures.settings(CASES["grad_modes/recorded"])
    assert list(rows) == ["nothing", "detach", "no_grad", "inference_mode", "optimizer", "manual"]
    l1 = {
        name: {op.state for op in row.torch.ops if op.scope == ("l1",)}
        for name, row in rows.items()
        if row.torch is not None
    }
    assert l1 == {
        "nothing": {REACHED},
        "detach": {RECORDED},
        "no_grad": {ABSENT},
        "inference_mode": {ABSENT},
        "optimizer": {REACHED},
        "manual": {REACHED},
    }
    for name, row in rows.items():
        assert row.torch is not None and row.jax is not None and row.verdict.startswith("✓")
        left, right = grads(row.torch), grads(row.jax)
        assert left.keys() == right.keys()
        for leaf, norm in left.items():
            assert (
                (norm is None)
                == (right[leaf] is None)
                == (leaf.startswith("l1") and name in ("detach", "no_grad", "inference_mode"))
            )
    manual, optimizer = rows["manual"].torch, rows["optimizer"].torch
    assert manual is not None and manual.leaf("l1.bias").kind == "zero"
    assert optimizer is not None and optimizer.leaf("l1.bias").note == "computed, not applied"


def test_no_slot_is_said_of_what_is_no_argument():
    """S2-11: a partitioned parameter stands where it stood, and has no slot for a gradient."""
    rows = pictures.settings(CASES["grad_modes/requires_grad"])
    frozen = next(iter(rows.values())).jax
    assert frozen is not None and not frozen.leaf("l1.weight").slot
    assert "∇weight no slot" in texts(side_by_side(rows))


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.picture and not c.heavy])
def test_every_case_that_promises_a_picture_has_one(name):
    svg = pictures.picture(CASES[name])
    assert ET.fromstring(svg) is not None
    assert name in svg and "✗ differs" not in svg


def test_rows_are_of_cases_that_exist():
    for name, rows in pictures.ROWS.items():
        assert name in CASES
        assert list(pictures.settings(CASES[name])) == list(rows)


def test_a_case_without_a_picture_says_why():
    with pytest.raises(CaseError, match="graph/saved_tensors has no picture: its reference calls"):
        pictures.picture(CASES["graph/saved_tensors"])


def test_a_module_that_runs_again_after_others_is_another_lane():
    """Weights that are used at both ends: time goes one way all the same."""
    params = {"embed": {"w": jnp.ones((7, 4))}, "body": {"w": jnp.eye(4)}}

    def tied(params):
        h = jnp.tanh(params["embed"]["w"][:2] @ params["body"]["w"])
        return jnp.sum(jnp.exp(h @ params["embed"]["w"].T))

    words = texts(side_by_side({"": backward_graph(tied, params)}))
    lanes = [w for w in words if w in ("embed", "body", "embed (2)", "loss")]
    assert lanes == ["embed", "body", "embed (2)", "loss"]
    assert len([w for w in words if w.startswith("∇w ")]) == 2


def test_a_loop_over_one_module_is_one_lane():
    params = {"cell": {"u": jnp.eye(4), "v": jnp.ones((4, 3))}, "out": {"w": jnp.ones((2, 4))}}
    steps = jnp.ones((6, 3))

    def recurrent(params):
        h = jnp.zeros(4)
        for x in steps:
            h = jnp.tanh(params["cell"]["u"] @ h + params["cell"]["v"] @ x)
        return jnp.sum(params["out"]["w"] @ h)

    words = texts(side_by_side({"": backward_graph(recurrent, params)}))
    assert [w for w in words if w in ("cell", "out", "loss")] == ["cell", "out", "loss"]
    assert not [w for w in words if w.startswith("cell (")]
