"""Rows on stopping gradients, and on `None` and zero."""

import numpy as np

from parity_tests.site.cheat_sheet.row import Row, array


W_AND_V = {"x": array(2.0), "w": array(3.0)}
LOSS = "loss = lambda p: (p['x'] ** 2).sum()\np = {'x': x, 'w': w}"

ROWS = (
    Row(
        name="`detach`",
        torch="x * x.detach()",
        jax="x * lax.stop_gradient(x)",
        wrong="x * x",
        trap="A JAX array has no graph to be detached from, but `grad` differentiates each use: "
        "stop the value.",
    ),
    Row(
        name="`no_grad`",
        torch="with torch.no_grad():\n    s = x.std()\nx / s",
        jax="s = lax.stop_gradient(x.std(ddof=1))\nx / s",
        jaxgrad="s = jaxgrad.no_grad(jnp.std)(x, ddof=1)\nx / s",
        wrong="s = x.std(ddof=1)\nx / s",
        trap="JAX has no block that switches gradients off: stop each value.",
    ),
    Row(
        name="detach in a loop",
        torch="h = w\nfor row in x:\n    h = torch.tanh(row * h.detach())\nh",
        jax="step = lambda h, row: (jnp.tanh(row * lax.stop_gradient(h)), None)\n"
        "lax.scan(step, w, x)[0]",
        wrong="step = lambda h, row: (jnp.tanh(row * h), None)\nlax.scan(step, w, x)[0]",
        trap="Without a stop the gradient flows through every step. Stop the carry in each step.",
        given={"x": array(0.5, 1.0, 2.0), "w": np.float32(0.7)},
    ),
    Row(
        name="`.grad` is `None`",
        torch="loss.backward()\nw.grad",
        jaxgrad="g = jaxgrad.grad(loss)(p)['w']",
        wrong="g = jax.grad(loss)(p)['w']",
        trap="`jax.grad` gives zeros where there is no path. Adam with a weight decay such as "
        "0.01 then moves `w` by about the learning rate in each step.",
        given=W_AND_V,
        torch_before="w.requires_grad_()\nloss = (x ** 2).sum()",
        jax_before=LOSS,
        read=("w.grad", "g"),
    ),
    Row(
        name="freeze a parameter",
        torch="w.requires_grad_(False)",
        jax="tx = optax.partition({'train': adamw, 'freeze': optax.set_to_zero()},\n"
        "                     {'x': 'train', 'w': 'freeze'})",
        jaxgrad="tx = optim.param_groups(optim.adamw, [{}], {'x': 0, 'w': 'frozen'},\n"
        "                        lr=0.1, weight_decay=0.1)",
        wrong="tx = adamw  # with stop_gradient(w) in the loss",
        trap="A zero gradient does not freeze: weight decay still moves `w`.",
        given=W_AND_V,
        torch_before="w.requires_grad_()",
        jax_before="adamw = optax.adamw(0.1, weight_decay=0.1)\np = {'x': x, 'w': w}",
        read=(
            "[train(torch.optim.AdamW([x, w], lr=0.1, weight_decay=0.1), x), w][1]",
            "optax.apply_updates(p, tx.update({'x': 2 * x, 'w': 0 * w}, tx.init(p), p)[0])['w']",
        ),
    ),
    Row(
        name="`zero_grad()`, then `step()`",
        torch="opt.zero_grad()\nopt.step()",
        jaxgrad="new, state = tx.step(None, state, x)",
        wrong="new, state = tx.step(0 * x, state, x)",
        trap="`zero_grad` sets `None`, and the step skips the parameter. With zeros, momentum "
        "moves it.",
        torch_before="opt = torch.optim.SGD([x], lr=0.1, momentum=0.9)\n"
        "(x ** 2).sum().backward()\nopt.step()",
        jax_before="tx = optim.sgd(0.1, momentum=0.9)\nx, state = tx.step(2 * x, tx.init(x), x)",
        read=("x", "new"),
    ),
    Row(
        name="straight-through",
        torch="(x + (x.round() - x).detach()) ** 2",
        jax="(x + lax.stop_gradient(jnp.round(x) - x)) ** 2",
        jaxgrad="jaxgrad.straight_through(jnp.round)(x) ** 2",
        wrong="jnp.round(x) ** 2",
        trap="The gradient of `round` is 0 everywhere. `lax.stop_gradient(jnp.round(x))` has the "
        "same zero: write `x + lax.stop_gradient(jnp.round(x) - x)`.",
        given={"x": array(-1.2, 0.7, 2.0)},
    ),
    Row(
        name="argmax",
        torch="F.one_hot(x.argmax(), 3) * x",
        jax="jax.nn.one_hot(x.argmax(), 3) * x",
        wrong="jax.nn.softmax(x) * x",
        trap="An index has no gradient in either framework; a softmax in its place has one.",
    ),
)
