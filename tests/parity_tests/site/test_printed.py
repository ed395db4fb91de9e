"""The pages with programs print what stands under each block."""

import ast
import inspect
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from jaxgrad.parity import Training, dump, prove
from parity_tests.runner.settings import ROOT
from parity_tests.site.printed import BLOCK, filled, of_any_torch, outputs, script
from tests._helpers import has_page_release, page_release


NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?(?![\w:])")
# What other releases of JAX print differently: a jaxpr, and the residuals of its VJP.
RELEASE = re.compile(r"\{ lambda .*?\}\n|^JAX   \[[^\n]*\]\n", re.DOTALL | re.MULTILINE)
PAGES = (
    "one_lesson",
    "tape_or_transform",
    "prove",
    "read_a_report",
    "no_cause",
    "prove_special",
    "training_step",
    "worked_port",
    "real_questions",
    "kinks",
    "weights",
)
SLOW = ("training_step", "worked_port", "real_questions")


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # torch.func.jvp calls it
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in PAGES]
)
def test_a_page_prints_what_is_written(name):
    """Each block of a page prints the text under it, except for digits."""
    page = (ROOT / "docs" / f"{name}.md").read_text()

    assert BLOCK.findall(page)
    assert _comparable(filled(page, f"{name}.py")) == _comparable(page), "run: make pages"


def test_the_page_on_reports_quotes_what_they_say():
    """A phrase that docs/read_a_report.md quotes from a report is in one of its reports."""
    page = (ROOT / "docs" / "read_a_report.md").read_text(encoding="utf-8")
    texts = page.split("```")
    reports, prose = (" ".join("\n".join(texts[n::2]).split()) for n in (1, 0))
    quotes = re.findall(r"`([a-z']+(?: [a-z']+)+)`", prose)

    assert "with the same mistake in torch's forward pass" in quotes
    assert [quote for quote in quotes if quote not in reports] == []


def test_the_training_step_is_proved_in_nnx():
    """The first proof of docs/training_step.md passes and prints the report under it."""
    page = (ROOT / "docs" / "training_step.md").read_text()
    first = page.partition("\n## The arguments\n")[0]

    assert "PASS  Learner | NnxLearner" in first
    assert _comparable(filled(first, "training_step.py")) == _comparable(first), "run: make pages"


def test_a_frozen_layer_is_proved_with_the_trained_leaves_named():
    """The section of docs/training_step.md prints what is written, without the other blocks."""
    page = (ROOT / "docs" / "training_step.md").read_text()
    section = page.partition("\n## A frozen layer\n")[2].partition("\n## ")[0]
    lines = (
        "import jax.numpy as jnp", "import numpy as np", "import torch", "from torch import nn",
        "from jaxgrad import optim", "from jaxgrad.parity import prove",
        "rng = np.random.default_rng(0)",
    )  # fmt: skip
    page = "\n".join(["```python", *lines, "```", section])

    assert "requires_grad_(False)" in page
    assert _comparable(filled(page, "training_step.py")) == _comparable(page), "run: make pages"


@pytest.mark.slow
def test_a_bias_before_batch_norm_is_undecided():
    """docs/training_step.md says why `l1` has no bias: with one the verdict is inconclusive."""
    page = (ROOT / "docs" / "training_step.md").read_text()
    first = script(page.partition("\n## The arguments\n")[0])
    assert first.count("bias=False") == 2
    biased = first.replace(", bias=False", "").partition("print(paths)")[0]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(f"{biased}report = prove(learner, port, None, inputs, optimizer=training, "
         "trainable=paths, steps=2)", names)  # fmt: skip

    assert names["report"].verdict == "inconclusive"
    text = names["report"].surfaces["updates"].text
    assert "target.l1.bias after step 1: rounding alone changes its update too much" in text


@pytest.fixture(scope="module")
def batch_norm():
    """Return the names of the block of docs/prove_special.md that returns a new state."""
    page = (ROOT / "docs" / "prove_special.md").read_text()
    (code,) = (block for block, _ in BLOCK.findall(page) if "new_state = {" in block)
    imports = BLOCK.findall(page)[0][0].partition("\n\n\n")[0]
    names: dict[str, Any] = {"inputs": (np.random.default_rng(0).normal(size=(4, 3)),)}
    exec(f"{imports}\n{code}".partition("report = ")[0], names)
    return names


