"""Text made fit for models."""


def without_surrogates(text: str) -> str:
    """Return `text` in well-formed Unicode: pairs are joined, lone surrogates become U+FFFD.

    Python strings may hold lone surrogates (cut JSON escapes, odd file names); tokenizers
    refuse them. tiktoken repairs them in this way, so counts stay comparable.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
