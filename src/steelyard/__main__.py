"""``python -m steelyard`` is the command ``steelyard``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
