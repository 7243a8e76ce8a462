"""Defaults and choices of the library that help texts show; tests compare each with the library."""

from __future__ import annotations

from typing import Final

STORAGE: Final = "sqlite:///duelist.db"
POLICY: Final = "LocalPairUCB"
GOALS: Final = "best, rank, learn, serve"
OUTCOMES: Final = "first, second, tie, both_bad, skip"
SOURCES: Final = "human, model, import"
SOURCE: Final = "human"
FEATURES: Final = "none, columns, hashed, tfidf, embedded"
FORMATS: Final = "arena, trl, trl-unpaired, openai, csv, evalica, label-studio, jsonl"

EXPERIMENTS: Final = "figure-1a, figure-1b, figure-2, theory, frontier"
TUNING_RUNS: Final = 16
TUNING_SEED: Final = 1_000_003
DEMO_HORIZON: Final = 4000
DEMO_RUNS: Final = 128
ENGINES: Final = "process, processes, dask"
ENGINE: Final = "process"
