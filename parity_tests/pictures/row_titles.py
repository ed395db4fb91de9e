"""The captions of a picture's rows, for cases that draw several rows."""

from typing import NamedTuple


class RowTitle(NamedTuple):
    """The caption of a row: the code that a user writes in torch and in JAX, and a note."""

    torch: str
    jax: str
    note: str


ROWS: dict[str, dict[str, RowTitle]] = {
    "grad_modes/recorded": {
        "nothing": RowTitle(
            "h = l1(x); out = l2(h)",
            "h = linear(net['l1'], x); out = linear(net['l2'], h)",
            "the plain step",
        ),
        "detach": RowTitle(
            "out = l2(h.detach())",
            "out = linear(net['l2'], lax.stop_gradient(h))",
            "torch records L1, but the loss does not reach it",
        ),
        "no_grad": RowTitle(
            "with torch.no_grad(): h = l1(x)",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "torch never records L1; in JAX this is the same program as detach",
        ),
        "inference_mode": RowTitle(
            "with torch.inference_mode(): h = l1(x)  # then l2(h.clone())",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "like no_grad, but only a clone can be saved for backward",
        ),
        "optimizer": RowTitle(
            "SGD(l2.parameters(), lr=0.1).step()",
            "net | {'l2': sgd(net['l2'], grads['l2'])}",
            "L1's gradient is computed but not applied",
        ),
        "manual": RowTitle(
            "l1.zero_grad(set_to_none=False)",
            "grads | {'l1': tree.map(zeros_like, grads['l1'])}",
            "L1's gradient is computed, then set to zero",
        ),
    },
    "freezing/single_headed": {
        "both_open": RowTitle("out = a(h) + b(h)", "out = a(h) + b(h)", "two paths into the trunk"),
        "a_stopped": RowTitle("a(h.detach()) + b(h)", "a(lax.stop_gradient(h)) + b(h)", ""),
        "b_stopped": RowTitle("a(h) + b(h.detach())", "a(h) + b(lax.stop_gradient(h))", ""),
        "both_stopped": RowTitle(
            "a(h.detach()) + b(h.detach())",
            "a(lax.stop_gradient(h)) + b(lax.stop_gradient(h))",
            "no path reaches the trunk",
        ),
    },
    "freezing/multi_headed": {
        "open": RowTitle("loss_a(a(h)) + loss_b(b(h))", "loss_a(a(h)) + loss_b(b(h))", ""),
        "b_stopped": RowTitle(
            "loss_a(a(h)) + loss_b(b(h.detach()))",
            "loss_a(a(h)) + loss_b(b(lax.stop_gradient(h)))",
            "the trunk learns only from head a; head b still learns",
        ),
        "a_alone": RowTitle("loss_a(a(h))", "loss_a(a(h))", "the trunk's gradient is the same"),
    },
    "freezing/optimizer_subset": {
        f"step {i}": RowTitle(
            "SGD(l2.parameters(), lr).step()",
            'sgd.update(grads["l2"], state)',
            "L1's gradient is computed" + (" and accumulates" if i > 1 else " but not applied"),
        )
        for i in (1, 2, 3)
    },
    "grad_modes/no_grad_part": {
        "both_outside": RowTitle("y = x**2; z = x**3", "y = x**2; z = x**3", ""),
        "y_inside": RowTitle("with no_grad(): y = x**2", "y = no_grad(lambda: x**2)()", ""),
        "z_inside": RowTitle("with no_grad(): z = x**3", "z = no_grad(lambda: x**3)()", ""),
        "both_inside": RowTitle(
            "with no_grad(): y, z = ...",
            "no_grad(lambda: x**2 + x**3)()",
            'JAX gives None, or an error with unused="error"',
        ),
    },
    "grad_modes/requires_grad": {
        "frozen": RowTitle(
            "l1.requires_grad_(False)",
            "loss(trainable, x)  # frozen parameters closed over",
            "L1 gets no gradient but passes it on to x",
        ),
        "region": RowTitle(
            "with torch.no_grad(): h = l1(x)",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "x gets no gradient either",
        ),
    },
    "actor_critic/critic_loss": {
        "open": RowTitle(
            "mse(critic(s, action), target)",
            "mse(judge(critic, s, action), target)",
            "all four networks would learn",
        ),
        "stopped": RowTitle(
            "mse(critic(s, action.detach()), target.detach())",
            "mse(judge(critic, s, stop_gradient(action)), stop_gradient(target))",
            "only the critic learns",
        ),
    },
    "actor_critic/actor_loss": {
        "open": RowTitle(
            "-critic(s, actor(s)).mean()",
            "-mean(judge(critic, s, act(actor, s)))",
            "the critic would learn to flatter the actor",
        ),
        "stopped": RowTitle(
            "critic.requires_grad_(False)",
            "-mean(judge(stop_gradient(critic), s, act(actor, s)))",
            "the gradient goes through the critic and stays out of its parameters",
        ),
    },
    "retain_graph/second_backward": {
        "first": RowTitle("d.backward()", "d, vjp = jax.vjp(loss, b); vjp(1.0)", ""),
        "second": RowTitle(
            "d.backward()  # again", "vjp(1.0)  # again", "torch has freed Mul's saved tensors"
        ),
    },
    "autograd/tied_weights": {
        "tied": RowTitle("decoder.weight = encoder.weight", "fun(w, w)", "one leaf, two uses"),
        "untied": RowTitle(
            "two parameters", "fun(w1, w2)", "the two gradients add up to the tied one"
        ),
    },
}
