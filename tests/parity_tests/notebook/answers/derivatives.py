"""Answers to the exercises on custom rules, second derivatives, graphs and in-place changes."""

from tests.parity_tests.notebook.answers import Answers


ANSWERS: Answers = {
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
                bounded = jaxgrad.functional.clamp(x, -1, 1)
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
                bounded = jnp.clip(x, -1, 1)
                return jaxgrad.straight_through(jnp.round)(bounded)
            """,
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
}
