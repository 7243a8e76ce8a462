"""Votes of crowd workers on the answers of 59 language models to 13 prompts (llmfao, Ustalov), as comparisons.

The loader only: docs/data.md says where the files come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duelist.datasets import data_folder
from duelist.errors import InvalidInput
from duelist.study.formats._comparison import Comparison
from duelist.study.formats._fields import one_of
from duelist.study.formats._files import read_csv
from duelist.study.records import Outcome

_MEANINGS: Final = {"left": Outcome.FIRST, "right": Outcome.SECOND, "tie": Outcome.TIE}
_COLUMNS: Final = ("id", "prompt", "model_x", "model_y", "worker", "winner", "left", "right")


def load_llmfao(folder: str | Path | None = None) -> Iterator[Comparison]:
    """Every vote in the order of the file: arms are models by name, the context is the prompt's number.

    Some answers are empty texts. `extra` has the number of the pair (`id`).
    """
    base = data_folder(folder) / "llmfao"
    prompts = {row.fields["id"]: row.fields["text"] for row in read_csv(base / "prompts.csv", ("id", "text"))}
    answers = {
        (row.fields["name"], row.fields["prompt"]): row.fields["result"]
        for row in read_csv(base / "responses.csv", ("name", "prompt", "result"))
    }
    for row in read_csv(base / "comparisons.csv", _COLUMNS):
        prompt, left, right = (row.fields[name] for name in ("prompt", "left", "right"))
        missing = [f"{model!r} to prompt {prompt}" for model in (left, right) if (model, prompt) not in answers]
        if missing or prompt not in prompts:
            what = f"the answer of {missing[0]}" if missing else f"prompt {prompt}"
            raise InvalidInput(f"{row.where} needs {what}, which is not in the files beside it; get all three together")
        yield Comparison(
            first=left,
            second=right,
            outcome=one_of(row, "winner", _MEANINGS),
            rater=row.fields["worker"],
            context=prompt,
            prompt=prompts[prompt],
            payload_first=answers[left, prompt],
            payload_second=answers[right, prompt],
            extra={"id": row.fields["id"]},
        )
