"""Wrong gradients are explained by a change of the backward pass that was tested by rerunning."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from jax import lax
from torch import nn
from torch.nn import functional

import jaxgrad.functional
from jaxgrad._core.torch_versions import BOUND_OF_CLAMP, NEWEST, convention
from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.causes import gradients as gradient_causes
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


Through = Callable[[Any], Any]
stop = lax.stop_gradient


class ActorCritic(nn.Module):
    """The actor's loss passes through the critic, but does not train it."""

    def __init__(self):
        super().__init__()
        self.q, self.actor = nn.Linear(3, 1), nn.Linear(2, 1)

    def forward(self, x, action):
        critic = (self.q(torch.cat([x, action], 1)) - 1).square().mean()
        chosen = torch.cat([x, self.actor(x).tanh()], 1)
        value = functional.linear(chosen, self.q.weight.detach(), self.q.bias.detach())
        return critic - value.mean()


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def actor_critic(through: Through) -> Report:
    torch.manual_seed(0)
    module = ActorCritic()

    def apply(p: Any, x: Any, action: Any) -> Any:
        critic = jnp.mean((linear(p, "q", jnp.concatenate([x, action], 1)) - 1) ** 2)
        act = jnp.tanh(linear(p, "actor", x))
        value = linear(through(p), "q", jnp.concatenate([x, act], 1))
        return critic - value.mean()

    return prove(module, apply, arrays(module), (draw(5, 2), draw(5, 1)))


def test_one_use_of_a_weight_that_is_not_stopped_is_located():
    """A critic that the actor's loss trains too: the call is named, not the ratio of gradients."""
    actor_critic(stop).check()
    first = actor_critic(identity).first

    assert first is not None
    assert first.torch == "q.bias"
    assert "test_gradients.py" in first.jax and ", called from " in first.jax
    assert first.cause.startswith("torch stops the gradient at test_gradients.py:")
    assert " (detach), JAX does not (rerunning torch without these stops" in first.cause
    assert first.cause.count("test_gradients.py:") == 2, "each line once"
    assert "all gradients agree); add a stop_gradient in the call at" in first.cause
    assert "times" not in first.cause


class Temperature(nn.Module):
    """The terms of SAC's losses cancel where the temperature's loss is not detached."""

    def __init__(self):
        super().__init__()
        self.actor, self.log_alpha = nn.Linear(2, 1), nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        logp, alpha = self.actor(x).tanh(), self.log_alpha.exp()
        return (alpha.detach() * logp).mean() - (alpha * (logp + 2).detach()).mean()


def temperature(actors: Through, alphas: Through) -> Report:
    torch.manual_seed(0)
    module = Temperature()

    def apply(p: Any, x: Any) -> Any:
        logp, alpha = jnp.tanh(linear(p, "actor", x)), jnp.exp(p["log_alpha"])
        return (actors(alpha) * logp).mean() - (alpha * alphas(logp + 2)).mean()

    return prove(module, apply, arrays(module), (draw(5, 2),))


