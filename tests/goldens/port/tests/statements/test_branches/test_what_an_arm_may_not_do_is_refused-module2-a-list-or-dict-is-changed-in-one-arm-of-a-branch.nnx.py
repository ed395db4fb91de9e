# PortError: test_branches.py:0 `if x.max() > 100:`: a list or dict is changed in one arm of a branch on the value of a tensor; its length would depend on the value
