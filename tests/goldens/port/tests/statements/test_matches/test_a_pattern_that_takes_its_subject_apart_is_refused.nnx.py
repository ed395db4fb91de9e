# PortError: test_matches.py:0 `case (rows, 4):`: a pattern that takes its subject apart is not ported; match values, or write it with if
