"""The dashboard as its pages are asked for: who is let in, what is shown, what may be changed."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shiyi.service.daemon.jobs import Jobs
from shiyi.service.dashboard.entry import CODE_SECONDS, IDLE_SECONDS, Entries
from shiyi.service.dashboard.pages import READERS
from shiyi.service.dashboard.peer import is_of_another, owner_of
from shiyi.service.table.operations import find_operation
from tests.eval.results_builder import build_result
from tests.service.serving import PATIENCE, Served, command, is_alive, wait_until
from tests.service.visiting import Visitor, invite


@pytest.fixture(scope="module")
def kept(door: Served) -> dict[str, str]:
    """The ids of a few memories: a record, its words, a follow-up."""
    said = door.ask("POST", "/v1/remember", {"text": "阿嬤的碗是青瓷的", "topics": ["陶藝"]}).json
    ask = {
        "kind": "followup", "gist": "碗修好了沒？", "summary_only": True,
        "attrs": {"question": "碗修好了沒？", "context": "送去修了", "due": "2020-05-01"},
    }  # fmt: skip
    later = door.ask("POST", "/v1/add-record", ask).json
    return {"record": said["record_id"], "capture": said["capture_id"],
            "followup": later["record_id"]}  # fmt: skip


@pytest.fixture
def visitor(door: Served) -> Visitor:
    """Somebody who was let in."""
    url = invite(door)
    one = Visitor(url)
    assert one.open(url).status == 303
    return one


def test_a_code_opens_once(door: Served) -> None:
    """The code becomes a cookie that no script and no other site can use; a replay is refused."""
    url = invite(door)
    first, second = Visitor(url), Visitor(url)
    ahead = second.ask(url.removeprefix(f"http://{second.host}"), look="HEAD")

    opened, again = first.open(url), second.open(url)

    cookie = opened.headers["set-cookie"]
    assert ahead.status == 405
    assert opened.status == 303
    assert opened.headers["location"] == "/dashboard"
    assert re.match(r"shiyi-[0-9a-f]{16}=[\w-]{43};", cookie)
    assert {"HttpOnly", "SameSite=strict", "Path=/dashboard"} <= set(cookie.split("; "))
    assert first.ask("/dashboard").status == 200
    assert again.status == 401
    assert "set-cookie" not in again.headers
    assert second.ask("/dashboard").status == 401


_OF_ANOTHER = """
import os, socket, sys
_, host, port, path, family = sys.argv
os.setuid(65534)
one = socket.socket(socket.AF_INET6 if family == "mapped" else socket.AF_INET)
one.connect((f"::ffff:{host}" if family == "mapped" else host, int(port)))
one.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
print(one.recv(12).decode())
"""


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may be another user")
@pytest.mark.parametrize("family", ["plain", "mapped"])
def test_a_code_opens_nothing_for_another_user(door: Served, family: str) -> None:
    """Whoever reads the address in the list of processes is refused, and uses nothing up."""
    url = invite(door)
    parts = urlsplit(url)
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _OF_ANOTHER, str(parts.hostname), str(parts.port),
         f"{parts.path}?{parts.query}", family],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert told.stdout.strip() == "HTTP/1.1 403"
    assert Visitor(url).open(url).status == 303


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this kernel does not tell")
def test_the_kernel_says_whose_a_connection_is() -> None:
    """Ours is ours; of one that is not there nobody knows."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = server.getsockname()
        with socket.create_connection(there) as client:
            here = client.getsockname()

            assert owner_of(here, there) == os.getuid()
            assert not is_of_another(here, there)
            assert owner_of(there, ("127.0.0.2", 9)) is None


def test_codes_and_sessions_run_out() -> None:
    """A code holds for a minute; a session for half an hour after it was used."""
    now = 1000.0
    entries = Entries("0" * 32, clock=lambda: now)
    late, code = entries.new_code(), entries.new_code()

    secret = entries.open(code)
    assert secret is not None
    assert entries.open(code) is None
    now += CODE_SECONDS
    assert entries.open(late) is None
    now += IDLE_SECONDS - CODE_SECONDS - 1
    assert entries.find(secret, touch=False) is not None
    assert entries.find(secret) is not None
    now += IDLE_SECONDS - 1
    assert entries.find(secret, touch=False) is not None
    assert entries.is_used()
    now += 1
    assert entries.find(secret) is None
    assert not entries.is_used()


def test_only_so_many_are_in() -> None:
    """Whoever asks for codes without end does not fill the memory."""
    entries = Entries("0" * 32)
    secrets = [entries.open(entries.new_code()) for _ in range(40)]

    assert [entries.find(one or "") is not None for one in secrets] == [False] * 24 + [True] * 16


