# PortError: test_branches.py:0 `if x[n].sum() > 100:`: a `break` in a branch on the value of a tensor: JAX traces every iteration of a loop; choose the result with torch.where
