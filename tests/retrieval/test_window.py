"""Windows: days, open ends, phases and time words, with precision honoured."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from tests.retrieval.mapping import Archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    made = Archive(tmp_path_factory.mktemp("windows") / "home")
    dated: dict[str, dict[str, Any]] = {
        "day": {"date_start": date(2024, 5, 10)},
        "month": {"date_start": date(2024, 5, 1), "date_end": date(2024, 5, 31),
                  "date_precision": "month"},
        "year": {"date_start": date(2024, 1, 1), "date_end": date(2024, 12, 31),
                 "date_precision": "year"},
        "range": {"date_start": date(2024, 4, 1), "date_end": date(2024, 6, 30),
                  "date_precision": "range"},
        "late": {"date_start": date(2025, 11, 2)},
        "undated": {},
        "台北的一天": {"date_start": date(2030, 1, 1), "phase": "臺北"},
        "台北無日期": {"phase": "臺北"},
        "台北之間": {"date_start": date(2030, 1, 1)},
    }  # fmt: skip
    made.records(*({"name": name, **row} for name, row in dated.items()))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("window", "certain", "possible"),
    [
        ("2024-05", {"day", "month", "range"}, {"year"}),
        ("2024-05-10", {"day", "range"}, {"month", "year"}),
        ("2024", {"day", "month", "year", "range"}, set()),
        ("2024-06:2024-08", {"range"}, {"year"}),
        ("2024-06..2024-08", {"range"}, {"year"}),
        ("2025:", {"late", "台北的一天", "台北之間"}, set()),
        (":2024-05-09", {"range"}, {"month", "year"}),
        ("台北", {"台北的一天", "台北無日期"}, {"台北之間"}),
        ("去年十一月", {"late"}, set()),
        ("1999", set(), set()),
    ],
)  # fmt: skip
def test_what_fits(archive: Archive, window: str, certain: set[str], possible: set[str]) -> None:
    """What must have been then is certain, what may have been is marked, the rest is not there."""
    found = archive.ask("recall", window=window, budget=10_000)
    fits = {one.title: one.fit for one in found.records}

    assert {title for title, fit in fits.items() if fit == "certain"} == certain
    assert {title for title, fit in fits.items() if fit == "possible"} == possible
    assert found.outcome == ("found" if certain | possible else "empty")
    assert found.records or "window" in found.notes[0]
