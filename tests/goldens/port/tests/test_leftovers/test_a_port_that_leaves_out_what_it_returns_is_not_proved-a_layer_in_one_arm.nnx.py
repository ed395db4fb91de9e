# PortError: test_leftovers.py:0 `if y.mean() > -100:`: 'norm.running_mean' changes in one arm of a branch on the value of a tensor, where flax changes no variable; style="functions" writes it
