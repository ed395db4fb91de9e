def found(pair):
    return {}