def test_a_state_under_other_names_is_compared_in_one_call(batch_norm):
    """docs/prove_special.md says what the names of a new state are for."""

    def renamed(p, x):
        y, state = batch_norm["norm"](p, x)
        return y, {"mean": state["1.running_mean"], "var": state["1.running_var"]}

    module, params, inputs = (batch_norm[name] for name in ("module", "params", "inputs"))
    several, one = (
        prove(module, fn, params, inputs, has_state=True).check().surfaces["updates"].text
        for fn in (batch_norm["norm"], renamed)
    )

    assert "2 buffer updates agree" in several and "2 buffer updates agree" in one
    assert "3 calls in a row" in several and "calls in a row" not in one


def test_a_dump_is_compared_without_further_runs_of_torch(tmp_path):
    """docs/prove_special.md says which comparisons need the torch module."""
    layer = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in layer.state_dict().items()}
    dump(layer, (np.ones((4, 3)),), tmp_path / "layer.npz")

    def port(p, x, sign=1):
        return x @ p["weight"].T + sign * p["bias"]

    report = prove(tmp_path / "layer.npz", port, params)
    wrong = prove(tmp_path / "layer.npz", lambda p, x: port(p, x, -1), params)

    assert report.verdict == "pass" and wrong.verdict == "fail"
    assert "float32 is not compared" in str(report) and "a batch of" not in str(report)
    assert "no likely cause is tried by rerunning torch" in str(wrong)
    assert wrong.first is not None and not wrong.first.cause


def test_every_argument_on_the_page_of_a_training_step_is_explained():
    """The two tables of docs/training_step.md explain each argument that the page uses."""
    page = (ROOT / "docs" / "training_step.md").read_text()
    explained = re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", page, re.MULTILINE)
    names = {name for pair in explained for name in pair if name}
    calls = re.findall(
        r"\b(?:prove|Training)\(\n(.*?)^\s*\)", script(page), re.MULTILINE | re.DOTALL
    )
    used = set(re.findall(r"^\s*(\w+)=", "".join(calls), re.MULTILINE))

    assert {"weights", "has_state", "trainable", "after", "clip", "schedule"} <= used <= names
    assert set(inspect.signature(Training).parameters) <= names
    assert names <= {*inspect.signature(prove).parameters, *inspect.signature(Training).parameters}


def test_the_letters_of_a_program_are_explained():
    """No name of docs/tape_or_transform.md stands for two things, and the jaxpr's are explained."""
    page = (ROOT / "docs" / "tape_or_transform.md").read_text()
    (program,) = re.findall(r"\{ lambda ; a:f32\[\] b:f32\[\]\. let\n.*?\}", page, re.DOTALL)
    defined = set(re.findall(r"^(?:def )?(\w+)(?:\(| = )", script(page), re.MULTILINE))

    assert "c:f32[] = mul a 0.5" in program and "e:f32[] = tanh c" in program
    text = " ".join(page.split())
    assert "Here `a` is w and `b` its tangent, `c` is u in the formula above, and `e` is h:" in text
    assert not defined & {"a", "f"} and "$$ u = w" in page


def test_a_complex_gradient_differs_where_it_has_an_imaginary_part():
    """docs/kinks.md shows a real and a complex gradient of |z|², and the first one agrees."""
    page = (ROOT / "docs" / "kinks.md").read_text()
    rows = re.findall(r"^torch (\S+)  JAX (\S+)$", page, re.MULTILINE)

    of_torch, of_jax = zip(*[map(complex, row) for row in rows], strict=True)
    assert of_torch == tuple(2 * z for z in (2 + 0j, 1 + 2j))
    assert of_jax == tuple(z.conjugate() for z in of_torch)
    assert "differs wherever it has an imaginary part" in page


def test_a_page_names_the_release_whose_program_it_shows():
    """JAX releases print different jaxprs and keep other residuals; the page says whose it has."""
    page = (ROOT / "docs" / "tape_or_transform.md").read_text()

    assert f"(here by JAX {page_release()})" in page
    assert f"In JAX {page_release()}, the rule for tanh" in page
    assert len(RELEASE.findall(page)) == 4


def _comparable(page: str) -> str:
    """Return a page without digits; under another release, without what that prints differently."""
    same = has_page_release()
    return NUMBER.sub("#", of_any_torch(page if same else RELEASE.sub("(of JAX)\n", page)))