@pytest.mark.slow
class TwoViews(nn.Module):
    """Each view predicts the other, whose gradient is stopped, as in SimSiam."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, a, b):
        u, v = self.encoder(a), self.encoder(b)

        def loss(p, z):
            return -functional.cosine_similarity(p, z.detach(), dim=-1).mean()

        return loss(self.head(u), v) + loss(self.head(v), u)


def two_views(through: Through) -> Report:
    torch.manual_seed(0)
    module = TwoViews()

    def apply(p: Any, a: Any, b: Any) -> Any:
        u, v = linear(p, "encoder", a), linear(p, "encoder", b)

        def loss(p: Any, z: Any) -> Any:
            p = p / jnp.linalg.norm(p, axis=-1, keepdims=True)
            z = through(z)
            z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
            return -(p * z).sum(-1).mean()

        return loss(linear(p, "head", u), v) + loss(linear(p, "head", v), u)

    return prove(module, apply, arrays(module), (draw(5, 3), draw(6, 3)[:5]))


def test_a_line_of_which_a_part_is_inside_a_function_of_jax_is_located():
    """The value is also read by the head, whose line is right: the gradient flows there."""
    two_views(stop).check()
    first = two_views(identity).first

    assert first is not None
    assert first.source.endswith(": z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)"), first
    line = first.source.partition(": ")[0]
    assert first.tested and first.cause.endswith(f"; add a stop_gradient at {line}")


class Baseline(nn.Module):
    """The head that estimates the value does not train the body."""

    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        z = self.body(x).tanh()
        return self.policy(z).square().mean() + self.value(z.detach()).sin().mean()


def test_a_stop_is_missing_in_the_line_that_calls_a_helper():
    """The line of the helper computes all layers: a stop there would stop their gradients too."""
    torch.manual_seed(0)
    module = Baseline()

    def apply(p: Any, x: Any) -> Any:
        z = jnp.tanh(linear(p, "body", x))
        policy = linear(p, "policy", z)
        value = linear(p, "value", z)
        return (policy**2).mean() + jnp.sin(value).mean()

    first = prove(module, apply, arrays(module), (draw(5, 3),)).first

    assert first is not None and first.tested
    caller = first.jax.partition(", called from ")[2].partition(" ")[0]
    assert first.cause.endswith(f"; add a stop_gradient in the call at {caller}")
    assert first.source.endswith(f'; called from {caller}: value = linear(p, "value", z)')
    assert first.edit is None


def square(a: Any, b: Any) -> Any:
    return ((a - b) ** 2).mean() + (b**4).mean()


@pytest.mark.parametrize("under_no_grad", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_a_stop_is_missing_where_an_argument_of_a_helper_is_made(under_no_grad, shared):
    """A stop inside of the helper would stop the gradients of its other callers.

    If the value has another use, whose gradient flows in torch, the place is in the helper.
    """

    class Target(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 2)

        def forward(self, x, y):
            target = self.a(y)
            if under_no_grad:
                with torch.no_grad():
                    stopped = self.a(y)
            else:
                stopped = target.detach()
            return square(self.a(x), stopped) + (target.sin().mean() if shared else 0)

    def port(p: Any, x: Any, y: Any) -> Any:
        target = linear(p, "a", y)
        return square(linear(p, "a", x), target) + (jnp.sin(target).mean() if shared else 0)

    torch.manual_seed(0)
    module = Target()
    first = prove(module, port, arrays(module), (draw(5, 3), draw(6, 3)[:5])).first
    line = port.__code__.co_firstlineno + 1

    assert first is not None and first.tested
    if not shared:
        assert f"test_gradients.py:{line}" in first.cause
        assert first.edit is not None and first.edit.line == line and first.edit.complete
        assert first.edit.new.strip() == 'target = lax.stop_gradient(linear(p, "a", y))'
        assert first.source == f'test_gradients.py:{line}: target = linear(p, "a", y)'
        assert ("torch computes the value under no_grad" in first.cause) == under_no_grad
    else:
        assert first.edit is None or first.edit.line != line


def test_terms_that_cancel_are_not_a_stopped_gradient():
    """A gradient that is zero because two terms cancel lacks a stop_gradient, not the reverse."""
    temperature(stop, stop).check()
    for report in (temperature(stop, identity), temperature(identity, stop)):
        assert report.first is not None
        assert report.first.cause.startswith("torch stops the gradient at test_gradients.py:")
        assert "all gradients agree); add a stop_gradient at " in report.first.cause


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        y = self.a(x).tanh()
        return self.b(y) + self.c(y) * torch.relu(x)


def two(left: Through = identity, right: Through = identity, relu: Through = jax.nn.relu) -> Report:
    torch.manual_seed(0)
    module = Two()

    def apply(p: Any, x: Any) -> Any:
        y = jnp.tanh(linear(p, "a", x))
        return linear(p, "b", left(y)) + linear(p, "c", right(y)) * relu(x)

    x = draw(4, 3)
    x[0] = 0
    return prove(module, apply, arrays(module), (x,))


def test_one_use_of_a_value_that_is_stopped_is_located():
    """An extra stop_gradient on one of two uses, or on both, is named after a rerun without it."""
    two().check()
    for report in (two(left=stop), two(left=stop, right=stop)):
        assert report.first is not None
        assert report.first.cause.startswith("an extra stop_gradient at test_gradients.py:")
        assert report.first.cause.endswith(", all gradients agree)")


class Pooled(nn.Module):
    """A pooling layer, whose port finds the largest elements behind a stop_gradient of its own."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(2, 3, 3), nn.Linear(3, 2)

    def forward(self, x):
        x = nn.functional.max_pool1d(nn.functional.silu(self.a(x)), 2)
        return self.b(x.amax(2))


