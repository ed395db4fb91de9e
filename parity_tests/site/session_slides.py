"""Write the slides of the three sessions of docs/course.md for a projector.

    python -m parity_tests.site.session_slides

A slide has a figure, or a program with its output folded below it, and few words. Above a program
is, in small type, what it reads from earlier programs. Figures are those of
docs/tape_or_transform.md and docs/kinks.md, on a phone the narrow ones. Programs and outputs are
those of docs/tape_or_transform.md and of the executed notebook on `prove`; tests run both. `make
pages` writes docs/_static/session_1_slides.html and so on.
"""

import ast
import json
import re
from html import escape
from typing import Any, NamedTuple

import markdown_it

from parity_tests.notebook.sessions import heading
from parity_tests.runner.settings import ROOT
from parity_tests.site import slides
from parity_tests.site.printed import BLOCK


FOLDER = ROOT / "docs" / "_static"
PAGE = ROOT / "docs" / "tape_or_transform.md"
NOTEBOOK = ROOT / "notebooks" / "prove_your_port.ipynb"
STYLE = f"""\
svg {{ display: block; width: 100%; height: auto; max-height: 66vh; }}
svg.narrow {{ display: none; }}
section.dense pre {{ font-size: min(1.1rem, 1.9vw); }}
section.report samp {{ font-size: min(1.2rem, 1.9vw); }}
li {{ margin: 0.5em 0; }}
pre small.before {{ font-size: 0.8em; }}
{slides.STYLE}
@media (max-width: 700px) {{
  svg.wide {{ display: none; }}
  svg.narrow {{ display: block; max-height: none; }}
  pre small.before {{ font-size: 0.9em; }}
}}"""
# Lines of a program that is shown beside a folded output: more of them get smaller type.
DENSE = 14


class Slide(NamedTuple):
    """A slide.

    Attributes:
        title: Its subject.
        figure: The name of an SVG in docs/_static.
        code: A part of the block of docs/tape_or_transform.md that it shows.
        cell: A part of the cell of the notebook that it shows; its report is the output.
        prints: Whether the output is shown.
        words: What is said in few words, in Markdown.
        asks: The question before the output is opened.
    """

    title: str
    figure: str = ""
    code: str = ""
    cell: str = ""
    prints: bool = True
    words: tuple[str, ...] = ()
    asks: str = ""


