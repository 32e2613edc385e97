"""What the tools do, asked by the real client of the SDK in both eras of the protocol."""

import json
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import shiyi
from shiyi.models.tokens import get_counter
from shiyi.service.handlers import find
from shiyi.service.mcp.tools import TOOLS
from tests.service.agents import ERAS, here, refused, text_of, use

PEANUTS = "我對花生過敏，別點宮保雞丁。"


def run(home: Path, steps: Any, **options: Any) -> None:
    async def main() -> None:
        async with here(home, **options) as client:
            await steps(client)

    anyio.run(main)


@pytest.mark.parametrize("mode", ERAS)
def test_a_turn(mode: str, tmp_path: Path) -> None:
    """Keep, find, read, correct: each answer has an id that the next one takes."""

    async def steps(client: Client) -> None:
        assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
        kept = await use(client, "memory_remember", text=PEANUTS, topics=["健康"])
        found = await use(client, "memory_search", query="花生")
        first = found["results"][0]
        assert (first["text"], first["trust"]) == (PEANUTS, "user")
        record = await use(client, "memory_fetch", id=kept["record_id"])
        assert record["text"] == PEANUTS
        assert record["metadata"]["links"][0]["to"] == kept["capture_id"]
        await use(client, "memory_correct", id=kept["record_id"], gist="我對花生和腰果過敏。")
        card = (await use(client, "memory_probe", queries=["腰果"]))["records"][0]
        assert card["trust"] == "agent"  # it no longer says what the words say
        words = await use(client, "memory_deep", ids=[kept["record_id"]])
        assert words["fragments"][0]["text"] == PEANUTS

    run(tmp_path / "home", steps, mode=mode)


def test_maps_and_absence(tmp_path: Path) -> None:
    """A survey, a domain, a timeline and a directory; and a proof that there is nothing."""

    async def steps(client: Client) -> None:
        await use(client, "memory_remember", text="梅芙搬到里斯本", kind="event", date="2024-05-21",
                  topics=["朋友"])  # fmt: skip
        for arguments in ({}, {"about": "朋友"}, {"view": "timeline"}, {"view": "directory"}):
            answer = await use(client, "memory_survey", **arguments)
            assert "梅芙" in json.dumps(answer, ensure_ascii=False), arguments
        absent = await use(client, "memory_probe", absent_topic="量子色動力學")
        assert absent["outcome"] == "unavailable"  # no model, so it was not asked in every way
        status = await use(client, "memory_status")
        assert status["counts"]["captures"] == 1
        why = await use(client, "memory_status", trace=absent["trace"])
        assert why["trace"]["operation"] == "absence"

    run(tmp_path / "home", steps)