def pooled(act: Through = jax.nn.silu, largest: Through = identity) -> Report:
    torch.manual_seed(0)
    module = Pooled()

    def apply(p: Any, x: Any) -> Any:
        x = act(jaxgrad.functional.conv1d(x, p["a.weight"], p["a.bias"]))
        x = jaxgrad.functional.max_pool1d(x, 2)
        return linear(p, "b", largest(x.max(2)))

    return prove(module, apply, arrays(module), (draw(3, 2, 10),))


@pytest.mark.parametrize(
    "wrong",
    [
        dict(act=lambda x: x * stop(jax.nn.sigmoid(x))),
        dict(act=lambda x: stop(jax.nn.silu(x) - x) + x),
        dict(largest=stop),
    ],
    ids=["before", "around", "after"],
)
def test_a_stop_gradient_is_found_beside_one_that_cannot_be_opened(wrong):
    """`max_pool1d` stops the gradient before a reduction with indices, which has no derivative."""
    pooled().check()
    report = pooled(**wrong)

    assert report.first is not None and report.first.tested, str(report)
    assert report.first.cause.startswith("an extra stop_gradient at test_gradients.py:")
    assert report.first.cause.endswith("(rerunning JAX without it, all gradients agree)")
    assert not [note for note in report.notes if "bug" in note]


@jax.custom_vjp
def bent(x: Any) -> Any:
    return x


bent.defvjp(lambda x: (x, x), lambda x, g: (g + 0.1 * jnp.sin(3 * x),))


def test_the_place_of_a_wrong_cotangent_is_not_a_copy_that_nothing_uses():
    """The maxima that `max_pool1d` computes beside their indices have no cotangent."""
    first = pooled(act=lambda x: bent(jax.nn.silu(x))).first

    assert first is not None and first.surface == "backward"
    assert first.op == "silu", str(first)
    assert first.jax_value != 0


def test_the_gradient_at_a_tie_is_named():
    """`maximum` passes half of the gradient at a tie, torch's relu none of it."""
    first = two(relu=lambda x: jnp.maximum(x, 0)).first

    assert first is not None
    version = convention()
    tested = "(rerunning JAX with this change, all gradients agree)"
    cause = f"torch {version} passes none of it here {tested}"
    assert cause in first.cause and f'lint(..., torch="{version}")` names the remedy' in first.cause


def test_the_slope_of_abs_at_zero_is_named():
    """JAX's abs has the slope 1 at 0 and torch's 0, also where torch computes its operand twice."""

    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

        def forward(self, x):
            h = torch.tanh(self.a(x))
            return (self.head(h) - 1).square().mean() + 0.1 * self.head(h).abs().mean()

    def port(p: Any, x: Any) -> Any:
        h = jnp.tanh(x @ p["a.weight"].T + p["a.bias"])
        y = h @ p["head.weight"].T + p["head.bias"]
        return ((y - 1) ** 2).mean() + 0.1 * jnp.abs(y).mean()

    module = Sparse()
    first = prove(module, port, arrays(module), (draw(5, 3),)).first
    assert first is not None and first.tested
    assert "(abs)" in first.jax
    assert f"torch {convention()} passes none of it" in first.cause


def test_the_padding_of_an_embedding_is_named():
    """Torch gives `padding_idx` no gradient; the port gives it one where it looks up the rows."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(5, 3, padding_idx=2), nn.Tanh())
    ids = (torch.tensor([[2, 1, 0, 2]]).numpy(),)

    def apply(p: Any, ids: Any) -> Any:
        return jnp.tanh(p["0.weight"][ids])

    def stopped(p: Any, ids: Any) -> Any:
        table = p["0.weight"]
        return jnp.tanh(table.at[2].set(lax.stop_gradient(table[2]))[ids])

    first = prove(module, apply, arrays(module), ids).first

    assert first is not None
    assert first.cause == (
        "torch gives the embedding's padding_idx no gradient, JAX gives it one (rerunning torch "
        "without padding_idx, all gradients agree); look up rows of "
        "table.at[2].set(lax.stop_gradient(table[2]))"
    )
    line = apply.__code__.co_firstlineno + 1
    assert first.jax == f"0.weight, test_gradients.py:{line} (gather)"
    assert first.source.endswith('return jnp.tanh(p["0.weight"][ids])')
    prove(module, stopped, arrays(module), ids).check()


def test_padding_of_a_shared_table_is_the_cause():
    """Two embeddings share a table and both have a `padding_idx`, as in an encoder-decoder."""

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source = nn.Embedding(5, 3, padding_idx=0)
            self.target = nn.Embedding(5, 3, padding_idx=0)
            self.target.weight = self.source.weight

        def forward(self, x: Any, y: Any) -> Any:
            return torch.tanh(self.source(x)) * torch.sigmoid(self.target(y))

    def port(table: Any, x: Any, y: Any) -> Any:
        return jnp.tanh(table[x]) * jax.nn.sigmoid(table[y])

    module = Shared()
    x, y = (torch.tensor([row]).numpy() for row in ([0, 1, 2, 3], [4, 0, 2, 1]))
    first = prove(module, port, module.source.weight.detach().numpy(), (x, y)).first

    assert first is not None
    assert first.cause.startswith("torch gives the embedding's padding_idx no gradient")
    assert "all gradients agree" in first.cause


class Tied(nn.Module):
    """A table that is read twice; the port computes an advantage through two equal values."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 3)

    def forward(self, ids):
        h = torch.tanh(self.table(ids))
        centred = h - h.mean()
        return (centred / centred.std()) @ self.table.weight.T