SESSIONS = {
    1: (
        Slide(
            "One chain rule, two ways",
            words=(
                "u = w·x, h = tanh u, ℓ = h², at w = 2 and x = 0.5",
                "torch writes down each operation, and walks the record backward.",
                "JAX transforms the function into the function of its gradient.",
            ),
            asks="Which of the two needs a record of this run?",
        ),
        Slide(
            "The tape",
            figure="tape",
            words=("Each operation makes a node, which keeps the tensors that its formula needs.",),
        ),
        Slide("Walk the tape", code="node = loss.grad_fn", asks="Which nodes does the walk visit?"),
        Slide(
            "Where the walk ends",
            words=(
                "`detach()` returns a tensor without a node.",
                "In `no_grad` no nodes are made.",
                "In `inference_mode` torch does not even count later changes in place.",
                "A leaf that the walk never reaches keeps `.grad = None`.",
            ),
        ),
        Slide(
            "Unused, and twice",
            code="unused = torch.tensor",
            asks="What is `unused.grad`? What does the second `backward()` do?",
        ),
        Slide(
            "The JVP: derivatives forward",
            figure="jvp",
            words=("Each value travels with its tangent. Nothing is kept for later.",),
        ),
        Slide(
            "One pass, one tangent",
            code="def loss_of(w)",
            asks="The tangent of w is 1. What is that of the loss?",
        ),
        Slide(
            "The result is a program",
            code="jax.make_jaxpr(lambda w, t: jax.jvp(loss_of",
            asks="Which equations compute tangents?",
        ),
        Slide(
            "`stop_gradient`: a tangent of zero",
            code="jax.jvp(lax.stop_gradient",
            asks="What is the tangent of `w * stop_gradient(w)` at w = 2?",
        ),
    ),
    2: (
        Slide(
            "The VJP: the transpose",
            figure="vjp",
            words=("The linear part is transposed: inputs become outputs, the order is reversed.",),
        ),
        Slide(
            "Linear part, transpose, gradient",
            code="value, pushforward = jax.linearize(loss_of",
            asks="Which of the three numbers are equal?",
        ),
        Slide(
            "A value that is used twice",
            figure="fan_out",
            words=("ℓ = h² + h: the gradients of both uses are added.",),
        ),
        Slide(
            "Two uses in the linear part",
            code="def twice(h)",
            asks="How often does it use the tangent `b`?",
        ),
        Slide(
            "Transposed: a sum",
            code="pullback = jax.linear_transpose(pushforward, h)",
            asks="What does a value that is used twice become?",
        ),
        Slide(
            "Residuals: what is kept",
            figure="residuals",
            words=("torch keeps tensors on the nodes. JAX returns values.",),
        ),
        Slide(
            "Kept values",
            code="value, vjp = jax.vjp(loss_of",
            asks="x = 0.5 and h = 0.7616. What does each framework keep?",
        ),
        Slide(
            "No `retain_graph`",
            code='print([f"{vjp(one)[0]:.4f}" for _ in range(2)])',
            asks="What does the second call give?",
        ),
        Slide(
            "Changed in place",
            code="def changed(function)",
            asks="The tanh keeps its result, the product its factors. Which of them raises?",
        ),
        Slide(
            "Where the gradients differ",
            code='print("torch.relu       "',
            asks="relu(x) − relu(−x) is x. What is its gradient at 0?",
        ),
    ),
    3: (
        Slide(
            "A kink is a choice",
            figure="clamp_slope",
            asks="What should the slope of `clamp` be at a bound?",
        ),
        Slide(
            "What `prove` does",
            words=(
                "The same weights and the same inputs for both programs, in float64.",
                "It pairs intermediate values by their numbers.",
                "Six surfaces: structure, forward, backward, gradients, updates, precision.",
                "It names the first place that differs.",
            ),
        ),
        Slide("The torch module", cell="class Net(nn.Module)", prints=False),
        Slide("The port", cell="def port(p, x)", prints=False),
        Slide(
            "A port that passes",
            cell="print_report(prove_port(port))",
            asks="Which surface is `not judged`, and why?",
        ),
        Slide(
            "Read three lines",
            words=(
                "The first line that says `fail`: the surface.",
                "`torch: ... | jax: ...`: the two places.",
                "`likely cause`: tested by a rerun. `observation`: not tested.",
            ),
        ),
        Slide(
            "First bug",
            cell="def port_with_eps",
            asks="Find the mistake. Which surface fails first?",
        ),
        Slide("Second bug", cell="def port_stopped", asks="Which of the six surfaces differ?"),
        Slide(
            "Is the cause right?",
            words=(
                "Make the change, and prove again.",
                "Another first divergence: there may be two mistakes. Go on with the new one.",
                "The same one: undo the change.",
                "`PASS`: prove with other inputs, as `also=`.",
            ),
        ),
        Slide(
            "Your turn",
            words=(
                "Hide a mistake in your port that leaves the outputs unchanged.",
                "Swap with a neighbour.",
                "Find it first by reading, then with `prove`.",
            ),
        ),
    ),
}


def page(number: int) -> str:
    """Return the slides of a session as one offline page."""
    return slides.document(heading(number), map(_section, SESSIONS[number]), STYLE)


def path(number: int) -> Any:
    """Return the path of the slides of a session."""
    return FOLDER / f"session_{number}_slides.html"


def block(part: str) -> tuple[str, str]:
    """Return the block of docs/tape_or_transform.md that has this part, and its output."""
    found = [pair for pair in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if part in pair[0]]
    assert len(found) == 1, f"{part!r} is in {len(found)} blocks of {PAGE.name}"
    return found[0]


