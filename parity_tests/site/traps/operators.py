"""Cards on kinks, on the defaults of layers, and on precision."""

from parity_tests.site.traps.card import Card, from_row


KINKS = (
    from_row(
        "`relu` at 0",
        training="A layer of zeros before it learns in the port, and never in torch.",
    ),
    from_row(
        "`clamp` at a bound",
        training="A weight that was clipped to the bound takes half a step of plain SGD away from "
        "it; in torch it stays.",
    ),
    from_row(
        "`abs` at 0",
        training="An L1 penalty moves a weight away from 0 in the port, and leaves it there in "
        "torch.",
    ),
    Card(
        name="`norm` of a zero vector",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))

    def forward(self):
        return self.x.norm(dim=1).sum()


inputs = ()""",
        wrong="""\
def port(params):
    return jnp.linalg.norm(params["x"], axis=1).sum()""",
        right="""\
def port(params):
    return functional.norm(params["x"], dim=1).sum()""",
        trap="JAX's gradient at a zero vector is NaN, torch's is 0. A single zero vector in a "
        "batch makes the gradient of the layer before it NaN.",
    ),
    from_row("`sqrt(x * x)` at 0"),
    Card(
        name="`where` around a `log(0)`",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.tensor([0.0, 0.5, 2.0]))

    def forward(self):
        safe = torch.where(self.x > 0, self.x, 2.0)
        return torch.where(self.x > 0, safe.log(), 0.0).sum()


inputs = ()""",
        wrong="""\
def port(params):
    x = params["x"]
    return jnp.where(x > 0, jnp.log(x), 0.0).sum()""",
        right="""\
def port(params):
    x = params["x"]
    safe = jnp.where(x > 0, x, 2.0)
    return jnp.where(x > 0, jnp.log(safe), 0.0).sum()""",
        trap="The outer `where` hides the infinite value, and the gradient is 0 times infinity: "
        "NaN, in torch too. Mask the argument as well as the result.",
    ),
    from_row(
        "`max` over a dim, ties",
        training="A step moves one of two tied weights in torch, and both in the port.",
    ),
    from_row(
        "`max()` of everything, ties",
        training="A step moves both of two tied weights in torch, and one in the port.",
    ),
    from_row("softmax of a masked row", loss=False),  # a loss would be NaN in every element
)

LAYERS = (
    from_row("`var`, `std`"),
    from_row("`gelu`"),
    from_row("`layer_norm`"),
    Card(
        name="a weight that is not transposed",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2, bias=False)
        self.fc.weight.data = torch.tensor([[1.0, 2.0], [3.0, 5.0]])

    def forward(self, x):
        return (self.fc(x) ** 2).mean()


inputs = (np.float32([[1.0, 2.0], [0.5, -1.0]]),)""",
        wrong="""\
def port(params, x):
    return ((x @ params["fc.weight"]) ** 2).mean()""",
        right="""\
def port(params, x):
    return ((x @ params["fc.weight"].T) ** 2).mean()""",
        trap="torch keeps `weight` as (out, in), flax keeps `kernel` as (in, out). A square matrix "
        "fits either way.",
    ),
    Card(
        name="the weights of another layer",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 2, bias=False)
        self.l2 = nn.Linear(2, 2, bias=False)
        self.l1.weight.data = torch.tensor([[1.0, -0.5], [0.3, 0.8]])
        self.l2.weight.data = torch.tensor([[0.9, -0.4], [0.2, 0.7]])

    def forward(self, x):
        h = torch.tanh(self.l1(x))
        return (self.l2(h) ** 2).mean()


inputs = (np.float32([[1.0, 2.0], [0.5, -1.0]]),)""",
        wrong="""\
def port(params, x):
    h = jnp.tanh(x @ params["l1.weight"].T)
    return ((h @ params["l1.weight"].T) ** 2).mean()""",
        right="""\
def port(params, x):
    h = jnp.tanh(x @ params["l1.weight"].T)
    return ((h @ params["l2.weight"].T) ** 2).mean()""",
        trap="Layers of the same shape can be confused, most easily in a line that was copied. "
        "`l2.weight` has no gradient in the port, so look for the names of `params` that are used "
        "twice or not at all.",
    ),
    Card(
        name="a column minus a row",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0], [-0.5]]))

    def forward(self, x, y):
        value = (x @ self.w).squeeze(1)  # [B, 1] becomes [B]
        return ((value - y) ** 2).mean()


