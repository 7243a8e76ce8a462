"""llmfao: crowd workers' votes on answers of 59 language models to 13 prompts (Ustalov)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duelist.core.errors import InvalidInput
from duelist.research.datasets.folder import data_folder
from duelist.research.datasets.tables import texts
from duelist.study import Outcome
from duelist.study.formats import Comparison

_MEANINGS: Final = {"left": Outcome.FIRST, "right": Outcome.SECOND, "tie": Outcome.TIE}


def load_llmfao(folder: str | Path | None = None) -> Iterator[Comparison]:
    """Load every vote in the order of the file: arms are models, contexts are prompt numbers.

    Some answers are empty texts. `extra` has the number of the pair (`id`).
    """
    base = data_folder(folder) / "llmfao"
    prompts = {key: text for _, (key, text) in texts(base / "prompts.csv", ("id", "text"))}
    answers = {
        (model, prompt): text
        for _, (model, prompt, text) in texts(base / "responses.csv", ("name", "prompt", "result"))
    }
    columns = ("id", "prompt", "worker", "winner", "left", "right")
    for where, (pair, prompt, worker, winner, left, right) in texts(base / "comparisons.csv", columns):
        missing = [f"{model!r} to prompt {prompt}" for model in (left, right) if (model, prompt) not in answers]
        if missing or prompt not in prompts:
            what = f"the answer of {missing[0]}" if missing else f"prompt {prompt}"
            raise InvalidInput(
                f"{where} needs {what}, which is not in the files beside it.", "Download all three files together."
            )
        if winner not in _MEANINGS:
            raise InvalidInput(f"{where}: winner is {winner!r}.", f"It must be one of {', '.join(_MEANINGS)}.")
        yield Comparison(
            first=left,
            second=right,
            outcome=_MEANINGS[winner],
            rater=worker,
            context=prompt,
            prompt=prompts[prompt],
            payload_first=answers[left, prompt],
            payload_second=answers[right, prompt],
            extra={"id": pair},
        )
