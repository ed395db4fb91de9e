"""Cards on clipping, optimizers, schedules and averages."""

from parity_tests.site.traps.card import Card


CLIPPING = (
    Card(
        name="clipping by norm",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


clip = 1.0""",
        wrong="""\
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))""",
        right="""\
tx = optax.chain(optim.clip_grad_norm(1.0), optax.sgd(0.1))""",
        trap="torch multiplies by `max_norm / (norm + 1e-6)`, optax by `max_norm / norm`. The "
        "relative difference is 1e-6 divided by the norm. That does not matter in training unless "
        "the norm is tiny, but a comparison of digits sees it.",
        behaviours=("clipping/clip_grad_norm",),
    ),
    Card(
        name="clipping by value",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


def clip(params):
    nn.utils.clip_grad_value_(params, 0.01)""",
        wrong="""\
tx = optax.chain(optax.clip_by_global_norm(0.01), optax.sgd(0.1))""",
        right="""\
tx = optax.chain(optax.clip(0.01), optax.sgd(0.1))""",
        trap="`clip_by_global_norm` is optax's best known clipping, but keeps the direction of the "
        "gradient. Clipping by value does not; in optax it is named `clip`.",
        behaviours=("clipping/clip_grad_value",),
    ),
    Card(
        name="clipping the updates",
        torch="""\
def optimizer(params):
    return torch.optim.Adam(params, lr=0.1)


clip = 0.1""",
        wrong="""\
tx = optax.chain(optax.adam(0.1), optim.clip_grad_norm(0.1))""",
        right="""\
tx = optax.chain(optim.clip_grad_norm(0.1), optax.adam(0.1))""",
        trap="An optax chain runs from left to right: clip before the optimizer, or the update is "
        "clipped instead of the gradient.",
        behaviours=("clipping/clip_grad_norm",),
    ),
)

OPTIMIZERS = (
    Card(
        name="`AdamW`, defaults",
        torch="""\
def optimizer(params):
    return torch.optim.AdamW(params, lr=0.1)""",
        wrong="""\
tx = optax.adamw(0.1)""",
        right="""\
tx = optim.adamw(0.1)""",
        trap="The default weight decay is 0.01 in torch, 0.0001 in optax.",
        behaviours=("optimizers/adamw",),
    ),
    Card(
        name="`Adam` with decay",
        torch="""\
def optimizer(params):
    return torch.optim.Adam(params, lr=0.1, weight_decay=0.1)""",
        wrong="""\
tx = optax.adamw(0.1, weight_decay=0.1)""",
        right="""\
tx = optim.adam(0.1, weight_decay=0.1)""",
        trap="torch's `Adam` adds the decay to the gradient; AdamW is another algorithm.",
        behaviours=("optimizers/adam_weight_decay",),
    ),
    Card(
        name="`RMSprop`",
        torch="""\
def optimizer(params):
    return torch.optim.RMSprop(params, lr=0.1)""",
        wrong="""\
tx = optax.rmsprop(0.1)""",
        right="""\
tx = optim.rmsprop(0.1)""",
        trap="torch decays by 0.99, optax by 0.9; optax adds eps inside the root.",
        behaviours=("optimizers/rmsprop",),
    ),
    Card(
        name="`Adagrad`",
        torch="""\
def optimizer(params):
    return torch.optim.Adagrad(params, lr=0.1)""",
        wrong="""\
tx = optax.adagrad(0.1)""",
        right="""\
tx = optim.adagrad(0.1)""",
        trap="optax starts the sum of squares at 0.1, torch at 0. optax's eps is 1e-7 and inside "
        "the root, torch's is 1e-10 and outside.",
        behaviours=("optimizers/adagrad",),
    ),
    Card(
        name="weight decay of a bias",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
        self.b = nn.Parameter(torch.tensor([4.0, 1.0]))

    def forward(self, x):
        return (((x @ self.w)[:, None] + self.b) ** 2).mean()


def optimizer(params):
    w, b = params
    groups = [{"params": [w]}, {"params": [b], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.1, weight_decay=0.1)""",
        wrong="""\
def port(params, x):
    return (((x @ params["w"])[:, None] + params["b"]) ** 2).mean()


tx = optax.adamw(0.1, weight_decay=0.1)""",
        right="""\
def port(params, x):
    return (((x @ params["w"])[:, None] + params["b"]) ** 2).mean()


tx = optax.adamw(0.1, weight_decay=0.1, mask={"w": True, "b": False})""",
        trap="A parameter group's own weight decay replaces the default.",
        behaviours=("optim/param_groups",),
    ),
)

SCHEDULES = (
    Card(
        name="cosine schedule",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


def scheduler(opt):
    return torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)


total = 20""",
        wrong="""\
schedule = optax.cosine_decay_schedule(0.1, 10)
tx = optax.sgd(schedule)""",
        right="""\
schedule = optim.lr_scheduler.cosine_annealing_lr(0.1, T_max=10)
tx = optax.sgd(schedule)""",
        trap="After `T_max` steps torch's rate rises again; optax's stays at 0.",
        behaviours=("lr_scheduler/cosine_annealing_lr",),
    ),
    Card(
        name="steps that are smoothed",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


def scheduler(opt):
    return torch.optim.lr_scheduler.StepLR(opt, step_size=5, gamma=0.5)


total = 20""",
        wrong="""\
schedule = optax.exponential_decay(0.1, transition_steps=5, decay_rate=0.5)
tx = optax.sgd(schedule)""",
        right="""\
schedule = optax.exponential_decay(0.1, 5, 0.5, staircase=True)
tx = optax.sgd(schedule)""",
        trap="torch's rate is constant for `step_size` steps; optax's falls at each step unless "
        "`staircase=True`.",
        behaviours=("lr_scheduler/step_lr",),
    ),
    Card(
        name="the first step of a warmup",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


def scheduler(opt):
    return torch.optim.lr_scheduler.LinearLR(opt, total_iters=5)


total = 20""",
        wrong="""\
schedule = optax.linear_schedule(0.0, 0.1, transition_steps=5)
tx = optax.sgd(schedule)""",
        right="""\
schedule = optim.lr_scheduler.linear_lr(0.1, total_iters=5)
tx = optax.sgd(schedule)""",
        trap="torch's warmup starts at a third of the rate by default. A schedule that starts at 0 "
        "takes no first step.",
        behaviours=("lr_scheduler/linear_lr",),
    ),
    Card(
        name="average of the weights",
        torch="""\
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


decay = 0.9""",
        wrong="""\
tx = optax.sgd(0.1)


def average(old, params):
    return optax.incremental_update(params, old, step_size=0.1)""",
        right="""\
tx = optax.sgd(0.1)
average = optim.swa_utils.averaged_model(optim.swa_utils.get_ema_avg_fn(0.9))""",
        trap="torch's `AveragedModel` copies the weights at the first update. The port's average "
        "begins with the initial weights and keeps a part of them.",
        behaviours=("swa_utils/ema",),
    ),
)
