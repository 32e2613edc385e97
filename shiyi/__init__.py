"""Shiyi (拾忆): a local-first memory index for AI agents.

>>> import shiyi
>>> with shiyi.open("~/memories") as memory:            # doctest: +SKIP
...     me = memory.scope("me")
...     me.remember("我對花生過敏，別點宮保雞丁。")
...     me.search("花生 allergy").hits[0].snippet.text
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiyi.client import Memory, Scope
    from shiyi.core.errors import ShiyiError

__all__ = ["Memory", "Scope", "ShiyiError", "open"]


def open(  # noqa: A001 - the name that a reader expects
    home: str | os.PathLike[str] | None = None,
    *,
    model: str | None = None,
    create: bool = True,
    embedded: bool = False,
) -> "Memory":
    """Open a home: through its daemon, which is started when need be, or in this process.

    home: a directory; SHIYI_HOME or the platform's data directory by default.
    model: `default`, `none`, a directory or a model name; wins over the settings.
    create: make the home when it is not there.
    embedded: own the home in this process until it is closed, for batch jobs; the setting
        `daemon = "off"` does the same.

    Raises HomeBusyError when another process owns it, and other kinds of ShiyiError.
    """
    from shiyi.client import Memory
    from shiyi.service.daemon.callers import Here, open_caller

    place = None if home is None else os.fspath(home)
    caller = open_caller(place, model=model, create=create, embedded=embedded)
    try:
        if isinstance(caller, Here):
            caller.session.store  # noqa: B018 - opened now, so that a refusal comes from here
        else:
            caller.start(create=create)
    except BaseException:
        caller.close()
        raise
    return Memory(caller)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return __all__


def __getattr__(name: str) -> Any:
    """Load the public names when they are first asked for."""
    if name in {"Memory", "Scope"}:
        from shiyi import client

        return getattr(client, name)
    if name == "ShiyiError":
        from shiyi.core.errors import ShiyiError

        return ShiyiError
    raise AttributeError(f"module 'shiyi' has no attribute {name!r}")
