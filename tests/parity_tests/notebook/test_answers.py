"""The checks accept right answers that are written differently, and reject plausible wrong ones."""

import contextlib
import io
import linecache
import textwrap

import jax
import pytest

from parity_tests.notebook.practice import exercises
from tests.parity_tests.notebook._lessons import cells


jax.config.update("jax_num_cpu_devices", 8)
HEAD = """
import functools
import jax, jax.numpy as jnp, numpy as np, optax, torch
import jaxgrad
from jax import lax
from jaxgrad import optim
from torch import nn
from parity_tests.notebook.check import check
"""

# By exercise: right answers, then wrong ones. Each runs below the cell of the notebook.
ANSWERS: dict[str, tuple[list[str], list[str]]] = {
    "ten_minutes/two_batches": (
        [
            """
            total = sum(jax.grad(lambda w: jnp.sum(w * x) ** 2)(jnp.array([1.0, 2.0]))
                        for x in (jnp.array([1.0, 1.0]), jnp.array([0.0, 3.0])))
            """,
            """
            def both(w):
                return jnp.sum(w) ** 2 + jnp.sum(w * jnp.array([0.0, 3.0])) ** 2
            total = jax.grad(both)(jnp.array([1.0, 2.0]))
            """,
        ],
        ["total = w.grad", "total = jnp.array([3.0, 21.0])", "total = jnp.array([0.0, 36.0])"],
    ),
    "ten_minutes/bootstrapped_target": (
        [
            """
            def loss(w, now, after):
                return (value(w, now) - 1 - 0.9 * value(lax.stop_gradient(w), after)) ** 2
            """,
            """
            def loss(w, now, after):
                return jnp.square(value(w, now) - lax.stop_gradient(1 + 0.9 * value(w, after)))
            """,
        ],
        [
            """
            def loss(w, now, after):
                return lax.stop_gradient((value(w, now) - 1 - 0.9 * value(w, after)) ** 2)
            """,
            """
            def loss(w, now, after):
                target = 1 + 0.9 * value(w, lax.stop_gradient(after))
                return (value(w, now) - target) ** 2
            """,
        ],
    ),
    "grad_modes/one_term_of_a_sum": (
        [
            """
            def in_torch(x): return x.detach() ** 2 + x**3
            def in_jax(x): return lax.stop_gradient(x) ** 2 + x**3
            """,
            """
            def in_torch(x): return x**3 + x.detach().pow(2)
            def in_jax(x): return jaxgrad.no_grad(lambda x: x**2)(x) + x**3
            """,
        ],
        [
            """
            def in_torch(x): return x**2 + (x**3).detach()
            def in_jax(x): return x**2 + lax.stop_gradient(x**3)
            """,
            """
            def in_torch(x): return x**2 + x * (x**2).detach()
            def in_jax(x): return x**2 + x * lax.stop_gradient(x**2)
            """,
        ],
    ),
    "grad_modes/stopped_too_early": (
        ["def stopped(x): return lax.stop_gradient(f(x))"],
        ["def stopped(x): return 5.0", "def stopped(x): return 0 * f(x)"],
    ),
    "grad_modes/same_value_other_gradient": (
        [
            """
            def loss(a, b):
                b = lax.stop_gradient(b)
                return a * b + lax.stop_gradient(a)
            """,
            """
            def loss(a, b):
                fixed = lax.stop_gradient
                return a * fixed(b) + fixed(a * b + a) - fixed(a * b)
            """,
        ],
        [
            "def loss(a, b): return lax.stop_gradient(a * b + a)",
            "def loss(a, b): return a * lax.stop_gradient(b) + lax.stop_gradient(a) + 0 * b",
            "def loss(a, b): return a * b + lax.stop_gradient(a)",
        ],
    ),
    "backward/rest_of_the_program": (
        ["grad = jax.grad(lambda c: c * 4.0)(6.0)"],
        [
            "grad = jax.grad(lambda a, b, d: a * b * d)(2.0, 3.0, 4.0)",
            "grad = jax.grad(lambda c, d: c * d, argnums=1)(6.0, 4.0)",
        ],
    ),
    "backward/jacobian_by_rows": (
        [
            """
            def rows(f, x):
                y, pull_back = jax.vjp(f, x)
                return jax.vmap(pull_back)(jnp.eye(len(y)))[0]
            """,
            """
            def rows(f, x):
                y, pull_back = jax.vjp(f, x)
                return [pull_back(jnp.zeros_like(y).at[i].set(1.0))[0] for i in range(y.size)]
            """,
        ],
        [
            "def rows(f, x): return jax.jacobian(f)(x)",
            """
            def rows(f, x):
                y, pull_back = jax.vjp(f, x)
                return jnp.stack([pull_back(jnp.ones_like(y))[0] for _ in y])
            """,
            """
            def rows(f, x):
                y, pull_back = jax.vjp(f, x)
                return jnp.stack([pull_back(one)[0] for one in jnp.eye(3)])
            """,
        ],
    ),
    "none_or_zero/one_of_each": (
        [
            "def loss(p): return 3 * p['a'] + 0 * p['b']",
            "def loss(p): return p['a'] * p['a'] + (p['b'] - 2) ** 2",
        ],
        [
            "def loss(p): return p['a'] + 0 * p['b'] + 0 * p['c']",
            "def loss(p): return p['a'] ** 2",
            "def loss(p): return p['a'] + p['b'].detach() + p['c'].detach()",
        ],
    ),
    "none_or_zero/decay_that_skips_none": (
        [
            """
            def step(p, g):
                if g is None:
                    return p
                return 0.95 * p - 0.1 * g
            """
        ],
        [
            "def step(p, g): return p if g is None or g == 0 else p - 0.1 * (g + 0.5 * p)",
            "def step(p, g): return p if g is None else p - 0.1 * g",
            "def step(p, g): return p if g is None else p - 0.1 * g - 0.5 * p",
        ],
    ),
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
    "custom/slower_gradient": (
        [
            "def slower(x): return 0.1 * x + lax.stop_gradient(0.9 * x)",
            "slower = lambda x: jaxgrad.hook(x, lambda grad: 0.1 * grad)",
            """
            @jax.custom_vjp
            def slower(x): return x
            slower.defvjp(lambda x: (x, None), lambda _, grad: (0.1 * grad,))
            """,
        ],
        ["def slower(x): return 0.1 * x", "def slower(x): return x"],
    ),
    "custom/clipped_straight_through": (
        [
            """
            def quantize(x):
                bounded = jnp.clip(x, -1, 1)
                return jaxgrad.straight_through(jnp.round)(bounded)
            """,
            """
            @jax.custom_vjp
            def quantize(x): return jnp.round(jnp.clip(x, -1, 1))
            quantize.defvjp(lambda x: (quantize(x), x), lambda x, g: (g * (jnp.abs(x) <= 1),))
            """,
        ],
        [
            "def quantize(x): return x + lax.stop_gradient(jnp.round(jnp.clip(x, -1, 1)) - x)",
            "def quantize(x): return x + lax.stop_gradient(jnp.round(x) - x)",
            """
            def quantize(x):
                bounded = jnp.minimum(x, 1)
                return bounded + lax.stop_gradient(jnp.round(jnp.clip(x, -1, 1)) - bounded)
            """,
        ],
    ),
    "higher_order/penalty_on_curvature": (
        [
            "def penalty(f, w, x): return jax.hessian(f, argnums=1)(w, x) ** 2",
            "def penalty(f, w, x): return jax.grad(jax.grad(lambda x: f(w, x)))(x) ** 2",
        ],
        [
            "def penalty(f, w, x): return jax.grad(jax.grad(f, argnums=1))(w, x) ** 2",
            "def penalty(f, w, x): return jax.grad(jax.grad(f, argnums=1), argnums=1)(w, x)",
            """
            def penalty(f, w, x):
                return lax.stop_gradient(jax.grad(jax.grad(f, argnums=1), argnums=1)(w, x)) ** 2
            """,
        ],
    ),
    "higher_order/norm_at_zero": (
        [
            """
            def norm(x):
                safe = jnp.where(jnp.any(x != 0), x, jnp.ones_like(x))
                return jnp.where(jnp.any(x != 0), jnp.linalg.norm(safe), 0.0)
            """,
            """
            def norm(x):
                zero = jnp.all(x == 0)
                return lax.cond(zero, lambda x: 0.0 * jnp.sum(x), jnp.linalg.norm, x)
            """,
        ],
        [
            "def norm(x): return jnp.linalg.norm(x)",
            "def norm(x): return jnp.sqrt(jnp.sum(x**2) + 1e-12)",
            "def norm(x): return jnp.sum(jnp.abs(x))",
        ],
    ),
    "graph/bytes_that_are_kept": (
        ["by_exp, by_sum = 400, 0", "by_exp, by_sum = 4 * 100, 0.0"],
        ["by_exp, by_sum = 400, 400", "by_exp, by_sum = 100, 0", "by_exp, by_sum = 800, 0"],
    ),
    "graph/read_both_graphs": (
        [
            """
            while node is not None:
                names.append(node.name())
                node = node.next_functions[0][0] if node.next_functions else None
            primitives = [eqn.primitive.name for eqn in jaxpr.eqns]
            """,
            """
            while node:
                names += [node]
                node = (node.next_functions or [[None]])[0][0]
            primitives = tuple(eqn.primitive for eqn in jaxpr.eqns)
            """,
        ],
        [
            """
            while node is not None:
                names.insert(0, node.name())
                node = node.next_functions[0][0] if node.next_functions else None
            primitives = [eqn.primitive.name for eqn in jaxpr.eqns]
            """,
            """
            while node.next_functions:
                names.append(node.name())
                node = node.next_functions[0][0]
            primitives = [eqn.primitive.name for eqn in jaxpr.eqns]
            """,
        ],
    ),
    "mutation/which_one_raises": (
        ["sin_raises, exp_raises, square_raises = False, True, False"],
        [
            "sin_raises, exp_raises, square_raises = True, True, True",
            "sin_raises, exp_raises, square_raises = True, False, True",
            "sin_raises, exp_raises, square_raises = 'no', 'yes', 'no'",
        ],
    ),
    "mutation/keep_the_activation": (
        [
            """
            def loss(w):
                h = w + w
                kept = []
                kept.append(h)
                return (h**2).sum(), kept[0]
            """
        ],
        [
            """
            def loss(w):
                h = 2 * w
                kept.append(h)
                return jnp.sum(h**2), h
            """,
            """
            def loss(w):
                h = 2 * w
                return h, jnp.sum(h**2)
            """,
            """
            def loss(w):
                h = 2 * w
                kept.append(float(h[0]))
                return jnp.sum(h**2), h
            """,
        ],
    ),
    "control_flow/branch_on_a_value": (
        [
            "def f(x): return jnp.where(x > 0, x**2, -x)",
            "def f(x): return lax.cond(x <= 0, lambda: -x, lambda: x**2)",
            "def f(x): return lax.select(x > 0, x**2, -x)",
        ],
        [
            "def f(x): return jnp.where(x >= 0, x**2, -x)",
            "def f(x): return lax.cond(x > 0, lambda x: -x, lambda x: x**2, x)",
            "def f(x): return x**2",
        ],
    ),
    "control_flow/terms_until_small": (
        [
            """
            def total(x):
                def body(_, carry):
                    total, term = carry
                    return jnp.where(term > 0.5, total + term, total), term / 2
                return lax.fori_loop(0, 10, body, (0.0 * x, x))[0]
            """,
            """
            def total(x):
                terms = x / 2.0 ** jnp.arange(10)
                return jnp.sum(jnp.where(terms > 0.5, terms, 0.0))
            """,
            """
            def total(x):
                total, term = 0.0, x
                for _ in range(10):
                    total, term = total + jnp.where(term > 0.5, term, 0.0), term / 2
                return total
            """,
        ],
        [
            "def total(x): return jnp.sum(x / 2.0 ** jnp.arange(10))",
            """
            def total(x):
                def body(carry):
                    return carry[0] + carry[1], carry[1] / 2
                return lax.while_loop(lambda carry: carry[1] > 0.5, body, (0.0 * x, x))[0]
            """,
            """
            def total(x):
                terms = x / 2.0 ** jnp.arange(10)
                return jnp.sum(jnp.where(terms >= 0.5, terms, 0.0))
            """,
            """
            def total(x):
                terms = x / 2.0 ** jnp.arange(5)
                return jnp.sum(jnp.where(terms > 0.5, terms, 0.0))
            """,
        ],
    ),
    "memory/two_segments": (
        [
            """
            @jax.checkpoint
            def segment(h, w):
                for _ in range(4):
                    h = jnp.tanh(h @ w)
                return h
            def in_segments(w): return segment(segment(jnp.ones((2, 3)), w), w).sum()
            """,
            """
            def in_segments(w):
                h = jnp.ones((2, 3))
                for _ in range(2):
                    @jax.checkpoint
                    def segment(h):
                        for _ in range(4):
                            h = jnp.tanh(h @ w)
                        return h
                    h = segment(h)
                return jnp.sum(h)
            """,
            """
            def in_segments(w):
                def layer(h, _): return jnp.tanh(h @ w), None
                @jax.checkpoint
                def segment(h, _): return lax.scan(layer, h, length=4)
                return jnp.sum(lax.scan(segment, jnp.ones((2, 3)), length=2)[0])
            """,
        ],
        [
            """
            def in_segments(w):
                layer = jax.checkpoint(lambda h: jnp.tanh(h @ w))
                h = jnp.ones((2, 3))
                for _ in range(8):
                    h = layer(h)
                return jnp.sum(h)
            """,
            """
            @jax.checkpoint
            def in_segments(w):
                h = jnp.ones((2, 3))
                for _ in range(8):
                    h = jnp.tanh(h @ w)
                return jnp.sum(h)
            """,
        ],
    ),
    "memory/uneven_micro_batches": (
        ["weights = [0.6, 0.4]", "weights = jnp.array([3, 2]) / 5"],
        ["weights = (0.4, 0.6)", "weights = (3, 2)", "weights = (1, 1)"],
    ),
    "distributed/only_real_rows": (
        [
            """
            def loss(w, x, real):
                squares = lax.pmean(jnp.sum(jnp.where(real, (w * x) ** 2, 0)), "ranks")
                return squares / lax.pmean(jnp.sum(real), "ranks")
            """,
            """
            def loss(w, x, real):
                count = lax.psum(real.sum(), "ranks")
                return lax.psum(jnp.sum(real * (w * x) ** 2) / count, "ranks")
            """,
        ],
        [
            """
            def loss(w, x, real):
                return lax.pmean(jnp.sum(real * (w * x) ** 2) / jnp.sum(real), "ranks")
            """,
            """
            def loss(w, x, real):
                return lax.pmean(jnp.mean(real * (w * x) ** 2), "ranks")
            """,
            """
            def loss(w, x, real):
                return jnp.sum(real * (w * x) ** 2) / jnp.sum(real)
            """,
        ],
    ),
    "distributed/norm_of_a_sharded_gradient": (
        [
            """
            def norm(half):
                return lax.psum(jnp.vdot(half, half), "ranks") ** 0.5
            """,
            """
            def norm(half):
                return jnp.linalg.norm(lax.all_gather(half, "ranks"))
            """,
        ],
        [
            "def norm(half): return jnp.linalg.norm(half)",
            "def norm(half): return jnp.sqrt(lax.pmean(jnp.sum(half**2), 'ranks'))",
            "def norm(half): return lax.pmax(jnp.linalg.norm(half), 'ranks')",
        ],
    ),
    "prove_your_port/default_of_gelu": (
        [
            "port = lambda p, x: jax.nn.gelu(x @ p['0.weight'].T + p['0.bias'], False)",
            """
            def port(p, x):
                h = x @ p["0.weight"].T + p["0.bias"]
                return h * jax.scipy.stats.norm.cdf(h)
            """,
        ],
        [
            "port = lambda p, x: jax.nn.gelu(x @ p['0.weight'].T, approximate=False)",
            "port = lambda p, x: jax.nn.relu(x @ p['0.weight'].T + p['0.bias'])",
        ],
    ),
    "port_a_model/without_item": (
        [
            """
            class Rescaled(nn.Module):
                def forward(self, x):
                    return x / x.abs().max().clamp(min=1)
            module = Rescaled()
            """,
            """
            class Rescaled(nn.Module):
                def forward(self, x):
                    if x.abs().max() > 1:
                        x = x / x.abs().max()
                    return x
            module = Rescaled()
            """,
        ],
        [
            """
            class Rescaled(nn.Module):
                def forward(self, x):
                    return x / x.abs().max()
            module = Rescaled()
            """,
            """
            class Rescaled(nn.Module):
                def forward(self, x):
                    return torch.where(x.abs() > 1, x / x.abs().max(), x)
            module = Rescaled()
            """,
        ],
    ),
}


