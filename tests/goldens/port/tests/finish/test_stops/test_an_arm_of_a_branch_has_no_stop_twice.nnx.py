# PortError: linear.py:0 `return F.linear(input, self.weight, self.bias)`: `weight` of Linear is set in one function and read in another; return it, and pass it as an argument

# ---- the next port of this test ----
# PortError: linear.py:0 `return F.linear(input, self.weight, self.bias)`: `weight` of Linear is set in one function and read in another; return it, and pass it as an argument