def test_the_blocks_of_a_page_are_one_script():
    """A later block sees the names of an earlier one, and errors name lines of the whole script."""
    page = "```python\nx = 2\n```\n\ntext\n\n```python\nprint(x)\n\n\ndef f(): 1 / 0\n```\n"

    assert outputs(page, "s.py") == ["", "2\n"]
    assert script(page).splitlines()[2] == "print(x)"
    assert "```text\n2\n```" in filled(page, "s.py")
    assert filled(filled(page, "s.py"), "s.py") == filled(page, "s.py")


def test_a_stale_output_is_replaced():
    """Text under a block that the block does not print is not kept."""
    page = "```python\nprint(1)\n```\n\n```text\n7\n```\n"

    assert filled(page, "s.py") == page.replace("7", "1")


def test_the_table_of_kinks_is_what_the_script_prints():
    """Each row of the table of docs/kinks.md has the gradients that the script prints."""
    page = (ROOT / "docs" / "kinks.md").read_text()
    *_, (_, printed) = BLOCK.findall(page)
    lines = [re.split(r"  +", line.strip())[:4] for line in printed.splitlines()[1:]]
    rows = re.findall(r"^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", page, re.MULTILINE)

    assert len(lines) == 10
    assert list(map(list, rows)) == lines


def test_sgd_leaves_a_weight_without_gradient_unless_it_has_decay_or_momentum():
    """docs/kinks.md says which weights at a bound move, although their gradient is 0."""

    def moved(**options):
        weight = torch.tensor(1.0, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1, **options)
        for gradient in (1.0, 0.0):  # the earlier step fills the momentum
            with torch.no_grad():
                weight.fill_(1.0)
            weight.grad = torch.tensor(gradient)
            optimizer.step()
        return weight.item() != 1

    page = " ".join((ROOT / "docs" / "kinks.md").read_text().split())

    assert not moved()
    assert moved(weight_decay=0.1) and moved(momentum=0.9)
    assert (
        "so plain SGD leaves it there; weight decay, or momentum from earlier steps, can still move"
        in page
    )


def test_the_output_of_the_kinks_names_its_torch():
    """The output under the script is that of torch 2.15; on torch 2.13, one row differs."""
    page = (ROOT / "docs" / "kinks.md").read_text()
    *_, (_, shown) = BLOCK.findall(page)
    *_, printed = outputs(page, "kinks.py")
    installed = ".".join(torch.__version__.split(".")[:2])
    pairs = zip(shown.splitlines()[1:], printed.splitlines()[1:], strict=True)
    differing = [re.split("  +", line) for row, line in pairs if row != line]

    assert "torch 2.15" in shown.splitlines()[0]
    assert f"torch {installed}" in printed.splitlines()[0]
    older = int(installed.partition(".")[2]) <= 13
    assert differing == ([["clamp to [-1, 1]", "1", "1", "0.5", "1"]] if older else [])
    assert "With torch 2.13 or older, the row of `clamp` has 1 in torch's and jaxgrad's" in page


def test_the_page_of_questions_names_its_script():
    """docs/real_questions.md has the file name of its reports, and as many questions as it says."""
    page = (ROOT / "docs" / "real_questions.md").read_text()

    assert "one script with nine questions, `real_questions.py`" in " ".join(page.split())
    assert page.count("\n## ") == 9
    assert set(re.findall(r"\w+\.py", page)) == {"real_questions.py"}


def test_the_first_mistake_of_the_worked_port():
    """docs/worked_port.md prints the first report of its script, in which torch's training ran."""
    page = (ROOT / "docs" / "worked_port.md").read_text()
    beginning, mark, _ = page.partition("**Mistake 1")

    assert mark
    assert _comparable(filled(beginning, "worked_port.py")) == _comparable(beginning)


def test_the_finished_script_consists_of_the_parts_of_the_worked_port():
    """The last program has the functions that the parts end with, and does not import torch."""
    page = (ROOT / "docs" / "worked_port.md").read_text()
    parts, _, rest = page.partition("\n## The finished script")
    (finished, _), *_ = BLOCK.findall(rest)
    before, after = (_definitions(text) for text in (script(parts), finished))

    assert set(after) - set(before) == {"train_step", "jax_main"}
    assert {name: code for name, code in after.items() if name in before} == {
        name: code for name, code in before.items() if name in after
    }
    assert "torch" not in re.findall(r"^(?:import|from) (\w+)", finished, re.MULTILINE)


