"""Write the handout of the one lesson and its answers: docs/one_lesson_handout.md and _answers.md.

The ports are those of the cards in docs/traps, and the answers to the vote are computed here.
`make pages` writes both pages after docs/teachers_session_1.md, which has the model answers.
"""

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch

from parity_tests.notebook import course, teachers
from parity_tests.notebook.worksheet import entries, how_to_print, page_break, write
from parity_tests.runner.settings import ROOT
from parity_tests.site import learned_values
from parity_tests.site.traps.card import IMPORTS, Card
from parity_tests.site.traps.stopping import GRAD_MODES


HANDOUT = ROOT / "docs" / "one_lesson_handout.md"
ANSWERS = ROOT / "docs" / "one_lesson_answers.md"
STEPS, RATE = 200, 0.05
SETTINGS = ("detach", "hook", "in_place")  # of the stepper, in the order of the lesson
NOTEBOOK = "grad_modes"
EXERCISES = ("grad_modes/stopped_too_early", "grad_modes/same_value_other_gradient")
CARDS = {card.name: card for card in GRAD_MODES}
WITH_STOP = """\
def port(params):
    x = params["x"]
    s = lax.stop_gradient(x.std(ddof=1))
    return (x / s).sum()"""


class Port(NamedTuple):
    """A port that the class votes on.

    Attributes:
        card: The card with torch's program.
        code: The port.
        because: Why its gradient and its loss are what they are.
        expect: A wrong answer to expect.
        thinks: The idea behind the wrong answer.
    """

    card: Card
    code: str
    because: str
    expect: str
    thinks: str


PORTS = {
    "A": Port(
        CARDS["`detach`"],
        CARDS["`detach`"].wrong,
        "torch differentiates one factor, the port both. Here the gradient is twice torch's in "
        "every element, which acts as twice the learning rate. So the loss falls, and faster.",
        "right, as the outputs agree",
        "`detach` never changes an output. It changes the gradient only.",
    ),
    "B": Port(
        CARDS["`no_grad`"],
        WITH_STOP,
        "A value that is computed in `no_grad` is a constant for `backward()`, and "
        "`lax.stop_gradient` makes it one for `jax.grad`. The loss has no minimum: each step makes "
        "it smaller.",
        "wrong, as JAX has no block around the line",
        "What counts is the value that is a constant, not the block in which torch computes it.",
    ),
    "C": Port(
        CARDS["a target that is not detached"],
        CARDS["a target that is not detached"].wrong,
        "torch's target is a constant. The port differentiates it too, so its gradient has "
        "another direction: the element of state A agrees, that of state B does not. Each step "
        "also moves the target towards the prediction. This makes the loss smaller than torch's, "
        "but the weights are wrong. They are the values of states A and B. State B always gets a "
        "reward of 1 and ends, so its value is 1. torch learns this. The port lowers the value of "
        "B to {of_b}, because this brings the two targets of state A closer together.",
        "right, as its loss is even lower",
        "The loss measures the distance to a target that moves. Ask what state B is worth: each "
        "student can read that from the inputs.",
    ),
    "D": Port(
        CARDS["straight-through"],
        CARDS["straight-through"].wrong,
        "`round` is constant between its jumps, so its gradient is zero everywhere, and nothing "
        "is learned. torch's line has the value of `round` and the gradient of x.",
        "its loss falls, as it depends on x",
        "It depends on x in jumps. A gradient sees only what happens very near to x.",
    ),
}
HANDOUT_HEAD = f"""\
<!-- written by `make pages` -->
# Handout

<div class="screen-only">

*For teachers:* the questions, ports and exercises of [one lesson](one_lesson.md), without answers.
The [answers](one_lesson_answers.md) are on their own page.

{how_to_print("one_lesson_handout")} Print on both sides of two sheets. This text is not printed.

</div>
"""
VOTE = f"""\
Each function `port` is meant to be the JAX port of the torch module above it, and returns the same
output for the same parameters. The output is the loss. `inputs` are the arguments besides the
parameters. With `ddof=1`, JAX's `std` divides by n − 1, as torch's does.

1. Is the gradient of the port torch's? If not, is it too large, zero, or in another direction?
2. Does the loss of the port fall in {STEPS} steps of `params = params - {RATE} * gradient`?

Give two answers for each port. At least one of the four has torch's gradient.
"""
ANSWERS_HEAD = """\
<!-- written by `make pages` -->
# Answers for one lesson

*For teachers: the answers to the [handout](one_lesson_handout.md) of [one lesson](one_lesson.md).*

The numbers are computed, and a test keeps them current. A wrong answer to expect is in quotes, and
the sentence after it says what is behind it.
"""
DISCUSS = """\
`prove` names the last line of the port, and torch's `detach` as the likely cause. The change that
it suggests is the right port: `lax.stop_gradient(target)`, where torch has `target.detach()`.
"Originates here" means that the gradient that reaches this subtraction agrees with torch's, and the
one that it passes on to the target does not, so the mistake is made here. A difference that
*follows from* another one disappears once the other is fixed.

<img src="_static/port_c.svg" width="560" alt="{figure}">

*To project:* the file `docs/_static/port_c.svg` of the clone, in a browser.

**Would you keep port C?** After the steps its loss is lower than torch's. But the loss is a
distance between two predictions of the same weights, and a lower one does not mean better
predictions: state B is worth 1 in torch and {of_b} in the port. More steps change neither, because
both have converged. A good argument ends with what the lesson's three tests have shown: equal
outputs hold for all four ports, a falling loss for three of them, and torch's gradient for one.
"""


