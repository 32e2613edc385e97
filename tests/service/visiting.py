"""A visitor of the dashboard without a browser, for tests."""

import http.client
import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import urlencode, urlsplit

from tests.service.serving import PATIENCE, Reply, Served

_HIDDEN = re.compile(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">')


def invite(served: Served) -> str:
    """Return an address that opens the dashboard once."""
    with served.client() as client:
        client.start()
        url: str = client.control("dashboard")["url"]
    return url


class Visitor:
    """Asks as a browser would, and keeps the cookie."""

    def __init__(self, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.cookie = ""

    def ask(
        self,
        path: str,
        form: Mapping[str, str] | None = None,
        *,
        look: str = "GET",
        **headers: str,
    ) -> Reply:
        sent = {"Host": self.host, "Cookie": self.cookie, "Accept-Language": "en"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if form is None else urlencode(form).encode()
        if body is not None:
            sent = {"Content-Type": "application/x-www-form-urlencoded", **sent}
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            method = look if body is None else "POST"
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            given = answer.headers.get("Set-Cookie")
            if given is not None:
                self.cookie = given.partition(";")[0]
            return Reply(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def open(self, url: str) -> Reply:
        """Follow an invitation."""
        parts = urlsplit(url)
        return self.ask(f"{parts.path}?{parts.query}")

    def form(self, path: str, action: str) -> dict[str, str]:
        """Return the hidden fields of the form on a page that goes to an address."""
        page = self.ask(path).body.decode()
        start = page.index(f'action="/dashboard/{action}"')
        fields = _HIDDEN.findall(page[start : page.index("</form>", start)])
        return {name: unescape(value) for name, value in fields}
