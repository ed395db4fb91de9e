# PortError: test_leftovers.py:0 `return y, lambda z: z * y`: the module returns a function; return the values that it reads
