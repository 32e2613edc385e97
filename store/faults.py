"""What DuckDB and the disk can answer, as our errors; none repeats a statement or a value."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from shiyi.core.errors import (
    ConflictError,
    HomeBusyError,
    HomeDamagedError,
    HomeError,
    HomeForeignError,
    HomeUnwritableError,
    ShiyiError,
    UsageError,
)

# Errors about a statement or a value. Their messages quote stored values, so no word in them says
# anything about the file.
_ABOUT_THE_STATEMENT = (duckdb.ProgrammingError, duckdb.IntegrityError, duckdb.DataError)
# (what the message says, what it is, what a person reads), the first that fits
_ABOUT_THE_FILE: tuple[tuple[tuple[str, ...], type[HomeError], str], ...] = (
    (
        ("conflicting lock", "could not set lock"),
        HomeBusyError,
        "Another program has {path} open. Close it and try again; nothing was changed.",
    ),
    (
        ("no space left", "file too large", "quota exceeded"),
        HomeUnwritableError,
        (
            "The disk that holds {path} is full: this write was refused and not stored. Free some "
            "space and repeat it; what was saved before is safe."
        ),
    ),
    (
        ("permission denied", "read-only file system", "operation not permitted"),
        HomeUnwritableError,
        (
            "{path} cannot be written (no permission or a read-only disk); nothing was changed. "
            "Make it writable or choose another with --home."
        ),
    ),
    (
        ("not a valid duckdb",),
        HomeForeignError,
        "{path} is not a Shiyi database; it was left untouched. Choose another home with --home.",
    ),
    (
        ("version number",),
        HomeForeignError,
        "{path} was written by a newer DuckDB; it was left untouched. Upgrade Shiyi to open it.",
    ),
    (
        ("checksum", "corrupt", "enough bytes", "serialization", "failed to load metadata"),
        HomeDamagedError,
        (
            "{path} is damaged (its checksums or its length do not fit); it was left untouched. "
            "Restore it from a backup, or copy the whole home aside before trying anything else."
        ),
    ),
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise DuckDB's errors as ours."""
    try:
        yield
    except duckdb.Error as error:
        raise _translate(error, path) from None


def damaged(path: Path, how: str) -> HomeDamagedError:
    """Return the error for a file that cannot be read as it is."""
    return HomeDamagedError(
        f"{path} is damaged ({how}); it was left untouched. Restore it from a backup, or copy "
        "the whole home aside before trying anything else."
    )


def unreadable(path: Path) -> HomeDamagedError:
    """Return the error for words that were committed and do not come back."""
    return HomeDamagedError(
        f"What was written to {path} cannot be read back, so it does not count as kept. Run "
        "`shiyi doctor`, and keep the words elsewhere until it is mended."
    )


def foreign(path: Path) -> HomeForeignError:
    """Return the error for a file that we did not make."""
    return HomeForeignError(
        f"{path} is not a Shiyi database; it was left untouched. Choose another home with --home."
    )


def unwritable(home: Path, error: OSError) -> HomeUnwritableError:
    """Return the error for a home whose files cannot be made or opened."""
    return HomeUnwritableError(
        f"The home {home} cannot be written ({error.strerror or type(error).__name__}); nothing "
        "was changed. Make it writable or choose another with --home."
    )


def _translate(error: duckdb.Error, path: Path) -> ShiyiError:
    # The path is a person's choice and may hold any word, "corrupt" for one.
    said = str(error).replace(str(path), "").lower()
    if isinstance(error, duckdb.InvalidInputException) and "cannot encode str" in said:
        return UsageError(
            "A text holds half a surrogate pair, which has no UTF-8 form; nothing was changed."
        )
    if isinstance(error, duckdb.ConstraintException) and "duplicate key" in said:
        return ConflictError(
            "What this would add is there already: it was changed meanwhile. Read it again and "
            "repeat the change; nothing was changed."
        )
    if not isinstance(error, _ABOUT_THE_STATEMENT):
        for signs, kind, sentence in _ABOUT_THE_FILE:
            if any(sign in said for sign in signs):
                return kind(sentence.format(path=path))
    return HomeError(
        f"The database {path} refused the operation ({type(error).__name__}); nothing was "
        "changed. Run `shiyi doctor`."
    )
