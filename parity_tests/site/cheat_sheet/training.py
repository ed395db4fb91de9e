"""Rows on training: clipping, optimizers, schedules, averages and mixed precision."""

from parity_tests.site.cheat_sheet.row import Row, array


GRADS = {"x": array(1.0), "g": array(3.0, -4.0)}
TRAIN = ("train(opt, x)", "train(tx, x)")

ROWS = (
    Row(
        name="clip by norm",
        torch="nn.utils.clip_grad_norm_([x], 1.0)",
        jax="clipped = optax.clip_by_global_norm(1.0).update(g, None)[0]",
        jaxgrad="clipped, norm = jaxgrad.clip_grad_norm(g, 1.0)",
        wrong="clipped = optax.clip(1.0).update(g, None)[0]",
        trap="`optax.clip` clips each element. `clip_by_global_norm` clips the norm. It lacks the "
        "1e-6 that torch adds to the norm: a relative difference of 1e-6 divided by the norm.",
        given={"x": array(0.0, 0.0), "g": array(3.0, -4.0)},
        torch_before="x.grad = g",
        read=("x.grad", "clipped"),
    ),
    Row(
        name="clip by value",
        torch="nn.utils.clip_grad_value_([x], 1.0)",
        jax="clipped = jax.tree.map(lambda g: g.clip(-1, 1), g)",
        jaxgrad="clipped = jaxgrad.clip_grad_value(g, 1.0)",
        wrong="clipped = optax.clip_by_global_norm(1.0).update(g, None)[0]",
        trap="`clip_by_global_norm` keeps the direction. Clipping by value does not.",
        given={"x": array(0.0, 0.0), "g": array(3.0, -4.0)},
        torch_before="x.grad = g",
        read=("x.grad", "clipped"),
    ),
    Row(
        name="`AdamW`, defaults",
        torch="opt = torch.optim.AdamW([x], lr=0.1)",
        jax="tx = optax.adamw(0.1, weight_decay=0.01)",
        jaxgrad="tx = optim.adamw(0.1)",
        wrong="tx = optax.adamw(0.1)",
        trap="The default weight decay is 0.01 in torch, 0.0001 in optax.",
        read=TRAIN,
    ),
    Row(
        name="`Adam` with decay",
        torch="opt = torch.optim.Adam([x], lr=0.1, weight_decay=0.1)",
        jax="tx = optax.chain(optax.add_decayed_weights(0.1), optax.adam(0.1))",
        jaxgrad="tx = optim.adam(0.1, weight_decay=0.1)",
        wrong="tx = optax.adamw(0.1, weight_decay=0.1)",
        trap="torch's `Adam` adds the decay to the gradient; AdamW is another algorithm.",
        read=TRAIN,
    ),
    Row(
        name="`RMSprop`",
        torch="opt = torch.optim.RMSprop([x], lr=0.1)",
        jax="tx = optax.rmsprop(0.1, decay=0.99, eps=1e-8, eps_in_sqrt=False)",
        jaxgrad="tx = optim.rmsprop(0.1)",
        wrong="tx = optax.rmsprop(0.1)",
        trap="torch decays by 0.99, optax by 0.9; optax adds eps inside the root.",
        read=TRAIN,
    ),
    Row(
        name="parameter groups",
        torch="opt = torch.optim.SGD([{'params': [x], 'lr': 0.1}, {'params': [w]}], lr=0.01)",
        jax="tx = optax.partition({'a': optax.sgd(0.1), 'b': optax.sgd(0.01)},\n"
        "                     {'x': 'a', 'w': 'b'})",
        jaxgrad="tx = optim.param_groups(optim.sgd, {'a': {'lr': 0.1}, 'b': {}},\n"
        "                        {'x': 'a', 'w': 'b'}, lr=0.01)",
        wrong="tx = optax.sgd(0.01)",
        trap="A group's own `lr` replaces the default.",
        given={"x": array(2.0), "w": array(3.0)},
        jax_before="p = {'x': x, 'w': w}",
        read=(
            "[x.__setattr__('grad', 2 * x.detach()), opt.step(), x][2]",
            "optax.apply_updates(p, tx.update({'x': 2 * x, 'w': 0 * w}, tx.init(p), p)[0])['x']",
        ),
    ),
    Row(
        name="cosine schedule",
        torch="scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)",
        jaxgrad="lr = optim.lr_scheduler.cosine_annealing_lr(0.1, T_max=10)",
        wrong="lr = optax.cosine_decay_schedule(0.1, 10)",
        trap="These are the rates at steps 0, 5 and 15. After `T_max` steps torch's rate rises "
        "again; optax's stays at 0.",
        torch_before="opt = torch.optim.SGD([x], lr=0.1)",
        read=("torch.tensor(rates(opt, scheduler))", "jnp.stack([lr(0), lr(5), lr(15)])"),
    ),
    Row(
        name="average of the weights (EMA)",
        torch="ema.mul_(0.9).add_(x, alpha=0.1)",
        jax="ema = optax.incremental_update(x, ema, step_size=0.1)",
        wrong="ema = optax.incremental_update(x, ema, step_size=0.9)",
        trap="`step_size` is 1 - decay.",
        given={"x": array(1.0, 2.0), "ema": array(3.0, 4.0)},
        torch_before="x.requires_grad_(False)",
        read=("ema", "ema"),
    ),
    Row(
        name="`autocast`",
        torch="with torch.autocast('cpu', torch.bfloat16):\n    y = (x @ w).exp().sum()",
        jax="half = lambda x: x.astype(jnp.bfloat16)\ny = jnp.exp(half(x) @ half(w)).sum()",
        jaxgrad="y = jaxgrad.autocast(lambda: jnp.exp(x @ w).sum(), jnp.bfloat16)()",
        wrong="y = jnp.exp(x @ w).sum()",
        trap="Without autocast the product is not rounded. Under autocast products run in "
        "bfloat16, and the weights stay in float32.",
        given={"x": array([1.01, 2.03]), "w": array([0.37], [0.11])},
        read=("y", "y"),
    ),
    Row(
        name="`GradScaler`, a step with `inf`",
        torch="scaler.unscale_(opt)\nscaler.step(opt)\nscaler.update()",
        jaxgrad="g, inf = scaler.unscale(state, g)\n"
        "new, _ = scaler.step(inf, tx, g, tx.init(x), x)\n"
        "scale = scaler.update(state, inf).scale",
        wrong="new, scale = x - 0.1 * g / state.scale, state.scale",
        trap="A step with an infinite gradient is skipped whole, and the scale is halved.",
        given={"x": array(1.0, 2.0), "g": array(1.0, float("inf"))},
        torch_before="scaler = torch.amp.GradScaler('cpu')\nopt = torch.optim.SGD([x], lr=0.1)\n"
        "scaler.scale(x.sum())\nx.grad = g",
        jax_before="scaler, tx = jaxgrad.GradScaler(), optax.sgd(0.1)\nstate = scaler.init()",
        read=("(x, torch.tensor(scaler.get_scale()))", "(new, scale)"),
    ),
)
