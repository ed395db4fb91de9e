# PortError: test_generators.py:0 `answer = yield self.linear(x)`: a generator is not ported; return a list
