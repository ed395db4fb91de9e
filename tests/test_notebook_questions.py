"""A notebook asks before it answers, says each sentence once, and folds no table that it names."""

import ast
import functools
import itertools
import re

import pytest

from parity_tests.case import load
from parity_tests.notebook.questions import QUESTIONS
from parity_tests.runner.settings import ROOT


jupytext = pytest.importorskip("jupytext", reason="pip install '.[notebooks]' to test notebooks")

NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py") if path.stem != "build")
LIKE = 0.45  # the share of a claim's words from which the text above says the same

# What gives the answer of a question away.
ANSWERS = {
    "actor_critic/critic_loss": r"norm|path exists|[Ww]ithout the stops|must be stopped",
    "backward/accumulate": r"\b4\b|\badds\b",
    "backward/chain_rule": r"None|leaves only|no `\.grad`",
    "backward/several_uses": r"-64|\bsum\b|are added",
    "checkpointing/checkpoint_forgets_the_generator": r"False|different mask|moved on",
    "clipping/clip_grad_norm_at_max": r"1e-6|less than 1|still short",
    "clipping/clip_grad_value": r"by itself|each element|at the bound",
    "control_flow/static_and_dynamic": r"every call|each (call|combination)|once for each",
    "custom/none_gradient": r"None`? on|stays `None`|\bzeros\b",
    "distributed/sum_in_the_loss": r"904|four times|multipl",
    "grad_modes/detach": r"None|no path|stays|nothing is written",
    "grad_modes/requires_grad": r"passes through|lets the gradient|input gets|cuts",
    "grad_modes/requires_grad_flag": r"18|constant 6|does not require grad",
    "graph/parameter_of_intermediate": r"cuts|new graph|w None",
    "higher_order/gradient_penalty_flat": r"\bas zero\b|gradient there is 0|NaN can",
    "hooks/tensor_hook": r"sum|summed|once on the",
    "lr_scheduler/cosine_annealing_lr": r"rises|again",
    "mutation/data": r"silently|bypass|hides|20",
    "mutation/inplace_not_saved": r"saves nothing|every gradient is right",
    "mutation/inplace_saved": r"raises|saved c|saves its factors|version",
    "none_or_zero/branch_not_taken": r"never (runs|seen|saw)|JAX returns zeros|structure",
    "none_or_zero/none_or_zero": r"give(s)? zeros|get(s)? (zeros|None)|there is a path",
    "optim/every_other_step": r"still (move|change|carr)|skips the layer",
    "optim/muon_of_a_vector": r"refuse[ds]|ValueError|only matrices|silently",
    "param_groups/none_gradient": r"skips|count the step|\[1, 1",
    "surrogate/straight_through_twice": r"\b2\b",
}


@functools.cache
def cells_of(name):
    return jupytext.read(ROOT / "notebooks" / f"{name}.py").cells


def call_of(cell):
    """Return the displaying function of a cell, its case and its options, or None."""
    if cell.cell_type != "code":
        return None
    match ast.parse(cell.source).body:
        case [ast.Expr(ast.Call(ast.Name(function), [ast.Constant(id), *_], options))]:
            return function, str(id), {o.arg: ast.literal_eval(o.value) for o in options}
    return None


def section_before(cells, index):
    """Return the text of a section up to a cell: its prose, and the claims that are shown there."""
    texts = []
    for cell in reversed(cells[:index]):
        call = call_of(cell)
        if cell.cell_type == "markdown":
            texts.append(cell.source)
            if re.search(r"^## ", cell.source, re.MULTILINE):
                break
        elif call and call[0] == "question":
            break  # what follows an earlier question is its answer
        elif call and call[0] == "show" and call[2].get("claim", True):
            texts.append("" if call[2].get("asked") else load()[call[1]].claim)
    return "\n".join(reversed(texts))


def words(text):
    """Return the first five letters of each word that has at least four."""
    usual = {"with", "that", "this", "from", "have", "torch", "their", "which", "grads"}
    return {word[:5] for word in re.findall(r"[a-z_]{4,}", text.lower())} - usual


def test_every_question_has_words_that_answer_it():
    """Each pattern finds the answer in what is folded, so that it can find it in a text above."""
    assert ANSWERS.keys() == QUESTIONS.keys()
    for id, pattern in ANSWERS.items():
        folded = f"{QUESTIONS[id].because}\n{load()[id].claim}"
        assert re.search(pattern, folded), id


@pytest.mark.parametrize("name", NAMES)
def test_a_question_stands_before_its_answer(name):
    """The section above a question does not answer it; the results below it are folded."""
    cells = cells_of(name)
    for index, cell in enumerate(cells):
        call = call_of(cell)
        if not call or call[0] != "question":
            continue
        found = re.search(ANSWERS[call[1]], section_before(cells, index))
        assert not found, f"{call[1]}: the text above the question says {found and found[0]!r}"
        following = call_of(cells[index + 1])
        assert following and following[:2] == ("show", call[1]) and following[2]["asked"], call[1]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_answer_of_a_question_is_folded(name):
    """A table is folded only directly below its question, never where the prose above names it."""
    cells = cells_of(name)
    for before, cell in itertools.pairwise(cells):
        call = call_of(cell)
        if call and call[0] == "show" and call[2].get("asked"):
            assert before.source == f'question("{call[1]}")', call[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_is_not_shown_where_the_prose_says_it(name):
    """`show` prints the claim of its case only if the text above does not say the same."""
    prose, repeated = "", []
    for cell in cells_of(name):
        call = call_of(cell)
        if cell.cell_type == "markdown":
            prose = cell.source
        elif call and call[0] == "show" and call[2].get("claim", True):
            claim = words(load()[call[1]].claim)
            if not call[2].get("asked") and len(claim & words(prose)) >= LIKE * len(claim):
                repeated.append(call[1])

    assert not repeated, "write show(..., claim=False), or drop the sentence above it"


def test_the_order_of_cells_is_seen():
    """The text above a question is found: prose and claims of its section, not of others."""
    script = (
        "# %% [markdown]\n# ## Old\n# skips\n\n# %% [markdown]\n# ## New\n# words\n\n"
        '# %%\nshow("grad_modes/detach")\n\n# %%\nquestion("grad_modes/detach")\n'
    )
    cells = jupytext.reads(script, fmt="py:percent").cells
    text = section_before(cells, 3)

    assert "words" in text and "skips" not in text
    assert load()["grad_modes/detach"].claim in text
    assert call_of(cells[3]) == ("question", "grad_modes/detach", {})