def test_the_worked_port_has_as_many_mistakes_as_it_says():
    """Each of the eight mistakes follows a report that prints a first difference."""
    page = (ROOT / "docs" / "worked_port.md").read_text()
    before = page.split("**Mistake ")

    assert "we make eight mistakes" in " ".join(page.split())
    assert [int(part.partition(":")[0]) for part in before[1:]] == list(range(1, 9))
    for part in before[:-1]:
        (_, report) = BLOCK.findall(part)[-1]
        assert "fail" in report and "torch gives" in report


def _definitions(code: str) -> dict[str, str]:
    """Return the last definition of each function of a script."""
    nodes = ast.parse(code).body
    return {node.name: ast.unparse(node) for node in nodes if isinstance(node, ast.FunctionDef)}


def test_the_logit_at_which_the_gradient_vanishes():
    """docs/real_questions.md names the logits on both sides of the jump, and NaN under `jit`."""
    page = " ".join((ROOT / "docs" / "real_questions.md").read_text().split())

    def log_prob(z):
        return jnp.log(1 - jax.nn.sigmoid(z) + 1e-15)

    def gradient(z):
        return float(jax.grad(log_prob)(jnp.float32(z)))

    assert "from a logit of 24 log 2 (16.64) on" in page
    assert "is -0.9999999 at 16.6 and 0 at 16.7" in page
    edge = np.float32(24 * np.log(2))  # the sigmoid rounds to 1 from here on
    assert [round(gradient(z), 7) for z in (16.6, np.nextafter(edge, 0, dtype=np.float32))] == [
        pytest.approx(-0.9999999, abs=1e-7)
    ] * 2
    assert [gradient(z) for z in (edge, 16.7, 17.0, 30.0)] == [0.0] * 4
    assert "Under `jax.jit` on a CPU it is NaN there" in page
    if has_page_release():
        assert np.isnan(jax.jit(jax.grad(log_prob))(jnp.float32(16.7)))


