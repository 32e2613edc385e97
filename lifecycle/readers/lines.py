"""Files of one JSON object a line: each becomes an item, or says why not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO, Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.items import Item, Kept, LineError
from shiyi.lifecycle.readers.source import Reading, read_lines, too_long
from shiyi.lifecycle.readers.strictjson import decode_object

MakeItem = Callable[[dict[str, Any]], Item | None]


def items_of_lines(
    stream: IO[bytes],
    source: str,
    reading: Reading,
    make: MakeItem,
    *,
    grows: bool = False,
    lone_surrogates: bool = False,
) -> Iterator[Item]:
    """Yield what `make` returns for each object; a line it refuses becomes a LineError.

    When the file `grows` while it is read, a last line without its end is not an error. With
    `lone_surrogates`, `make` has to check the texts that it keeps.
    """
    for line in read_lines(stream):
        reading.consumed(line.size)
        if line.content is None:
            yield LineError(source, line.number, too_long())
        elif line.content.strip():
            try:
                item = make(decode_object(line.content, lone_surrogates=lone_surrogates))
            except UsageError as error:
                if grows and not line.ended:
                    reading.skip("a last line that is still being written")
                else:
                    yield LineError(source, line.number, str(error))
            else:
                if isinstance(item, Kept):
                    yield replace(item, place=f"{source}:{line.number}")
                elif item is not None:
                    yield item
