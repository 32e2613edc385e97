"""Everything that can go wrong, as one small tree.

    ShiyiError
    ├── UsageError            (ValueError)   the input is wrong; nothing was done
    ├── NotFoundError         (LookupError)  no such scope, record or capture
    ├── ConflictError                        an etag or idempotency key does not match
    ├── HomeError             (OSError)
    │   ├── HomeBusyError                    another process owns the home
    │   ├── HomeDamagedError                 the database cannot be read as it is
    │   ├── HomeForeignError                 the database is not ours, or is newer than this version
    │   └── HomeUnwritableError              read-only, full, or not permitted
    ├── OutputError                          the answer cannot be written; the deed is done
    ├── ModelUnavailableError                the embedding model cannot be loaded
    └── IndexUnusableError                   an index is missing, damaged or outdated; it is rebuilt

A message is one sentence or two: what was found, what is allowed, what to do next. It never
carries stored text.
"""

from typing import ClassVar


class ShiyiError(Exception):
    """Base of every error that Shiyi raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 70


class UsageError(ShiyiError, ValueError):
    """The request cannot be understood or is out of range; nothing was changed."""

    code = "usage"
    exit_code = 2


class NotFoundError(ShiyiError, LookupError):
    """No such scope, record or capture."""

    code = "not_found"
    exit_code = 1


class ConflictError(ShiyiError):
    """The record changed meanwhile, or an idempotency key came back with other content."""

    code = "conflict"
    exit_code = 4


class HomeError(ShiyiError, OSError):
    """The home directory or its database cannot be used."""

    code = "home"
    exit_code = 66


class HomeBusyError(HomeError):
    """Another process owns the home; nothing was changed."""

    code = "busy"
    exit_code = 75


class HomeDamagedError(HomeError):
    """The database is truncated or fails its checksums; it was left untouched."""

    code = "damaged"
    exit_code = 65


class HomeForeignError(HomeError):
    """The file is not a Shiyi database, or a newer version wrote it; it was left untouched."""

    code = "foreign"
    exit_code = 65


class HomeUnwritableError(HomeError):
    """The disk is full or read-only, or the directory is not ours to write."""

    code = "unwritable"
    exit_code = 73


class OutputError(ShiyiError):
    """The answer could not be written; what the operation did is kept."""

    code = "output"
    exit_code = 74


class ModelUnavailableError(ShiyiError):
    """The embedding model cannot be loaded; keyword search goes on without it."""

    code = "model_unavailable"
    exit_code = 69


class IndexUnusableError(ShiyiError):
    """An index generation is missing, damaged or outdated; the caller rebuilds it."""

    code = "index_unusable"
    exit_code = 69
