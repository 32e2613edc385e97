"""Stored text on a line of Markdown cannot be taken for fields of ours."""

from shiyi.retrieval.layout import inline
from shiyi.retrieval.listing import form_of
from shiyi.retrieval.map_results import MapEntry


def test_a_dot_between_blanks_is_escaped_and_one_in_a_name_is_not() -> None:
    assert inline("today · overdue ·") == "today \\· overdue \\·"
    assert inline("若昂·席爾瓦") == "若昂·席爾瓦"
    line = form_of(MapEntry(id="A", title="x · 9 records", date="2020"), "markdown")
    assert line == "- 2020 · x \\· 9 records · A"