def test_a_search_begins_on_the_first_page(visitor: Visitor) -> None:
    """The field is there, and its form leads to the page of search."""
    page = visitor.ask("/dashboard").body.decode()

    form = page[page.index('role="search"') :].partition("</form>")[0]
    assert 'action="/dashboard/search"' in form
    assert 'name="q"' in form


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Cookie": ""}, 401),
        ({"Cookie": "shiyi-0000000000000000=x"}, 401),
    ],
    ids=str,
)
def test_others_get_nothing(visitor: Visitor, headers: dict[str, str], status: int) -> None:
    """Another host, another page, or no session: nothing of the memory is told."""
    reply = visitor.ask("/dashboard", None, **headers)

    assert reply.status == status
    assert b'class="counts"' not in reply.body


def test_a_token_opens_no_page_and_invites_nobody(door: Served, visitor: Visitor) -> None:
    """The dashboard's port takes no tokens, and the other one hands out no codes to them."""
    bearer = {"Authorization": f"Bearer {door.token}"}

    assert visitor.ask("/dashboard", None, Cookie="", **bearer).status == 401
    assert visitor.ask("/v1/hello", None, Cookie="", **bearer).status == 401
    assert door.ask("POST", "/v1/daemon/dashboard", {}).status == 403
    assert door.ask("GET", "/dashboard").status == 404


@pytest.mark.parametrize("name", READERS)
def test_every_page_opens(visitor: Visitor, kept: dict[str, str], name: str) -> None:
    """With the headers that let nothing in from elsewhere."""
    reply = visitor.ask(f"/dashboard/{name}" if name else "/dashboard")

    policy = reply.headers["content-security-policy"]
    assert reply.status == 200
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert ("script-src 'self'" in policy) is (name == "jobs")
    assert reply.headers["cache-control"] == "no-store"
    assert b"style=" not in reply.body


def test_a_record_shows_its_words(visitor: Visitor, kept: dict[str, str]) -> None:
    """From a search to the trace, to the record, to the words."""
    found = visitor.ask("/dashboard/search?q=%E9%9D%92%E7%93%B7").body.decode()
    trace = re.search(r"/dashboard/trace/\d{24}", found)
    record = visitor.ask(f"/dashboard/memory/{kept['record']}").body.decode()
    words = visitor.ask(f"/dashboard/memory/{kept['capture']}").body.decode()

    assert "<mark>青瓷</mark>" in found
    assert trace is not None
    assert "阿嬤的碗是青瓷的" in visitor.ask(trace.group()).body.decode()
    assert "<blockquote><bdi>阿嬤的碗是青瓷的</bdi></blockquote>" in record
    assert f"/dashboard/memory/{kept['record']}" in words
    assert visitor.ask("/dashboard/memory/7ZZZZZZZZZZZZZZZZZZZZZZZZZ").status == 404
    assert visitor.ask("/dashboard/nothing").status == 404
    assert visitor.ask("/dashboard/search?q=x&scope=a%2Fb").status == 400


def test_a_record_shows_what_was_said_of_it_and_whom_it_names(
    visitor: Visitor, door: Served
) -> None:
    """Feedback with the words that say it; names in what a kind has of its own; values in words."""
    said = door.ask("POST", "/v1/remember", {"text": "不是咖啡館，是茶館"}).json
    feedback = {"target": said["record_id"], "verdict": "corrected", "note": "改成茶館",
                "evidence": {"capture": said["capture_id"], "text": "不是咖啡館"}}  # fmt: skip
    door.ask("POST", "/v1/feedback", feedback)
    name = {"kind": "entity", "title": "阿嬤", "gist": "阿嬤是我的祖母。", "summary_only": True,
            "attrs": {"entity_type": "person"}}  # fmt: skip
    id_ = door.ask("POST", "/v1/add-record", name).json["record_id"]
    state = {"kind": "state", "title": "膝蓋", "gist": "膝蓋好了。", "summary_only": True,
             "attrs": {"of": id_, "block": "load", "name": "膝蓋", "value": "好了"}}  # fmt: skip
    state_id = door.ask("POST", "/v1/add-record", state).json["record_id"]

    def told(one: str) -> str:
        return visitor.ask(f"/dashboard/memory/{one}", Accept_Language="zh-TW").body.decode()

    spoken_of, entity, held = told(said["record_id"]), told(id_), told(state_id)
    assert "被指有誤" in spoken_of
    assert "改成茶館" in spoken_of
    assert "<dd><bdi>人</bdi></dd>" in entity.replace("\n", "")
    assert f'<a href="/dashboard/memory/{id_}"><bdi>阿嬤是我的祖母。</bdi></a>' in held
    assert "<bdi>負擔</bdi>" in held


