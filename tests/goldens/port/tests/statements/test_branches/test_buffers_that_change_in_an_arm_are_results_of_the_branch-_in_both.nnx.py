# PortError: test_branches.py:0 `if torch.isfinite(h).all():`: 'good' changes in one arm of a branch on the value of a tensor, where flax changes no variable; style="functions" writes it
