# PortError: test_port.py:0 `return y`: 'y' shares memory with a tensor that line 233 changes in place; copy one of them first
