"""Maps on the command line: what was budgeted is what is printed."""

from collections.abc import Callable
from typing import Any

import pytest

from shiyi.models.tokens import get_counter

MAPS = (("survey",), ("survey", "花生"), ("routing", "飲食"), ("catalog",), ("recall",))


@pytest.mark.parametrize("words", MAPS, ids=" ".join)
def test_the_budgeted_text_is_printed(run: Callable[..., Any], words: tuple[str, ...]) -> None:
    """As Markdown or as JSON, within the budget, with its own count."""
    run("remember", "我對花生過敏", "--kind", "preference", "--topic", "飲食", "--title", "過敏")
    told = run(*words, "--budget", 300)
    parsed = run(*words, "--budget", 300, "--json")

    assert (told.code, parsed.code) == (0, 0)
    assert get_counter().count(told.out) <= 300
    assert "過敏" in told.out
    assert get_counter().count(parsed.out) <= parsed.json["tokens"] <= 300
    assert "我對花生過敏" not in told.out + parsed.out  # the words are read with deep


def test_nothing_found_is_exit_code_one(run: Callable[..., Any]) -> None:
    """An empty map says what could be done; a bad window is one sentence."""
    run("remember", "只有原話", "--words-only")
    empty = run("survey")
    bad = run("recall", "--window", "2025-08:2025-03")

    assert empty.code == 1
    assert "outcome: empty" in empty.out
    assert bad.err == "shiyi: A window cannot end before it starts; swap its two ends.\n"


def test_before_everything_there_is_nothing(run: Callable[..., Any]) -> None:
    """As of a time before all records, the words kept since are not shown either."""
    run("remember", "我對花生過敏", "--kind", "preference")
    run("remember", "花生要藏好", "--words-only")

    for words in (("survey",), ("catalog",), ("recall",), ("probe", "花生")):
        assert run(*words).code == 0
        told = run(*words, "--as-of", "1900-01-01")
        assert told.code == 1
        assert "outcome: empty" in told.out
    assert run("probe", "花生", "--as-of", "2999-01-01").code == 0
