"""Answer the course's questions on the stepper and its discussions, for the notes for teachers.

The answers on the stepper are its own: the recorded gradients, and the reason of an exception.
"""

import json
from typing import Any, NamedTuple

from parity_tests.runner.settings import ROOT


FORWARD = ("a", "h", "y", "s", "loss")  # the lines of the forward pass
OPEN_SESSION = 3  # the session with an exercise that no notebook has
STEPPER = ROOT / "docs" / "_static" / "stepper.html"


class Prediction(NamedTuple):
    """A question of the course on one setting of the stepper, with the right and a wrong answer."""

    asks: str
    setting: str
    right: str  # the sentence that answers it; {W1} is `W1.grad` without the setting
    says: str
    thinks: str


PREDICTIONS = {
    1: (
        Prediction(
            "Before `backward()`, `W1.grad` and `W2.grad` are None. With `h = h.detach()` before "
            "`y = h @ W2`, is `W1.grad` after `backward()` still None, or zeros, or another "
            "number? What is JAX's gradient of `W1`, with `h = lax.stop_gradient(h)` there?",
            "detach",
            "In torch `W1.grad` is still `None`. JAX returns zeros for `W1`. `W2.grad` does not "
            "change.",
            "zeros in both",
            "The value of a gradient is confused with its existence. Who would write the zeros?",
        ),
        Prediction(
            "If `a` and `h` are computed inside `with torch.no_grad():`, `backward()` works. If "
            "they are computed inside `with torch.inference_mode():`, the line `y = h @ W2` after "
            "the block raises. Why?",
            "inference_mode",
            "The product has to save `h` for the gradient of `W2`, and an inference tensor cannot "
            "be saved. A tensor from `no_grad` can: it is an ordinary tensor without a graph.",
            "it is stricter",
            "That is a name, not a reason. What must the product keep for the gradient of `W2`?",
        ),
    ),
    2: (
        Prediction(
            "`loss.backward()` is called twice. The second call visits the nodes of `loss`, `s`, "
            "`y`, `h` and `a`, in this order. At which node does it raise, and why not at the node "
            "of `loss`?",
            "second_backward",
            "At the node of `s`. The node of `loss` comes first, but a sum saves no tensor that "
            "could be freed.",
            "at the node of `loss`, as the graph is gone",
            "The nodes are still there. Only saved tensors are freed, and the sum saved none.",
        ),
        Prediction(
            "`h += 1` comes after `y = h @ W2`. Which nodes have saved `h` before it, and at which "
            "node does `backward()` raise?",
            "in_place",
            "The nodes of `h` and of `y` have saved it, and the node of `y` raises.",
            "none, as y was computed before",
            "torch saved the tensor `h`, not a copy of its numbers.",
        ),
        Prediction(
            "`h.register_hook(lambda g: 0.5 * g)` before `y = h @ W2` halves the gradient of `h`. "
            "Which of `W1.grad` and `W2.grad` does it change?",
            "hook",
            "Only `W1.grad`: it is half of `{W1}`, its value without the hook.",
            "both, or W2 alone",
            "The gradient of W2 is hᵀ times the gradient of y. The hook changes the gradient of h, "
            "and so neither of the two. Ask on which gradients that of W1 depends.",
        ),
    ),
    3: (),
}


class Mistake(NamedTuple):
    """A mistake that the open exercise plants in the port of the notebook on `prove`.

    Attributes:
        right: The line of the notebook, or a part of it.
        wrong: What it becomes.
        fails: The surfaces that fail.
        says: A part of the cause that the report names.
        comment: Why it is hard to notice.
    """

    right: str
    wrong: str
    fails: tuple[str, ...]
    says: str
    comment: str