class Run(NamedTuple):
    """One framework's gradients at the start, and its weights and its loss before each step."""

    grads: dict[str, np.ndarray]
    path: list[dict[str, np.ndarray]]
    losses: list[float]

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The weights after the steps."""
        return self.path[-1]

    @property
    def first(self) -> float:
        """The loss before the first step."""
        return self.losses[0]

    @property
    def last(self) -> float:
        """The loss after the steps."""
        return self.losses[-1]


@functools.cache
def trained(letter: str, steps: int = STEPS) -> tuple[Run, Run]:
    """Train torch's module and the port by gradient descent, both from the card's parameters."""
    port = PORTS[letter]
    names: dict[str, Any] = {}
    exec(IMPORTS + port.card.torch, names)
    exec(port.code, names)
    module, inputs = names["Model"](), names["inputs"]
    params = {name: jnp.array(p.detach().numpy()) for name, p in module.named_parameters()}
    of_port = _jax(names["port"], params, inputs, steps)
    return _torch(module, [torch.tensor(x) for x in inputs], steps), of_port


def _torch(module: torch.nn.Module, inputs: Any, steps: int) -> Run:
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses, grads, path = [], {}, []
    for _ in range(steps + 1):
        path.append({name: _copy(param.detach()) for name, param in module.named_parameters()})
        loss = module(*inputs)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        grads = grads or {name: _copy(p.grad) for name, p in module.named_parameters()}
        optimizer.step()
    return Run(grads, path, losses)


def _copy(tensor: torch.Tensor | None) -> np.ndarray:
    assert tensor is not None
    return tensor.numpy().copy()


def _jax(port: Any, params: Any, inputs: Any, steps: int) -> Run:
    losses, first, path = [], None, []
    for _ in range(steps + 1):
        path.append(jax.tree.map(np.asarray, params))
        loss, grads = jax.value_and_grad(port)(params, *inputs)
        losses.append(float(loss))
        first = first or jax.tree.map(np.asarray, grads)
        params = jax.tree.map(lambda param, grad: param - RATE * grad, params, grads)
    return Run(first or {}, path, losses)


def has_gradient(letter: str) -> bool:
    """Return whether a port has torch's gradients at the start."""
    of_torch, of_jax = trained(letter)
    return all(np.allclose(of_torch.grads[name], of_jax.grads[name]) for name in of_torch.grads)


def falls(run: Run) -> bool:
    """Return whether a loss is lower after the steps."""
    return run.last < run.first


def handout() -> str:
    """Return the text of the handout."""
    questions = (_question(number, one) for number, one in enumerate(predictions(), 1))
    ports = [_port(letter) for letter in PORTS]
    tasks = (_exercise(number, task) for number, task in enumerate(exercises(), 1))
    parts = [
        HANDOUT_HEAD,
        write("Name, date", 1),
        "## Predict, then step\n",
        f"{course.network()}\n",
        *questions,
        page_break(),
        "## Vote\n",
        VOTE,
        *ports[:2],
        page_break(),
        *ports[2:],
        page_break(),
        "## Exercises\n",
        *tasks,
    ]
    return "\n".join(parts)


def predictions() -> list[course.Prediction]:
    """Return the questions on the stepper, in the order of the lesson."""
    by_setting = {one.setting: one for of in course.PREDICTIONS.values() for one in of}
    return [by_setting[setting] for setting in SETTINGS]


