# PortError: test_leftovers.py:0 `self.target.weight.data = self.fc.weight.data`: `data` of a tensor is set; give the name another tensor