EXTRA = "an extra stop_gradient"
MISTAKES = (
    Mistake(
        "x.var(-1, keepdims=True)",
        "lax.stop_gradient(x.var(-1, keepdims=True))",
        ("backward", "gradients", "updates"),
        EXTRA,
        "Only what comes before the norm gets a wrong gradient, of nearly the right size.",
    ),
    Mistake(
        'p["norm.bias"]',
        'lax.stop_gradient(p["norm.bias"])',
        ("structure", "updates"),
        EXTRA,
        "One small parameter never learns.",
    ),
    Mistake(
        'dense(p, "head", h)',
        'dense(p, "head", 2 * h - lax.stop_gradient(h))',
        ("backward", "gradients", "updates"),
        EXTRA,
        "The value is that of h and the gradient twice as large, so the network still learns.",
    ),
    Mistake(
        "optax.adamw(1e-2, weight_decay=0.1)",
        "optax.adamw(1e-2)",
        ("updates",),
        "the weight decay is 0.0001 (optax.adamw's default), torch uses 0.1",
        "The model is right. Without `optimizer=` the report is PASS and `updates` not judged.",
    ),
)
# What a student gets points for in the open exercise, and how many.
CRITERIA = (
    ("a hidden mistake with which `forward` passes and another surface fails", 2),
    ("a sentence that says which gradient the hidden mistake changes", 1),
    ("the line of the neighbour's mistake, found by reading (1 point if only `prove` names it)", 2),
    ("the surfaces that fail, and the likely cause", 2),
    ("the reason why `forward` passes", 1),
    ("the correct line, with which the report says `PASS`", 2),
)
OPEN_EXERCISE = """\
## The open exercise

**At home before.** A student who brings no port takes `Net` and `port` of the
[notebook](../notebooks/prove_your_port.ipynb). A port that is brought has to pass `prove` first:
otherwise the neighbour finds its first bug instead of the mistake.

**Open exercise.** Four mistakes in the port of `Net` that leave the outputs unchanged. A test runs
them with `prove_port` of the notebook, which passes `loss=` and `optimizer=`.

| the line | becomes | surfaces that fail | likely cause in the report | why it is hard to see |
|---|---|---|---|---|
{rows}

**Marking**, {points} points for each student:

| for | points |
|---|---|
{criteria}

**If a report names no cause**, let the pair take [five steps](no_cause.md).

**If the report says `PASS`**, let the pair ask three questions:

- Is a surface `not judged`? Then give `loss=`, and `optimizer=` with `steps=`.
- Does an input reach the changed line (a branch, a bound), and in the mode that was run?
- Is it a mistake at all? `stop_gradient` around a value that torch detaches too changes nothing.

If none of them helps, `prove` cannot see the mistake. Keep it for the discussion.

- **Expect** “it passes, so the port is right”. A `PASS` holds for the given inputs and arguments.
"""
DISCUSSIONS = {
    1: "An error names the mistake where it is made, and costs a `clone()` in programs that are "
    "right. A program that trains is convenient, and says nothing when a path is cut by mistake. "
    "Good arguments ask who notices, and when.",
    2: "Neither operator is wrong by itself: at a kink any slope between the two sides is a fair "
    "choice. But the chain rule holds for derivatives, not for choices. relu(x) − relu(−x) is x, "
    "and torch gives 0 for its slope 1; `jnp.maximum(jnp.maximum(x, 0), 0)` is relu again, and "
    "JAX gives 1/4 for it, where one `maximum` has 1/2.",
    3: "A branch or a bound that no input reaches; a mode in which the model was not run (train "
    "or eval); anything outside of the model and its optimizer, such as the order of the data, "
    "the random numbers, or a schedule that was not passed; and a mistake that the torch model "
    "has as well.",
}

# A pair for the discussion: `prove` names the call of torch after the mistake.
NEAR = """\
import jax
import numpy as np
import torch
from jaxgrad.parity import prove


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = torch.nn.Linear(3, 4)

    def forward(self, x):
        h = self.l1(x)
        c = h - h.mean(1, keepdim=True)
        gate = torch.sigmoid(c)
        return (gate * torch.tanh(c)).sum(1)


def port(p, x):
    h = x @ p["l1.weight"].T + p["l1.bias"]
    c = h - h.mean(1, keepdims=True)
    gate = jax.nn.sigmoid(h - h.mean(0, keepdims=True))
    return (gate * jax.numpy.tanh(c)).sum(1)


torch.manual_seed(0)
net = Gated()
params = {name: p.numpy() for name, p in net.state_dict().items()}
inputs = (np.random.default_rng(0).normal(size=(5, 3)),)
print(prove(net, port, params, inputs).first)
"""
NEAR_PRINTS = """\
first divergence: forward, originates here
  torch: (root) (sigmoid), gated.py:15 | jax: gated.py:22 (reduce_sum)
  every input of torch's sigmoid also occurs in the JAX program, but its [5, 4] output does not. \
The final output is off by 0.15 (relative to its scale):
  at [1]: torch gives 0.11910108145377446, JAX gives 0.06202984180000906
  JAX code: gated.py:22: gate = jax.nn.sigmoid(h - h.mean(0, keepdims=True))
"""
PLACE = f"""\
**A place that is only near.** If there are 5 minutes left, show a report whose place is not the
mistake. The file `gated.py`:

```python
{NEAR}```

It prints:

```text
{NEAR_PRINTS}```

**Ask.** Which line is wrong? Is torch's place the call with the mistake, and why is no cause named?

- **Answer.** The port centers the input of the gate over the batch (axis 0), torch over the
  features. The mistake is in the `mean`, and torch's place is the `sigmoid` after it. `prove` pairs
  values by their numbers, and the right mean also occurs in the port, for the `tanh`. So torch's
  `mean` has a partner, and `sigmoid` is the first call of torch whose output has none. No cause is
  named: no single change of this `sigmoid` gives the port's value, because its input differs.
- **Expect** “the sigmoid is wrong, as the report says so”. A place is where the values differ
  first. The mistake may be in an argument: print the inputs of the two lines, as step 3 of
  [a FAIL without a cause](no_cause.md#3-print-both-values) does.
"""


