"""`torch_graph.record` records the backward graphs of a torch program without changing it."""

# torch declares results as unions; the tests know the actual type.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

from typing import Any

import jax.numpy as jnp
import pytest
import torch
from torch import nn

from jaxgrad.graph import ABSENT, REACHED, RECORDED, backward_graph, side_by_side
from jaxgrad.parity.torch_graph import record
from parity_tests.cases._net import linear
from tests.jaxgrad.graph.programs import X, grads, net, states, texts, torch_net, torch_step


def test_torch_has_three_states():
    """`detach` and `no_grad` give equal gradients but graphs with different operation states."""
    assert states(torch_step()) == {m: {REACHED} for m in ("l1", "act", "l2", "")}
    assert states(torch_step("detach"))["l1"] == {RECORDED}
    assert states(torch_step("no_grad"))["l1"] == {ABSENT}
    assert states(torch_step("inference_mode"))["l1"] == {ABSENT}
    assert grads(torch_step("detach")) == grads(torch_step("no_grad"))
    for cut in ("detach", "no_grad", "inference_mode"):
        graph = torch_step(cut)
        assert {edge.cut for op in graph.ops for edge in op.edges} == {"", cut}
        assert grads(graph)["l1.weight"] is None and grads(graph)["l2.weight"]


def test_the_gradient_flows_through_a_frozen_module():
    """The gradient flows through a frozen module, whose own parameters get None."""
    model: Any = torch_net()
    model.l2.requires_grad_(False)
    (graph,) = record(lambda: model.l2(model.l1(torch.ones(3, 6))).sum().backward())

    assert {op.state for op in graph.ops} == {REACHED}
    assert grads(graph)["l2.weight"] is None and grads(graph)["l1.weight"]


def test_an_unused_parameter_is_shown():
    """The lane of a module that the loss does not use is labelled as such in both frameworks."""
    model: Any = torch_net()
    (graph,) = record(lambda: model.l1(torch.ones(3, 6)).sum().backward())
    svg = side_by_side({"": graph})

    assert grads(graph)["l1.bias"] and grads(graph)["l2.bias"] is None
    assert [t for t in texts(svg) if t in ("l1", "l2", "no path to the loss")] == [
        "l1",
        "l2",
        "no path to the loss",
    ]

    def fun(params):
        return jnp.sum(linear(params["l1"], X))

    jax_texts = texts(side_by_side({"": backward_graph(fun, net(6, 4, 1))}))
    assert [t for t in jax_texts if t in ("l1", "l2", "no path to the loss")] == [
        "l1",
        "l2",
        "no path to the loss",
    ]


def test_a_graph_is_read_at_each_backward_and_old_ones_are_gone():
    """Each call of `backward` records its own graph, without operations of earlier losses."""
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
    """Operations that only the other of two losses uses are recorded but not reached."""
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
    """`torch.autograd.grad` and a returned loss are recorded like `backward`, without `.grad`."""
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (graph,) = record(lambda: torch.autograd.grad((x * w).sum(), [x]))
    assert grads(graph) == {"x": pytest.approx(3**0.5), "w": None}
    assert x.grad is None

    (graph,) = record(lambda: torch.sum(x * w))
    assert {op.state for op in graph.ops} == {REACHED}
    assert grads(graph) == {"x": None, "w": None}


def test_errors_belong_to_the_operation_that_raised():
    """An error of autograd is attributed to the operation that raised it, with torch's text."""
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


def test_other_exceptions_propagate():
    """An exception that the recorded program raises itself propagates to the caller."""

    def program():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        record(program)


def test_recording_changes_nothing():
    """A recorded program gives the same gradients and hook calls, and no global hook remains."""
    hooked = []

    def program(x):
        w = x.clone().requires_grad_()
        h = torch.tanh(w * 2)
        h.register_hook(lambda g: hooked.append(g) or g * 2)
        (h**2).sum().backward()
        return w.grad

    x = torch.linspace(-1, 1, 5)
    plain = program(x)
    held: list[Any] = []
    record(lambda: held.append(program(x)))
    assert plain is not None and torch.equal(plain, held[0]) and len(hooked) == 2
    assert not nn.modules.module._global_forward_hooks


def test_several_models_have_their_own_names():
    """Parameters of several models are prefixed with the models' variable names."""
    actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    (graph,) = record(lambda: critic(actor(torch.ones(1, 3))).sum().backward())
    assert list(grads(graph)) == ["actor.weight", "actor.bias", "critic.weight", "critic.bias"]


def test_a_custom_function_is_a_node():
    """A user's `torch.autograd.Function` is a node with its saved tensors."""

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


def test_hooks_are_operations_between_a_value_and_its_uses():
    """A hook on a tensor or a parameter is drawn once, and every use passes through it."""
    w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    def program(w, v):
        w.register_hook(lambda grad: 2 * grad)
        h = w * v
        h.register_hook(lambda grad: grad)
        h.register_hook(lambda grad: grad)
        (3 * h + 5 * h).sum().backward()

    (graph,) = record(program, w, v)
    hooks = {op.name: i for i, op in enumerate(graph.ops) if op.folded.startswith("hook")}
    uses = {
        name: [op for op in graph.ops if i in {e.to for e in op.edges}] for name, i in hooks.items()
    }
    assert list(hooks) == ["hook", "hook ×2"]
    assert [op.name for op in uses["hook"]] == ["MulBackward0"]
    assert [op.name for op in uses["hook ×2"]] == ["MulBackward0", "MulBackward0"]
    assert [e.to for e in graph.ops[hooks["hook"]].edges] == ["w"]
    assert {op.state for op in graph.ops} == {REACHED}
    assert float(graph.leaf("w").grad or 0) == pytest.approx(2 * 8 * 3**0.5)


def test_without_hooks_a_graph_has_no_hook():
    """A program that registers no hook has no hook in its graph."""
    w = torch.ones(3, requires_grad=True)
    (graph,) = record(lambda w: (3 * w).sum().backward(), w)
    assert [op.name for op in graph.ops] == ["MulBackward0", "SumBackward0"]