def tied(through: Through) -> Report:
    torch.manual_seed(0)
    module = Tied()

    def apply(p: Any, ids: Any) -> Any:
        h = jnp.tanh(p["table.weight"][ids])
        spread = jnp.std(h, ddof=1)  # which computes the centred values once more
        return (h - jnp.mean(h)) / spread @ through(p["table.weight"]).T

    ids = torch.tensor([[0, 2, 5], [1, 3, 2]]).numpy()
    return prove(module, apply, arrays(module), (ids,))


def test_a_cotangent_that_stays_different_after_the_cause_is_removed_is_not_blamed():
    """A correct port may split a cotangent between two equal values, so the weight is named."""
    tied(identity).check()
    report = tied(stop)

    assert report.surfaces["backward"].verdict == "pass"
    assert report.first is not None
    assert (report.first.surface, report.first.torch) == ("gradients", "table.weight")
    assert report.first.cause.startswith("an extra stop_gradient at test_gradients.py:")


def test_padding_is_taken_out_of_a_call():
    """A gradient reaches the padding's row then."""
    weight = torch.ones(3, 2, requires_grad=True)
    call = functional.embedding
    out = gradient_causes._without_padding(call, (torch.tensor([0, 1]), weight, 0), {"max_norm": 9})
    out.sum().backward()
    assert weight.grad is not None and weight.grad[:, 0].tolist() == [1, 1, 0]
    named = {"input": torch.tensor([0]), "weight": weight, "padding_idx": 0}
    gradient_causes._without_padding(call, (), named).sum().backward()
    assert weight.grad[:, 0].tolist() == [2, 1, 0]


def test_a_gradient_that_only_torch_has_is_explained_on_every_draw():
    """The gradients that both have agree on the second draw, which torch then computes again."""

    class Sample(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.log_std = (
                nn.Parameter(torch.tensor(x)) for x in ([1.0, 2.0], [0.5, -1])
            )

        def forward(self, noise):
            return ((self.mean + self.log_std.exp() * noise) ** 2).mean()

    def port(p: Any, noise: Any) -> Any:
        return jnp.mean((p["mean"] + stop(jnp.exp(p["log_std"])) * noise) ** 2)

    first = prove(Sample(), port, arrays(Sample()), (draw(2),)).first
    assert first is not None and first.tested and first.torch == "log_std"
    assert "(rerunning JAX without it, all gradients agree)" in first.cause


def sac(actor: Through, target: Through) -> Report:
    """Prove a port of a loss of which torch stops two parts."""

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.pi, self.q = nn.Linear(3, 2), nn.Linear(2, 1)
            self.log_alpha = nn.Parameter(torch.tensor([0.3]))

        def forward(self, x):
            logp = functional.logsigmoid(self.pi(x))
            q = functional.linear(logp, self.q.weight.detach())
            target = logp.detach().sum(1, keepdim=True) - 2
            return (logp.sum(1, keepdim=True) - q - self.log_alpha.exp() * target).mean()

    def port(p: Any, x: Any) -> Any:
        logp = jax.nn.log_sigmoid(linear(p, "pi", x))
        q = logp @ actor(p["q.weight"]).T
        aim = target(logp).sum(1, keepdims=True) - 2
        return jnp.mean(logp.sum(1, keepdims=True) - q - jnp.exp(p["log_alpha"]) * aim)

    torch.manual_seed(0)
    module = Loss()
    return prove(module, port, arrays(module), (draw(4, 3),))


def test_two_missing_stops_are_both_named():
    """Neither alone repairs all gradients."""
    sac(stop, stop).check()
    first = sac(identity, identity).first

    assert first is not None and first.tested
    assert first.cause.count(" (detach)") == 2 and first.cause.startswith(
        "torch stops the gradient"
    )
    assert (
        "(rerunning torch without these stops, all gradients agree); add a stop_gra" in first.cause
    )
    advice = first.cause.partition("; add a stop_gradient at ")[2]
    assert advice.count("test_gradients.py:") == 2


class ActorAndCritic(nn.Module):
    """The advantage is detached, and the target is computed under `no_grad`."""

    def __init__(self):
        super().__init__()
        self.pi, self.v = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x, reward, after):
        value = self.v(x)
        with torch.no_grad():
            target = reward + 0.9 * self.v(after)
        advantage = (target - value).detach()
        return -(self.pi(x) * advantage).mean() + ((value - target) ** 2).mean()


