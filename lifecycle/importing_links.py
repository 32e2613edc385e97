"""The links of an import, and what has to be there for each of them."""

from collections.abc import Mapping, Sequence

from shiyi.core.errors import UsageError
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.readers import LinkItem, Quote, RecordItem
from shiyi.lifecycle.readers.quotes import span_of
from shiyi.store import Link, Store
from shiyi.store.shapes import REDIRECT

_ITSELF = "it ties a record to itself."


def links_of_record(
    scope: str, item: RecordItem, record_id: str, quoted: Mapping[str, str]
) -> list[Link]:
    """Return the links that a record's own line names; `quoted` has the words of captures.

    Raises UsageError for words that are not there, and for a record that is tied to itself.
    """
    links = [_quote(scope, record_id, quote, quoted) for quote in item.quotes]
    for rel, others in (("supersedes", item.supersedes), ("contradicts", item.contradicts)):
        ids = [record_id_of(scope, other) for other in others]
        links += [Link(scope=scope, src=record_id, rel=rel, dst=id_) for id_ in ids]
    redirected = item.kind == "entity" and item.attrs.get(REDIRECT) == record_id
    if redirected or any(link.src == link.dst for link in links):
        raise UsageError(_ITSELF)
    return links


def _quote(scope: str, record_id: str, quote: Quote, quoted: Mapping[str, str]) -> Link:
    capture_id = capture_id_of(scope, quote.capture)
    text = quoted.get(capture_id)
    if text is None:
        raise UsageError("it quotes a capture that is not there; import the captures first.")
    start, end = span_of(quote, text)
    return Link(
        scope=scope, src=record_id, rel="quotes", dst=capture_id, span_start=start, span_end=end
    )


def link_of(scope: str, item: LinkItem) -> Link:
    """Return the link of a line of its own."""
    end_of = capture_id_of if item.rel == "quotes" else record_id_of
    return Link(
        scope=scope, src=record_id_of(scope, item.src), rel=item.rel, dst=end_of(scope, item.dst),
        span_start=item.start, span_end=item.end, attrs=item.attrs,
    )  # fmt: skip


class Ends:
    """What is there of the ends of some links."""

    def __init__(self, store: Store, scope: str, links: Sequence[Link]) -> None:
        """Look them up."""
        targets = sorted({link.dst for link in links})
        self._sources = set(store.versions_of(scope, sorted({link.src for link in links})))
        self._records = set(store.versions_of(scope, targets))
        captures = store.captures(scope, targets)
        self._words = {id_: capture.text for id_, capture in captures.items()}

    def check(self, link: Link) -> None:
        """Raise UsageError for a link to itself, without an end, or to words that are not there."""
        if link.src == link.dst:
            raise UsageError(_ITSELF)
        there = self._words if link.rel == "quotes" else self._records
        if link.src not in self._sources or link.dst not in there:
            raise UsageError("an end of this link is not there; import that first.")
        if (link.span_start, link.span_end) != (-1, -1):
            quote = Quote(link.dst, None, link.span_start, link.span_end)
            span_of(quote, self._words[link.dst])
