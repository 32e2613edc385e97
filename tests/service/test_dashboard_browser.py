"""The dashboard in a real browser: it works alone and for everybody, and runs nothing it shows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from shiyi.core.text import visible
from shiyi.service.dashboard.pages import READERS
from shiyi.service.table.operations import find_operation
from tests.service.serving import Served
from tests.service.visiting import invite

SAMPLE = Path(__file__).parents[2] / "eval" / "data" / "sample"
PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)' autofocus onfocus='alert(1)",
    "javascript:alert(1)",
    "</title></textarea></style><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}<b>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "\u202e<a href=javascript:alert(1)>gnihtemos\u2066",
    "&lt;script&gt;alert(1)&lt;/script&gt;<meta http-equiv=refresh content=0;url=http://evil.example>",
)


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Any:
    """The browser that looks at pages."""
    return chromium


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with the sample archive, and what an attacker had somebody keep."""
    one = Served(tmp_path_factory.mktemp("dashboard") / "home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIYI_MODEL", "none")
        patch.setenv("SHIYI_DAEMON_IDLE", "120")
        one.listen()
        with one.client() as client:
            for name in ("captures", "records", "structure"):
                values = {"path": str(SAMPLE / f"{name}.jsonl"), "allow_secret": True}
                client.call(find_operation("import"), values, None)
    yield one
    one.stop()


class Looker:
    """A person with a browser: what it says, asks for and opens is noted."""

    def __init__(self, browser: Any, url: str, **given: Any) -> None:
        self.context = browser.new_context(**{"locale": "en-US", **given})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.root = self.page.url
        self.origin = self.root.removesuffix("/dashboard")

    def _dialog(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str = "") -> Any:
        return self.page.goto(f"{self.root}{path}")

    @property
    def elsewhere(self) -> list[str]:
        return [url for url in self.asked if not url.startswith(f"{self.origin}/dashboard")]


@pytest.fixture
def look(browser: Any, sample: Served) -> Iterator[Any]:
    """Let a person in; everything is closed after the test."""
    lookers: list[Looker] = []

    def let_in(**given: Any) -> Looker:
        lookers.append(Looker(browser, invite(sample), **given))
        return lookers[-1]

    yield let_in
    for one in lookers:
        one.context.close()


