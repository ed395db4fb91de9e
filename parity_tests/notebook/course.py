"""Answer the course's questions on the stepper and its discussions, for the notes for teachers.

The answers on the stepper are its own: the recorded gradients, and the reason of an exception.
"""

import json
from typing import Any, NamedTuple

from parity_tests.runner.settings import ROOT


STEPPER = ROOT / "docs" / "_static" / "stepper.html"


class Prediction(NamedTuple):
    """A question of the course on one setting of the stepper, with the wrong answer to expect."""

    asks: str
    setting: str
    says: str
    thinks: str


PREDICTIONS = {
    1: (
        Prediction(
            "With `detach`, is `W1.grad` None, zeros or a number, and what does JAX return?",
            "detach",
            "zeros in both",
            "The value of a gradient is confused with its existence. Who would write the zeros?",
        ),
        Prediction(
            "Why does `inference_mode` fail in the forward pass, where `no_grad` works?",
            "inference_mode",
            "it is stricter",
            "That is a name, not a reason. What must the product keep for the gradient of `W2`?",
        ),
    ),
    2: (
        Prediction(
            "Which node raises in the second `backward()`, and why not the first?",
            "second_backward",
            "the first node, as the graph is gone",
            "The nodes are still there. Only saved tensors are freed, and the sum saved none.",
        ),
        Prediction(
            "A hook halves the gradient of `h`. Which weights see it?",
            "hook",
            "both, or W2 alone",
            "Walk backward from the loss: the gradient of W2 is computed before the hook runs.",
        ),
    ),
    3: (
        Prediction(
            "Which saved tensors does `h += 1` spoil?",
            "in_place",
            "none, as y was computed before",
            "torch saved the tensor `h`, not a copy of its numbers.",
        ),
    ),
}
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


def section() -> str:
    """Return the answers to the course's questions, session by session."""
    parts = ["## The stepper and the discussions of the course\n"]
    for session, predictions in PREDICTIONS.items():
        parts.append(f"### Session {session}\n")
        for one in predictions:
            parts += [
                f"**Predict.** {one.asks}\n",
                f"- **Answer.** {answer(one.setting)}",
                f"- **Expect** “{one.says}”. {one.thinks}\n",
            ]
        parts.append(f"**Discuss.** {DISCUSSIONS[session]}\n")
    return "\n".join(parts)


def answer(setting: str) -> str:
    """Return the reason of torch's exception under a setting, or the gradients of both weights."""
    _, _, rest = STEPPER.read_text(encoding="utf-8").partition('id="data">')
    data: Any = json.loads(rest.partition("</script>")[0])
    cells: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    spoilt = ""  # which saved tensors an in-place change spoils
    for _, *places in data["scenarios"][setting]["steps"]:
        for side, place in zip(cells, places, strict=True):
            entry = data["sides"][place]
            if "error" in entry:
                error = entry["error"]
                return f"{spoilt}{entry['say']} {error['why']} In JAX: {error['instead']}"
            spoilt = f"{entry['say']} " if "was saved for" in entry["say"] else spoilt
            side.update(entry.get("set", {}))
    return " ".join(
        f"`{name}`: torch `{cells[0][name]}`, JAX `{cells[1][name]}`."
        for name in ("W1.grad", "W2.grad")
    )
