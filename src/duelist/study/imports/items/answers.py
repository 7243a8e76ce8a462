"""Recognize files of systems' answers to prompts, and unfold them to one row per answer.

A long file has a row per answer, with columns for the prompt, the system and the answer. A wide file has a row per
prompt and a column per system. A nested file is JSON whose records hold the answers of all systems to a prompt, as an
object by system or as a list. All become the same long rows, so that what follows knows one layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats import context_id
from duelist.study.formats.comparison import is_messages
from duelist.study.formats.files import Row
from duelist.study.imports.items.column_mapping import CONTENT_NAMES, PROMPT_NAMES, is_date, normalize
from duelist.study.imports.items.options import ItemOptions
from duelist.study.imports.items.sheet import Sheet
from duelist.study.imports.notes import Note

_SYSTEMS: Final = ("system", "model", "llm", "engine", "agent", "bot", "assistant", "method", "candidate", "variant")
_CATEGORIES: Final = ("category", "topic", "domain", "type", "subject")
_PROMPT_IDS: Final = ("context", "prompt_id", "question_id", "prompt_name", "task_id")
_IDS: Final = ("id", "nr", "no", "no.", "number", "#", "index", "row", "key")
_NESTED: Final = ("answers", "responses", "outputs", "completions", "candidates", "generations")
_NESTED_NAMES: Final = ("systems", "models", "names")
_NOT_ANSWERS: Final = (
    "note", "notes", "comment", "comments", "reference", "source", "author", "url", "link", "slug", "date", "language",
    "expected", "target", "gold", "label", "winner", "chosen", "rejected", "metadata", "tags", "features",
)  # fmt: skip
"""Names of text columns that are no answers."""
SYSTEM: Final = "(system)"
"""The column of systems that unfolding adds."""
ANSWER: Final = "(answer)"
"""The column of answers that unfolding adds."""
_FILLED: Final = 1 / 3
"""A column of a wide file holds answers to at least this share of prompts."""


class AnswerSheet(NamedTuple):
    """A file of answers, with one row per answer, and the column of each target."""

    sheet: Sheet
    columns: dict[str, str | None]
    unfolded: tuple[str, ...] = ()
    """The columns of a wide or nested file that held answers."""
    wide: tuple[str, ...] | None = None
    """The columns of a wide file, one per system."""


def read_answers(sheet: Sheet, options: ItemOptions) -> AnswerSheet | None:
    """Return the file as answers of systems; None if it holds plain items.

    Options come first: the column `system` of a long file, or the columns `systems` of a wide one; None, or an empty
    list, says that the file holds no answers.
    """
    given = dict(options.columns)
    if options.systems == () or ("system" in given and given["system"] is None):
        return None
    if options.systems is not None:
        _check_columns(sheet, options.systems)
        return _unfold_wide(sheet, given, list(options.systems))
    if given.get("system") is not None:
        return _long(sheet, given, str(given["system"]))
    nested = _nested_column(sheet, given)
    if nested is not None:
        return _unfold_nested(sheet, given, nested)
    system = _find(sheet, _SYSTEMS, given)
    if system is not None and _recurs(sheet, system, given):
        return _long(sheet, given, system)
    wide = _wide_columns(sheet, given)
    return _unfold_wide(sheet, given, wide) if len(wide) > 1 else None


def answered_prompts(found: AnswerSheet) -> tuple[list[Row], list[str], dict[str, Any], list[Note]]:
    """Return the rows with an answer, the context and the prompt of each, and notes on holes and duplicates.

    Of several answers of a system to a prompt the first is used.
    """
    prompt, context, answer = (found.columns[target] for target in ("prompt", "context", "payload"))
    rows: list[Row] = []
    contexts: list[str] = []
    prompts: dict[str, Any] = {}
    seen: dict[tuple[str, str], Any] = {}
    systems: dict[str, None] = {}
    empty = 0
    repeated: Counter[tuple[str, str]] = Counter()
    for row in found.sheet.rows:
        system = _text(row.fields.get(str(found.columns["system"])))
        where = _context_of(row, prompt, context)
        if not system:
            raise InvalidInput(f"{row.where} names no system.", "Name the system of every answer.")
        systems[system] = None
        content = None if answer is None else row.fields.get(answer)
        _check_prompt(row, prompts, where, None if prompt is None else row.fields.get(prompt))
        if _is_empty(content):
            empty += 1
        elif (system, where) in seen:
            repeated[system, where] += 1
        else:
            seen[system, where] = content
            rows.append(row)
            contexts.append(where)
    n_missing = len(systems) * len(prompts) - len(seen)
    notes = [
        Note("systems", {"systems": list(systems), "prompts": len(prompts), "answers": len(seen), "missing": n_missing})
    ]
    if repeated:
        (system, where), count = next(iter(repeated.items()))
        details = {"system": system, "prompt": where, "count": count + 1, "others": len(repeated) - 1}
        notes.append(Note("duplicate_answers", details))
    if not rows:
        raise InvalidInput("The file has no answers.", "Name the column of the answers.", field="columns.payload")
    return rows, contexts, {name: text for name, text in prompts.items() if text is not None}, notes


def _check_prompt(row: Row, prompts: dict[str, Any], context: str, prompt: Any) -> None:
    known = prompts.setdefault(context, prompt)
    if known != prompt:
        raise InvalidInput(
            f"{row.where}: prompt {context!r} has another text in an earlier row.", "Give each prompt one text."
        )


def _context_of(row: Row, prompt: str | None, context: str | None) -> str:
    name = None if context is None else _text(row.fields.get(context))
    if name:
        return name
    text = None if prompt is None else row.fields.get(prompt)
    if _is_empty(text):
        raise InvalidInput(f"{row.where} names no prompt.", "Name the prompt of every answer.")
    return context_id(text)


# -- long files --------------------------------------------------------------------------


def _long(sheet: Sheet, given: Mapping[str, str | None], system: str) -> AnswerSheet:
    columns = _prompt_columns(sheet, given)
    taken = {system, *columns.values()}
    payload = given.get("payload") or _find(sheet, CONTENT_NAMES, given, taken)
    if payload is None and "payload" not in given:
        payload = _longest(sheet, [name for name in sheet.columns if name not in taken])
    identifier = given.get("id") or _find(sheet, _IDS, given, taken)
    if identifier is not None and "id" not in given and not _is_unique(sheet, identifier):
        if columns["context"] is None and "context" not in given:
            columns["context"] = identifier  # rows that share it are answers to one prompt
        identifier = None
    if columns["prompt"] is None and columns["context"] is None:
        raise InvalidInput(
            f"The column {system!r} names systems, and no column names the prompts that they answered.",
            "Name the column of the prompts.",
            field="columns.prompt",
        )
    return AnswerSheet(sheet, {"id": identifier, "payload": payload, **columns, "system": system})


def _recurs(sheet: Sheet, system: str, given: Mapping[str, str | None]) -> bool:
    """Return whether some systems answer several prompts, and some prompts are answered by several systems."""
    columns = _prompt_columns(sheet, given)
    prompt = columns["context"] or columns["prompt"]
    if prompt is None or prompt == system:
        return False
    pairs = {(_text(one), _text(other)) for one, other in zip(sheet.cells(system), sheet.cells(prompt), strict=True)}
    systems, prompts = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    return max(systems.values(), default=0) > 1 and max(prompts.values(), default=0) > 1


# -- wide files --------------------------------------------------------------------------


def _wide_columns(sheet: Sheet, given: Mapping[str, str | None]) -> list[str]:
    """Return the columns that hold answers of one system each, if the file has prompts and no column of contents."""
    columns = _prompt_columns(sheet, given)
    payload = given.get("payload") or _find(sheet, CONTENT_NAMES, given)
    if columns["prompt"] is None or payload is not None or not _is_unique(sheet, columns["prompt"]):
        return []
    taken = {*columns.values(), *given.values(), _find(sheet, (*_IDS, *_SYSTEMS), given)}
    free = [name for name in sheet.columns if name not in taken and normalize(name) not in _NOT_ANSWERS]
    return [name for name in free if holds_answers(sheet, name)]


def sparse_columns(found: AnswerSheet, sheet: Sheet) -> list[str]:
    """Return the columns of a wide file that hold texts, but for too few prompts to be read as answers."""
    if found.wide is None:
        return []
    taken = {*found.wide, *found.columns.values()}
    free = [name for name in sheet.columns if name not in taken and normalize(name) not in _NOT_ANSWERS]
    return [name for name in free if holds_answers(sheet, name, 0.0)]


def holds_answers(sheet: Sheet, name: str, least: float = _FILLED) -> bool:
    """Return whether most rows, or at least this share, have a text in this column, and the texts differ."""
    filled = [(row, cell) for row in sheet.rows if not _is_empty(cell := row.fields.get(name))]
    if not filled or len(filled) < least * len(sheet.rows) or is_date(sheet, name):
        return False
    is_text = any(isinstance(cell, str) and row.parse_number(cell) is None for row, cell in filled)
    return is_text and 2 * len({str(cell) for _, cell in filled}) >= len(filled)


def _unfold_wide(sheet: Sheet, given: Mapping[str, str | None], systems: list[str]) -> AnswerSheet:
    columns = _prompt_columns(sheet, given, systems)
    if columns["context"] is None and "context" not in given:
        identifier = given.get("id") or _find(sheet, _IDS, given, systems)
        if identifier is not None and _is_unique(sheet, identifier):
            columns["context"] = identifier
    if columns["prompt"] is None and columns["context"] is None:
        raise InvalidInput("No column names the prompts that the systems answered.", "Name it.", field="columns.prompt")
    names = _short_names(systems)

    def unfold() -> Iterator[Row]:
        for row in sheet.rows:
            rest = {name: cell for name, cell in row.fields.items() if name not in systems}
            for column, name in zip(systems, names, strict=True):
                yield row._replace(
                    where=f"{row.where}, column {column!r}",
                    fields={**rest, SYSTEM: name, ANSWER: row.fields.get(column)},
                )

    return _unfolded(sheet, columns, tuple(systems), unfold())._replace(wide=tuple(systems))


def _short_names(columns: Sequence[str]) -> list[str]:
    """Return the names of systems without the words that all columns share.

    >>> _short_names(["answer_gpt", "answer_llama"]), _short_names(["gpt", "llama"])
    (['gpt', 'llama'], ['gpt', 'llama'])
    """
    for word in CONTENT_NAMES:
        for sign in ("_", " ", "-"):
            starts = all(name.casefold().startswith(word + sign) for name in columns)
            ends = all(name.casefold().endswith(sign + word) for name in columns)
            if starts or ends:
                cut = slice(len(word) + 1, None) if starts else slice(None, -len(word) - 1)
                return [name[cut].strip() or name for name in columns]
    return list(columns)


# -- nested JSON -------------------------------------------------------------------------


def _nested_column(sheet: Sheet, given: Mapping[str, str | None]) -> str | None:
    """Return the column whose cells hold the answers of several systems."""
    for word in _NESTED:
        for name in sheet.columns:
            cells = [cell for cell in sheet.cells(name) if not _is_empty(cell)]
            nested = bool(cells) and all(isinstance(cell, (dict, list)) and not is_messages(cell) for cell in cells)
            if normalize(name) == word and nested and name not in given.values():
                return name
    return None


def _unfold_nested(sheet: Sheet, given: Mapping[str, str | None], nested: str) -> AnswerSheet:
    parallel = _find(sheet, _NESTED_NAMES, given, [nested])
    columns = _prompt_columns(sheet, given, [nested, parallel])

    def unfold() -> Iterator[Row]:
        for row in sheet.rows:
            rest = {name: cell for name, cell in row.fields.items() if name not in (nested, parallel)}
            names = None if parallel is None else row.fields.get(parallel)
            for name, answer in _answers_in(row, row.fields.get(nested), names):
                yield row._replace(where=f"{row.where}, {name!r}", fields={**rest, SYSTEM: name, ANSWER: answer})

    if columns["context"] is None and "context" not in given:
        columns["context"] = _find(sheet, _IDS, given)
    return _unfolded(sheet, columns, (nested,) if parallel is None else (nested, parallel), unfold())


def _answers_in(row: Row, cell: Any, names: Any) -> Iterator[tuple[str, Any]]:
    """Yield (system, answer) from an object keyed by system, a list of objects that name it, or a list with separate names."""
    if isinstance(cell, dict):
        yield from cell.items()
        return
    answers = cell if isinstance(cell, list) else []
    if isinstance(names, list) and len(names) != len(answers):
        raise InvalidInput(
            f"{row.where} has {len(answers)} answers and {len(names)} names.", "Give one name per answer."
        )
    for k, answer in enumerate(answers):
        if isinstance(answer, dict) and names is None:
            fields = {normalize(str(key)): value for key, value in answer.items()}
            name = next((fields[word] for word in (*_SYSTEMS, "name", "id") if word in fields), None)
            content = next((fields[word] for word in CONTENT_NAMES if word in fields), None)
            yield _text(name) or str(k + 1), content
        else:
            yield _text(names[k]) if isinstance(names, list) else str(k + 1), answer


# -- shared ------------------------------------------------------------------------------


def _unfolded(
    sheet: Sheet, columns: dict[str, str | None], unfolded: tuple[str, ...], rows: Iterator[Row]
) -> AnswerSheet:
    rest = [name for name in sheet.columns if name not in unfolded]
    long = sheet._replace(columns=[*rest, SYSTEM, ANSWER], rows=list(rows))
    return AnswerSheet(long, {"id": None, **columns, "system": SYSTEM, "payload": ANSWER}, unfolded)


def _prompt_columns(
    sheet: Sheet, given: Mapping[str, str | None], taken: Sequence[str | None] = ()
) -> dict[str, str | None]:
    """Return the columns of the prompt, its name, and its category."""
    names = {"prompt": PROMPT_NAMES, "context": _PROMPT_IDS, "category": _CATEGORIES}
    return {
        target: given[target] if target in given else _find(sheet, words, given, taken)
        for target, words in names.items()
    }


def _find(sheet: Sheet, names: Sequence[str], given: Mapping[str, str | None], taken: Any = ()) -> str | None:
    """Return the first column of one of these names that is neither given nor taken and not empty."""
    free = [name for name in sheet.columns if name not in given.values() and name not in taken]
    matching = (name for word in names for name in free if normalize(name) == word)
    return next((name for name in matching if not all(_is_empty(cell) for cell in sheet.cells(name))), None)


def _longest(sheet: Sheet, names: Sequence[str]) -> str | None:
    lengths = {name: sum(len(_text(cell)) for cell in sheet.cells(name)) for name in names}
    return max((name for name in names if lengths[name]), key=lambda name: lengths[name], default=None)


def _is_unique(sheet: Sheet, name: str) -> bool:
    cells = [_text(cell) for cell in sheet.cells(name)]
    return "" not in cells and len(set(cells)) == len(cells)


def _check_columns(sheet: Sheet, names: Sequence[str]) -> None:
    stray = next((name for name in names if name not in sheet.columns), None)
    if stray is not None:
        raise InvalidInput(
            f"systems has {stray!r}, and the file has no such column.",
            f"Its columns are {', '.join(sheet.columns)}.",
            field="systems",
        )


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip()) or cell in ([], {})


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
