# PortError: test_branches.py:0 `if x[n].sum() == 0:`: a `continue` in a branch on the value of a tensor: JAX traces every iteration of a loop; choose the result with torch.where
