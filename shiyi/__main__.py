"""The command `shiyi`, also as `python -m shiyi`."""

import os
import sys

from shiyi import interrupt


def entry() -> None:
    """Start from the shell, and end with the exit code of the command."""
    interrupt.watch()
    try:
        _speak_utf8()
        from shiyi.cli import start

        code = start(sys.argv[1:])
    except BaseException:
        if not interrupt.pressed():
            raise
        print(f"shiyi: {interrupt.SENTENCE}", file=sys.stderr)  # noqa: T201 - click may be missing
    interrupt.ignore()
    if interrupt.pressed():
        _flush()
        # What was acknowledged is on disk; threads that are still at work are not waited for.
        os._exit(interrupt.EXIT_CODE)
    sys.exit(code)


def _speak_utf8() -> None:
    """Begin again in UTF-8 where the locale has another encoding: paths and words are UTF-8."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


if __name__ == "__main__":
    entry()