def verdict(name: str, answer: str) -> str:
    """Run the cell of the notebook, an answer below it, and the cell that checks it."""
    for texts in cells().values():
        if f'exercise("{name}")' in texts:
            at = texts.index(f'exercise("{name}")')
            out, names = io.StringIO(), {"__name__": "notebook"}
            with contextlib.redirect_stdout(out):
                for number, code in enumerate((HEAD, texts[at + 1], textwrap.dedent(answer))):
                    file = f"<{name} {number}>"  # `port` reads the source
                    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
                    exec(compile(code, file, "exec"), names)
                start = out.tell()
                exec(texts[at + 2], names)
            return out.getvalue()[start:].strip()
    raise AssertionError(f"no notebook has the exercise {name}")


def test_every_exercise_has_answers():
    """Each exercise has at least one right answer besides the solution, and two wrong ones."""
    assert sorted(ANSWERS) == sorted(exercises())
    assert all(right and len(wrong) >= 2 for right, wrong in ANSWERS.values())


@pytest.mark.parametrize("name", ANSWERS)
def test_a_check_accepts_right_answers_and_rejects_wrong_ones(name):
    """The verdict does not depend on how an answer is written, and says what is wrong."""
    right, wrong = ANSWERS[name]
    for answer in right:
        assert verdict(name, answer).startswith("Right: "), (answer, verdict(name, answer))
    for answer in wrong:
        assert verdict(name, answer).startswith("Not yet: "), answer
