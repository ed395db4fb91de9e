"""Answers to the exercises of the first four notebooks."""

from tests.parity_tests.notebook.answers import Answers


ANSWERS: Answers = {
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
        [
            "total = w.grad",
            "total = [6.0, 42.0]",
            "total = jnp.array([3.0, 21.0])",
            "total = jnp.array([0.0, 36.0])",
        ],
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
    "none_or_zero/transposed": (
        [
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(f, x, g):
                linear = jax.linearize(f, x)[1]
                return jax.linear_transpose(linear, x)(g)[0]
            """,
            """
            forward, backward = (5.0, 3.0, 0.0), jnp.array([8, 2])
            from jax import linear_transpose
            def pull_back(f, x, g):
                return linear_transpose(jax.linearize(f, x)[1], jnp.zeros_like(x))(g)[0]
            """,
        ],
        [
            "forward, backward = [5, 3, 0], [8, 2]",
            "forward, backward = [5, 2], [8, 2]",
            "forward, backward = [10, 6, 25], [8, 2]",
            "forward, backward = [5, 3, 0], [5, 3, 0]",
            "forward, backward = [5, 3, 0], [5, 2]",
            "forward, backward = [5, 3, 0], 8",
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(f, x, g):
                return jax.vjp(f, x)[1](g)[0]
            """,
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(f, x, g):
                return jax.linearize(f, x)[1](g)
            """,
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(f, x, g):
                return jax.linear_transpose(jax.linearize(f, x)[1], x)(g)
            """,
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(f, x, g):
                return jax.linear_transpose(jax.linearize(f, x)[1], x)(jnp.ones_like(g))[0]
            """,
            """
            forward, backward = [5, 3, 0], [8, 2]
            def pull_back(_, x, g):
                return jax.linear_transpose(jax.linearize(f, x)[1], x)(g)[0]
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
}
