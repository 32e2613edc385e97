"""Ctrl-C, remembered: in the middle of an import, a library may turn it into any other error."""

import signal
from types import FrameType

EXIT_CODE = 130
SENTENCE = "Interrupted; what was done so far is kept. Run it again to go on."
_pressed = False


def watch() -> None:
    """Remember Ctrl-C from now on, and raise KeyboardInterrupt as always."""
    signal.signal(signal.SIGINT, _press)


def pressed() -> bool:
    """Tell whether Ctrl-C was pressed."""
    return _pressed


def ignore() -> None:
    """Let nothing interrupt the last lines."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _press(number: int, frame: FrameType | None) -> None:
    global _pressed
    del number, frame
    _pressed = True
    raise KeyboardInterrupt
