# PortError: test_creation.py:0 `return x * x.new(x.shape).fill_(2)`: new() of a shape, or of nothing; write new_empty(shape)
