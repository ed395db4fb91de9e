"""Answers to the exercises on control flow, memory, many devices, and ports."""

from tests.parity_tests.notebook.answers import Answers


ANSWERS: Answers = {
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
