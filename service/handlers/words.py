"""The words that a request gives, and who said them when."""

from shiyi.lifecycle.write import Words
from shiyi.service import requests as ask


def words_of(request: ask.RememberRequest | ask.CaptureRequest) -> Words:
    """Return what is to be kept, as it was given."""
    return Words(
        text=request.text,
        speaker=request.speaker,
        session=request.session,
        turn=request.turn,
        said_at=request.said_at,
    )
