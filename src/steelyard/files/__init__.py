"""steelyard's own files: their layout, how they are written and read, and what may stand in them."""

from .errors import ModelFileError

__all__ = ["ModelFileError"]
