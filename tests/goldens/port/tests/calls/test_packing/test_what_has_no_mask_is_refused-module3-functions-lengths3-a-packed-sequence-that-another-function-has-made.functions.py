# PortError: test_packing.py:0 `out, _ = self.rnn(self.packed(x, lengths))`: a packed sequence that another function has made; pack it where it is used
