# PortError: test_recurrent_modules.py:0 `return self.rnn(x, start)`: LSTM with a projection is not ported
