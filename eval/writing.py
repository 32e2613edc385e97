"""Saying in a sentence what could not be written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiyi.core.errors import HomeError, HomeUnwritableError
from shiyi.eval.readers.files import printable


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name what was to be written, and why it could not, in a HomeUnwritableError."""
    try:
        yield
    except HomeError:  # says already what it is about
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise HomeUnwritableError(f"{printable(path)} cannot be written ({reason}).") from None
