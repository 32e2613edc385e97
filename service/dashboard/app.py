"""The dashboard as routes. The guard has looked at Host, Origin and body before.

GET  /dashboard/open?code=…   a code that opens once becomes a cookie
GET  /dashboard[/page[/id]]   the pages
GET  /dashboard/static/…      the style, and the one script; for everybody
GET  /dashboard/jobs/events   the jobs as they go
POST /dashboard/…             the few writes, with the token of their session
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from shiyi.core.errors import UsageError
from shiyi.core.ids import check_scope
from shiyi.service.dashboard.asking import Asked, Backing, Page
from shiyi.service.dashboard.entry import ROOT, Entries, Entry
from shiyi.service.dashboard.page import SCRIPT, SEAL, STYLE, address, render, static
from shiyi.service.dashboard.pages import OF_ONE, READERS
from shiyi.service.dashboard.peer import is_of_another
from shiyi.service.dashboard.words import Words, words_for
from shiyi.service.dashboard.writes import WRITERS, read_form
from shiyi.service.http.refusals import failure

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_LIVE = f"{_POLICY}; script-src 'self'; connect-src 'self'"
_HEADERS = {
    # With `no-referrer` a browser sends forms of ours with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Accept-Language, Cookie",
}
_STATIC = {
    STYLE: "text/css; charset=utf-8",
    SCRIPT: "text/javascript; charset=utf-8",
    SEAL: "image/svg+xml",
}
_DONE = ("archived", "confirmed", "closed")
_ABOVE = {"memory": "records", "trace": "traces"}  # where a page without an entry of its own lies
_LOOK, _BEAT = 0.4, 20  # seconds between two looks at the jobs; looks between two signs of life


class Dashboard:
    """The pages, for whoever was let in."""

    def __init__(self, backing: Backing, entries: Entries) -> None:
        self._backing, self._entries = backing, entries

    def routes(self) -> list[BaseRoute]:
        """Return what answers below /dashboard."""
        inner = [
            Route("/open", self._open, methods=["GET"]),
            Route("/static/{name}", self._static, methods=["GET"]),
            Route("/jobs/events", self._events, methods=["GET"]),
            Route("/{name}/{path}", self._read, methods=["GET"]),
            Route("/{name}", self._read, methods=["GET"]),
            Route("/{name}", self._write, methods=["POST"]),
            Route("/", self._read, methods=["GET"]),
        ]
        return [Route(ROOT, self._read, methods=["GET"]), Mount(ROOT, routes=inner)]

    async def _open(self, request: Request) -> Response:
        """Let somebody in, unless the kernel knows that it is another user of this machine."""
        if request.method != "GET":  # whoever only looks ahead uses no code up
            return Response(status_code=405, headers={"Allow": "GET"})
        client, server = request.scope["client"], request.scope["server"]
        if await asyncio.to_thread(is_of_another, client, server):
            return self._closed(request, "entry.other", status=403)
        secret = self._entries.open(request.query_params.get("code", ""))
        if secret is None:
            return self._closed(request, "entry.expired")
        there = address("", scope=request.query_params.get("scope"))
        answer = RedirectResponse(there, 303, _HEADERS)
        answer.set_cookie(self._entries.cookie, secret, path=ROOT, httponly=True, samesite="strict")
        return answer

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return Response(status_code=404)
        headers = {"Cache-Control": "private, max-age=86400"}
        return Response(static(name), media_type=_STATIC[name], headers=headers)

    async def _read(self, request: Request) -> Response:
        """Show a page."""
        entry = self._entry(request)
        if entry is None:
            return self._closed(request, "entry.closed")
        name = request.path_params.get("name", "")
        path = request.path_params.get("path", "")
        reader = OF_ONE.get(name) if path else READERS.get(name)
        if reader is None:
            return self._page(request, entry, Page("error", {"says": "error.unknown"}, 404))
        try:
            page = await reader(self._asked(request, path))
        except Exception as error:  # noqa: BLE001 - told in a sentence
            page = _failed(error)
        return self._page(request, entry, page, name)

    async def _write(self, request: Request) -> Response:
        """Do what a form asks for, and show what came of it."""
        entry = self._entry(request)
        if entry is None:
            return self._closed(request, "entry.closed")
        try:
            return await self._written(request, entry, await read_form(request))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 - told in a sentence
            return self._page(request, entry, _failed(error))

    async def _written(self, request: Request, entry: Entry, form: dict[str, str]) -> Response:
        name = request.path_params["name"]
        if not entry.is_from_us(form.get("csrf", "")):
            return self._page(request, entry, Page("error", {"says": "error.form"}, 403))
        if name == "leave":
            return self._leave(request)
        if name not in WRITERS:
            return self._page(request, entry, Page("error", {"says": "error.unknown"}, 404))
        asked = self._asked(request, "")
        done = await WRITERS[name](asked, form)
        there = _address_in(self._backing, asked.scope)(f"/memory/{form['id']}", done=done)
        return RedirectResponse(there, 303, _HEADERS)

    def _leave(self, request: Request) -> Response:
        self._entries.close(request.cookies.get(self._entries.cookie, ""))
        answer = self._closed(request, "entry.how", title="entry.left_title", status=200)
        answer.delete_cookie(self._entries.cookie, path=ROOT, httponly=True, samesite="strict")
        return answer

    async def _events(self, request: Request) -> Response:
        """Tell of the jobs whenever something about them changes."""
        if self._entry(request) is None:
            return Response(status_code=401)
        return StreamingResponse(self._news(request), media_type="text/event-stream")

    async def _news(self, request: Request) -> AsyncIterator[str]:
        secret, told, looks = request.cookies.get(self._entries.cookie, ""), "", 0
        while not self._backing.leaving():
            if self._entries.find(secret, touch=False) is None or await request.is_disconnected():
                return
            now = json.dumps([asdict(one) for one in self._backing.jobs()])
            looks += 1
            if now != told:
                yield f"data: {now}\n\n"
            elif looks % _BEAT == 0:
                yield ": \n\n"
            told = now
            await asyncio.sleep(_LOOK)

    def _entry(self, request: Request) -> Entry | None:
        return self._entries.find(request.cookies.get(self._entries.cookie, ""))

    def _asked(self, request: Request, path: str) -> Asked:
        """Return what is asked; raises UsageError for a scope that cannot be one."""
        return Asked(
            backing=self._backing,
            words=_words(request),
            scope=check_scope(request.query_params.get("scope") or self._backing.scope),
            query=request.query_params,
            path=path,
        )

    def _page(self, request: Request, entry: Entry, page: Page, name: str = "") -> Response:
        try:
            scope = check_scope(request.query_params.get("scope") or self._backing.scope)
        except UsageError:
            scope = self._backing.scope
        done = request.query_params.get("done")
        values = {
            "pages": [one for one in READERS if one != "traces"],
            "current": _ABOVE.get(name, name),
            "scope": scope,
            "default_scope": self._backing.scope,
            "url": _address_in(self._backing, scope),
            "csrf": entry.csrf,
            "key": secrets.token_hex(16),
            "done": done if done in _DONE else None,
            **page.values,
        }
        policy = _LIVE if page.template == "jobs" else _POLICY
        try:
            return _answer(page.template, _words(request), values, page.status, policy)
        except Exception as error:  # noqa: BLE001 - a fault of a template is told like any other
            failed = _failed(error)
            return _answer("error", _words(request), values | failed.values, failed.status, policy)

    def _closed(
        self, request: Request, says: str, *, title: str = "entry.title", status: int = 401
    ) -> Response:
        """Say how to come in."""
        return _answer("entry", _words(request), {"says": says, "title": title}, status, _POLICY)


def _answer(
    template: str, words: Words, values: dict[str, Any], status: int, policy: str
) -> Response:
    headers = {
        **_HEADERS, "Content-Security-Policy": policy, "Content-Language": words.language,
    }  # fmt: skip
    body = render(template, words, values)
    return Response(body, status, headers, media_type="text/html; charset=utf-8")


def _address_in(backing: Backing, scope: str) -> Any:
    """Return what makes addresses of pages that show a scope."""
    return partial(address, scope=None if scope == backing.scope else scope)


def _failed(error: Exception) -> Page:
    told = failure(error)
    sentence = json.loads(bytes(told.body))["error"]["message"]
    return Page("error", {"says": None, "sentence": sentence}, told.status_code)


def _words(request: Request) -> Words:
    return words_for(request.headers.get("accept-language", ""))