def actor_and_critic(port: Any) -> Report:
    torch.manual_seed(0)
    module = ActorAndCritic()
    return prove(module, port, arrays(module), (draw(4, 3), draw(4, 1), draw(4, 3)))


def advantage_of(p: Any, x: Any, reward: Any, after: Any) -> Any:
    """Return the value, the target and the advantage, of which none is stopped."""
    value = linear(p, "v", x)
    target = reward + 0.9 * linear(p, "v", after)
    return value, target, target - value


def test_two_stops_that_are_missing_in_one_line_are_both_suggested():
    """A value that is detached and one under no_grad are read in the same line."""

    def port(p: Any, *inputs: Any) -> Any:
        value, target, advantage = advantage_of(p, *inputs)
        return -(linear(p, "pi", inputs[0]) * advantage).mean() + ((value - target) ** 2).mean()

    first = actor_and_critic(port).first
    assert first is not None and first.tested
    line = f"test_gradients.py:{port.__code__.co_firstlineno + 2}"
    assert first.cause == (
        f"JAX's gradient also flows through {line} (mul) and {line} (sub), torch's does not "
        "(rerunning JAX without these paths, all gradients agree); a stop_gradient is missing in "
        "each place"
    )
    assert first.edit is not None and first.edit.complete
    assert first.edit.new.count("lax.stop_gradient") == 2
    assert "* lax.stop_gradient(advantage))" in first.edit.new
    assert "(value - lax.stop_gradient(target))" in first.edit.new


def test_each_of_two_missing_stops_stands_at_the_divergence_that_it_explains():
    """The first divergence is the gradient that flows into the advantage."""

    def port(p: Any, *inputs: Any) -> Any:
        value, target, advantage = advantage_of(p, *inputs)
        actor = -(linear(p, "pi", inputs[0]) * advantage).mean()
        critic = ((value - target) ** 2).mean()
        return actor + critic

    report = actor_and_critic(port)
    line = port.__code__.co_firstlineno
    first = report.first
    assert first is not None and first.tested and first.op == "detach", str(report)
    assert first.jax == f"test_gradients.py:{line + 2} (mul)"
    assert first.cause.endswith(f"add a stop_gradient at test_gradients.py:{line + 2} (mul)")
    (other,) = (x for x in report.surfaces["gradients"].findings if "no_grad" in x.cause)
    assert other.jax.partition(", ")[2] == f"test_gradients.py:{line + 3} (sub)"
    edits = [x.edit for x in (first, other) if x.edit is not None and not x.edit.complete]
    assert [x.new.strip() for x in edits] == [
        'actor = -(linear(p, "pi", inputs[0]) * lax.stop_gradient(advantage)).mean()',
        "critic = ((value - lax.stop_gradient(target)) ** 2).mean()",
    ]


