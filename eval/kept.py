"""Answers kept as they come, so that a run which was stopped goes on where it was."""

import hashlib
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ValidationError

from shiyi.core.closable import Closable
from shiyi.core.files import make_private_directory, owner_only
from shiyi.eval.measures import Answer
from shiyi.eval.results import Outcome
from shiyi.eval.writing import writing


class KeptAnswer(BaseModel):
    """What a system gave to one query."""

    query: str
    outcome: Outcome
    found: list[str]
    shown: dict[int, list[str]]
    milliseconds: float


class KeptAnswers(Closable):
    """One file of lines for each set, view and system; a torn last line counts as not written."""

    def __init__(self, directory: Path) -> None:
        """Open or make the directory. Raises HomeUnwritableError when it cannot be made."""
        with writing(directory):
            self._directory = make_private_directory(directory)
        self._files: dict[Path, IO[str]] = {}
        self._answered: dict[Path, dict[str, KeptAnswer]] = {}

    def answered(self, dataset: str, view: str, system: str) -> dict[str, KeptAnswer]:
        """Return what is kept, by query."""
        file = self._file(dataset, view, system)
        if file not in self._answered:
            with writing(file):
                self._answered[file] = _read(file)
        return self._answered[file]

    def add(self, dataset: str, view: str, system: str, answer: Answer) -> None:
        """Keep one more answer. Raises HomeUnwritableError when the disk does not take it."""
        kept = KeptAnswer(
            query=answer.query.id, outcome=answer.outcome, found=list(answer.found),
            shown={budget: list(ids) for budget, ids in answer.shown.items()},
            milliseconds=round(answer.seconds * 1e3, 3),
        )  # fmt: skip
        answered = self.answered(dataset, view, system)
        file = self._file(dataset, view, system)
        with writing(self._directory):
            if file not in self._files:
                with owner_only():
                    self._files[file] = file.open("a", encoding="utf-8", buffering=1)
            self._files[file].write(kept.model_dump_json() + "\n")
        answered[kept.query] = kept

    def close(self) -> None:
        """Close the files."""
        with writing(self._directory):  # what the disk did not take is tried once more
            for file in self._files.values():
                file.close()
        self._files.clear()

    def _file(self, dataset: str, view: str, system: str) -> Path:
        # A set may be called anything, so its name is no name for a file.
        name = hashlib.sha256(f"{dataset}\0{view}\0{system}".encode()).hexdigest()[:24]
        return self._directory / f"{name}.jsonl"


def _read(file: Path) -> dict[str, KeptAnswer]:
    """Return the answers of a file, and cut off what follows the last whole line."""
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    answers = {}
    for line in whole.splitlines():
        try:
            answer = KeptAnswer.model_validate_json(line)
        except ValidationError:
            continue  # answered again
        answers[answer.query] = answer
    if len(whole) < len(content):
        file.write_bytes(whole)
    return answers
