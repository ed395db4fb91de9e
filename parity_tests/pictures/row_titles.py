"""What the rows of a picture say, where a case draws several."""

from typing import NamedTuple


class Row(NamedTuple):
    """What the row of a setting says: what a user writes in torch and in JAX, and why."""

    torch: str
    jax: str
    note: str


ROWS: dict[str, dict[str, Row]] = {
    "grad_modes/recorded": {
        "nothing": Row(
            "h = l1(x); out = l2(h)",
            "h = linear(net['l1'], x); out = linear(net['l2'], h)",
            "the plain step",
        ),
        "detach": Row(
            "out = l2(h.detach())",
            "out = linear(net['l2'], lax.stop_gradient(h))",
            "torch records L1 all the same; the loss does not reach it",
        ),
        "no_grad": Row(
            "with torch.no_grad(): h = l1(x)",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "torch never records L1; in JAX it is the program of detach",
        ),
        "inference_mode": Row(
            "with torch.inference_mode(): h = l1(x)  # then l2(h.clone())",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "as no_grad; only a clone may enter a graph",
        ),
        "optimizer": Row(
            "SGD(l2.parameters(), lr=0.1).step()",
            "net | {'l2': sgd(net['l2'], grads['l2'])}",
            "L1's gradient is computed, and not applied",
        ),
        "manual": Row(
            "l1.zero_grad(set_to_none=False)",
            "grads | {'l1': tree.map(zeros_like, grads['l1'])}",
            "L1's gradient is computed, then set to zero",
        ),
    },
    "freezing/single_headed": {
        "both_open": Row("out = a(h) + b(h)", "out = a(h) + b(h)", "two ways into the trunk"),
        "a_stopped": Row("a(h.detach()) + b(h)", "a(lax.stop_gradient(h)) + b(h)", ""),
        "b_stopped": Row("a(h) + b(h.detach())", "a(h) + b(lax.stop_gradient(h))", ""),
        "both_stopped": Row(
            "a(h.detach()) + b(h.detach())",
            "a(lax.stop_gradient(h)) + b(lax.stop_gradient(h))",
            "no way is left",
        ),
    },
    "freezing/multi_headed": {
        "open": Row("loss_a(a(h)) + loss_b(b(h))", "loss_a(a(h)) + loss_b(b(h))", ""),
        "b_stopped": Row(
            "loss_a(a(h)) + loss_b(b(h.detach()))",
            "loss_a(a(h)) + loss_b(b(lax.stop_gradient(h)))",
            "the trunk learns from head a alone; head b still learns",
        ),
        "a_alone": Row("loss_a(a(h))", "loss_a(a(h))", "the trunk's gradient is the same"),
    },
    "freezing/optimizer_subset": {
        f"step {i}": Row(
            "SGD(l2.parameters(), lr).step()",
            'sgd.update(grads["l2"], state)',
            "L1's gradient is computed" + (", and grows" if i > 1 else ", not applied"),
        )
        for i in (1, 2, 3)
    },
    "grad_modes/no_grad_part": {
        "both_outside": Row("y = x**2; z = x**3", "y = x**2; z = x**3", ""),
        "y_inside": Row("with no_grad(): y = x**2", "y = no_grad(lambda: x**2)()", ""),
        "z_inside": Row("with no_grad(): z = x**3", "z = no_grad(lambda: x**3)()", ""),
        "both_inside": Row(
            "with no_grad(): y, z = ...",
            "no_grad(lambda: x**2 + x**3)()",
            'in JAX None, or an error on request: unused="error"',
        ),
    },
    "grad_modes/requires_grad": {
        "frozen": Row(
            "l1.requires_grad_(False)",
            "loss(trainable, x)  # frozen parameters closed over",
            "L1 gets none and hands the gradient on to x",
        ),
        "region": Row(
            "with torch.no_grad(): h = l1(x)",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "x gets none either",
        ),
    },
    "actor_critic/critic_loss": {
        "open": Row(
            "mse(critic(s, action), target)",
            "mse(judge(critic, s, action), target)",
            "all four networks would learn",
        ),
        "stopped": Row(
            "mse(critic(s, action.detach()), target.detach())",
            "mse(judge(critic, s, stop_gradient(action)), stop_gradient(target))",
            "the critic alone learns",
        ),
    },
    "actor_critic/actor_loss": {
        "open": Row(
            "-critic(s, actor(s)).mean()",
            "-mean(judge(critic, s, act(actor, s)))",
            "the critic would learn to flatter the actor",
        ),
        "stopped": Row(
            "critic.requires_grad_(False)",
            "-mean(judge(stop_gradient(critic), s, act(actor, s)))",
            "the gradient goes through the critic and stays out of its parameters",
        ),
    },
    "retain_graph/second_backward": {
        "first": Row("d.backward()", "d, vjp = jax.vjp(loss, b); vjp(1.0)", ""),
        "second": Row(
            "d.backward()  # again", "vjp(1.0)  # again", "torch has freed what Mul had saved"
        ),
    },
    "autograd/tied_weights": {
        "tied": Row("decoder.weight = encoder.weight", "fun(w, w)", "one leaf, two uses"),
        "untied": Row("two parameters", "fun(w1, w2)", "the two gradients add up to that"),
    },
}
