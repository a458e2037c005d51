"""Signed rows in a tensor as Newton and the bundle ask for them (`Source` in elsewhere/models.py)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from ..elsewhere.models import Models, Reading
from ..elsewhere.newton import ROUNDS
from .chosen import Chosen
from .class_risks import TensorClassRisks
from .passes import read
from .rows import SignedRows, whole_products


@dataclass(frozen=True, eq=False)
class OnDevice:
    data: SignedRows

    @property
    def n_rows(self) -> int:
        return self.data.rows.n_rows

    @property
    def n_cols(self) -> int:
        return self.data.rows.n_cols

    def read(self, loss: str, models: Models) -> Reading:
        return read(self.data, loss, models)

    def sample(self, size: int, seed: int) -> Chosen:
        return Chosen(self.data, size, seed)

    def whole(self) -> Chosen | None:
        return self.sample(self.n_rows, 0) if self.n_rows * self.n_cols <= ROUNDS.most_numbers else None

    def exactly(self) -> AbstractContextManager[None]:
        return whole_products()

    def class_risks(self, loss: str) -> TensorClassRisks:
        return TensorClassRisks(self.data, loss)
