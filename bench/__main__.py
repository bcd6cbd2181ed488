"""Runs every benchmark of this folder: `make bench`. Each prints its own table, and misses of its targets."""

import sys

from bench import startup

if __name__ == "__main__":
    sys.exit(startup.main())
