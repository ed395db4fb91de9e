# PortError: test_port.py:0 `return x[x > 0]`: a mask as an index makes a size that depends on values; use torch.where
