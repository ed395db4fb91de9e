# PortError: test_packing.py:0 `packed, state = self.rnn(packed)`: a packed sequence in LSTM for style="nnx"; pass a padded one and mask it
