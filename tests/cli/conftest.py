"""A table as people have it: numbers, a category with gaps, a strange name, words as labels."""

import numpy as np
import pytest
from sklearn.datasets import make_classification


def written(path, rows=600, seed=0):
    X, y = make_classification(rows, 5, weights=[0.7], flip_y=0.05, random_state=seed)
    colour = np.random.default_rng(seed).choice(["red", "green", ""], rows)
    lines = [
        ",".join(f"{v:.5f}" for v in x) + f",{c},1.5,{'yes' if t else 'no'}"
        for x, c, t in zip(X, colour, y, strict=True)
    ]
    path.write_text("a,b,c,d,e,colour,<script>,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    return written(tmp_path / "data.csv")
