"""Which of the formats a path holds."""

from pathlib import Path

from shiyi.core.errors import UsageError

FORMATS = ("jsonl", "markdown", "text", "chatgpt", "claude", "claude-code", "beir")


def detect(path: Path) -> str:
    """Return the format of a file or folder.

    Raises UsageError when there is nothing there or it is none of FORMATS.
    """
    check_there(path)
    if path.is_dir():
        if (path / "corpus.jsonl").is_file():
            return "beir"
        if any((path / name).is_file() for name in ("captures.jsonl", "records.jsonl")):
            return "jsonl"
    elif path.suffix == ".jsonl":
        return "jsonl"
    raise unknown(path)


def check_there(path: Path) -> None:
    """Raise UsageError when there is no such file or folder."""
    if not path.exists():
        raise UsageError(f"{path} does not exist; give a file or folder in one of {_formats()}.")


def unknown(path: Path) -> UsageError:
    """Return the error for a path that holds none of the formats."""
    return UsageError(f"{path} is in none of the formats {_formats()}; name one with --format.")


def _formats() -> str:
    return ", ".join(FORMATS)
