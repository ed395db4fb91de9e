"""The exercises of the notebooks: each function's docstring is the task, its body the solution."""
