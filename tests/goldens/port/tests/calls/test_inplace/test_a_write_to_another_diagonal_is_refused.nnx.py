# PortError: test_inplace.py:0 `return self.second(c)`: 'c' shares memory with a tensor that line 65 changes in place; copy one of them first
