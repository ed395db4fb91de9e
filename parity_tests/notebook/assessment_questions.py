"""The questions of the assessment: programs that run, with points and marking.

Each function is a program; its docstring is the task. A student sees the program with `line`
replaced by `wrong`: a mistake to find, or dots for a line to write. The key has the program as it
is here, and what it prints.
"""

# pyright: reportOptionalMemberAccess=false, reportArgumentType=false
# optax types what `apply_updates` returns as any tree.

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity import prove


BLANK = "..."
FIND_THE_MISTAKE = (
    "The JAX program is a port of the torch program, but the two print different numbers, shown "
    "below the program. Mark the wrong line, say what torch does there, and write the correct line."
)
MARKS_FOR_A_MISTAKE = (
    "1 point for the line, 2 for the explanation, 2 for the correct line. Any line that gives "
    "torch's numbers for these and for other inputs is correct. Try a second input:"
)


class Numbers(NamedTuple):
    """The numbers in the words of an answer, computed from those of its program.

    Attributes:
        read: The regular expression of each number in the program, by its name.
        compute: The function of these numbers that returns all numbers and texts of the words.
        results: The names of the numbers that the program prints.
    """

    read: Mapping[str, str]
    compute: Callable[..., Mapping[str, float | str]]
    results: tuple[str, ...] = ("result",)


@dataclasses.dataclass(frozen=True)
class Question:
    """A question with its answer.

    Attributes:
        program: The program of the answer; its docstring is the task.
        taught: The page that teaches it, as a link from docs/.
        because: The reason for the answer.
        expect: A wrong answer to expect.
        thinks: The idea behind the wrong answer.
        line: The line that the student corrects or writes; empty where the output is predicted.
        wrong: The text that the student sees in place of `line`; it ends with dots where a line is
            to be written.
        others: More wrong answers to expect, each with the idea behind it.
        changes: What is changed in the text of the program, each with its replacement.
        numbers: The numbers that stand in braces in `because`, `expect`, `thinks` and `others`.
    """

    program: Callable[[], None]
    taught: str
    because: str
    expect: str
    thinks: str
    line: str = ""
    wrong: str = ""
    others: tuple[tuple[str, str], ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    numbers: Numbers | None = None

    def changed(self, text: str) -> str:
        """Return a text with the changes."""
        for old, new in self.changes:
            text = text.replace(old, new)
        return text


@dataclasses.dataclass(frozen=True)
class Part:
    """Questions of one kind, which have the same points.

    Attributes:
        title: The heading.
        task: The task of every question.
        points: The points of each question.
        marking: How the points are given.
        lines: The number of lines to write on.
        questions: The questions.
        line_points: The points for a right line or program, without those for an explanation.
    """

    title: str
    task: str
    points: int
    marking: str
    lines: int
    questions: tuple[Question, ...]
    line_points: int = 0


@dataclasses.dataclass(frozen=True)
class Exam:
    """A written test.

    Attributes:
        title: The heading.
        after: The part of the course that it follows, as the end of a sentence.
        minutes: The time that it takes.
        parts: The parts.
    """

    title: str
    after: str
    minutes: int
    parts: tuple[Part, ...]

    @property
    def points(self) -> int:
        """The points of all questions."""
        return sum(part.points * len(part.questions) for part in self.parts)


def through_a_detach():
    """`y` is used twice, once detached."""
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    z = y.detach() * x + y
    z.backward()
    print(x.grad.item())


def number_zero_none():
    """The same loss in both frameworks. It does not use `c`."""
    a, b, c = (torch.tensor(3.0, requires_grad=True) for _ in range(3))
    (a**2 + 0 * b).backward()
    print(a.grad, b.grad, c.grad)

    def loss(params):
        return params["a"] ** 2 + 0 * params["b"]

    grads = jax.grad(loss)({"a": 3.0, "b": 3.0, "c": 3.0})
    print(float(grads["a"]), float(grads["b"]), float(grads["c"]))


def decay_without_a_gradient():
    """SGD with weight decay. Only `p` has a gradient."""
    p, q = (torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2))
    optimizer = torch.optim.SGD([p, q], lr=0.1, weight_decay=0.5)
    p.grad = torch.tensor(0.0)
    optimizer.step()
    print(round(p.item(), 2), round(q.item(), 2))


def hook_on_two_uses():
    """A hook limits the gradient of `h` to 5. `h` is used twice."""
    x = torch.tensor(1.0, requires_grad=True)
    h = 3 * x
    h.register_hook(lambda grad: grad.clamp(max=5.0))
    (2 * h + 4 * h).backward()
    print(x.grad.item())


def clipped_by_its_norm():
    """The program prints two things: what `clip_grad_norm_` returns, and the gradient after it."""
    p = torch.nn.Parameter(torch.zeros(2))
    p.grad = torch.tensor([6.0, 8.0])
    norm = torch.nn.utils.clip_grad_norm_([p], 5.0)
    print(norm.item(), [round(g, 3) for g in p.grad.tolist()])


def policy_gradient():
    """`w` belongs to a policy, and `v` is its critic."""
    w, v = (torch.tensor(value, requires_grad=True) for value in (0.5, 2.0))
    advantage = 5 - v
    (-(3 * w) * advantage.detach() + advantage**2).backward()
    print("torch:", w.grad.item(), v.grad.item())

    def loss(w, v):
        advantage = 5 - v
        return -(3 * w) * lax.stop_gradient(advantage) + advantage**2

    for_w, for_v = jax.grad(loss, argnums=(0, 1))(0.5, 2.0)
    print("JAX:", for_w.item(), for_v.item())