def section(session: int) -> str:
    """Return the answers to the questions of a session on the stepper, if it has any."""
    if not PREDICTIONS[session]:
        return ""
    asked = (f"**Predict.** {prediction(one)}" for one in PREDICTIONS[session])
    return "\n".join(["## Predict, on the stepper\n", f"{network()}\n", *asked])


def discussion(session: int) -> str:
    """Return what to listen for in the discussion of a session, after its open exercise."""
    parts = [open_exercise()] if session == OPEN_SESSION else []
    last = [PLACE] if session == OPEN_SESSION else []
    return "\n".join([*parts, f"## Discuss\n\n{DISCUSSIONS[session]}\n", *last])


def prediction(one: Prediction) -> str:
    """Return a question on the stepper with its answer and the wrong answer to expect."""
    return "\n".join(
        [
            f"{one.asks}\n",
            f"- **Answer.** {one.right.format(W1=gradients('')[0]['W1.grad'])}",
            f"- **Computed.** {answer(one.setting)}",
            f"- **Expect** “{one.says}”. {one.thinks}\n",
        ]
    )


def open_exercise() -> str:
    """Return the notes on the homework and the open exercise."""
    rows = (
        f"| `{one.right}` | `{one.wrong}` | {', '.join(one.fails)} | {one.says} | {one.comment} |"
        for one in MISTAKES
    )
    criteria = "\n".join(f"| {what} | {points} |" for what, points in CRITERIA)
    total = sum(points for _, points in CRITERIA)
    return OPEN_EXERCISE.format(rows="\n".join(rows), points=total, criteria=criteria)


def network() -> str:
    """Return the program of the stepper, for a reader who has only the text of a question."""
    data = _recorded()
    places, _ = data["scenarios"][""]["programs"]
    lines = [text for key, text, *_ in (data["lines"][place] for place in places) if key in FORWARD]
    return (
        f"*The network of the stepper:* {', '.join(f'`{line}`' for line in lines)} and "
        "`loss.backward()`. `W1` and `W2` require a gradient, `x` does not."
    )


def _recorded() -> Any:
    """Return the recorded states of the stepper."""
    _, _, rest = STEPPER.read_text(encoding="utf-8").partition('id="data">')
    return json.loads(rest.partition("</script>")[0])


def answer(setting: str) -> str:
    """Return the reason of torch's exception under a setting, or the gradients of both weights."""
    data = _recorded()
    spoilt = ""  # which saved tensors an in-place change spoils
    for _, *places in data["scenarios"][setting]["steps"]:
        for place in places:
            entry = data["sides"][place]
            if "error" in entry:
                error = entry["error"]
                return f"{spoilt}{entry['say']} {error['why']} In JAX: {error['instead']}"
            spoilt = f"{entry['say']} " if "was saved for" in entry["say"] else spoilt
    cells = gradients(setting)
    return " ".join(
        f"`{name}`: torch `{cells[0][name]}`, JAX `{cells[1][name]}`."
        for name in ("W1.grad", "W2.grad")
    )


def gradients(setting: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the stepper shows at its end, in torch and in JAX."""
    data = _recorded()
    cells: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for _, *places in data["scenarios"][setting]["steps"]:
        for side, place in zip(cells, places, strict=True):
            side.update(data["sides"][place].get("set", {}))
    return cells
