"""Cards on hooks, custom rules, and values that are changed in place."""

from parity_tests.site.traps.card import Card, from_row


HOOKS = (
    from_row("hook on a tensor", "hooks/tensor_hook", "hooks/register_hook_sum"),
    from_row("hook on a parameter", "hooks/register_hook_sum"),
    Card(
        name="two hooks in the wrong order",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.tensor([-1.0, 0.5, 2.0]))

    def forward(self):
        h = 2 * self.x
        h.register_hook(lambda g: 10 * g)
        h.register_hook(lambda g: g.clamp(-1, 1))
        return h.sum()


inputs = ()""",
        wrong="""\
def port(params):
    h = jaxgrad.hook(2 * params["x"], lambda g: 10 * g)
    return jaxgrad.hook(h, lambda g: g.clip(-1, 1)).sum()""",
        right="""\
def port(params):
    h = jaxgrad.hook(2 * params["x"], lambda g: g.clip(-1, 1))
    return jaxgrad.hook(h, lambda g: 10 * g).sum()""",
        trap="torch runs the hooks of a tensor in the order in which they were registered. Nested "
        "wrappers run from the outermost to the innermost: wrap in the opposite order.",
        behaviours=("hooks/hook_order",),
    ),
    from_row("`autograd.Function`", "custom/huber"),
    Card(
        name="gradient reversal",
        torch="""\
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0, 2.0], [0.5, -1.0]]))
        self.head = nn.Parameter(torch.tensor([1.0, 3.0]))

    def forward(self, x):
        return (Reverse.apply(x @ self.w) @ self.head).sum()


inputs = (np.float32([[1.0, 2.0], [0.5, -1.0]]),)""",
        wrong="""\
def port(params, x):
    return (x @ params["w"] @ params["head"]).sum()""",
        right="""\
def port(params, x):
    h = jaxgrad.reverse_gradient(x @ params["w"])
    return (h @ params["head"]).sum()""",
        trap="A gradient reversal layer is the identity in the forward pass, so that a port that "
        "leaves it out has the same outputs and trains the features for the wrong goal.",
        behaviours=("surrogate/gradient_reversal",),
    ),
)

STATE = (
    from_row("write in place", "mutation/inplace_before_use"),
    from_row("write into a view", "mutation/inplace_before_use"),
    Card(
        name="BatchNorm's running variance",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1, affine=False)
        self.w = nn.Parameter(torch.tensor([[2.0], [1.0]]))

    def forward(self, x):
        return self.norm(x @ self.w)


inputs = (np.float32([[1.0, 0.0], [2.0, 1.0], [6.0, -1.0]]),)""",
        wrong="""\
def port(params, x):
    x = x @ params["w"]
    mean, var = x.mean(0), x.var(0)
    y = (x - mean) / jnp.sqrt(var + 1e-5)
    new = {
        "norm.running_mean": 0.9 * params["norm.running_mean"] + 0.1 * mean,
        "norm.running_var": 0.9 * params["norm.running_var"] + 0.1 * var,
        "norm.num_batches_tracked": params["norm.num_batches_tracked"] + 1,
    }
    return y, new""",
        right="""\
def port(params, x):
    x = x @ params["w"]
    mean, var = x.mean(0), x.var(0)
    y = (x - mean) / jnp.sqrt(var + 1e-5)
    new = {
        "norm.running_mean": 0.9 * params["norm.running_mean"] + 0.1 * mean,
        "norm.running_var": 0.9 * params["norm.running_var"] + 0.1 * x.var(0, ddof=1),
        "norm.num_batches_tracked": params["norm.num_batches_tracked"] + 1,
    }
    return y, new""",
        trap="torch normalizes by the variance over n and keeps the one over n - 1. The models "
        "agree in training and differ in evaluation.",
        options={"has_state": True},
    ),
    Card(
        name="BatchNorm's momentum",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1, affine=False, momentum=0.1)
        self.w = nn.Parameter(torch.tensor([[2.0], [1.0]]))

    def forward(self, x):
        return self.norm(x @ self.w)


inputs = (np.float32([[1.0, 0.0], [2.0, 1.0], [6.0, -1.0]]),)""",
        wrong="""\
def port(params, x):
    state = [params[f"norm.{name}"] for name in ("running_mean", "running_var")]
    out = functional.batch_norm(x @ params["w"], *state, training=True, momentum=0.9)
    count = params["norm.num_batches_tracked"] + 1
    return out.output, {
        "norm.running_mean": out.running_mean,
        "norm.running_var": out.running_var,
        "norm.num_batches_tracked": count,
    }""",
        right="""\
def port(params, x):
    state = [params[f"norm.{name}"] for name in ("running_mean", "running_var")]
    out = functional.batch_norm(x @ params["w"], *state, training=True, momentum=0.1)
    count = params["norm.num_batches_tracked"] + 1
    return out.output, {
        "norm.running_mean": out.running_mean,
        "norm.running_var": out.running_var,
        "norm.num_batches_tracked": count,
    }""",
        trap="torch's momentum 0.1 is the weight of the new batch. flax's momentum is the weight "
        "of the old average: torch's 0.1 is its 0.9, and its default is 0.99.",
        options={"has_state": True},
    ),
)
