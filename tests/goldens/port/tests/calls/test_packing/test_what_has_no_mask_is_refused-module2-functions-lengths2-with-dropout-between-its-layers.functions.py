# PortError: test_packing.py:0 `packed, state = self.rnn(packed)`: a packed sequence in LSTM, with dropout between its layers; pass a padded one and mask it
