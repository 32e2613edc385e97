"""`python -m shiyi`."""

from shiyi.cli import entry

if __name__ == "__main__":
    entry()