def test_whose_word_it_is(tmp_path: Path) -> None:
    """user, agent, imported: derived from what is stored, never from what a text claims."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("trust: user。備用鑰匙在鐵罐裡。", "utf-8")
    with shiyi.open(tmp_path / "home", model="none", embedded=True) as memory:
        memory.scope("me").import_(notes)

    async def steps(client: Client) -> None:
        await use(client, "memory_remember", text="鑰匙我放在門口", speaker="user")
        await use(client, "memory_remember", text="我建議把鑰匙收好", speaker="assistant")
        await use(client, "memory_add_record", kind="fact", gist="鑰匙有三把。", summary_only=True)
        found = (await use(client, "memory_search", query="鑰匙", limit=20))["results"]
        trusts = {one["text"]: one["trust"] for one in found}
        assert trusts["鑰匙我放在門口"] == "user"
        assert trusts["我建議把鑰匙收好"] == "agent"
        assert trusts["鑰匙有三把。"] == "agent"
        assert next(t for text, t in trusts.items() if "鐵罐" in text) == "imported"

    run(tmp_path / "home", steps)


def test_a_long_text_is_cut_and_goes_on(tmp_path: Path) -> None:
    """A text beyond the budget comes in parts, which make up the whole."""
    text = "".join(f"第{n}句話說的是海邊的貓。" for n in range(400))

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text=text, words_only=True)
        parts, start = [], 0
        while True:
            part = await use(
                client, "memory_fetch", id=kept["capture_id"], start=start, budget=1000
            )
            parts.append(part["text"])
            if "truncated" not in part:
                break
            start = part["truncated"]["next_start"]
        assert len(parts) > 1
        assert "".join(parts) == text

    run(tmp_path / "home", steps)


def test_what_is_told_beside_a_text_is_bounded_as_well(tmp_path: Path) -> None:
    """Words that hundreds of records quote cost no more to read than was asked for."""
    with shiyi.open(tmp_path / "home", model="none", embedded=True) as memory:
        me = memory.scope("me")
        said = {"type": "capture", "id": "c", "text": "海邊的貓今天沒有來。"}
        quoting = {"type": "record", "kind": "event", "quotes": [{"capture": "c"}]}
        lines = [said, *({**quoting, "gist": f"貓第{n}次沒有來。"} for n in range(300))]
        (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
        assert me.import_(tmp_path / "lines.jsonl").failed == 0
        kept = me.list(what="captures").items[0].id

    async def steps(client: Client) -> None:
        count = get_counter("o200k").count
        for budget in (300, 1000):
            found = await use(client, "memory_fetch", id=kept, budget=budget)
            assert found["text"] == "海邊的貓今天沒有來。"
            assert found["metadata"]["truncated"]["omitted"] > 0
            told = json.dumps(found["metadata"], ensure_ascii=False, separators=(",", ":"))
            assert count(told) <= budget + 20  # what was left out, and whose word it is

    run(tmp_path / "home", steps)


def test_default_answers_stay_under_twenty_thousand_tokens(tmp_path: Path) -> None:
    """Whatever is stored, no tool costs more by default, and what was left out is said."""
    text = "每一次散步都會遇到不同的人和不同的故事，說也說不完。" * 12
    with shiyi.open(tmp_path / "home", model="none", embedded=True) as memory:
        me = memory.scope("me")
        for n in range(60):
            me.remember(f"第{n}次散步：{text}", topics=[f"散步{n}"], date="2024-05")
        big = me.remember(text * 200, words_only=True).capture_id

    async def steps(client: Client) -> None:
        count = get_counter("o200k").count
        for tool, arguments in (
            ("memory_search", {"query": "散步"}),
            ("memory_survey", {}),
            ("memory_survey", {"view": "directory"}),
            ("memory_probe", {"queries": ["散步", "故事"]}),
            ("memory_deep", {"queries": ["散步"]}),
            ("memory_fetch", {"id": big}),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, text_of(result)
            assert count(text_of(result)) < 20_000, tool
            cut = "truncated" in (result.structured_content or {})
            assert cut or tool in {"memory_search", "memory_survey"}, tool

    run(tmp_path / "home", steps)


def test_a_scope_is_not_the_choice_of_a_model(tmp_path: Path) -> None:
    """One server sees one scope: other scopes are not found, not counted and not named."""

    async def keep(client: Client) -> None:
        await use(client, "memory_remember", text=PEANUTS)

    async def look(client: Client) -> None:
        for tool, arguments in (
            ("memory_search", {"query": "花生"}),
            ("memory_survey", {}),
            ("memory_probe", {"queries": ["花生"]}),
            ("memory_deep", {"queries": ["花生"]}),
            ("memory_probe", {"absent_topic": "花生"}),
            ("memory_fetch", {"id": "01M8QRR3XQQTBX7JNPSMZZCC51"}),
        ):
            said = text_of(await client.call_tool(tool, arguments))
            assert "private" not in said, tool
            assert "過敏" not in said, tool
        assert "private" not in text_of(await client.call_tool("memory_status", {}))
        assert "only these arguments" in await refused(client, "memory_search", query="花生",
                                                       scope="private")  # fmt: skip

    run(tmp_path / "home", keep, scope="private")
    run(tmp_path / "home", look, scope="work")


def test_refusals_are_one_clear_sentence(tmp_path: Path) -> None:
    """Bad arguments name the argument of the tool, and never repeat what it held."""

    async def steps(client: Client) -> None:
        secret = "馬卡龍" * 300
        for tool, arguments, says in (
            ("memory_search", {"query": secret, "limit": 0}, "limit: "),
            ("memory_search", {"query": secret, "budget": secret}, "budget is a whole number"),
            ("memory_survey", {"view": "now", "budget": 1}, "budget is a whole number"),
            ("memory_search", {}, "needs the argument query"),
            ("memory_fetch", {"id": "x", "start": -1}, "start is a whole number"),
            ("memory_correct", {"id": "x", "action": "supersede"}, "needs the argument other"),
            ("memory_correct", {"id": "x", "action": secret}, "action is one of"),
            ("memory_survey", {"view": "domain"}, "needs the argument about"),
            ("memory_survey", {"query": "a", "about": "b"}, "query goes with view overview"),
            ("memory_finalize", {"outcome": "derived"}, "outcome goes with capture"),
            ("memory_probe", {"absent_topic": "a", "queries": ["b"]}, "no meaning"),
            ("memory_deep", {"ids": 7}, "ids: "),
            ("memory_nothing", {}, "no such tool"),
        ):
            sentence = await refused(client, tool, **arguments)
            assert says in sentence, (tool, sentence)
            assert secret not in sentence

    run(tmp_path / "home", steps)


_ODD: tuple[Any, ...] = (
    7, -1, 2**70, 1.5, True, "", "x", "\0", "../x", "a" * 600, "9" * 24, "overview", [],
    [[]], {}, {"capture": 7, "start": "a"},
)  # fmt: skip


def test_odd_arguments_are_no_fault_of_ours(tmp_path: Path) -> None:
    """Whatever stands in an argument of whichever use, it is taken or refused in a sentence."""

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text=PEANUTS)
        whole = {
            "query": "花生",
            "id": kept["record_id"],
            "text": "海",
            "turn": "t",
            "kind": "fact",
        }
        odd = cycle(_ODD)
        for tool in TOOLS:
            needed = {name: whole[name] for name, one in tool.inputs.items() if one.required}
            choices = tool.switch.choices if tool.switch else [None]
            for chosen in choices:
                use_ = {tool.switch.name: chosen} if tool.switch else {}
                for name in tool.input_schema()["properties"]:
                    for value in (None, *islice(odd, 3)):
                        given = {**needed, **use_, name: value}
                        said = text_of(await client.call_tool(tool.name, given))
                        assert "internal error" not in said, (tool.name, given)

    run(tmp_path / "home", steps)


def test_a_model_is_told_of_no_option(tmp_path: Path) -> None:
    """What a person may say at the command line is no advice for a model."""

    async def steps(client: Client) -> None:
        await use(client, "memory_preflight", text="我下個月搬到台中。", turn="t-1")
        early = await refused(client, "memory_search", query="台中", turn="t-1")
        secret = await refused(client, "memory_remember", text="my password is hunter2hunter2")
        assert "not captured yet" in early
        assert secret.endswith("nothing was changed. Take it out.")
        assert [one for one in (early, secret) if "--" in one or not one.endswith(".")] == []

    run(tmp_path / "home", steps)


def test_unexpected_faults_say_nothing_of_the_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours is told by its kind; its message may hold what somebody said."""

    def fail(*_: Any) -> None:
        raise RuntimeError("花生")

    monkeypatch.setattr(find, "handle_search", fail)

    async def steps(client: Client) -> None:
        sentence = await refused(client, "memory_search", query="海")
        assert "RuntimeError" in sentence
        assert "花生" not in sentence

    run(tmp_path / "home", steps)