def test_a_value_under_no_grad_is_stopped_as_a_whole():
    """The gradient through the logarithm is zero up to rounding; it must not be left to flow."""

    class Distilled(nn.Module):
        def __init__(self):
            super().__init__()
            self.student, self.teacher = nn.Linear(3, 4), nn.Linear(3, 4)

        def forward(self, x):
            with torch.no_grad():
                soft = self.teacher(x).softmax(1)
            return functional.kl_div(self.student(x).log_softmax(1), soft, reduction="batchmean")

    def port(p: Any, x: Any) -> Any:
        soft = jax.nn.softmax(linear(p, "teacher", x))
        logq = jax.nn.log_softmax(linear(p, "student", x))
        return (soft * (jnp.log(soft) - logq)).sum(1).mean()

    torch.manual_seed(0)
    module = Distilled()
    report = prove(module, port, arrays(module), (draw(5, 3),))
    first = report.first
    assert first is not None and first.tested and first.edit is not None and first.edit.complete
    assert first.edit.new.strip() == (
        'soft = lax.stop_gradient(jax.nn.softmax(linear(p, "teacher", x)))'
    )
    assert "all parameters agree" not in report.surfaces["gradients"].text


def test_torchs_place_of_a_value_under_no_grad_is_its_own_line():
    """It is not the next line that reads it, which is right in both programs."""

    def port(p: Any, *inputs: Any) -> Any:
        value, target, advantage = advantage_of(p, *inputs)
        actor = -(linear(p, "pi", inputs[0]) * stop(advantage)).mean()
        return actor + ((value - target) ** 2).mean()

    first = actor_and_critic(port).first
    line = ActorAndCritic.forward.__code__.co_firstlineno + 3
    assert first is not None and first.op == "add"
    assert first.torch_line == f"test_gradients.py:{line}"


def test_a_value_with_two_uses_is_stopped_where_it_is_made():
    """Both uses are in one line; the last value that torch computes from the detached one."""

    class Surrogate(nn.Module):
        def __init__(self):
            super().__init__()
            self.pi, self.v = nn.Linear(3, 1), nn.Linear(3, 1)

        def forward(self, x):
            advantage = (1 - self.v(x)).detach()
            ratio = torch.exp(self.pi(x))
            return torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()

    def port(p: Any, x: Any) -> Any:
        advantage = 1 - linear(p, "v", x)
        ratio = jnp.exp(linear(p, "pi", x))
        return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()

    torch.manual_seed(0)
    module = Surrogate()
    first = prove(module, port, arrays(module), (draw(8, 3),)).first
    line = port.__code__.co_firstlineno + 1
    assert first is not None and first.tested
    assert first.cause.endswith(f"add a stop_gradient at test_gradients.py:{line}")
    assert first.edit is not None and first.edit.complete
    assert first.edit.new.strip() == 'advantage = lax.stop_gradient(1 - linear(p, "v", x))'


def test_two_extra_stops_are_both_named():
    """A port that stops two values at different lines."""

    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return torch.tanh(self.c(torch.tanh(self.a(x)) + torch.sin(self.b(x))))

    def port(p: Any, x: Any) -> Any:
        a = stop(jnp.tanh(linear(p, "a", x)))
        b = stop(jnp.sin(linear(p, "b", x)))
        return jnp.tanh(linear(p, "c", a + b))

    torch.manual_seed(0)
    module = Sums()
    first = prove(module, port, arrays(module), (draw(4, 3),)).first
    line = port.__code__.co_firstlineno

    assert first is not None and first.tested
    assert first.cause == (
        f"an extra stop_gradient at test_gradients.py:{line + 1} (stop_gradient) and at "
        f"test_gradients.py:{line + 2} (stop_gradient) (rerunning JAX without them, all "
        "gradients agree)"
    )


def test_an_extra_and_a_missing_stop_are_found_one_after_the_other():
    """Each finding has the mistake that explains it, and both together are confirmed."""

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return torch.tanh(self.a(x)).sum(1) + torch.sin(self.b(x)).detach().sum(1)

    def port(p: Any, x: Any) -> Any:
        a = stop(jnp.tanh(linear(p, "a", x)))
        return a.sum(1) + jnp.sin(linear(p, "b", x)).sum(1)

    torch.manual_seed(0)
    module = Both()
    report = prove(module, port, arrays(module), (draw(4, 3),))
    findings = [f for s in report.surfaces.values() for f in s.findings]
    assert all(finding.tested for finding in findings), str(report)
    causes = {f.torch.partition(".")[0]: f.cause for f in findings}

    assert causes["a"].startswith("an extra stop_gradient at test_gradients.py:"), str(report)
    assert causes["b"].startswith("torch stops the gradient at test_gradients.py:")
    assert " agree, others still differ)" in causes["a"], causes
    assert ", with the other change too, all gradients agree)" in causes["b"], causes


