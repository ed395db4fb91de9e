"""Right and wrong answers to the exercises of the notebooks, which the checks must tell apart.

Each module maps the name of an exercise to its right answers and its wrong ones. An answer is code
that runs below the cell of the notebook and replaces its unfinished answer.
"""

Answers = dict[str, tuple[list[str], list[str]]]
