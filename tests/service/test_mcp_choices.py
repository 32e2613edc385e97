"""What the tools do by choice: feedback, conflicts, review, ties, and files that were kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import shiyi
from shiyi.models.tokens import get_counter
from tests.service.agents import ERAS, here, refused, text_of, use

_TRUSTS = {"user", "agent", "imported", "web", "mixed"}
_TEXTS = {"title", "gist", "text", "question", "only"}


def run(home: Path, steps: Any, **options: Any) -> None:
    async def main() -> None:
        async with here(home, **options) as client:
            await steps(client)

    anyio.run(main)


def untrusted(content: Any, trust: str | None = None) -> Iterator[str]:
    """Yield the stored texts of an answer beside which nobody says whose word they are."""
    if isinstance(content, dict):
        trust = content.get("trust", trust)
        yield from (n for n in _TEXTS & set(content) if trust not in _TRUSTS)
        for one in content.values():
            yield from untrusted(one, trust)
    elif isinstance(content, list):
        for one in content:
            yield from untrusted(one, trust)


async def map_of(client: Client, view: str, **arguments: Any) -> dict[str, Any]:
    content = await use(client, "memory_survey", view=view, **arguments)
    assert list(untrusted(content)) == []
    return content


@pytest.mark.parametrize("mode", ERAS)
def test_what_the_person_said_of_a_memory(mode: str, tmp_path: Path) -> None:
    """Feedback quotes kept words; the memory shows it, and the review owes what is right."""

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text="我住台南。", kind="event", date="2024")
        said = await use(
            client, "memory_remember", text="不對，我從來沒住過台南。", words_only=True
        )
        found = await use(client, "memory_search", query="台南")
        source = {"capture": said["capture_id"], "text": "我從來沒住過台南"}
        told = {"action": "feedback", "source": source}
        wrong = await use(client, "memory_correct", id=kept["record_id"], verdict="corrected",
                          trace=found["trace"], **told)  # fmt: skip
        assert (wrong["verdict"], wrong["added"]) == ("corrected", True)
        for target, verdict in ((found["trace"], "unclear"), (kept["capture_id"], "helpful")):
            await use(client, "memory_correct", id=target, verdict=verdict, **told)

        record = await use(client, "memory_fetch", id=kept["record_id"])
        assert record["metadata"]["feedback"][0]["verdict"] == "corrected"
        assert record["metadata"]["feedback"][0]["capture"] == said["capture_id"]
        review = await map_of(client, "review")
        assert "corrected" in [one["group"] for one in review["debts"]]
        starter = (await map_of(client, "starter"))["starter"]
        assert (starter["id"], starter["trust"]) == (kept["record_id"], "user")

        for more in ({"verdict": "corrected", "source": {**source, "text": "沒說過"}},
                     {"verdict": "fine", "source": source}, {"source": source},
                     {"verdict": "missed"}):  # fmt: skip
            await refused(client, "memory_correct", id=kept["record_id"], action="feedback", **more)

    run(tmp_path / "home", steps, mode=mode)


def test_both_sides_of_what_contradicts(tmp_path: Path) -> None:
    """The two records, the words behind each, why, and whose word each of them is."""

    async def steps(client: Client) -> None:
        left = await use(client, "memory_remember", text="門在左邊。")
        right = await use(client, "memory_remember", text="門在右邊。", speaker="assistant")
        for view in ("conflicts", "now", "followups"):
            assert (await map_of(client, view))["outcome"] == "empty"
        await use(
            client, "memory_correct", action="contradict", id=left["record_id"],
            other=right["record_id"], reason="只有一扇門。",
            source={"capture": left["capture_id"], "text": "門在左邊"},
        )  # fmt: skip

        (pair,) = (await map_of(client, "conflicts"))["conflicts"]
        trusts = {one["id"]: one["trust"] for one in pair["sides"]}
        assert trusts == {left["record_id"]: "user", right["record_id"]: "agent"}
        assert {one["sources"][0]["id"] for one in pair["sides"]} == {
            left["capture_id"], right["capture_id"],
        }  # fmt: skip
        assert (pair["reason"]["text"], pair["reason"]["trust"]) == ("只有一扇門。", "agent")
        assert (pair["source"]["text"], pair["source"]["trust"]) == ("門在左邊", "user")

    run(tmp_path / "home", steps)


def test_a_warning_says_whose_word_it_repeats(tmp_path: Path) -> None:
    """What was corrected and is said again is told with the reason, as somebody's word."""

    async def steps(client: Client) -> None:
        old = await use(client, "memory_remember", text="門在左邊。")
        new = await use(client, "memory_remember", text="門在右邊。")
        await use(client, "memory_correct", action="contradict", id=new["record_id"],
                  other=old["record_id"], reason="搬過家。")  # fmt: skip
        again = await use(client, "memory_remember", text="門在左邊。")
        (warning,) = again["warnings"]
        assert (warning["id"], warning["trust"]) == (old["record_id"], "user")
        assert "搬過家" in warning["text"]

    run(tmp_path / "home", steps)