def exercises() -> list[tuple[str, str]]:
    """Return the task and the first code of each exercise."""
    book = json.loads((teachers.FOLDER / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8"))
    names = [name for name, kind, *_ in teachers.practice(book) if kind == "Exercise"]
    tasks = [entry for entry in entries(book) if entry.kind == "Exercise"]
    by_name = dict(zip(names, tasks, strict=True))
    return [(by_name[name].text, by_name[name].start) for name in EXERCISES]


def _question(number: int, one: course.Prediction) -> str:
    room = [write("I expect, because", 4), write("The result is", 2)]
    return "\n".join([f"### Question {number}\n", f"{one.asks}\n", *room])


def _port(letter: str) -> str:
    card, code, *_ = PORTS[letter]
    answer = [write("1. Its gradient is, because", 2), write("2. Its loss", 1)]
    programs = f"```python\n{card.torch.strip()}\n```\n\n```python\n{code}\n```\n"
    return "\n".join([f"### Port {letter}\n", programs, *answer])


def _exercise(number: int, task: tuple[str, str]) -> str:
    text, start = task
    room = write("My solution, and what it prints", 7)
    return "\n".join([f"### Exercise {number}\n", f"{text}\n\n```python\n{start}\n```\n", room])


def answers() -> str:
    """Return the text of the answers."""
    parts = [ANSWERS_HEAD, "## Predict, then step\n"]
    for number, one in enumerate(predictions(), 1):
        parts.append(f"**Question {number}.** {course.prediction(one)}")
    parts += ["## Vote\n", _table(), *map(_reason, PORTS), "## Exercises\n", *model_answers()]
    return "\n".join(
        [*parts, "## Discuss\n", DISCUSS.format(of_b=_value_of_b(), figure=learned_values.TITLE)]
    )


def _value_of_b() -> str:
    """Return the value of state B that port C learns."""
    return _weight(trained("C")[1].weights["w"][1, 0])


def _table() -> str:
    head = (
        f"| port | torch's gradient | the port's | the same? | torch's loss, {STEPS} steps | "
        "the port's loss | does it fall? | torch's weights after the steps | the port's |\n"
        f"|{'---|' * 9}"
    )
    return "\n".join([head, *map(_row, PORTS), ""])


def _row(letter: str) -> str:
    of_torch, of_port = trained(letter)
    cells = [
        letter,
        *(_list(run.grads, _number) for run in (of_torch, of_port)),
        "**yes**" if has_gradient(letter) else "no",
        *(f"{_number(run.first)} → {_number(run.last)}" for run in (of_torch, of_port)),
        "yes" if falls(of_port) else "**no**",
        *(_list(run.weights, _weight) for run in (of_torch, of_port)),
    ]
    return f"| {' | '.join(cells)} |"


def _list(arrays: dict[str, np.ndarray], text: Callable[[float], str]) -> str:
    (array,) = arrays.values()
    return f"[{', '.join(map(text, array.ravel()))}]"


def _number(x: float) -> str:
    return f"{x:.3g}"


def _weight(x: float) -> str:
    return f"{round(float(x), 2) + 0.0:g}"


def _reason(letter: str) -> str:
    port = PORTS[letter]
    verdict = "torch's gradient" if has_gradient(letter) else "not torch's gradient"
    loss = "falls" if falls(trained(letter)[1]) else "does not fall"
    because = port.because.format(of_b=_value_of_b())
    anchor = port.card.name.strip("`").replace(" ", "-")
    return (
        f"**Port {letter}:** {verdict}, and its loss {loss}. {because} "
        f"([the card](traps/grad_modes.md#{anchor}))\n\n"
        f"- **Expect** “{port.expect}”. {port.thinks}\n"
    )


def model_answers() -> Iterator[str]:
    """Yield the exercises with their model answers, as the notes for teachers have them."""
    notes = (teachers.DOCS / teachers.session_file(1)).read_text(encoding="utf-8")
    for number, (text, _) in enumerate(exercises(), 1):
        _, _, rest = notes.partition(f"\n**Exercise.** {text}\n")
        wrong, _, rest = rest.partition("<details>\n<summary>Model answer</summary>\n")
        model, _, _ = rest.partition("</details>\n")
        yield f"**Exercise {number}.** {text}\n{wrong.rstrip()}\n"
        yield f"A model answer:\n{model.rstrip()}\n"


def figure() -> str:
    """Return the figure of port C: its loss and torch's, and how far the weights are from true."""
    of_torch, of_port = trained("C")
    names: dict[str, Any] = {}
    exec(IMPORTS + PORTS["C"].card.torch, names)
    true = learned_values.true_values(*names["inputs"])
    curves = [
        learned_values.Curves(
            run.losses, [float(np.linalg.norm(step["w"] - true)) for step in run.path]
        )
        for run in (of_torch, of_port)
    ]
    return learned_values.draw(*curves)


if __name__ == "__main__":
    HANDOUT.write_text(handout(), encoding="utf-8")
    ANSWERS.write_text(answers(), encoding="utf-8")
    learned_values.PATH.write_text(figure(), encoding="utf-8")
