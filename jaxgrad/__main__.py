"""Say which module has the command line."""

import sys


if __name__ == "__main__":
    sys.exit(
        "jaxgrad itself has no command line; `python -m jaxgrad.parity --help` explains how to "
        "prove, port and verify"
    )
