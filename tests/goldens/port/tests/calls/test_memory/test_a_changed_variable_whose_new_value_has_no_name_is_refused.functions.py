# PortError: test_memory.py:0 `return y + h`: 'h' shares memory with a tensor that line 143 changes in place; copy one of them first
