"""What streamable HTTP needs of the SDK."""

from collections.abc import Callable

from mcp.server.streamable_http_manager import (
    StreamableHTTPASGIApp,
    StreamableHTTPSessionManager,
)
from mcp.server.transport_security import TransportSecuritySettings

from shiyi.service.http.guard import App
from shiyi.service.mcp.server import Context, make_server
from shiyi.service.mcp.use import Door


def make_manager(
    door_of: Callable[[Context], Door], *, most_bytes: int
) -> StreamableHTTPSessionManager:
    """Return what answers requests, each by itself. Hosts and origins are the guard's matter."""
    return StreamableHTTPSessionManager(
        app=make_server(door_of),
        json_response=True,
        stateless=True,
        max_request_body_size=most_bytes,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def app_of(manager: StreamableHTTPSessionManager) -> App:
    """Return the ASGI app of a manager that runs."""
    app: App = StreamableHTTPASGIApp(manager)
    return app
