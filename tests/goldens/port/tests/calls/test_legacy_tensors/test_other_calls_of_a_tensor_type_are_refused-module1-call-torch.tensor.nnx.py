# PortError: test_legacy_tensors.py:0 `return x + torch.FloatTensor().sum()`: this call of a tensor type is not ported; call torch.tensor