@pytest.mark.parametrize(
    ("locale", "width", "scheme", "examined"),
    [
        ("zh-TW", 360, "light", ("/memory/",)),
        pytest.param("zh-TW", 360, "light", ("",), marks=pytest.mark.slow),
        pytest.param("zh-CN", 360, "dark", ("",), marks=pytest.mark.slow),
        pytest.param("en-US", 1280, "light", ("",), marks=pytest.mark.slow),
        pytest.param("en-US", 1280, "dark", ("",), marks=pytest.mark.slow),
    ],
)
def test_every_page(
    look: Any, locale: str, width: int, scheme: str, examined: tuple[str, ...]
) -> None:
    """Nothing on the console, nothing from elsewhere, nothing wider than the screen, no barrier.

    The pages that begin as `examined` says are looked at by axe as well.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not here")
    one = look(locale=locale, viewport={"width": width, "height": 900}, color_scheme=scheme)
    paths = [f"/{name}" if name else "" for name in READERS]
    paths += ["/search?q=%E9%9D%92%E7%93%B7%E7%A2%97", "/validation?run=1", "/timeline?phase=0"]
    one.go("/search?q=%E9%9D%92%E7%93%B7%E7%A2%97")
    links = [
        one.page.locator(f'main a[href*="{part}"]').first.get_attribute("href")
        for part in ("/memory/", "/trace/")
    ]
    words = one.page.locator(".hits > li:has(.words) h3 a").first.get_attribute("href")
    paths += [link.removeprefix("/dashboard") for link in [*links, words]]
    wide, faults = [], []

    for path in paths:
        status = one.go(path).status
        if status != 200 or one.page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append((path, status))
        if not path.startswith(examined):
            continue
        found = axe.Axe().run(one.page).response["violations"]
        faults += [(path, v["id"], v["nodes"][0]["html"]) for v in found
                   if v["impact"] in {"serious", "critical"}]  # fmt: skip

    assert wide == []
    assert faults == []
    assert one.said == []
    assert one.elsewhere == []


def test_names_that_do_not_fit_are_counted(look: Any) -> None:
    """The page shows those that count most, says how many there are, and leads to all of them."""
    one = look()
    one.go("/names")
    section = one.page.locator("section[aria-labelledby=entities]")
    total = int(section.locator(".number").inner_text())
    shown = section.locator(".cards > li").count()
    section.get_by_role("link", name=f"{total - shown} more").click()

    assert total > shown > 0
    assert one.page.locator("#kind").input_value() == "entity"


def test_keyboard_alone(look: Any) -> None:
    """The first stop skips to the content; a search is typed and sent; what has focus is seen."""
    one = look()
    one.go("/search")

    one.page.keyboard.press("Tab")
    first = one.page.evaluate("document.activeElement.className")
    seen = one.page.evaluate("document.activeElement.getBoundingClientRect().left")
    one.page.keyboard.press("Enter")
    one.page.wait_for_function("location.hash !== ''")
    landed = one.page.evaluate("location.hash")
    one.page.keyboard.press("Tab")
    name = one.page.evaluate("document.activeElement.name")
    outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    one.page.keyboard.type("青瓷碗")
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector(".hits")

    assert (first, landed, name, outline) == ("skip", "#content", "q", "solid")
    assert seen >= 0
    assert one.page.locator(".hits > li").count() > 1


def test_without_script(look: Any, sample: Served) -> None:
    """Everything can be read and written; jobs are looked at anew by a link."""
    id_ = sample.ask("POST", "/v1/remember", {"text": "沒有腳本也可以"}).json["record_id"]
    one = look(java_script_enabled=False)

    one.go("/jobs")
    with one.page.expect_navigation():
        one.page.get_by_role("link", name="Look again").click()
    jobs = one.page.locator("#jobs li").count()
    one.go(f"/memory/{id_}")
    one.page.get_by_label("Why (optional)").fill("不用了")
    with one.page.expect_navigation():
        one.page.get_by_role("button", name="Archive").click()

    assert jobs >= 3
    assert "Archived." in one.page.get_by_role("status").inner_text()
    assert sample.ask("POST", "/v1/show", {"id": id_}).json["record"]["reason"] == "不用了"


def test_jobs_move_by_themselves(look: Any, sample: Served, tmp_path: Path) -> None:
    """A job that begins while somebody looks appears, and is said to be done."""
    (tmp_path / "one.md").write_text("# 記事\n\n今天曬了鹽。\n", "utf-8")
    one = look()
    one.go("/jobs")
    one.page.wait_for_selector("#live:not([hidden])")
    before = one.page.locator("#jobs > li").count()

    with sample.client() as client:
        client.start()
        client.call(find_operation("import"), {"path": str(tmp_path / "one.md")}, None)
    one.page.wait_for_function(
        "n => document.querySelectorAll('#jobs > li').length > n "
        "&& document.querySelector('#jobs > li').dataset.state === 'done'", arg=before,
    )  # fmt: skip

    assert "import" in one.page.locator("#said").inner_text()
    assert one.said == []


def test_what_is_long_stays_in_its_place(look: Any, sample: Served) -> None:
    """A text of 10,000 lines scrolls in a box, by keys too; a list cuts what a page shows whole."""
    lines = "\n".join(f"第{n}行" for n in range(10_000))
    long = "長" * 800
    kept = sample.ask("POST", "/v1/remember?scope=long", {"text": lines, "gist": long}).json
    due = {"kind": "followup", "gist": long, "summary_only": True,
           "attrs": {"question": long, "context": long, "due": "2020-01-01"}}  # fmt: skip
    ask = sample.ask("POST", "/v1/add-record?scope=long", due).json["record_id"]
    one = look(viewport={"width": 390, "height": 900})
    height = "document.documentElement.scrollHeight"

    one.go(f"/memory/{kept['capture_id']}?scope=long")
    whole, box = one.page.evaluate(height), one.page.locator("blockquote")
    box.focus()
    one.page.keyboard.press("End")
    one.page.wait_for_function("() => document.activeElement.scrollTop > 10000")
    one.go("/followups?scope=long")
    listed = one.page.evaluate(height)
    one.go(f"/memory/{ask}?scope=long")

    assert whole < 2500
    assert listed < 1500
    assert one.page.locator(".big").bounding_box()["height"] > 900
    assert one.said == []


@pytest.mark.parametrize(
    ("scripts", "most"),
    [
        (True, 2),
        pytest.param(True, len(PAYLOADS), marks=pytest.mark.slow),
        pytest.param(False, len(PAYLOADS), marks=pytest.mark.slow),
    ],
)
def test_what_is_told_is_only_text(look: Any, sample: Served, scripts: bool, most: int) -> None:
    """Ten payloads in every place where memories are shown: no dialogue, no request, only words.

    `most` of them are looked at one by one, and asked for.
    """
    ids, scope = [], f"hostile{int(scripts)}-{most}"
    for n, payload in enumerate(PAYLOADS):
        values = {
            "text": f"{n} {payload}", "title": payload, "gist": payload, "detail": payload,
            "topics": [payload], "aliases": [payload], "phase": f"{n}{payload}",
            "date": f"2026-01-{n + 1:02}", "session": payload, "speaker": payload,
            "attrs": {payload: payload},
        }  # fmt: skip
        kept = sample.ask("POST", f"/v1/remember?scope={scope}", values)
        assert kept.status == 200, kept.body
        ids += [kept.json["record_id"], kept.json["capture_id"]]
        entity = {"kind": "entity", "title": payload, "gist": payload, "aliases": [payload],
                  "summary_only": True, "attrs": {"entity_type": "person"}}  # fmt: skip
        assert sample.ask("POST", f"/v1/add-record?scope={scope}", entity).status == 200
        due = {"kind": "followup", "gist": payload, "summary_only": True,
               "attrs": {"question": payload, "context": payload, "due": "2020-01-01"}}  # fmt: skip
        assert sample.ask("POST", f"/v1/add-record?scope={scope}", due).status == 200
        state = {"kind": "state", "title": payload, "gist": payload, "summary_only": True,
                 "attrs": {"of": "self", "block": "core", "name": f"{n}{payload}",
                           "value": payload}}  # fmt: skip
        held = sample.ask("POST", f"/v1/add-record?scope={scope}", state)
        assert held.status == 200, held.body
        sides = {"record": kept.json["record_id"], "other": held.json["record_id"],
                 "reason": payload}  # fmt: skip
        assert sample.ask("POST", f"/v1/contradict?scope={scope}", sides).status == 200
        turn = {"text": f"我今天很難過 {payload}", "turn": visible(payload), "tier": "full"}
        assert sample.ask("POST", f"/v1/preflight?scope={scope}", turn).status == 200
        sample.ask("POST", f"/v1/search?scope={scope}", {"text": payload})
    one = look(java_script_enabled=scripts)
    paths = [f"/{name}" for name in READERS] + [f"/memory/{id_}" for id_ in ids[: 2 * most]]
    shown: dict[str, str] = {}
    texts = ""

    for path in paths:
        one.go(f"{path}?scope={scope}")
        shown[path] = one.page.locator("body").inner_text()
        texts += shown[path]
    for payload in PAYLOADS[:most]:
        one.page.goto(f"{one.root}/search?scope={scope}&q={quote(payload)}")
        texts += one.page.locator("body").inner_text()
        one.go(f"/search?scope={quote(payload)}")
    strange = one.page.evaluate(
        "document.querySelectorAll('main script, main iframe, main img, [onload]').length"
    )

    errors = [text for text in one.said if "400 (Bad Request)" not in text]
    assert errors == []
    assert one.elsewhere == []
    assert strange == 0
    for payload in PAYLOADS:
        assert visible(payload) in texts
    for name in ("now", "timeline", "names", "records", "followups", "pending", "review", "traces"):
        assert any(visible(payload) in shown[f"/{name}"] for payload in PAYLOADS), name
    assert "\u202e" not in texts
