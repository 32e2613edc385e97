"""Write the table of what each kind has of its own into docs/records.md.

    python tools/kinds.py [--check]

With --check nothing is written; the exit code is 1 when the table is not what it would be.
"""

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from shiyi.store.shapes import SHAPES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "records.md"
_BEGINNING, _END = "<!-- kinds -->\n", "<!-- /kinds -->\n"


def main() -> int:
    """Write or check the table."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(_BEGINNING)
    after = rest.partition(_END)[2]
    made = f"{before}{_BEGINNING}{table()}{_END}{after}"
    if "--check" in sys.argv[1:]:
        if made != text:
            print("docs/records.md is not up to date; run `make generate`.")
        return int(made != text)
    PAGE.write_text(made, "utf-8")
    return 0


def table() -> str:
    """Return the table, one line a field."""
    lines = ["| kind | field | what it is | needed |", "| --- | --- | --- | --- |"]
    for kind, shape in SHAPES.items():
        shown = f"`{kind}`"
        for name, field in shape.model_fields.items():
            needed = "yes" if field.is_required() else ""
            choices = _choices(field.annotation)
            words = f"{field.description}{f': {choices}' if choices else ''}"
            lines.append(f"| {shown} | `{name}` | {words} | {needed} |")
            shown = ""
    return "\n".join(lines) + "\n"


def _choices(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(annotation))
    return next((found for one in get_args(annotation) if (found := _choices(one))), "")


if __name__ == "__main__":
    raise SystemExit(main())
