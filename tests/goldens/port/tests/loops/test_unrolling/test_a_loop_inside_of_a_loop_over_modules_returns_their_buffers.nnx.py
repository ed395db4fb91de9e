# PortError: linear.py:0 `return F.linear(input, self.weight, self.bias)`: `weight` of Linear is set in one function and read in another; return it, and pass it as an argument; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: linear.py:0 `return F.linear(input, self.weight, self.bias)`: `weight` of Linear is set in one function and read in another; return it, and pass it as an argument; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