def definitions(part: str) -> str:
    """Return the statements of earlier blocks that define what the block with this part reads."""
    code, _ = block(part)
    above = PAGE.read_text(encoding="utf-8").partition(code)[0]
    statements = [
        (node, ast.get_source_segment(earlier, node) or "")
        for earlier, _ in BLOCK.findall(above)
        for node in ast.parse(earlier).body
        if isinstance(node, ast.Assign | ast.FunctionDef)
    ]
    read, found = _reads(ast.parse(code)), []
    for node, text in reversed(statements):
        if read & _defines(node):
            read = (read - _defines(node)) | _reads(node)
            found.insert(0, text + "\n" * isinstance(node, ast.FunctionDef))
    return "\n".join(found)


def _reads(tree: ast.AST) -> set[str]:
    """Return the names that a program reads and neither defines nor takes as arguments."""
    loaded = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    arguments = {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)}
    return loaded - _defines(tree) - arguments


def _defines(tree: ast.AST) -> set[str]:
    """Return the names that a program defines."""
    return {
        x.name if isinstance(x, ast.FunctionDef) else x.id
        for x in ast.walk(tree)
        if isinstance(x, ast.FunctionDef)
        or (isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    }


def cell(part: str) -> tuple[str, str]:
    """Return the code of a cell of the notebook, and the first report below it.

    If a call of `prove_port` is in the cell, the code is the definition that has this part.
    """
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    codes = ["".join(each["source"]) if each["cell_type"] == "code" else "" for each in cells]
    places = [n for n, code in enumerate(codes) if part in code]
    assert len(places) == 1, f"{part!r} is in {len(places)} cells of {NOTEBOOK.name}"
    texts = (
        "".join(output.get("text", ""))
        for each in cells[places[0] :]
        for output in each.get("outputs", ())
    )
    report = next(text for text in texts if text.startswith(("PASS", "FAIL")))
    code = codes[places[0]]
    if "prove_port" in code:
        code = next(definition for definition in code.split("\n\n\n") if part in definition)
    return code + "\n", report


def _section(slide: Slide) -> str:
    inline = markdown_it.MarkdownIt().renderInline
    code, output = block(slide.code) if slide.code else cell(slide.cell) if slide.cell else ("", "")
    long = code.count("\n") > DENSE or output.count("\n") > DENSE
    classes = " ".join(["dense"] * long + ["report"] * bool(slide.cell))
    parts = [f'<section class="{classes}"><h2>{inline(slide.title)}</h2>']
    if slide.figure:
        parts += _figure(slide.figure)
    if code:
        before = definitions(slide.code) if slide.code else ""
        parts.append(slides.program(code, before))
    if len(slide.words) > 1:
        parts += ["<ul>", *(f"<li>{inline(words)}</li>" for words in slide.words), "</ul>"]
    else:
        parts += [f"<p>{inline(words)}</p>" for words in slide.words]
    if slide.asks:
        parts.append(f"<p><b>{inline(slide.asks)}</b></p>")
    if output and slide.prints:
        parts.append(
            "<details><summary>It prints</summary>"
            f"<pre><samp>{escape(shortened(output), quote=False)}</samp></pre></details>"
        )
    return "\n".join([*parts, "</section>"])


def _figure(name: str) -> list[str]:
    """Return a figure, and its variant for a phone if there is one."""
    wide, narrow = (FOLDER / f"{name}{suffix}.svg" for suffix in ("", "-narrow"))
    if not narrow.exists():
        return [wide.read_text(encoding="utf-8").strip()]
    return [
        re.sub(
            'class="[^"]+', rf"\g<0> {variant}", file.read_text(encoding="utf-8").strip(), count=1
        )
        for file, variant in ((wide, "wide"), (narrow, "narrow"))
    ]


def shortened(output: str) -> str:
    """Return a report without the lines that explain a surface that passes.

    Example:
        >>> print(shortened("FAIL\\n  forward    pass         a\\n                          b\\n"))
        FAIL
          forward    pass         a
        <BLANKLINE>
    """
    return re.sub(r"^ {20,}.*\n", "", output, flags=re.MULTILINE)


if __name__ == "__main__":
    for session in SESSIONS:
        path(session).write_text(page(session), encoding="utf-8")
