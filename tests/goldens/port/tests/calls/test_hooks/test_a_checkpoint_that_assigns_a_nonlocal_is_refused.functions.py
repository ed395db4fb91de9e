# PortError: test_hooks.py:0 `return checkpoint(add, use_reentrant=False) + total`: checkpoint of a function that assigns a `nonlocal`; return the value
