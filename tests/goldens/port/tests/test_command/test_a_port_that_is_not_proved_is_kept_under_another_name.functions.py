# PortError: the port of Wrong is not proved:
