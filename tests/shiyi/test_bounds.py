"""What is out of range is refused in one sentence with exit code 2, and changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def refused(answer: Any) -> None:
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("shiyi: ")
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 400


SEARCH = [
    ["--limit", "0"],
    ["--limit", "-1"],
    ["--limit", "1000000000"],
    ["--limit", "1" + "0" * 400],
    ["--limit", "1.5"],
    ["--limit", ""],
    ["--budget", "199"],
    ["--budget", "-1"],
    ["--since", "2021-02-30"],
    ["--since", "2021-13"],
    ["--since", "yesterday"],
    ["--until", "0000"],
    ["--since", "2022", "--until", "2021"],
    ["--kind", "poem"],
    ["--layer", "attic"],
    ["--status", "lost"],
    ["--channel", "telepathy"],
    ["--only", "captures", "--kind", "fact"],
]


def test_search_options(run: Run, kept: Run) -> None:
    """Numbers, dates and choices of a search."""
    kept("甲")

    for options in SEARCH:
        refused(run("search", "甲", *options))


def test_list_limit(run: Run, kept: Run) -> None:
    """A page has one to a thousand lines."""
    kept("甲")

    for limit in ("0", "-1", "1001", "1000000000"):
        refused(run("list", "--limit", limit))


REMEMBER = [
    ["--date", "2021-02-29"],
    ["--date", "2021-04..2021-03"],
    ["--said-at", "2021-02-30T10:00:00Z"],
    ["--said-at", "noon"],
    ["--said-at", "0001-01-01T00:00:00+14:00"],
    ["--salience", "101"],
    ["--salience", "-1"],
    ["--session", "s" * 201],
    ["--speaker", ""],
    ["--phase", "p" * 201],
    ["--title", ""],
    ["--gist", " "],
    ["--key", "k" * 201],
    *[["--topic", "t"] * 51],
]


def test_remember_options(run: Run) -> None:
    """Dates that do not exist, names that are too long, numbers out of range."""
    for options in REMEMBER:
        refused(run("remember", "甲", *options))
    assert run("list", "--what", "captures").code in {1, 66}


SCOPES = ["a/b", "..", ".", "../../etc", "a\0b", "s" * 300, " ", "-x", "a b", "a\nb", "\u202e"]


def test_scope_names(run: Run, home: Path) -> None:
    """A scope is a name, never a path."""
    for scope in SCOPES:
        for command in (["remember", "甲"], ["list"], ["search", "甲"], ["export", "out"]):
            refused(run(*command, f"--scope={scope}"))
    assert not home.exists()


IDS = ["a/b", "..", "a\0b", "i" * 300, "i" * 600, "０１", "' OR 1=1 --"]


def test_ids(run: Run, kept: Run) -> None:
    """An id that is none finds nothing and harms nothing; it is named so that all of it shows."""
    kept("甲")

    for id_ in IDS:
        for command in (["show"], ["edit", "--title", "x"], ["archive"]):
            answer = run(*command, "--", id_)
            assert answer.code in {1, 2}
            assert "Traceback" not in answer.err
            assert answer.err.replace("\n", "").isprintable()
        assert run("list", f"--after={id_}").code == 2


def test_values_are_not_repeated_in_errors(run: Run) -> None:
    """An error never carries what somebody said."""
    secret = "my-password-hunter2"
    answers = [
        run("remember", "甲", "--date", secret),
        run("remember", "甲", "--said-at", secret),
        run("remember", "甲", "--speaker", secret * 20),
        run("search", secret * 300),
    ]

    assert all(answer.code == 2 and secret not in answer.err for answer in answers)


def test_scopes_do_not_see_each_other(run: Run, kept: Run) -> None:
    """What is kept in one scope is neither found, listed nor shown in another."""
    one = kept("花生過敏", "--scope", "a")
    kept("別的", "--scope", "b")

    assert run("search", "花生", "--scope", "b", "--weak").code == 1
    assert run("show", one["record_id"], "--scope", "b").code == 1
    assert run("edit", one["record_id"], "--title", "x", "--scope", "b").code == 1
    assert [i["title"] for i in run("list", "--scope", "b", "--json").json["items"]] == ["別的"]