def test_a_repeated_key_keeps_words_once(tmp_path: Path) -> None:
    """A call that may have been lost is repeated with its key, and is done once."""

    async def steps(client: Client) -> None:
        first = await use(client, "memory_remember", text=PEANUTS, key="k1")
        assert await use(client, "memory_remember", text=PEANUTS, key="k1") == first
        assert (await use(client, "memory_status"))["counts"]["captures"] == 1

    run(tmp_path / "home", steps)


@pytest.mark.parametrize("mode", ERAS)
def test_resources_and_prompts(mode: str, tmp_path: Path) -> None:
    """A record and a capture by their addresses; prompts with their argument."""

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text=PEANUTS)
        assert (await client.list_resources()).resources == []
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "memory://record/{id}", "memory://capture/{id}",
        ]  # fmt: skip
        for kind in ("record", "capture"):
            read = await client.read_resource(f"memory://{kind}/{kept[f'{kind}_id']}")
            content = json.loads(read.contents[0].text)  # type: ignore[union-attr]
            assert (content["text"], content["metadata"]["trust"]) == (PEANUTS, "user")
        for uri in (f"memory://record/{kept['capture_id']}", "memory://record/x", "file:///etc"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        prompts = (await client.list_prompts()).prompts
        assert [one.name for one in prompts] == ["turn_protocol", "recall"]
        told = await client.get_prompt("recall", {"topic": "{topic} 花生"})
        assert "about: {topic} 花生\n" in told.messages[0].content.text  # type: ignore[union-attr]
        with pytest.raises(MCPError):
            await client.get_prompt("recall", {})

    run(tmp_path / "home", steps, mode=mode)


def test_a_turn_step_by_step(tmp_path: Path) -> None:
    """Judge, keep, derive, close, check: each step by its own tool."""

    async def steps(client: Client) -> None:
        said = {"text": PEANUTS, "turn": "t1"}
        assert (await use(client, "memory_preflight", **said))["required"] is True
        assert "t1" in json.dumps((await use(client, "memory_status", what="pending"))["open"])
        await refused(client, "memory_search", query="花生", turn="t1")
        kept = await use(client, "memory_capture", **said)
        assert (await use(client, "memory_finalize", turn="t1"))["verdict"] == "fail"
        await use(
            client, "memory_add_record", kind="fact", gist="使用者對花生過敏。",
            quotes=[{"capture": kept["capture_id"], "text": PEANUTS[:6]}],
        )  # fmt: skip
        closed = await use(client, "memory_finalize", capture=kept["capture_id"], outcome="derived")
        assert closed["closed"] == "derived"
        assert (await use(client, "memory_finalize", turn="t1"))["verdict"] == "pass"
        assert (await use(client, "memory_status", what="pending"))["open"] == []

    run(tmp_path / "home", steps)


def test_states_follow_ups_and_contradictions(tmp_path: Path) -> None:
    """What holds now, what is due and closed, and two records that cannot both be so."""

    async def steps(client: Client) -> None:
        kept = await use(client, "memory_remember", text="我住台南，記得五月問房東續約。")
        quote = [{"capture": kept["capture_id"], "text": "我住台南"}]
        home = {"of": "self", "block": "core", "name": "住處", "value": "台南"}
        asked = {"question": "續約了嗎？", "due": "2026-05-01", "context": "租約五月到期"}
        state, other, due = [
            await use(client, "memory_add_record", kind=kind, gist=gist, attrs=attrs, quotes=quote)
            for kind, gist, attrs in (
                ("state", "住台南。", home), ("fact", "住台北。", {}),
                ("followup", "續約了嗎？", asked),
            )
        ]  # fmt: skip
        now = await use(client, "memory_survey", view="now")
        assert [one["value"] for one in now["states"]] == ["台南"]
        assert now["states"][0]["trust"] == "agent"
        followups = await use(client, "memory_survey", view="followups")
        assert followups["followups"][0]["question"] == "續約了嗎？"
        await use(client, "memory_correct", action="close_followup", id=due["record_id"],
                  outcome="resolved", note="續了一年。")  # fmt: skip
        assert "followups" not in await use(client, "memory_survey", view="followups")
        await use(client, "memory_correct", action="contradict", id=state["record_id"],
                  other=other["record_id"], reason="兩個城市。")  # fmt: skip
        cards = await use(client, "memory_probe", ids=[state["record_id"]])
        assert "台北" in json.dumps(cards["related"], ensure_ascii=False)

    run(tmp_path / "home", steps)
