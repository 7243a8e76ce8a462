"""Sentence embeddings, with the package that contains the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from duelist.study import create_study
from duelist.study.imports import plan_items

TEXTS = (
    "A cat sleeps on the sofa", "The kitten naps on the couch",
    "Stock markets fell sharply today", "Share prices dropped this afternoon",
    "How to bake sourdough bread", "A recipe for rye loaf",
)  # fmt: skip


def test_similar_texts_have_similar_embeddings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n" + "\n".join(f"x{k},{text}" for k, text in enumerate(TEXTS)))
    study = create_study(
        "meaning", "memory", items=plan_items(tmp_path / "a.csv", features={"kind": "embedded", "size": 5})
    )
    features = study.features()
    assert features.shape == (6, 5)
    distance = np.linalg.norm(features[:, None] - features[None], axis=2) + 9.0 * np.eye(6)
    assert distance.argmin(axis=1).tolist() == [1, 0, 3, 2, 5, 4]
    (tmp_path / "b.csv").write_text("id,text\ny,The cat is sleeping on a sofa\n")
    assert study.apply(plan_items(tmp_path / "b.csv")).added == 1
    assert np.linalg.norm(features - study.features(["y"])[0], axis=1).argmin() == 0