@pytest.mark.parametrize("largest", [True, False])
def test_ties_get_all_of_the_gradient(largest):
    """torch's clamp passes all of the gradient at its bound, and `maximum` a half."""

    class Clamped(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.tensor([[1.0, -1.0, 0.0], [0.0, 2.0, -3.0]]))

        def forward(self, x):
            bound = {"min": 0.0} if largest else {"max": 0.0}
            return (self.a.clamp(**bound) * x).sum(0)

    def port(p: Any, x: Any) -> Any:
        return ((jnp.maximum if largest else jnp.minimum)(p["a"], 0.0) * x).sum(0)

    first = prove(Clamped(), port, arrays(Clamped()), (draw(2, 3),)).first
    version = convention()
    assert first is not None and first.tested
    assert (
        f"torch {version} passes all of it here (rerunning JAX with this change, all gradients"
        in first.cause
    )


@pytest.mark.parametrize("name", ["clamp", "clamp_by_arrays", "hinge_embedding_loss", "fmin"])
def test_an_operator_of_another_version_of_torch_is_named(name):
    """A port that follows another version than the installed one: the report says which to use."""

    def loss(operators: Any, x: Any, ones: Any) -> Any:
        if name == "clamp":
            return (operators.clamp(x, -1.0, 0.0) * 2).sum()
        if name == "clamp_by_arrays":
            return (operators.clamp(x, -ones, 0 * ones) * 2).sum()
        if name == "fmin":
            return (operators.fmin(x, 0 * ones) * 2).sum()
        return operators.hinge_embedding_loss(x + 1, -ones)

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.Parameter(torch.tensor([0.0, -0.5, -2.0, 3.0]))

        def forward(self):
            operators = functional if "loss" in name else torch
            return loss(operators, self.x, torch.ones(4))

    version = convention()
    newer = not BOUND_OF_CLAMP.holds(version)
    wrong = jaxgrad.functional.at(NEWEST if newer else "2.13")
    right = jaxgrad.functional.at(version)
    module = Module()
    prove(module, lambda p: loss(right, p["x"], jnp.ones(4)), arrays(module), ()).check()
    report = prove(module, lambda p: loss(wrong, p["x"], jnp.ones(4)), arrays(module), ())

    first = report.first
    assert first is not None and first.tested, str(report)
    follows = f"jaxgrad.functional follows {'a newer' if newer else 'an older'} torch at "
    assert first.cause.startswith(f"{follows}test_gradients.py:"), str(report)
    assert f" than torch {version}, which ran the module: " in first.cause
    assert (
        f"(rerunning JAX with the gradients of torch {version}, all gradients agree); write "
        f'`jaxgrad.functional.at("{version}")` there' in first.cause
    )


