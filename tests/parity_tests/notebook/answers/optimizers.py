"""Answers to the exercises on optax, clipping, schedules and hooks."""

from tests.parity_tests.notebook.answers import Answers


ANSWERS: Answers = {
    "optimizers/adamw_with_torchs_decay": (
        [
            "tx = optax.adamw(learning_rate=0.1, weight_decay=1e-2)",
            """
            parts = optax.scale_by_adam(), optax.add_decayed_weights(0.01), optax.scale(-0.1)
            tx = optax.chain(*parts)
            """,
        ],
        ["tx = optax.adam(0.1)", "tx = optax.adamw(0.1, weight_decay=0.1)"],
    ),
    "optimizers/rmsprop_with_torchs_defaults": (
        ["tx = optax.rmsprop(0.1, 0.99, 0.1, eps_in_sqrt=False)"],
        [
            "tx = optax.rmsprop(0.1, decay=0.99, eps=0.1)",
            "tx = optax.rmsprop(0.1, eps=0.1, eps_in_sqrt=False)",
            "tx = optax.rmsprop(0.1, decay=0.99, eps_in_sqrt=False)",
        ],
    ),
    "clipping/by_hand": (
        [
            """
            def clip(grads, max_norm):
                norm = sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)) ** 0.5
                return jax.tree.map(lambda g: g * jnp.clip(max_norm / (norm + 1e-6), max=1), grads)
            """,
            """
            def clip(grads, max_norm):
                norm = jnp.linalg.norm(jnp.concatenate([g.ravel() for g in grads.values()]))
                factor = max_norm / (norm + 1e-6)
                factor = jnp.where(factor < 1, factor, 1)
                return {name: factor * g for name, g in grads.items()}
            """,
        ],
        [
            "def clip(grads, max_norm): return jaxgrad.clip_grad_norm(grads, max_norm)[0]",
            """
            def clip(grads, max_norm):
                norm = jnp.sqrt(sum(jnp.sum(g**2) for g in grads.values()))
                return {name: g * jnp.minimum(1, max_norm / norm) for name, g in grads.items()}
            """,
            """
            def clip(grads, max_norm):
                norm = jnp.sqrt(sum(jnp.sum(g**2) for g in grads.values()))
                return {name: g * max_norm / (norm + 1e-6) for name, g in grads.items()}
            """,
            """
            def clip(grads, max_norm):
                def one(g):
                    return g * jnp.minimum(1, max_norm / (jnp.linalg.norm(g) + 1e-6))
                return {name: one(g) for name, g in grads.items()}
            """,
        ],
    ),
    "clipping/each_its_own": (
        [
            """
            def clip_each(grads, max_norm):
                def one(g):
                    return g * jnp.minimum(1, max_norm / (jnp.linalg.norm(g) + 1e-6))
                return {name: one(g) for name, g in grads.items()}
            """
        ],
        [
            """
            def clip_each(grads, max_norm):
                return jax.tree.map(lambda g: g / jnp.linalg.norm(g) * max_norm, grads)
            """,
            """
            def clip_each(grads, max_norm):
                return jax.tree.map(lambda g: jaxgrad.clip_grad_norm(g, max_norm), grads)
            """,
            "def clip_each(grads, max_norm): return jaxgrad.clip_grad_value(grads, max_norm)",
        ],
    ),
    "lr_scheduler/warm_up": (
        [
            "schedule = lambda step: 0.1 * jnp.minimum(1, 0.25 + 0.75 * step / 4)",
            """
            from jaxgrad.optim import lr_scheduler
            schedule = lr_scheduler.linear_lr(0.1, start_factor=0.25, total_iters=4)
            """,
        ],
        [
            "schedule = optax.linear_schedule(0.0, 0.1, 4)",
            "schedule = optax.linear_schedule(0.025, 0.1, 5)",
            "schedule = optax.linear_schedule(0.25, 0.1, 4)",
        ],
    ),
    "lr_scheduler/average_from_the_first_model": (
        [
            """
            def average(weights):
                return functools.reduce(lambda mean, w: (mean + w) / 2, weights)
            """,
        ],
        [
            "def average(weights): return sum(weights) / len(weights)",
            """
            def average(weights):
                mean = 0.0
                for weight in weights:
                    mean = 0.5 * mean + 0.5 * weight
                return mean / (1 - 0.5 ** len(weights))
            """,
        ],
    ),
    "hooks/unit_gradient": (
        [
            """
            def loss(w):
                unit = lambda grad: grad / jnp.sqrt(jnp.sum(grad**2))
                return jnp.sum(jaxgrad.hook(2 * w, unit) ** 2)
            """,
            """
            @jax.custom_vjp
            def unit(h): return h
            unit.defvjp(lambda h: (h, None), lambda _, grad: (grad / jnp.linalg.norm(grad),))
            def loss(w): return jnp.sum(unit(2 * w) ** 2)
            """,
        ],
        [
            "def loss(w): return jnp.sum((2 * w / jnp.linalg.norm(2 * w)) ** 2)",
            """
            def loss(w):
                w = jaxgrad.hook(w, lambda grad: grad / jnp.linalg.norm(grad))
                return jnp.sum((2 * w) ** 2)
            """,
        ],
    ),
    "hooks/once_or_per_use": (
        ["once, per_use = -2.0, 0"],
        ["once, per_use = -1, 0", "once, per_use = -2, -2", "once, per_use = -4, 0"],
    ),
}