inputs = (
    np.float32([[1.0, 2.0], [0.5, -1.0], [-2.0, 0.3]]),
    np.float32([1.0, 2.0, -1.0]),  # [B]
)""",
        wrong="""\
def port(params, x, y):
    value = x @ params["w"]
    return ((value - y) ** 2).mean()""",
        right="""\
def port(params, x, y):
    value = (x @ params["w"]).squeeze(1)
    return ((value - y) ** 2).mean()""",
        trap="[B, 1] minus [B] is broadcast to [B, B]: every prediction is compared with every "
        "target. The loss is a number and falls in training, but all predictions move to the mean "
        "of the targets. For these shapes `optax.squared_error` raises and torch's `mse_loss` "
        "warns; the written difference does neither. Check `(value - y).shape`.",
    ),
    Card(
        name="half of the squared error",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0]))

    def forward(self, x, y):
        return F.mse_loss(x @ self.w, y)


inputs = (np.float32([[1.0, 2.0], [0.5, -1.0]]), np.float32([1.0, 2.0]))""",
        wrong="""\
def port(params, x, y):
    return optax.l2_loss(x @ params["w"], y).mean()""",
        right="""\
def port(params, x, y):
    return optax.squared_error(x @ params["w"], y).mean()""",
        trap="`optax.l2_loss` is half of the squared error; `optax.squared_error` is torch's.",
    ),
    Card(
        name="a default that was forgotten",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -0.5]))

    def forward(self, x, y):
        return F.huber_loss(x @ self.w, y, delta=0.3)


inputs = (np.float32([[1.0, 2.0], [0.5, -1.0]]), np.float32([1.2, 0.9]))""",
        wrong="""\
def port(params, x, y):
    return optax.huber_loss(x @ params["w"], y).mean()""",
        right="""\
def port(params, x, y):
    return optax.huber_loss(x @ params["w"], y, delta=0.3).mean()""",
        trap="A loss without the argument runs, with the default. Compare the arguments of "
        "torch's call with yours, one by one. The defaults of `delta` (`huber_loss`) and `beta` "
        "(`smooth_l1_loss`) are 1. `margin` is 1 for the triplet and the hinge losses and 0 for "
        "the ranking loss, `label_smoothing` is 0, and `pos_weight` is None. "
        "`optax.sigmoid_binary_cross_entropy` has no `pos_weight`, and optax's cross entropies "
        "have no `label_smoothing`. The losses of `jaxgrad.functional` have torch's arguments.",
    ),
    from_row("`padding_idx`"),
    from_row("`ignore_index`"),
)

PRECISION = (
    Card(
        name="a product in float32 under autocast",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0, 0.57], [2.3, 0.31]]))

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return torch.exp(x @ self.w).sum()


inputs = (np.float32([[1.01, 0.2], [0.6, 0.33]]),)""",
        wrong="""\
def port(params, x):
    return jnp.exp(x @ params["w"]).sum()""",
        right="""\
def loss(params, x):
    return jnp.exp(x @ params["w"]).sum()


port = jaxgrad.autocast(loss, jnp.bfloat16)""",
        trap="torch runs the product in bfloat16, and so does `jaxgrad.autocast`.",
        behaviours=("precision/autocast",),
    ),
    Card(
        name="a cast that is left behind",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0, 0.57], [2.3, 0.31]]))

    def forward(self, x):
        return -(x @ self.w).log_softmax(1)[:, 0].mean()


inputs = (np.float32([[1.01, 0.2], [0.6, 0.33]]),)""",
        wrong="""\
def port(params, x):
    scores = x.astype(jnp.bfloat16) @ params["w"].astype(jnp.bfloat16)
    return -jax.nn.log_softmax(scores.astype(x.dtype), 1)[:, 0].mean()""",
        right="""\
def port(params, x):
    scores = x @ params["w"]
    return -jax.nn.log_softmax(scores, 1)[:, 0].mean()""",
        trap="A cast to bfloat16, written for another device, keeps 8 bits of each factor.",
    ),
)