def hard(through: Callable[[Any, Any], Any], detached: Callable[[Any, Any], Any]) -> Report:
    """Prove a port of a discrete sample, which also has a use of its probabilities."""

    class Sampled(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(4, 3), nn.Linear(3, 4)

        def forward(self, x):
            probs = self.enc(x).softmax(-1)
            z = detached(functional.one_hot(probs.argmax(-1), 3).to(x.dtype), probs)
            return ((self.dec(z) - x) ** 2).mean() + (probs * probs.log()).sum(-1).mean()

    def port(p: Any, x: Any) -> Any:
        probs = jax.nn.softmax(linear(p, "enc", x))
        z = through(jax.nn.one_hot(jnp.argmax(probs, -1), 3), probs)
        return jnp.mean((linear(p, "dec", z) - x) ** 2) + (probs * jnp.log(probs)).sum(-1).mean()

    torch.manual_seed(0)
    module = Sampled()
    return prove(module, port, arrays(module), (draw(5, 4),))


@pytest.mark.parametrize(
    "detached",
    [
        lambda one, probs: one + probs - probs.detach(),
        lambda one, probs: one - probs.detach() + probs,
    ],
    ids=["last", "middle"],
)
def test_a_lost_straight_through_estimator_is_named(detached):
    """The port uses the sample alone: the advice is the estimator, and no stop_gradient."""
    hard(lambda one, probs: probs + stop(one - probs), detached).check()
    report = hard(lambda one, probs: one, detached)
    first = report.first

    assert first is not None and first.tested
    assert first.cause.startswith(
        "torch passes the gradient straight through at test_gradients.py:"
    )
    assert (
        "(rerunning JAX with this change, all gradients agree); write x + lax.stop_" in first.cause
    )
    assert "add a stop_gradient" not in str(report)


def test_a_stop_beside_a_mistake_in_the_forward_pass_says_what_was_rerun():
    """The gradients agree only if torch makes the other mistake too, and the edit mends one."""

    class Halved(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.second(self.first(x).tanh() / 2)

    def port(p: Any, x: Any) -> Any:
        h = lax.stop_gradient(jnp.tanh(linear(p, "first", x)))
        return linear(p, "second", h / 3)

    torch.manual_seed(0)
    module = Halved()
    first = prove(module, port, arrays(module), (draw(5, 3),)).first
    assert first is not None and first.tested and first.edit is not None
    made = "all gradients agree with the same mistake in torch's forward pass)"
    assert first.cause.endswith(made)
    assert first.edit.title.endswith(", which alone does not remove every difference")


class Frozen(nn.Module):
    """A target network that is not trained, through which the gradient of the input flows."""

    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.target.requires_grad_(False)

    def forward(self, x):
        return ((self.online(x) - self.target(x)) ** 2).mean()


def test_an_extra_stop_before_a_frozen_layer_is_named():
    """Without the stop, JAX has gradients for the frozen layer, which nobody compares."""
    torch.manual_seed(0)
    module = Frozen()

    def apply(p: Any, x: Any) -> Any:
        return ((linear(p, "online", x) - stop(linear(p, "target", x))) ** 2).mean()

    def trained(path: str) -> bool:
        return path.startswith("online")

    first = prove(module, apply, arrays(module), (draw(4, 3),), trainable=trained).first
    line = apply.__code__.co_firstlineno + 1
    assert first is not None and first.tested
    assert first.cause.startswith(f"an extra stop_gradient at test_gradients.py:{line}")


class UpdatedTarget(Frozen):
    """The target is updated through `.data`, which autograd does not see."""

    def forward(self, x):
        loss = super().forward(x)
        with torch.no_grad():
            for a, b in zip(self.online.parameters(), self.target.parameters(), strict=True):
                b.data.mul_(0.75).add_(a.data, alpha=0.25)
        return loss


def test_a_change_that_autograd_refuses_leaves_the_inputs_attached():
    """A search tries to open `.data` as a detach, and autograd then sees the update in place.

    If that detached the inputs in all later runs, the report would say that torch stops here.
    """
    torch.manual_seed(0)
    module = UpdatedTarget()

    def apply(p: Any, x: Any) -> Any:
        target = stop(linear(p, "target", x))
        new = {
            f"target.{k}": 0.75 * p[f"target.{k}"] + 0.25 * p[f"online.{k}"]
            for k in ("weight", "bias")
        }
        return ((linear(p, "online", x) - target) ** 2).mean(), stop(new)

    def trained(path: str) -> bool:
        return path.startswith("online")

    inputs = (draw(4, 3),)
    report = prove(module, apply, arrays(module), inputs, trainable=trained, has_state=True)
    assert report.first is not None and report.first.surface == "backward"
    assert "torch stops the gradient" not in report.first.cause
    assert "torch has none" not in report.first.text
    assert not any("inputs are not compared" in note for note in report.notes)


class Gates(nn.Module):
    """Two gates whose inputs are detached, and an index, before which a detach does nothing."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        h = self.a(x)
        h = h * h.detach().sigmoid()
        h = self.b(h)
        h = h * h.detach().sigmoid()
        return self.c(h)[torch.arange(len(x)), h.detach().argmax(-1)]


def test_a_stop_that_the_port_has_is_not_among_the_missing_ones():
    torch.manual_seed(0)
    module = Gates()

    def port(p: Any, x: Any) -> Any:
        def linear(name: str, x: Any) -> Any:
            return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        for name in ("a", "b"):
            h = x = linear(name, x)
            x = h * jax.nn.sigmoid(h)
        return linear("c", x)[jnp.arange(len(x)), lax.stop_gradient(x).argmax(-1)]

    first = prove(module, port, arrays(module), (draw(6, 4),)).first
    assert first is not None and first.tested
    line = Gates.forward.__code__.co_firstlineno
    assert first.cause == (
        f"torch stops the gradient at test_gradients.py:{line + 2} (detach) and at "
        f"test_gradients.py:{line + 4} (detach), JAX does not (rerunning torch without these "
        "stops, all gradients agree)"
    )