def default_of_weight_decay():
    """One step of AdamW."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    w.grad = torch.tensor(1.0)
    torch.optim.AdamW([w], lr=0.1).step()
    print("torch:", round(w.item(), 5))

    tx = optax.adamw(0.1, weight_decay=0.01)
    param = jnp.array(1.0)
    updates, _ = tx.update(jnp.array(1.0), tx.init(param), param)
    print("JAX:", round(float(optax.apply_updates(param, updates)), 5))


def relu_at_zero():
    """The first element of the input is padding, and so exactly 0."""
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    torch.relu(x).sum().backward()
    print("torch:", x.grad.tolist())

    def loss(x):
        return jnp.sum(jax.nn.relu(x))

    print("JAX:", jax.grad(loss)(jnp.array([0.0, 2.0])).tolist())


def divided_by_the_deviation():
    """The last input is divided by the standard deviation of all inputs."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[2] / x.std()).backward()
    print("torch:", [round(g, 3) for g in x.grad.tolist()])

    def ratio(x):
        return x[2] / x.std(ddof=1)

    grad = jax.grad(ratio)(jnp.array([1.0, 2.0, 3.0]))
    print("JAX:", [round(g, 3) for g in grad.tolist()])


def straight_through():
    """A rounded value whose gradient is that of the value before rounding."""
    x = torch.tensor(1.4, requires_grad=True)
    y = x + (x.round() - x).detach()
    (y**2).backward()
    print("torch:", y.item(), x.grad.item())

    def rounded(x):
        return x + lax.stop_gradient(jnp.round(x) - x)

    grad = jax.grad(lambda x: rounded(x) ** 2)(1.4)
    print("JAX:", rounded(1.4).item(), grad.item())


def slower_gradient():
    """A hook makes the gradient of `h` ten times smaller. The value of `h` stays as it is."""
    x = torch.tensor(3.0, requires_grad=True)
    h = 2 * x
    h.register_hook(lambda grad: 0.1 * grad)
    (h**2).backward()
    print("torch:", round(x.grad.item(), 4))

    def loss(x):
        h = jaxgrad.hook(2 * x, lambda grad: 0.1 * grad)
        return h**2

    print("JAX:", round(jax.grad(loss)(3.0).item(), 4))


def two_batches():
    """torch calls `backward` for two batches and clears nothing between them."""
    w = torch.tensor(1.0, requires_grad=True)
    b = torch.tensor(0.0, requires_grad=True)
    for x in (1.0, 3.0):
        ((w * x + b) ** 2).backward()
    print("torch:", {"b": b.grad.item(), "w": w.grad.item()})

    def loss(params, x):
        return (params["w"] * x + params["b"]) ** 2

    params = {"w": 1.0, "b": 0.0}
    first, second = jax.grad(loss)(params, 1.0), jax.grad(loss)(params, 3.0)
    total = jax.tree.map(jnp.add, first, second)
    print("JAX:", {name: grad.item() for name, grad in total.items()})


def constant_inside_no_grad():
    """The first factor is computed inside `no_grad`."""
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        a = 2 * x
    b = 2 * x
    (a * b).backward()
    print(x.grad.item())


def backward_twice():
    """`backward()` is called twice, without `retain_graph`."""

    def twice(function):
        x = torch.tensor(3.0, requires_grad=True)
        y = function(x)
        y.backward()
        try:
            y.backward()
            print(x.grad.item())
        except RuntimeError:
            print("RuntimeError")

    twice(lambda x: x + 1)
    twice(lambda x: x**2)


def changed_in_place():
    """The result is changed in place before `backward()`."""

    def change(function):
        x = torch.tensor(0.0, requires_grad=True)
        y = function(x)
        y += 1
        try:
            y.backward()
            print(x.grad.item())
        except RuntimeError:
            print("RuntimeError")

    change(lambda x: 5 * x)
    change(torch.tanh)


def without_a_tape():
    """`h` changes after `y` has used it, the backward pass runs twice, and a gradient is
    differentiated. In torch `h += 1` raises, and each of the other two needs an argument. Say for
    each of the three, in one sentence, what takes the place of torch's tape in JAX."""

    def f(x):
        h = x**2
        y = h**2
        h = h + 1
        return y

    _, vjp = jax.vjp(f, 2.0)
    print(vjp(1.0)[0].item(), vjp(1.0)[0].item())
    print(jax.jit(jax.grad(jax.grad(f)))(2.0).item())


def column_and_rows():
    """`linear` is the linear part of `f` at x, and `transposed` its transpose."""

    def f(x):
        return jnp.stack([x[0] * x[1], x[0] ** 2])

    x = jnp.array([3.0, 2.0])
    _, linear = jax.linearize(f, x)
    transposed = jax.linear_transpose(linear, x)
    print(linear(jnp.array([0.0, 1.0])).tolist())
    print(transposed(jnp.array([1.0, 1.0]))[0].tolist())


