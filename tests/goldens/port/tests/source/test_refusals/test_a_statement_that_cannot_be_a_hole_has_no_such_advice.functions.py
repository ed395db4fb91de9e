# PortError: test_refusals.py:0 `self.counts = torch.bincount(x.argmax(-1), minlength=4).float()`: the operator bincount has no counterpart in jaxgrad.functional; write it with other operators

# ---- the next port of this test ----
# PortError: test_refusals.py:0 `self.counts = torch.bincount(x.argmax(-1), minlength=4).float()`: the operator bincount has no counterpart in jaxgrad.functional; write it with other operators
