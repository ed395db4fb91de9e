"""Rows on the backward pass: accumulation, hooks, higher order, forward mode, custom rules."""

from parity_tests.site.cheat_sheet.row import Row, array


BATCH = {"x": array(1.0, -2.0), "a": array(1.0, 2.0), "b": array(3.0, 4.0)}
CUBE = """\
class {name}:
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x**2
"""

ROWS = (
    Row(
        name="`.grad` accumulates",
        torch="loss(x, a).backward()\nloss(x, b).backward()",
        jax="g = jax.tree.map(jnp.add, grad(x, a), grad(x, b))",
        jaxgrad="g = jaxgrad.accumulate(grad(x, a), grad(x, b))",
        wrong="g = (grad(x, a) + grad(x, b)) / 2",
        trap="`backward` adds and never divides. For the mean over n parts, divide each loss by n.",
        given=BATCH,
        torch_before="loss = lambda x, a: (a * x**2).sum()",
        jax_before="grad = jax.grad(lambda x, a: (a * x**2).sum())",
        read=("x.grad", "g"),
    ),
    Row(
        name="`backward(gradient=v)`",
        torch="x.cumsum(0).backward(v)",
        jax="y, vjp = jax.vjp(jnp.cumsum, x)\n(g,) = vjp(v)",
        wrong="y, g = jax.jvp(jnp.cumsum, (x,), (v,))",
        trap="`jvp` multiplies by the Jacobian, `vjp` by its transpose.",
        given={"x": array(1.0, 2.0, 3.0), "v": array(1.0, 0.0, 2.0)},
        read=("x.grad", "g"),
    ),
    Row(
        name="`torch.func.jvp`",
        torch="y, t = torch.func.jvp(lambda x: x.cumsum(0), (x,), (v,))",
        jax="y, t = jax.jvp(jnp.cumsum, (x,), (v,))",
        wrong="t = jax.vjp(jnp.cumsum, x)[1](v)[0]",
        trap="`vjp` multiplies by the transpose: `jvp` gives the Jacobian times `v`.",
        given={"x": array(1.0, 2.0, 3.0), "v": array(1.0, 0.0, 2.0)},
        read=("t", "t"),
    ),
    Row(
        name="hook on a tensor",
        torch="h = 2 * x\nh.register_hook(lambda g: g.clamp(-1, 1))\n3 * h - h",
        jaxgrad="h = jaxgrad.hook(2 * x, lambda g: g.clip(-1, 1))\n3 * h - h",
        wrong="clip = lambda h: jaxgrad.hook(h, lambda g: g.clip(-1, 1))\n"
        "h = 2 * x\n3 * clip(h) - clip(h)",
        trap="torch's hook sees the sum over all uses: hook once, then use the result.",
    ),
    Row(
        name="hook on a parameter",
        torch="x.register_hook(lambda g: g.clamp(-1, 1))\nx**2 + 3 * x",
        jaxgrad="x = jaxgrad.hook(x, lambda g: g.clip(-1, 1))\nx**2 + 3 * x",
        wrong="clip = lambda x: jaxgrad.hook(x, lambda g: g.clip(-1, 1))\n"
        "clip(x) ** 2 + 3 * clip(x)",
        trap="Wrap the parameter at the top of the loss, not where it is used.",
    ),
    Row(
        name="`retain_grad`",
        torch="h = x**2\nh.retain_grad()\n(3 * h).sum().backward()",
        jax="g = jax.grad(lambda h: (3 * h).sum())(x**2)",
        jaxgrad="loss = lambda x: (3 * jaxgrad.retain_grad(x**2, 'h')).sum()\n"
        "run = jaxgrad.value_and_retained_grads(loss)\ng = run(x)[2]['h']",
        wrong="g = jax.grad(lambda x: (3 * x**2).sum())(x)",
        trap="Differentiate with respect to `h`, not `x`.",
        read=("h.grad", "g"),
    ),
    Row(
        name="`create_graph=True`",
        torch="(g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)\ng**2",
        jax="g = jax.grad(lambda x: (x**3).sum())(x)\ng**2",
        wrong="g = lax.stop_gradient(jax.grad(lambda x: (x**3).sum())(x))\ng**2",
        trap="A gradient is differentiable in JAX unless you stop it.",
    ),
    Row(
        name="Jacobian, Hessian",
        torch="H = torch.func.hessian(lambda x: (x**3).sum())(x)",
        jax="H = jax.hessian(lambda x: (x**3).sum())(x)",
        wrong="H = jax.grad(lambda x: jax.grad(lambda x: (x**3).sum())(x).sum())(x)",
        trap="`grad` of the summed gradient gives the row sums, not the matrix.",
        read=("H", "H"),
    ),
    Row(
        name="per-sample gradients",
        torch="grad = torch.func.grad(loss)\ng = torch.func.vmap(grad, (None, 0))(x, a)",
        jax="grad = jax.grad(loss)\ng = jax.vmap(grad, (None, 0))(x, a)",
        wrong="g = jax.grad(lambda x: jax.vmap(loss, (None, 0))(x, a).sum())(x)",
        trap="The gradient of the batch is the sum of the samples' gradients.",
        given={"x": array(1.0, -2.0), "a": array([1.0, 2.0], [3.0, 4.0])},
        torch_before="loss = lambda x, a: (a @ x) ** 2",
        jax_before="loss = lambda x, a: (a @ x) ** 2",
        read=("g", "g"),
    ),
    Row(
        name="`checkpoint`",
        torch="from torch.utils.checkpoint import checkpoint\n"
        "checkpoint(torch.tanh, x, use_reentrant=False)",
        jax="jax.checkpoint(jnp.tanh)(x)",
        trap="The gradient stays; only memory and time change.",
    ),
    Row(
        name="`autograd.Function`",
        torch="Cube.apply(x)  # backward returns 2 * g * x**2",
        jax="cube = jax.custom_vjp(lambda x: x**3)\n"
        "cube.defvjp(lambda x: (x**3, x), lambda x, g: (2 * g * x**2,))\n"
        "cube(x)",
        jaxgrad="jaxgrad.from_function(JaxCube)(x)  # Cube without its base",
        wrong="x**3",
        trap="Porting only the forward pass loses the custom gradient.",
        torch_before=CUBE.format(name="Cube(torch.autograd.Function)"),
        jax_before=CUBE.format(name="JaxCube"),
    ),
    Row(
        name="write in place",
        torch="y = x.clone()\ny[0] = 0\ny**2",
        jax="y = x.at[0].set(0)\ny**2",
        wrong="y = x\ny.at[0].set(0)\ny**2",
        trap="`.at[].set()` returns a new array and leaves `y` unchanged.",
    ),
    Row(
        name="write into a view",
        torch="y = x.clone()\ny.view(3, 1)[1] = 0\ny**2",
        jax="y = x.reshape(3, 1).at[1].set(0).reshape(3)\ny**2",
        wrong="y = x\nview = y.reshape(3, 1).at[1].set(0)\ny**2",
        trap="JAX has no views: carry the change back to `y`.",
    ),
    Row(
        name="`load_state_dict`",
        torch="layer.load_state_dict({'weight': w})\nlayer(x)",
        jax="x @ w.T",
        wrong="x @ w",
        trap="torch keeps `weight` as (out, in); flax keeps `kernel` as (in, out). A square matrix "
        "loads either way.",
        given={"x": array(1.0, 2.0), "w": array([1.0, 2.0], [3.0, 5.0])},
        torch_before="layer = nn.Linear(2, 2, bias=False)",
    ),
)
