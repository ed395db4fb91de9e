# PortError: test_packing.py:0 `out, _ = self.rnn(self.packed(x, lengths))`: a packed sequence in LSTM for style="nnx"; pass a padded one and mask it