def stopped_outside():
    """The first factor is detached. A colleague called `stop_gradient` before `jax.grad`."""
    x = torch.tensor(3.0, requires_grad=True)
    (x.detach() * x).backward()
    print("torch:", x.grad.item())

    def loss(x):
        return lax.stop_gradient(x) * x

    stopped = lax.stop_gradient(jnp.array(3.0))
    print("JAX:", jax.grad(loss)(stopped).item())


def bootstrapped_target():
    """The value `w * now` is trained towards a target that torch detaches."""
    w = torch.tensor(2.0, requires_grad=True)
    now, after = 1.0, 3.0
    target = 1 + 0.5 * (w * after).detach()
    ((w * now - target) ** 2).backward()
    print("torch:", w.grad.item())

    def loss(w):
        target = 1 + 0.5 * lax.stop_gradient(w * after)
        return (w * now - target) ** 2

    print("JAX:", jax.grad(loss)(2.0).item())


def verdicts_of_a_port():
    """`prove` compares a port with its module. Each verdict is `pass`, `fail` or `not judged`.
    What does the program print, and why does `forward` have its verdict?"""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    params = {name: p.numpy() for name, p in model.state_dict().items()}

    def port(p, x):
        h = jnp.tanh(x @ p["0.weight"].T + p["0.bias"])
        return lax.stop_gradient(h) @ p["2.weight"].T + p["2.bias"]

    report = prove(model, port, params, (np.ones((5, 3)),))
    for name in ("structure", "forward", "updates"):
        print(f"{name}: {report.surfaces[name].verdict}")


def td_critic():
    """`prove` compares a port with its module. The program prints the first divergence without the
    suggested change. What does `originates here` mean, and which leaf gets no gradient in the port?
    Mark the wrong line, and write the correct one."""

    class Critic(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l1, self.l2 = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)

        def value(self, state):
            return self.l2(torch.tanh(self.l1(state)))

        def forward(self, now, after):
            target = 1 + 0.9 * self.value(after).detach()
            return ((self.value(now) - target) ** 2).mean()

    def value(p, state):
        h = jnp.tanh(state @ p["l1.weight"].T + p["l1.bias"])
        return h @ p["l2.weight"].T + p["l2.bias"]

    def port(p, now, after):
        target = 1 + 0.9 * lax.stop_gradient(value(p, after))
        return ((value(p, now) - target) ** 2).mean()

    critic = Critic()
    params = {name: p.numpy() for name, p in critic.state_dict().items()}
    report = prove(critic, port, params, (np.ones((5, 3)), np.zeros((5, 3))))
    print(f"verdict: {report.verdict}")
    print(str(report.first or "").partition("\n  suggested change")[0])


def coupled_decay():
    """`prove` also trains the layer for three steps. What the program prints is below it. Mark the
    wrong line, and write the correct one."""
    model = torch.nn.Linear(3, 1)
    params = {name: p.numpy() for name, p in model.state_dict().items()}

    def port(p, x):
        return x @ p["weight"].T + p["bias"]

    def torch_adamw(parameters):
        return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1)

    tx = optax.adamw(0.01, weight_decay=0.1)
    optimizer = (torch_adamw, tx)
    report = prove(model, port, params, (np.ones((5, 3)),), optimizer=optimizer, steps=3)
    for name in ("structure", "forward", "gradients", "updates"):
        print(f"{name}: {report.surfaces[name].verdict}")


