# PortError: test_leftovers.py:0 `self.target.weight.data = self.target.weight.data * 0.5`: `data` of a tensor is set; give the name another tensor
