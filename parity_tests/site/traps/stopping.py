"""Cards on grad modes, and on None and zero."""

from parity_tests.site.traps.card import Card, from_row


GRAD_MODES = (
    from_row("`detach`", "grad_modes/detach"),
    from_row("`no_grad`", "grad_modes/no_grad", "grad_modes/no_grad_part"),
    from_row("detach in a loop"),
    Card(
        name="a target that is not detached",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0], [-0.5]]))

    def forward(self, s, reward, next_s):
        value = s @ self.w
        target = reward + 0.9 * (next_s @ self.w)
        return F.mse_loss(value, target.detach())


inputs = (
    np.float32([[1, 0], [1, 0], [0, 1]]),  # state A twice, and state B
    np.float32([[0], [-3], [1]]),  # the rewards
    np.float32([[0, 1], [0, 0], [0, 0]]),  # the next states: B, and twice the end
)""",
        wrong="""\
def port(params, s, reward, next_s):
    value = s @ params["w"]
    target = reward + 0.9 * (next_s @ params["w"])
    return jnp.mean((value - target) ** 2)""",
        right="""\
def port(params, s, reward, next_s):
    value = s @ params["w"]
    target = reward + 0.9 * (next_s @ params["w"])
    return jnp.mean((value - lax.stop_gradient(target)) ** 2)""",
        trap="The target of temporal-difference learning is a constant. Without the stop, the "
        "gradient also moves the target towards the prediction.",
        behaviours=("actor_critic/critic_loss",),
    ),
    Card(
        name="a stopped spread in a reparameterized sample",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.log_std = nn.Parameter(torch.tensor([0.5, -1.0]))

    def forward(self, noise):
        action = self.mean + self.log_std.exp() * noise
        return (action**2).mean()


inputs = (np.float32([0.3, -0.7]),)""",
        wrong="""\
def port(params, noise):
    std = lax.stop_gradient(jnp.exp(params["log_std"]))
    return jnp.mean((params["mean"] + std * noise) ** 2)""",
        right="""\
def port(params, noise):
    std = jnp.exp(params["log_std"])
    return jnp.mean((params["mean"] + std * noise) ** 2)""",
        trap="The torch line is what `Normal.rsample` computes, with the noise as an input. It is "
        "differentiable with respect to the spread; a `stop_gradient` on the spread removes that "
        "path.",
    ),
    from_row("straight-through", "surrogate/straight_through"),
)

NONE_OR_ZERO = (
    Card(
        name="decay of a parameter without a gradient",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
        self.unused = nn.Parameter(torch.tensor([4.0]))

    def forward(self, x):
        return ((x @ self.w) ** 2).mean()


def optimizer(params):
    return torch.optim.AdamW(params, lr=0.1, weight_decay=0.1)""",
        wrong="""\
tx = optax.adamw(0.1, weight_decay=0.1)""",
        right="tx = optim.adamw(lr=0.1, weight_decay=0.1)",
        trap="`unused.grad` is `None`, and torch's optimizer skips it. `jax.grad` gives zeros, and "
        "weight decay shrinks the parameter. `optim.adamw` skips it too, if the gradient is the "
        "`None` that `jaxgrad.grad` returns. In an optax optimizer, leave the parameter out with "
        "`optax.partition`, as the card on a frozen layer does.",
        behaviours=("param_groups/none_gradient", "none_or_zero/none_or_zero"),
    ),
    Card(
        name="a frozen layer that shrinks",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
        self.b = nn.Parameter(torch.tensor([4.0]))
        self.b.requires_grad_(False)

    def forward(self, x):
        return ((x @ self.w + self.b) ** 2).mean()


def optimizer(params):
    return torch.optim.AdamW(params, lr=0.1, weight_decay=0.1)""",
        wrong="""\
def port(params, x):
    return ((x @ params["w"] + lax.stop_gradient(params["b"])) ** 2).mean()


tx = optax.adamw(0.1, weight_decay=0.1)""",
        right="""\
def port(params, x):
    return ((x @ params["w"] + lax.stop_gradient(params["b"])) ** 2).mean()


tx = optax.partition(
    {"train": optax.adamw(0.1, weight_decay=0.1), "freeze": optax.set_to_zero()},
    {"w": "train", "b": "freeze"},
)""",
        trap="`stop_gradient` makes the gradient zero, which does not freeze: weight decay still "
        "moves the parameter. Freeze it in the optimizer, as here, or give the optimizer only the "
        "trained leaves and list them in `trainable=` of `prove`.",
        behaviours=("param_groups/frozen", "freezing/filter_requires_grad"),
    ),
    Card(
        name="a tied weight as two leaves",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(3, 2)
        self.head = nn.Linear(2, 3, bias=False)
        self.embed.weight.data = torch.tensor([[1.0, 0.5], [-1, 2], [0.3, 1]])
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.embed(ids))).sum()


inputs = (np.array([0, 2, 2]),)""",
        wrong="""\
def port(params, ids):
    h = jnp.tanh(params["embed.weight"][ids])
    return (h @ params["head.weight"].T).sum()""",
        right="""\
def port(params, ids):
    h = jnp.tanh(params["embed.weight"][ids])
    return (h @ params["embed.weight"].T).sum()""",
        trap="torch's one parameter gets the sum of two gradients. Two leaves get a part each, "
        "and no longer agree after a step.",
        behaviours=("autograd/tied_weights",),
    ),
)
