"""Counting: prevalence of classes in a batch or on a stream, its errors and its evaluation protocols."""

from ..statistics.region import PrevalenceRegion
from . import errors, protocols
from .quantifier import Quantifier
from .stream import StreamQuantifier

__all__ = ["PrevalenceRegion", "Quantifier", "StreamQuantifier", "errors", "protocols"]
