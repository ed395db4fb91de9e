"""Answers to the exercises on training: what is trained, and by which optimizer."""

from tests.parity_tests.notebook.answers import Answers


ANSWERS: Answers = {
    "freezing/only_biases": (
        [
            """
            biases = {name: {"bias": net[name]["bias"]} for name in net}
            def of_biases(biases, x):
                return loss({name: net[name] | biases[name] for name in net}, x)
            grads = jax.grad(of_biases)(biases, jnp.array([[1.0, 2.0]]))
            """,
            """
            def stopped(net, x):
                net = {name: {"weight": lax.stop_gradient(p["weight"]), "bias": p["bias"]}
                       for name, p in net.items()}
                return loss(net, x)
            grads = jaxgrad.grad(stopped)(net, jnp.array([[1.0, 2.0]]))
            """,
        ],
        [
            """
            def stopped(net, x):
                net = {name: {"weight": lax.stop_gradient(p["weight"]), "bias": p["bias"]}
                       for name, p in net.items()}
                return loss(net, x)
            grads = jax.grad(stopped)(net, jnp.array([[1.0, 2.0]]))
            """,
            "grads = {name: p['bias'] for name, p in grads.items()}",
        ],
    ),
    "freezing/frozen_is_not_stopped": (
        [
            """
            def frozen(x): return jnp.sum((lax.stop_gradient(w) * x) ** 2)
            def stopped(x): return lax.stop_gradient(jnp.sum((w * x) ** 2))
            """,
        ],
        [
            """
            def frozen(x): return jnp.sum((w * x) ** 2)
            def stopped(x): return jnp.sum((lax.stop_gradient(w) * x) ** 2)
            """,
            """
            def frozen(x): return jnp.sum(lax.stop_gradient(w * x) ** 2)
            def stopped(x): return jnp.sum(lax.stop_gradient(w * x) ** 2)
            """,
        ],
    ),
    "actor_critic/train_the_actor_only": (
        [
            "def loss(w, v): return -(w * 3) * lax.stop_gradient(v)",
            "def loss(w, v): return jnp.negative(lax.stop_gradient(v) * 3 * w)",
        ],
        [
            "def loss(w, v): return -v * lax.stop_gradient(w * 3)",
            "def loss(w, v): return -v * (w * 3)",
            "def loss(w, v): return lax.stop_gradient(v) * (w * 3)",
        ],
    ),
    "actor_critic/follow_slowly": (
        [
            "follow = lambda target, critic: optax.incremental_update(critic, target, 0.1)",
            """
            def follow(target, critic):
                return {name: t + 0.1 * (critic[name] - t) for name, t in target.items()}
            """,
        ],
        [
            """
            def follow(target, critic):
                return jax.tree.map(lambda t, c: 0.1 * t + 0.9 * c, target, critic)
            """,
            "def follow(target, critic): return critic",
        ],
    ),
    "optim/momentum_by_hand": (
        [
            """
            def step(param, momentum):
                momentum = 0.9 * momentum - 0.1 * 2 * param
                return param + momentum, momentum
            """
        ],
        [
            """
            def step(param, momentum):
                momentum = 0.9 * momentum + 0.1 * 2 * param
                return param - 0.1 * momentum, momentum
            """,
            """
            def step(param, momentum):
                after = 0.9 * momentum + 2 * param
                return param - 0.1 * momentum, after
            """,
            """
            def step(param, momentum):
                tx = optax.sgd(0.1, momentum=0.9)
                state = (optax.TraceState(momentum), tx.init(param)[1])
                updates, state = tx.update(2 * param, state)
                return param + updates, state[0].trace
            """,
        ],
    ),
    "optim/skip_a_step": (
        [
            """
            def step(param, state, grad):
                def take(_):
                    updates, after = tx.update(grad, state)
                    return optax.apply_updates(param, updates), after
                return lax.cond(grad != 0, take, lambda _: (param, state), None)
            """
        ],
        [
            """
            def step(param, state, grad):
                updates, after = tx.update(grad, state)
                return jnp.where(grad == 0, param, optax.apply_updates(param, updates)), after
            """,
            """
            def step(param, state, grad):
                updates, after = tx.update(grad, state)
                after = jax.tree.map(lambda a, b: jnp.where(grad == 0, a, b), state, after)
                return optax.apply_updates(param, updates), after
            """,
            """
            def step(param, state, grad):
                if grad == 0:
                    return param, state
                updates, state = tx.update(grad, state)
                return optax.apply_updates(param, updates), state
            """,
        ],
    ),
    "param_groups/biases_without_decay": (
        [
            """
            groups = [{"weight_decay": 0.5}, {}]
            tx = optim.param_groups(optim.sgd, groups, {"weight": 0, "bias": 1}, lr=0.1)
            """,
            """
            mask = {"weight": True, "bias": False}
            tx = optax.chain(optax.add_decayed_weights(0.5, mask=mask), optax.sgd(0.1))
            """,
            """
            decayed = optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1))
            transforms = {"decayed": decayed, "plain": optax.sgd(0.1)}
            tx = optax.partition(transforms, {"weight": "decayed", "bias": "plain"})
            """,
        ],
        [
            "tx = optim.sgd(lr=0.1)",
            "tx = optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1))",
            """
            groups = [{"weight_decay": 0.5}, {}]
            tx = optim.param_groups(optim.sgd, groups, {"weight": 1, "bias": 0}, lr=0.1)
            """,
        ],
    ),
    "param_groups/frozen_but_moving": (
        [
            """
            l1_of_colleague = 2
            inner = optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1))
            transforms = {"train": inner, "freeze": optax.set_to_zero()}
            tx = optax.partition(transforms, {"l1": "freeze", "l2": "train"})
            """,
            """
            l1_of_colleague = 2.0
            labels = {"l1": "frozen", "l2": "head"}
            tx = optim.param_groups(optim.sgd, {"head": {"lr": 0.1, "weight_decay": 0.5}}, labels)
            """,
        ],
        [
            """
            l1_of_colleague = 1
            groups = [{"lr": 0.1, "weight_decay": 0.5}]
            tx = optim.param_groups(optim.sgd, groups, {"l1": "frozen", "l2": 0})
            """,
            """
            l1_of_colleague = 2
            inner = optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1))
            tx = optax.masked(inner, {"l1": False, "l2": True})
            """,
            """
            l1_of_colleague = 2
            groups = [{"lr": 0.0, "weight_decay": 0.5}, {"lr": 0.1}]
            tx = optim.param_groups(optim.sgd, groups, {"l1": 0, "l2": 1})
            """,
        ],
    ),
}
