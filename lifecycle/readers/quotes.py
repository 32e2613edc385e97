"""What a record rests on: how a quote is written, and where it stands in its capture."""

from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.fields import Fields, wrong_type
from shiyi.lifecycle.readers.items import Quote


def quote_of(content: Any) -> Quote:
    """Return the quote that an object describes: a capture, whole, by words or by span."""
    if not isinstance(content, dict):
        raise wrong_type("quotes", "a list of objects", content, inside=True)
    fields = Fields(content)
    capture, text = fields.name("capture"), fields.text("text")
    span = fields.span("A quote")
    if capture is None:
        raise UsageError("A quote names its capture.")
    if text is None and content.get("text") is not None:
        raise UsageError("The text of a quote is empty; give its words, or leave text out.")
    return Quote(capture, text) if span is None else Quote(capture, text, *span)


def span_of(quote: Quote, text: str) -> tuple[int, int]:
    """Return where a quote stands in its capture; raises UsageError when it does not."""
    if quote.start is not None and quote.end is not None:
        start, end = quote.start, quote.end
        inside = 0 <= start < end <= len(text)
        if not inside or (quote.text is not None and text[start:end] != quote.text):
            raise UsageError("its quote does not stand at that place in the capture.")
        return start, end
    if quote.text is None:
        return 0, len(text)
    start = text.find(quote.text)
    if start < 0:
        raise UsageError("its quote does not stand in the capture word for word.")
    return start, start + len(quote.text)