def test_softplus_differs_above_its_threshold():
    """docs/tape_or_transform.md names the gradients of `softplus` at 20.5 in float64."""
    page = " ".join((ROOT / "docs" / "tape_or_transform.md").read_text().split())
    x = torch.tensor([20.0, 20.5], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.softplus(x).sum().backward()
    assert x.grad is not None
    with jax.enable_x64(True):
        of_jax = jax.vmap(jax.grad(jax.nn.softplus))(jnp.array([20.0, 20.5]))

    assert "so its gradient at 20.5 is 1 in float64, and JAX's is 0.99999999875" in page
    assert x.grad[1] == 1 and round(float(of_jax[1]), 11) == 0.99999999875
    assert float(x.grad[0]) == pytest.approx(float(of_jax[0]), rel=1e-15, abs=0)


def test_the_ten_kinks_have_one_value():
    """In each row of docs/kinks.md torch and JAX return the same value."""
    *_, (script, _) = BLOCK.findall((ROOT / "docs" / "kinks.md").read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(script, names)
    values = {
        name: (float(of_torch(torch.tensor(x)).sum()), float(of_jax(jnp.array(x)).sum()))
        for name, (x, of_torch, of_jax, *_) in names["ROWS"].items()
    }

    assert len(values) == 10
    assert [name for name, (first, second) in values.items() if first != second] == []


def test_what_a_student_must_not_conclude():
    """The statements of docs/read_a_report.md about its four ports are true."""
    page = (ROOT / "docs" / "read_a_report.md").read_text()
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, _ in BLOCK.findall(page):
        exec(block.partition("print(prove(")[0], names)
    net, port, params, inputs = (names[name] for name in ("net", "port", "params", "inputs"))
    right, wrong, stopped = (
        jax.grad(lambda p, fn: fn(p, *inputs).sum())(params, names[name])
        for name in ("port", "other_eps", "stopped")
    )
    difference = {name: float(abs(right[name] - wrong[name]).max()) for name in right}
    assert max(difference.values()) > 1e-6, "the gradients of the wrong forward pass differ"
    assert {name for name in stopped if not stopped[name].any()} == {"l1.weight", "l1.bias"}

    training = names["training"]
    updates = prove(net, port, params, inputs, optimizer=training, steps=3).surfaces["updates"]
    assert updates.text.startswith("5 of 6 weights differ after step 1")
    assert [name for name, x in params.items() if not x.any()] == ["norm.bias"]
    (change,) = re.findall(r"Write `(optax.adamw.*?)`", page)
    training = Training(torch=training.torch, optax=eval(change, names))
    prove(net, port, params, inputs, optimizer=training, steps=3).check()


def test_a_number_as_a_cause_is_not_the_mistake():
    """The section "If the cause is wrong" has two causes that contradict each other, and a pass."""
    page = (ROOT / "docs" / "read_a_report.md").read_text()
    section = page.partition("\n## If the cause is wrong\n")[2].partition("\n## ")[0]
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, _ in BLOCK.findall(page):
        exec(block.partition("print(prove(")[0], names)

    assert re.findall(r"^by_\w+ (\w+) ", section, re.MULTILINE) == ["fail", "fail", "pass"]
    assert re.findall(r"in div is (\d), torch uses (\d)", section) == [("3", "4"), ("4", "3")]
    (x,) = names["inputs"]
    assert x.shape == (4, 3) and "a batch of 4" in section and "the 3 columns" in section
    batch = (x[:2], np.ones((2, 2)))
    other = prove(names["model"], names["by_four"], names["weights"], batch)
    assert other.verdict == "fail", "step 3: another batch size refutes the number"
    # Half a page: what a reader has to read, without the program.
    assert len(BLOCK.sub("", section).split()) < 260


def test_five_steps_after_a_report_without_a_cause():
    """The report of docs/no_cause.md has no third line, and the page does what its steps say."""
    page = (ROOT / "docs" / "no_cause.md").read_text(encoding="utf-8")
    report, *printed = (text for _, text in BLOCK.findall(page) if text)
    steps = re.findall(r"^\| (\d) \| \*\*(\w+)", page, re.MULTILINE)
    headings = re.findall(r"^## (\d)\. (\w+)", page, re.MULTILINE)

    assert "first divergence" in report, "run: make pages"
    assert "likely cause" not in report and "observation" not in report, "show another mistake"
    assert printed == ["pass\n", "torch [0.81 0.9  1.  ]\nJAX   [0. 0. 1.]\n", "pass\n", "pass\n"]
    assert steps == headings and [n for n, _ in steps] == list("12345")


def test_a_stopped_term_without_the_mistake_leaves_the_failure():
    """docs/no_cause.md says how to find the term of a loss whose gradient differs."""
    x = np.random.default_rng(0).normal(size=(4, 3))

    class Terms(torch.nn.Module):
        def __init__(self, stopped: str) -> None:
            super().__init__()
            self.weight, self.stopped = torch.nn.Parameter(torch.ones(3)), stopped

        def forward(self, x):
            h = x * self.weight
            first, second = torch.tanh(h).sum(), (h**2).mean()
            if self.stopped == "first":
                return first.detach() + second
            return first + (second.detach() if self.stopped == "second" else second)

    def verdict(stopped):
        def port(p, x):
            h = x * p["weight"]
            first = jnp.tanh(h).sum()
            second = jnp.mean(lax.stop_gradient(h) * h)  # the mistake: half of the gradient
            first = lax.stop_gradient(first) if stopped == "first" else first
            return first + (lax.stop_gradient(second) if stopped == "second" else second)

        return prove(Terms(stopped), port, {"weight": np.ones(3, np.float32)}, (x,)).verdict

    assert [verdict(stopped) for stopped in ("", "first", "second")] == ["fail", "fail", "pass"]
    assert "If the proof passes, the mistake is in that term" in (
        ROOT / "docs" / "no_cause.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["tape_or_transform", "prove", "read_a_report", "no_cause", "prove_special", *SLOW]
)
def test_a_page_says_how_its_blocks_are_joined(name):
    """The lines that a report names are those of the blocks with one blank line between them."""
    page = (ROOT / "docs" / f"{name}.md").read_text()

    assert "with one blank line between two blocks" in " ".join(page.split())
    blocks = [block.rstrip("\n") for block, _ in BLOCK.findall(page)]
    assert script(page).rstrip("\n") == "\n\n".join(blocks)
