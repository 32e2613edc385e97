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
    │   └── ModelLoadingError                it is being loaded; ask again
    ├── IndexUnusableError                   an index is missing, damaged or outdated; it is rebuilt
    ├── ForbiddenError       (PermissionError)  whoever asks may not do that
    ├── TooManyError                         one client asks too much at once
    ├── StoppedError                         whoever wanted a job has gone, so it was ended
    ├── DaemonError                          the daemon cannot be started, or does not answer
    ├── VersionSkewError                     the daemon and the client cannot talk
    ├── OutcomeUnknownError                  the connection ended before the answer to a write
    └── InternalError                        a fault of ours

A message is one sentence or two: what was found, what is allowed, what to do next. It never
carries stored text.
"""

from typing import ClassVar


class ShiyiError(Exception):
    """Base of every error that Shiyi raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 70
    field: str | None = None  # of the request that is at fault


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


class ModelLoadingError(ModelUnavailableError):
    """The embedding model is being loaded; keyword search answers meanwhile."""

    code = "model_loading"


class ForbiddenError(ShiyiError, PermissionError):
    """Whoever asks may not do that; nothing was changed."""

    code = "forbidden"
    exit_code = 77


class TooManyError(ShiyiError):
    """One client has too many calls in flight; it may ask again. wait: after so many seconds."""

    code = "too_many"
    exit_code = 75
    wait = 1


class StoppedError(ShiyiError):
    """A job was ended before its time, between two batches; what it did so far is kept."""

    code = "stopped"
    exit_code = 75


class DaemonError(ShiyiError):
    """The daemon of a home cannot be started, or does not answer."""

    code = "daemon"
    exit_code = 69


class VersionSkewError(ShiyiError):
    """The daemon and the client are of versions that cannot talk; nothing was sent."""

    code = "version_skew"
    exit_code = 75


class OutcomeUnknownError(ShiyiError):
    """The connection ended before the answer to a write that must not simply be repeated."""

    code = "outcome_unknown"
    exit_code = 76


class InternalError(ShiyiError):
    """A fault of ours; its details are not told, since they may hold what somebody said."""

    code = "internal"