def port_of_a_step():
    """Write the JAX port of torch's training step: the loss as a function of the parameters, its
    gradients, and the new `params`. Take about ten lines. `params` has torch's names and shapes:
    the weight is 1×2, the bias has one element."""
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -0.5]]))
        layer.bias.fill_(0.5)
    params = {name: jnp.array(p.detach().numpy()) for name, p in layer.named_parameters()}
    now, after = np.float32([[1, 2], [3, 1]]), np.float32([[0, 3], [2, 2]])

    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with torch.no_grad():
        target = 1 + 0.5 * torch.relu(layer(torch.tensor(after)))
    loss = ((torch.relu(layer(torch.tensor(now))) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    print("torch:", [round(p, 4) for p in [*layer.weight[0].tolist(), layer.bias.item()]])

    def value(params, x):
        return jax.nn.relu(x @ params["weight"].T + params["bias"])

    def mean_square(params):
        target = 1 + 0.5 * lax.stop_gradient(value(params, after))
        return jnp.mean((value(params, now) - target) ** 2)

    grads = jax.grad(mean_square)(params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    print("JAX:", [round(p, 4) for p in [*params["weight"][0].tolist(), params["bias"].item()]])


AT_X = {"x": r"torch\.tensor\(([\d.]+)"}
THROUGH_A_DETACH = Numbers(
    AT_X, lambda x: {"x": x, "y": x**2, "result": x**2 + 2 * x, "ignored": 3 * x**2 + 2 * x}
)
INSIDE_NO_GRAD = Numbers(AT_X, lambda x: {"a": 2 * x, "result": 4 * x, "both": 8 * x})
WITH_DECAY = Numbers(
    {"lr": r"lr=([\d.]+)", "decay": r"weight_decay=([\d.]+)"},
    lambda lr, decay: {"lr": lr, "decay": decay, "result": 1 - lr * decay},
)
FOURTH_POWER = Numbers(
    {"x": r"vjp\(f, ([\d.]+)\)"},
    lambda x: {"first": 4 * x**3, "second": 12 * x**2},
    ("first", "second"),
)
LINEAR_PART = Numbers(
    {"x0": r"x = jnp\.array\(\[([\d.]+)", "x1": r"x = jnp\.array\(\[[\d.]+, ([\d.]+)"},
    lambda x0, x1: {
        "x0": x0,
        "for_x0": x1 + 2 * x0,
        "forward": f"[{x1 + x0:.1f}, {2 * x0:.1f}]",
        "one_use": f"[{x1:.1f}, {x0:.1f}]",
    },
    ("x0", "for_x0"),
)
TARGET = Numbers(
    {
        "w": r"w = torch\.tensor\(([\d.]+)",
        "now": r"now, after = ([\d.]+)",
        "after": r"now, after = [\d.]+, ([\d.]+)",
        "reward": r"target = ([\d.]+)",
        "factor": r"target = [\d.]+ \+ ([\d.]+)",
    },
    lambda w, now, after, reward, factor: {
        "value": w * now,
        "now": now,
        "target": reward + factor * w * after,
        "reward": reward,
        "factor": factor,
        "result": 2 * (w * now - reward - factor * w * after) * now,
    },
)
STEP = Numbers({"lr": r"lr=([\d.]+)"}, lambda lr: {"lr": lr}, ())
PORT = """\
def value(params, x):
    return jax.nn.relu(x @ params["weight"].T + params["bias"])


def mean_square(params):
    target = 1 + 0.5 * lax.stop_gradient(value(params, after))
    return jnp.mean((value(params, now) - target) ** 2)


grads = jax.grad(mean_square)(params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)"""
EXAMS = (
    Exam(
        "First test",
        "the three sessions of the course",
        90,
        (
            Part(
                "Part A: predict",
                "What does the program print? Give a reason in one sentence.",
                3,
                "2 points for the result, 1 for the reason. A slip in the arithmetic with the "
                "right reason still gets 2. In questions 3, 5, 6 and 8 each of the two lines gets "
                "1 of the 2 points for the result, and the reason has to explain why they "
                "differ; in question 4 each of the two numbers does. In question 7 the result "
                "gets 1 point and the reasons 2: 1 for the values that nothing changes or frees, 1 "
                "for the gradient as a program.",
                3,
                (
                    Question(
                        through_a_detach,
                        "../notebooks/grad_modes.ipynb",
                        "`y.detach()` is the constant {y}. So the derivative of "
                        "`{y} * x + x**2` is {y} + 2x, which is {result} at x = {x}.",
                        "{ignored}",
                        "`detach` was ignored, which gives 3x² + 2x. Ask what `y.detach()` "
                        "depends on.",
                        numbers=THROUGH_A_DETACH,
                    ),
                    Question(
                        constant_inside_no_grad,
                        "../notebooks/grad_modes.ipynb",
                        "Inside `no_grad` torch records nothing, so `a` is the constant {a}. The "
                        "derivative of {a} · 2x is {result}.",
                        "{both}",
                        "`a` is treated as a function of x. Both factors together would be 4x², "
                        "with the derivative 8x.",
                        numbers=INSIDE_NO_GRAD,
                    ),
                    Question(
                        number_zero_none,
                        "../notebooks/none_or_zero.ipynb",
                        "torch has a path from the loss to `b`, with a derivative of zero, and no"
                        " path to "
                        "`c`. `jax.grad` returns an array for every parameter.",
                        "`None` for `b` too, as it has no influence",
                        "The size of a derivative is confused with the existence of a path.",
                    ),
                    Question(
                        decay_without_a_gradient,
                        "../notebooks/none_or_zero.ipynb",
                        "Weight decay applies even if the gradient is zero: "
                        "1 − {lr} · {decay} = {result}. torch "
                        "skips a parameter whose gradient is `None`.",
                        "1.0 and 1.0",
                        "Weight decay is thought to need a nonzero gradient. The optimizer adds "
                        "it to "
                        "every gradient, even to zero.",
                        numbers=WITH_DECAY,
                    ),
                    Question(
                        backward_twice,
                        "tape_or_transform.md",
                        "The node of a sum keeps no tensor, so its graph can be walked again, and"
                        " torch adds 1 to `.grad` twice. The node of `x**2` keeps x, which the "
                        "first `backward()` frees.",
                        "RuntimeError for both",
                        "The graph itself is not freed. Only the tensors that a node keeps are "
                        "freed.",
                    ),
                    Question(
                        changed_in_place,
                        "tape_or_transform.md",
                        "The product keeps the factor 5 and not its result, so a change of the "
                        "result does no harm. The node of `tanh` keeps its result, which `y += 1`"
                        " changes.",
                        "5.0 and 1.0",
                        "The derivative of `tanh` at 0 is 1, but torch computes it from the "
                        "result that it kept. That has changed, so torch raises.",
                    ),
                    Question(
                        without_a_tape,
                        "tape_or_transform.md",
                        "f is x⁴, so the gradient is 4x³ = {first} and the second derivative "
                        "12x² = {second}. `h + 1` makes a new array: the one that `h**2` used does "
                        "not change, where torch's `h += 1` would change the tensor that the tape "
                        "keeps. "
                        "Instead of a tape, the function `vjp` holds the residuals as values. No "
                        "call frees them, so it needs no `retain_graph`. `jax.grad(f)` is a "
                        "function again, that is, a program. So `jax.grad` and `jax.jit` take it "
                        "as they take f, without `create_graph`.",
                        "an error in the second call of `vjp`",
                        "Nothing is freed: the residuals belong to `vjp` and live as long as it "
                        "does.",
                        numbers=FOURTH_POWER,
                    ),
                    Question(
                        column_and_rows,
                        "tape_or_transform.md",
                        "The linear part takes a tangent of x and returns that of f(x): x1 changes "
                        "at the rate 1, so x0·x1 changes at the rate x0 = {x0}, and x0² stays. The "
                        "transpose takes a gradient of f(x) and returns that of x: x0 is used in "
                        "both outputs, which gives x1 + 2·x0 = {for_x0}, and x1 in one, which "
                        "gives x0 = {x0}.",
                        "{forward} in the second line",
                        "That is the linear part again, for the tangent [1, 1]. Ask what goes in "
                        "and what comes out: gradients of the outputs, gradients of the inputs.",
                        others=(
                            (
                                "{one_use} in the second line",
                                "The second use of x0 is forgotten. The transpose adds the uses.",
                            ),
                        ),
                        numbers=LINEAR_PART,
                    ),
                ),
            ),
            Part(
                "Part B: find the mistake",
                FIND_THE_MISTAKE,
                5,
                f"{MARKS_FOR_A_MISTAKE} [0, −1, 2] in question 9 and 5 in 10. In question 10 "
                "`stopped = ...` also counts as the line if the explanation says that "
                "`stop_gradient` has no effect there. "
                "The 2 points for the correct line are for a change inside the differentiated "
                "function: another value of `stopped` gives torch's number for this input only.",
                4,
                (
                    Question(
                        relu_at_zero,
                        "kinks.md",
                        "At 0 both arguments of `jnp.maximum` are equal, and JAX gives each of "
                        "them half "
                        "of the gradient. The gradient of torch's `relu` there is 0, like that of "
                        "`jax.nn.relu`.",
                        "the dtype: write `jnp.maximum(x, 0.0)`",
                        "The value of the loss is right. Only the gradient at the tie differs.",
                        "return jnp.sum(jax.nn.relu(x))",
                        "return jnp.sum(jnp.maximum(x, 0))",
                    ),
                    Question(
                        stopped_outside,
                        "../notebooks/grad_modes.ipynb",
                        "An array carries no record, so `stop_gradient` outside of the "
                        "differentiated "
                        "function stops nothing. In the function, torch's `detach` becomes "
                        "`lax.stop_gradient` around the first factor.",
                        "`jax.grad(lax.stop_gradient(loss))`",
                        "A function has no gradient to stop. What is stopped is a value inside of"
                        " it.",
                        "return lax.stop_gradient(x) * x",
                        "return x * x",
                    ),
                ),
                line_points=3,
            ),
            Part(
                "Part C: write a line",
                "Write the missing line of the JAX program. What the complete program prints is "
                "below "
                "it.",
                5,
                "5 points for any line that gives torch's numbers for these and for other inputs "
                "(a "
                "second input: w = 4 in question 11, the batches 4 and 5 in 12), even if it uses "
                "other functions than the model answer. "
                "3 points if only a name or a bracket is wrong. 2 points if the idea is right, "
                "but the line computes something else.",
                3,
                (
                    Question(
                        bootstrapped_target,
                        "../notebooks/00_ten_minutes.ipynb",
                        "torch detaches `w * after`. Only the value at `now` is differentiated: 2"
                        " · ({value} − {target}) · {now} = {result}.",
                        "`target = lax.stop_gradient(w) * after`",
                        "The value is wrong: the {reward} and the factor {factor} are missing. "
                        "The stop alone is right.",
                        "target = 1 + 0.5 * lax.stop_gradient(w * after)",
                        f"target = {BLANK}",
                        numbers=TARGET,
                    ),
                    Question(
                        two_batches,
                        "../notebooks/00_ten_minutes.ipynb",
                        "torch adds to `.grad`. In JAX you add the two trees.",
                        "`total = first + second`",
                        "Dictionaries cannot be added. `jax.tree.map` adds them leaf by leaf.",
                        "total = jax.tree.map(jnp.add, first, second)",
                        f"total = {BLANK}",
                    ),
                ),
                line_points=5,
            ),
            Part(
                "Part D: read what `prove` says",
                "The programs call `prove`. Give the reason for your answer.",
                6,
                "3 points for the verdicts (question 13, 1 for each) or for the correct line (14 "
                "and 15), 3 for the reason. In question 14 any line of the port that makes "
                "`updates` pass is correct, but no change of torch's line. In question 15 the "
                "reason has 2 points for `originates here` and 1 for the leaf.",
                4,
                (
                    Question(
                        verdicts_of_a_port,
                        "../notebooks/prove_your_port.ipynb",
                        "`stop_gradient` is the identity in the forward pass, so the outputs "
                        "agree. The weight and the bias of the first layer have a gradient in "
                        "torch and no path in the port. A parameter with a gradient on one side "
                        "only is counted under `structure`. Without `optimizer=` no update is "
                        "judged. The program does not print `gradients`: that surface compares "
                        "the parameters that have a gradient on both sides, and the inputs. It "
                        "fails here because of x alone, whose path leads through the stopped h.",
                        "`forward` fails too, as a stopped layer computes something else",
                        "The value of `stop_gradient(h)` is that of h. Only derivatives differ.",
                    ),
                    Question(
                        coupled_decay,
                        "../notebooks/prove_your_port.ipynb",
                        "The gradients agree and the updates do not, so the mistake is in the "
                        "optimizer. "
                        "torch's AdamW subtracts the decay from the weight itself. The chain adds"
                        " it to "
                        "the gradient, which Adam then divides by its size.",
                        "`stop_gradient` in the port",
                        "A wrong gradient would be found on the surface `gradients`, before the "
                        "updates.",
                        "tx = optax.adamw(0.01, weight_decay=0.1)",
                        "tx = optax.chain(optax.add_decayed_weights(0.1), optax.adam(0.01))",
                    ),
                    Question(
                        td_critic,
                        "../notebooks/prove_your_port.ipynb",
                        "`originates here` means that this difference does not follow from another "
                        "one, so the mistake is to be looked for at this place. `l1.weight` has no "
                        "gradient in the port (`l1.bias` has none either; the report names the "
                        "first), because the only path from the loss to l1 leads through h. The "
                        "likely cause names the line, and is confirmed: without this "
                        "`stop_gradient` all gradients agree. The `stop_gradient` of the target is "
                        "right, because torch detaches the target.",
                        "the line of the target, where the other `stop_gradient` is",
                        "torch detaches the target too. Ask which line of the file the report "
                        "names.",
                        'return h @ p["l2.weight"].T + p["l2.bias"]',
                        'return lax.stop_gradient(h) @ p["l2.weight"].T + p["l2.bias"]',
                    ),
                ),
                line_points=3,
            ),
            Part(
                "Part E: write a port",
                "Write the missing lines. What the complete program prints is below it.",
                8,
                "2 points for the value as a function of the parameters, with the transposed "
                "weight. 2 for the target: `lax.stop_gradient` inside of the differentiated "
                "function, or a target that is computed before the loss, as torch's program does, "
                "which needs no `stop_gradient`. 1 for the mean of the squares. 1 for `jax.grad` "
                "with respect to the parameters alone. 2 for new parameters, with the same "
                "structure. Names and order are free, and so are `jax.value_and_grad`, optax's "
                "`sgd`, or all in one function. `jnp.maximum(h, 0)` costs no "
                "point here, because no value is exactly 0; remark that its gradient differs there "
                "(question 9). Slips of the syntax cost nothing as long as the meaning is clear.",
                12,
                (
                    Question(
                        port_of_a_step,
                        "../notebooks/00_ten_minutes.ipynb",
                        "The loss is a function of `params`. What torch computes in `no_grad` "
                        "becomes a constant by `lax.stop_gradient`, or because it is computed "
                        "outside of the differentiated function. There is no `backward()` and "
                        "no `step()`: `jax.grad` returns the gradients, as a dict with the keys of "
                        "`params`, and the step makes a new dict.",
                        "the target without `stop_gradient`, as the data is constant",
                        "The data is, but the target depends on the parameters too. The gradient "
                        "then has a second term. Ask which lines of torch are inside of `no_grad`.",
                        PORT,
                        f"# your port\n{BLANK}",
                        (
                            (
                                '`x @ params["weight"]`',
                                "torch's weight has the shape (out, in), and `x` has `in` columns. "
                                "Write the shapes below the product.",
                            ),
                            (
                                "`params -= {lr} * grads`",
                                "Dicts cannot be multiplied. `jax.tree.map` takes each parameter "
                                "with its gradient.",
                            ),
                            (
                                "`stop_gradient(params)` before `jax.grad`",
                                "An array carries no record, so this stops nothing: the stop has "
                                "to be inside of the function (question 10).",
                            ),
                        ),
                        numbers=STEP,
                    ),
                ),
                line_points=8,
            ),
        ),
    ),
    Exam(
        "Second test",
        "the further notebooks and pages that the key names",
        40,
        (
            Part(
                "Part F: predict",
                "What does the program print? Give a reason in one sentence.",
                3,
                "2 points for the result, 1 for the reason. A slip in the arithmetic with the "
                "right reason still gets 2.",
                3,
                (
                    Question(
                        hook_on_two_uses,
                        "../notebooks/hooks.ipynb",
                        "torch first adds the gradients of both uses, 2 + 4 = 6. The hook runs "
                        "once and "
                        "makes 5 of it, and `3 * x` multiplies it by 3.",
                        "18",
                        "The hook is thought to run once for each use, where neither 2 nor 4 "
                        "exceeds 5.",
                    ),
                    Question(
                        clipped_by_its_norm,
                        "../notebooks/clipping.ipynb",
                        "The norm of [6, 8] is 10, and the function returns the norm before "
                        "clipping. The "
                        "whole gradient is multiplied by 5 / 10.",
                        "5.0 [3.0, 4.0]",
                        "The gradient is right. The function is thought to return the norm after "
                        "clipping; ask what one would log to see that a gradient was too large.",
                        others=(
                            (
                                "10.0 [5.0, 5.0]",
                                "Clipping by norm is confused with clipping each value.",
                            ),
                        ),
                    ),
                ),
            ),
            Part(
                "Part G: find the mistake",
                FIND_THE_MISTAKE,
                5,
                f"{MARKS_FOR_A_MISTAKE} `v` = 3 in question 19, a weight of 2 in 20 and "
                "[1, 2, 6] in 21.",
                4,
                (
                    Question(
                        policy_gradient,
                        "../notebooks/actor_critic.ipynb",
                        "torch detaches the advantage in the first term, so that term does not "
                        "train the "
                        "critic. In the JAX program both terms do.",
                        "`stop_gradient` around `5 - v`",
                        "This stops the advantage in the second term too, so the critic does not "
                        "learn.",
                        "return -(3 * w) * lax.stop_gradient(advantage) + advantage**2",
                        "return -(3 * w) * advantage + advantage**2",
                    ),
                    Question(
                        default_of_weight_decay,
                        "../notebooks/optimizers.ipynb",
                        "The default of `weight_decay` is 0.01 in torch's AdamW and 0.0001 in "
                        "optax's.",
                        "a larger learning rate",
                        "A rate of 0.10099 gives the right number for this weight, and a wrong "
                        "one for a "
                        "weight of 2: 1.89899, where torch has 1.898.",
                        "tx = optax.adamw(0.1, weight_decay=0.01)",
                        "tx = optax.adamw(0.1)",
                    ),
                    Question(
                        divided_by_the_deviation,
                        "traps/layers_and_losses.md#var-std",
                        "torch's `std` divides by n − 1 by default, and that of JAX, like "
                        "NumPy's, by n.",
                        "a missing `stop_gradient` around the deviation",
                        "The value of the ratio differs too, and `stop_gradient` never changes a "
                        "value.",
                        "return x[2] / x.std(ddof=1)",
                        "return x[2] / x.std()",
                    ),
                ),
            ),
            Part(
                "Part H: write a line",
                "Write the missing line of the JAX program. What the complete program prints is "
                "below "
                "it.",
                5,
                "5 points for any line that gives torch's numbers for these and for other inputs "
                "(a "
                "second input: x = 2.6 in question 22, x = −1 in 23), even if it uses other "
                "functions than the model answer. "
                "3 points if only a name or a bracket is wrong. 2 points if the idea is right, "
                "but the line computes something else.",
                3,
                (
                    Question(
                        straight_through,
                        "../notebooks/custom.ipynb",
                        "The stopped difference adds its value and has no gradient, as in torch.",
                        "`return lax.stop_gradient(jnp.round(x))`",
                        "The value is right, but the gradient is 0.",
                        "return x + lax.stop_gradient(jnp.round(x) - x)",
                        f"return {BLANK}",
                    ),
                    Question(
                        slower_gradient,
                        "../notebooks/hooks.ipynb",
                        "`jaxgrad.hook` is the identity and applies the function to the gradient."
                        " Without "
                        "jaxgrad: `h = 0.2 * x + lax.stop_gradient(1.8 * x)`.",
                        "`h = 0.1 * 2 * x`",
                        "This changes the value of `h` as well.",
                        "h = jaxgrad.hook(2 * x, lambda grad: 0.1 * grad)",
                        f"h = {BLANK}",
                    ),
                ),
            ),
        ),
    ),
)
PARTS = tuple(part for exam in EXAMS for part in exam.parts)


class Variant(NamedTuple):
    """What variant B of the first test changes in a question.

    The words of the answer are those of the key, with the numbers of the changed program, unless
    other words are given here.

    Attributes:
        changes: Parts of the program, each with its replacement.
        because: The reason for the answer, if other numbers alone do not make it that of the key.
        line: The right line, if it is not that of the key with the changes.
        wrong: The wrong line, if it is not that of the test with the changes.
        expect: A wrong answer to expect and the idea behind it, if they are not those of the key.
        others: More wrong answers to expect, each with the idea behind it.
        numbers: The numbers in these words, if they are not those in the words of the key.
    """

    changes: tuple[tuple[str, str], ...]
    because: str = ""
    line: str = ""
    wrong: str = ""
    expect: tuple[str, str] | None = None
    others: tuple[tuple[str, str], ...] = ()
    numbers: Numbers | None = None


VARIANT: dict[Callable[[], None], Variant] = {
    through_a_detach: Variant((("torch.tensor(2.0", "torch.tensor(3.0"),)),
    constant_inside_no_grad: Variant((("torch.tensor(3.0", "torch.tensor(5.0"),)),
    number_zero_none: Variant((("3.0", "4.0"),)),
    decay_without_a_gradient: Variant((("weight_decay=0.5", "weight_decay=0.2"),)),
    backward_twice: Variant(
        (("lambda x: x + 1", "torch.exp"), ("lambda x: x**2", "lambda x: x - 4")),
        "The node of `exp` keeps its result, which the first `backward()` frees. The node of a "
        "difference keeps no tensor, so its graph can be walked again, and torch adds 1 to `.grad` "
        "twice.",
    ),
    changed_in_place: Variant(
        (("lambda x: 5 * x", "torch.exp"), ("torch.tanh", "torch.sin")),
        "The node of `exp` keeps its result, which `y += 1` changes. The node of `sin` keeps x and "
        "not its result, so a change of the result does no harm; the derivative is cos(0) = 1.",
        expect=(
            "1.0 and 1.0",
            "The derivative of `exp` at 0 is 1, but torch computes it from the result that it "
            "kept. That has changed, so torch raises.",
        ),
    ),
    without_a_tape: Variant((("f, 2.0)", "f, 1.0)"), ("(2.0)", "(1.0)"))),
    column_and_rows: Variant((("[3.0, 2.0]", "[4.0, 5.0]"),)),
    relu_at_zero: Variant(
        (
            ("[0.0, 2.0]", "[0.0, -3.0]"),
            ("torch.relu(x)", "torch.maximum(x, torch.zeros_like(x))"),
            ("jax.nn.relu(x)", "jnp.maximum(x, 0)"),
        ),
        "At 0 both arguments of `torch.maximum` are equal, and it gives each of them half of the "
        "gradient, as `jnp.maximum` does. The gradient of `jax.nn.relu` there is 0, like that of "
        "torch's `relu`.",
        wrong="return jnp.sum(jax.nn.relu(x))",
        expect=(
            "no line: relu is the maximum of x and 0",
            "True for the values. The gradients at the tie differ: ask what each of the two gives "
            "at x = 0.",
        ),
    ),
    stopped_outside: Variant(
        (
            ("(3.0", "(4.0"),
            ("x.detach() * x", "x.detach() * x**2"),
            ("lax.stop_gradient(x) * x", "lax.stop_gradient(x) * x**2"),
        ),
        "An array carries no record, so `stop_gradient` outside of the differentiated function "
        "stops nothing. In the function, torch's `detach` becomes `lax.stop_gradient` around the "
        "first factor. The derivative of {x} · x² is {twice}x, which is {result} at x = {x}.",
        wrong="return x * x**2",
        numbers=Numbers(AT_X, lambda x: {"x": x, "twice": 2 * x, "result": 2 * x**2}),
    ),
    bootstrapped_target: Variant((("1 + 0.5", "2 + 0.5"),)),
    two_batches: Variant(
        (
            ("(1.0, 3.0)", "(2.0, 3.0)"),
            ("params, 1.0)", "params, 2.0)"),
            ("((w * x + b) ** 2).backward()", "((w * x + b) ** 2 / 2).backward()"),
            ("jnp.add, first", "lambda a, b: (a + b) / 2, first"),
        ),
        "torch adds to `.grad`, and it divides each loss by 2, so the sum is the mean of the two "
        "gradients. The loss of the JAX program is not divided: take the mean leaf by leaf.",
        others=(
            (
                "`total = jax.tree.map(jnp.add, first, second)`",
                "The sum is twice torch's numbers. Ask what torch divides by 2.",
            ),
        ),
    ),
    verdicts_of_a_port: Variant(
        (
            ("return lax.stop_gradient(h) @", "return (2 * h - lax.stop_gradient(h)) @"),
            ('"forward", "updates"', '"forward", "gradients"'),
        ),
        "`2 * h - lax.stop_gradient(h)` has the value of h, so the outputs agree. Every parameter "
        "has a gradient on both sides, so `structure` passes. The gradients of the first layer are "
        "twice torch's, which is counted under `gradients`.",
        expect=(
            "`forward` fails too, as `2 * h` is not h",
            "The stopped h is subtracted, so the value is h. Only derivatives differ.",
        ),
        others=(
            (
                "`structure` fails, as in every port with a wrong `stop_gradient`",
                "A path is left, through `2 * h`: every parameter has a gradient on both sides.",
            ),
        ),
    ),
    coupled_decay: Variant(
        (("decay=0.1", "decay=0.2"), ("decayed_weights(0.1)", "decayed_weights(0.2)"))
    ),
    td_critic: Variant(
        (("1 + 0.9", "2 + 0.5"),),
        "`originates here` means that this difference does not follow from another one, so the "
        "mistake is to be looked for at this place. `l1.bias` has no gradient in the port, because "
        "it is stopped in the line that the likely cause names. The cause is confirmed: without "
        "this `stop_gradient` all gradients agree. The `stop_gradient` of the target is right, "
        "because torch detaches the target.",
        line='h = jnp.tanh(state @ p["l1.weight"].T + p["l1.bias"])',
        wrong='h = jnp.tanh(state @ p["l1.weight"].T + lax.stop_gradient(p["l1.bias"]))',
    ),
    port_of_a_step: Variant(
        (
            ("[[1, 2], [3, 1]]", "[[2, 1], [1, 1]]"),
            ("1 + 0.5", "2 + 0.5"),
            ("lr=0.1", "lr=0.2"),
            ("- 0.1 * g", "- 0.2 * g"),
        )
    ),
}


def variant(exam: Exam) -> Exam:
    """Return a test with the changes of `VARIANT`."""

    def changed(question: Question) -> Question:
        other = VARIANT[question.program]
        expect, thinks = other.expect or (question.expect, question.thinks)
        made = dataclasses.replace(
            question,
            changes=other.changes,
            because=other.because or question.because,
            expect=expect,
            thinks=thinks,
            others=other.others or question.others,
            numbers=other.numbers or question.numbers,
        )
        line, wrong = (made.changed(text) for text in (question.line, question.wrong))
        return dataclasses.replace(made, line=other.line or line, wrong=other.wrong or wrong)

    parts = (
        dataclasses.replace(part, questions=tuple(map(changed, part.questions)))
        for part in exam.parts
    )
    return dataclasses.replace(exam, title=f"{exam.title}, variant B", parts=tuple(parts))


EXAMS_B = (variant(EXAMS[0]),)
