# PortError: test_elements.py:0 `return self.second(found[0] * found[1])`: 'found' shares memory with a tensor that line 53 changes in place; copy one of them first
