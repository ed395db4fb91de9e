# PortError: test_iteration_calls.py:0 `return x @ next(weights) + next(weights)`: `next` of an iterator that has a name; write the values out
