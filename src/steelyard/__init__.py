"""steelyard: train a classifier for the measure you report."""

__version__ = "0.1.0.dev0"
