# PortError: test_legacy_tensors.py:0 `return torch.DoubleTensor(x)`: a tensor type is called with a tensor of another dtype; call `.to`