def test_ties_and_what_was_archived(tmp_path: Path) -> None:
    """A record is tied to another one, put away, and brought back."""

    async def steps(client: Client) -> None:
        one = await use(client, "memory_remember", text="貓叫阿福。")
        other = await use(client, "memory_remember", text="阿福是橘貓。")
        id_ = one["record_id"]
        tied = await use(client, "memory_correct", action="link", id=other["record_id"],
                         rel="supports", other=id_)  # fmt: skip
        assert (tied["rel"], tied["added"]) == ("supports", True)
        card = await use(client, "memory_probe", ids=[id_])
        assert "橘貓" in json.dumps(card["related"], ensure_ascii=False)
        for arguments in ({"action": "archive"}, {"status": "active"}):
            changed = await use(client, "memory_correct", id=id_, **arguments)
            assert changed["changed"] is True
        record = await use(client, "memory_fetch", id=id_)
        assert record["metadata"]["status"] == "active"

    run(tmp_path / "home", steps)


def test_a_file_that_was_kept(tmp_path: Path) -> None:
    """The capture names its attachment, and that tells what it is; no place on a disk."""
    file = tmp_path / "會議.txt"
    file.write_text("會議在週五三點。", "utf-8")
    with shiyi.open(tmp_path / "home", model="none", embedded=True) as memory:
        me = memory.scope("me")
        me.preflight("看這個檔案", turn="t1", tier="full")
        kept = me.capture_attachment(file, turn="t1")

    async def steps(client: Client) -> None:
        capture = await use(client, "memory_fetch", id=kept.capture_id)
        assert capture["metadata"]["attrs"]["attachment"] == kept.attachment_id
        shown = await use(client, "memory_fetch", id=kept.attachment_id)
        told = shown["metadata"]
        assert (shown["title"], told["type"], told["trust"]) == (
            "會議.txt",
            "attachment",
            "imported",
        )
        assert (told["captures"], told["bytes"]) == ([kept.capture_id], file.stat().st_size)
        assert str(tmp_path) not in json.dumps(shown, ensure_ascii=False)

    run(tmp_path / "home", steps)


def test_what_has_no_budget_of_its_own_fits_all_the_same(tmp_path: Path) -> None:
    """Many and long things: under the budget, with what was left out; the first ones are there."""
    long = "這件事說來話長，" * 200
    with shiyi.open(tmp_path / "home", model="none", embedded=True) as memory:
        me = memory.scope("me")
        first = me.add_record(kind="fact", gist=long, summary_only=True).record_id
        for n in range(40):
            asked = {"question": f"第{n}件：{long}", "due": "2026-05-01", "context": long}
            due = me.add_record(kind="followup", gist=f"第{n}件", attrs=asked, summary_only=True)
            me.contradict(first, due.record_id, reason=long)
            me.preflight(f"我下個月{n}號搬到台中。", turn=f"t{n} {'名' * 150}")

    async def steps(client: Client) -> None:
        count = get_counter("o200k").count
        for tool, arguments, most in (
            ("memory_survey", {"view": "conflicts"}, 8_000),
            ("memory_survey", {"view": "followups"}, 8_000),
            ("memory_survey", {"view": "followups", "budget": 2_000}, 2_600),
            ("memory_status", {"what": "pending"}, 16_000),
            ("memory_fetch", {"id": first}, 16_000),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, text_of(result)
            assert count(text_of(result)) < most, (tool, arguments)
        content = await map_of(client, "followups")
        assert content["truncated"]["omitted"] + len(content["followups"]) == 40
        record = await use(client, "memory_fetch", id=first)
        assert record["text"].startswith(long)

    run(tmp_path / "home", steps)


def test_a_dense_text_stays_within_the_budget(tmp_path: Path) -> None:
    """Signs cost more tokens than letters, and are counted as they are."""
    text = "!@#$%^&*(){}[]<>?/|~`0123456789" * 3000

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text=text, words_only=True)
        part = await use(client, "memory_fetch", id=kept["capture_id"], budget=2000)
        assert 1500 < get_counter("o200k").count(part["text"]) <= 2000
        assert text.startswith(part["text"])

    run(tmp_path / "home", steps)
