# PortError: test_leftovers.py:0 `if y.sum() > 0:`: an attribute is set in one arm of a branch on the value of a tensor; let both arms assign a variable, and set the attribute after the branch