def test_records_come_newest_first(visitor: Visitor, door: Served, tmp_path: Path) -> None:
    """What was written last heads the list, or what has the latest date; both go on by pages."""
    heaps = [f"第{n}堆鹽" for n in range(60)]
    rows = [{"type": "record", "id": one, "kind": "fact", "gist": one} for one in heaps]
    (tmp_path / "heaps.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    with door.client() as client:
        client.start()
        client.call(find_operation("import"), {"path": str(tmp_path / "heaps.jsonl")}, "salt")
    dates = {"前年曬鹽": "2029-01-02", "去年曬鹽": "2030-01-01", "昨天曬鹽": "2028-03-03"}
    for text, date in dates.items():
        door.ask("POST", "/v1/remember?scope=salt", {"text": text, "date": date})

    def listed(query: str) -> list[str]:
        page, seen = f"/dashboard/records?scope=salt&{query}", []
        while page:
            told = visitor.ask(page).body.decode()
            seen += re.findall(r"<bdi>(.+?)</bdi>", told[told.index('<ol class="list entries">') :])
            more = re.search(r'rel="next" href="(.+?)"', told)
            page = unescape(more.group(1)) if more else ""
        return seen

    written, dated = listed(""), listed("order=newest")
    assert written[:3] == list(reversed(dates))
    assert dated[:3] == sorted(dates, key=lambda text: dates[text], reverse=True)
    assert sorted(written) == sorted(dated) == sorted([*dates, *heaps])
    assert listed("what=captures") == list(reversed(dates))


def test_pages_leave_no_traces(visitor: Visitor, door: Served) -> None:
    """Looking at the pages is no question; only a search is kept."""
    before = door.ask("POST", "/v1/trace", {"limit": 1000}).json["traces"]

    for name in READERS:
        visitor.ask(f"/dashboard/{name}")

    assert door.ask("POST", "/v1/trace", {"limit": 1000}).json["traces"] == before


def test_forms_want_their_token(visitor: Visitor, door: Served, kept: dict[str, str]) -> None:
    """Without the token of the session, with another one's, or as JSON, nothing changes."""
    page = f"/dashboard/memory/{kept['record']}"
    form = visitor.form(page, "archive")
    url = invite(door)
    other = Visitor(url)
    other.open(url)
    foreign = other.form(page, "archive")["csrf"]

    replies = [
        visitor.ask("/dashboard/archive", {**form, "csrf": ""}),
        visitor.ask("/dashboard/archive", {**form, "csrf": foreign}),
        visitor.ask("/dashboard/archive", {k: v for k, v in form.items() if k != "csrf"}),
        visitor.ask("/dashboard/archive", form, Content_Type="application/json"),
        visitor.ask("/dashboard/archive", form, Content_Type="text/plain"),
        visitor.ask("/dashboard/archive", form, Origin="null"),
        visitor.ask("/dashboard/archive", form, Cookie=""),
        visitor.ask("/dashboard/archive?csrf=" + form["csrf"]),
    ]

    assert [one.status for one in replies] == [403, 403, 403, 400, 415, 403, 401, 404]
    shown = door.ask("POST", "/v1/show", {"id": kept["record"]}).json
    assert shown["record"]["status"] == "active"


def test_what_may_be_changed(visitor: Visitor, door: Served) -> None:
    """A record is confirmed and archived; a form that is sent twice, or is too old, is refused."""
    id_ = door.ask("POST", "/v1/remember", {"text": "紙皇冠壓在字典裡"}).json["record_id"]
    page = f"/dashboard/memory/{id_}"
    old = visitor.form(page, "archive")

    confirmed = visitor.ask("/dashboard/confirm", visitor.form(page, "confirm"))
    stale = visitor.ask("/dashboard/archive", old)
    form = {**visitor.form(page, "archive"), "reason": "不用了"}
    archived = [visitor.ask("/dashboard/archive", form) for _ in range(2)]

    record = door.ask("POST", "/v1/show", {"id": id_, "versions": True}).json
    assert confirmed.status == 303
    assert confirmed.headers["location"] == f"{page}?done=confirmed"
    assert "Confirmed." in visitor.ask(confirmed.headers["location"]).body.decode()
    assert stale.status == 409
    assert [one.status for one in archived] == [303, 303]
    assert record["record"]["status"] == "archived"
    assert record["record"]["reason"] == "不用了"
    assert record["record"]["version"] == 3
    assert "confirmed" in record["record"]["attrs"]


def test_a_followup_is_closed(visitor: Visitor, door: Served, kept: dict[str, str]) -> None:
    """With how it ended and what came of it; it is due no more."""
    page = f"/dashboard/memory/{kept['followup']}"
    assert "碗修好了沒？" in visitor.ask("/dashboard/followups").body.decode()

    form = visitor.form(page, "close") | {"outcome": "answered", "note": "修好了\r\n在家"}
    closed = visitor.ask("/dashboard/close", form)

    attrs = door.ask("POST", "/v1/show", {"id": kept["followup"]}).json["record"]["attrs"]
    assert closed.status == 303
    assert (attrs["state"], attrs["note"]) == ("answered", "修好了\n在家")
    assert "碗修好了沒？" not in visitor.ask("/dashboard/followups").body.decode()


def test_a_session_can_be_ended(visitor: Visitor) -> None:
    """By a form; the cookie opens nothing afterwards."""
    cookie = visitor.cookie
    form = visitor.form("/dashboard", "leave")

    left = visitor.ask("/dashboard/leave", form)

    assert left.status == 200
    visitor.cookie = cookie
    assert visitor.ask("/dashboard").status == 401


@pytest.mark.parametrize(
    ("wished", "language", "title"),
    [
        ("zh-TW,zh;q=0.9,en;q=0.8", "zh-Hant", "總覽"),
        ("zh-CN,zh;q=0.9", "zh-Hans", "总览"),
        ("fr, en;q=0.1, zh-Hant-HK;q=0.7", "zh-Hant", "總覽"),
        ("zh;q=0, *", "en", "Overview"),
        ("x" * 5000, "en", "Overview"),
        ("zh;q=nan", "en", "Overview"),
    ],
)
def test_pages_speak_the_language_of_the_browser(
    visitor: Visitor, wished: str, language: str, title: str
) -> None:
    """In both Chinese scripts, or English."""
    reply = visitor.ask("/dashboard", Accept_Language=wished)

    assert reply.headers["content-language"] == language
    assert f'<html lang="{language}">' in reply.body.decode()
    assert f"<h1>{title}</h1>" in reply.body.decode()


@pytest.mark.parametrize("language", ["zh-TW", "zh-CN"])
def test_chinese_pages_speak_chinese_throughout(
    visitor: Visitor, door: Served, kept: dict[str, str], language: str
) -> None:
    """Notes, findings, next steps and refusals too; what is named in them stays as it is."""
    door.ask("POST", "/v1/preflight", {"text": "我今天很難過", "turn": "t 7", "tier": "full"})
    turn = door.ask("POST", "/v1/preflight", {"text": "我今天很累", "turn": "t8", "tier": "full"})
    door.ask("POST", "/v1/capture", {"text": "我今天很累", "turn": turn.json["turn_id"]})
    page = f"/dashboard/memory/{kept['record']}"
    form = visitor.form(page, "archive") | {"etag": "0" * 16}
    paths = [f"/dashboard/{name}" if name else "/dashboard" for name in READERS]
    paths += [
        "/dashboard/validation?run=1", "/dashboard/search?q=%E6%B2%92%E6%9C%89%E7%9A%84",
        "/dashboard/search?q=x&scope=nowhere", "/dashboard/search?q=%21", page,
        "/dashboard/now?as_of=nonsense", "/dashboard/now?as_of=2025-02-31",
        "/dashboard/records?scope=nowhere", "/dashboard/records?after=x",
        "/dashboard/records?after=7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "/dashboard/search?scope=a%2Fb",
        "/dashboard/memory/7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "/dashboard/memory/7ZZZ",
        "/dashboard/trace/179609448215405687411777", "/dashboard/trace/x",
        "/dashboard/timeline?resume=x", "/dashboard/timeline?about=7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    ]  # fmt: skip

    replies = {path: visitor.ask(path, Accept_Language=language) for path in paths}
    words = {"csrf": form["csrf"], "id": kept["capture"]}
    blank = words | {"outcome": "declined", "note": " "}
    sent = {"archive": form, "close": blank, "confirm": words}
    for name, given in sent.items():
        replies[name] = visitor.ask(f"/dashboard/{name}", given, Accept_Language=language)

    told = {path: one.body.decode() for path, one in replies.items()}
    assert {path: re.findall(r'lang="en">(.+?)<', page) for path, page in told.items()
            if 'lang="en"' in page} == {}  # fmt: skip
    assert "<code>" not in told["/dashboard/validation?run=1"]
    assert "shiyi capture --turn" in told["/dashboard/pending"]
    assert "7ZZZ" not in told["/dashboard/trace/x"]
    assert {one.status for path, one in replies.items() if "trace/" in path} == {404}


def test_the_command_says_where_it_is(door: Served) -> None:
    """`shiyi dashboard` gives an address; without a home it makes none."""
    told = command(door.home, "dashboard", "--no-browser", "--json", "--scope", "工作")
    missing = command(door.home.parent / "none", "dashboard", "--no-browser")
    out, _ = told.communicate(timeout=PATIENCE)
    _, refused = missing.communicate(timeout=PATIENCE)

    url = json.loads(out)["url"]
    assert told.returncode == 0
    opened = Visitor(url).open(url)
    assert opened.status == 303
    assert opened.headers["location"] == "/dashboard?scope=%E5%B7%A5%E4%BD%9C"
    assert missing.returncode == 66
    assert b"There is no" in refused
    assert not (door.home.parent / "none").exists()


def test_jobs_are_told_of(visitor: Visitor, door: Served, tmp_path: Path) -> None:
    """What ran long stands on the page, and comes as an event."""
    (tmp_path / "note.md").write_text("# 筆記\n\n買了一個青瓷碗。\n", "utf-8")
    with door.client() as client:
        client.start()
        client.call(find_operation("import"), {"path": str(tmp_path / "note.md")}, None)

    page = visitor.ask("/dashboard/jobs").body.decode()
    event = next(_events(visitor))

    assert "<code>import</code>" in page
    assert {one["state"] for one in event if one["operation"] == "import"} == {"done"}


def test_recall_is_drawn_from_the_last_measurement(visitor: Visitor, door: Served) -> None:
    """A chart for each view, and the same in figures; names are text; a fault is said."""
    result = build_result({"<b>set": ["main", "hant"]}, ["hybrid", "bm25"])
    directory = door.home / "eval"
    assert "No measurement is here yet" in visitor.ask("/dashboard/recall").body.decode()

    directory.mkdir()
    (directory / "result.json").write_text(result.model_dump_json(), "utf-8")
    drawn = visitor.ask("/dashboard/recall").body.decode()
    (directory / "result.json").write_text("{}", "utf-8")
    broken = visitor.ask("/dashboard/recall").body.decode()

    assert drawn.count("<svg") == 2
    assert "<b>set" not in drawn
    assert "&lt;b&gt;set · hant" in drawn
    assert '<th scope="row">hybrid</th>' in drawn
    assert "The last measurement cannot be read" in broken


@pytest.mark.slow
def test_the_daemon_stays_while_somebody_looks(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond its idle time; once nobody does it leaves, also when somebody listens for jobs."""
    monkeypatch.setenv("SHIYI_DAEMON_IDLE", "1")
    url = invite(served)
    one = Visitor(url)
    one.open(url)
    one.ask("/dashboard")
    pid = served.pid()

    with served.client() as client:
        client.start()
        wait_until(lambda: client.control("state")["idle"] > 2)
    listening = _events(one)
    next(listening)
    one.ask("/dashboard/leave", one.form("/dashboard", "leave"))

    wait_until(lambda: not is_alive(pid))
    listening.close()


def test_the_newest_jobs_are_kept() -> None:
    """Those that are not done stay however many there are; one that never ran has failed."""
    jobs = Jobs()
    waiting = jobs.add("reindex", "me")
    for _ in range(50):
        number = jobs.add("import", "me")
        jobs.run(number, lambda: jobs.follow(number, 1, 2))  # noqa: B023 - it is run at once
    with pytest.raises(ValueError, match="no"):
        jobs.run(jobs.add("export", "me"), lambda: int("no"))
    lost = jobs.add("import", "me")
    jobs.end(lost, "failed")
    jobs.end(lost, "done")

    known = {one.number: one for one in jobs.all()}
    assert [one.number for one in jobs.all()] == sorted(known, reverse=True)
    assert known[waiting].state == "waiting"
    assert len(known) == 21
    assert [one.state for one in jobs.all()[:3]] == ["failed", "failed", "done"]
    assert (jobs.all()[2].done, jobs.all()[2].total) == (1, 2)


def _events(visitor: Visitor) -> Generator[list[dict[str, object]]]:
    connection = http.client.HTTPConnection(visitor.host, timeout=PATIENCE)
    connection.request("GET", "/dashboard/jobs/events", headers={"Cookie": visitor.cookie})
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    try:
        for line in answer:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
    finally:
        connection.close()
