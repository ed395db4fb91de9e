# PortError: moe.py:0 `token, place = torch.where(chosen == i)`: where with one argument makes a size that depends on values
