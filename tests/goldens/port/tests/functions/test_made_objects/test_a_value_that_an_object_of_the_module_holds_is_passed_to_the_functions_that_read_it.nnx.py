# PortError: test_made_objects.py:0 `return self.normal.log_prob(x).sum(-1)`: `normal` of Spread is set in one function and read in another; return it, and pass it as an argument
