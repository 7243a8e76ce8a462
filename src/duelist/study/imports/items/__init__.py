"""A study from a file: its arms read, the meaning of its columns guessed, features made, everything shown before it is begun.

    draft = read_draft(["answers.csv"], {"goal": "rank"})
    draft.preview()                                          # what it was understood as: nothing is written
    study = draft.create("answers", storage="sqlite:///answers.db")

A plan says what is not to be guessed: `columns` (which column is `id`, `payload`, `context`, `prompt`), `features`
(`kind`, `columns`, `size`), `encoding`, `goal`, `policy`, `settings`.
"""

from duelist.study.imports.items.draft import Draft, read_draft
from duelist.study.imports.items.outliers import far_off_in
from duelist.study.items.features import KINDS_OF_FEATURES, KindOfFeatures

__all__ = ["KINDS_OF_FEATURES", "Draft", "KindOfFeatures", "far_off_in", "read_draft"]
