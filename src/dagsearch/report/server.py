"""The server of the live page: for this machine alone, and for those who know its address.

Every address begins with a random token. Whatever comes without it, or with a host name other than this
machine's (as after DNS rebinding), gets an empty 404 answer.
"""

import json
import logging
import secrets
import socket
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dagsearch.journal.requests import send_request
from dagsearch.report.html import policy
from dagsearch.report.report import Watched

logger = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
# Longest request to steer, in bytes.
_LONGEST = 1 << 20

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{policy(True)}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guarded:
    """Answers only requests with the token, to this machine's own address.

    Parameters
    ----------
    app : ASGI application
        Gets the other requests, without the token in their path.
    token : str
        The token.
    port : int
        The server's port.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not self._allowed(scope):
            await Response(status_code=404)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        given = scope["path"].split("/")[1:2]
        known = bool(given) and secrets.compare_digest(given[0].encode(), self._token.encode())
        return known and host in self._hosts and (not origin or origin in self._origins)


def make_app(watched: Watched, token: str, port: int, steer: bool) -> Guarded:
    """The application that serves the page.

    Parameters
    ----------
    watched : Watched
        What the page shows.
    token : str
        The first part of every path.
    port : int
        The server's port, which requests must name.
    steer : bool
        Whether requests to steer are taken; otherwise nothing is ever written.
    """

    async def page(request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(watched.page), headers=_HEADERS)

    async def data(request: Request) -> Response:
        content = await run_in_threadpool(watched.content, request.query_params.get("seen", ""))
        if content is None:
            return Response(status_code=204, headers=_HEADERS)
        return Response(content, media_type="application/json", headers=_HEADERS)

    async def steered(request: Request) -> Response:
        try:
            asked = await _body(request)
            journal = watched.journals[asked["run"]] if type(asked.get("run")) is int else None
            if journal is None:
                raise ValueError("run must be the number of a run")
            action, value = str(asked.get("action")), asked.get("value")
            name = await run_in_threadpool(send_request, journal, action, value)
        except (ValueError, TypeError, IndexError, OSError) as error:
            return JSONResponse({"error": str(error)}, status_code=400, headers=_HEADERS)
        return JSONResponse({"request": name}, headers=_HEADERS)

    routes = [Route(f"/{token}/", page), Route(f"/{token}/data", data)]
    if steer:
        routes.append(Route(f"/{token}/steer", steered, methods=["POST"]))
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return Guarded(app, token, port)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a request holds."""
    if request.headers.get("content-type") != "application/json":
        raise ValueError("the request must be JSON")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > _LONGEST:
            raise ValueError(f"the request is longer than {_LONGEST} bytes")
    asked = json.loads(data)
    if not isinstance(asked, dict):
        raise ValueError("the request must be a JSON object")
    return asked


def serve(watched: Watched, port: int, steer: bool, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    watched : Watched
        What the page shows.
    port : int
        The port; 0 for any that is free.
    steer : bool
        Whether requests to steer are taken.
    announce : callable
        Called with the address of the page once the server can be reached.
    """
    import uvicorn

    token = secrets.token_urlsafe(24)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        port = listening.getsockname()[1]
        app = make_app(watched, token, port, steer)
        settings: dict[str, Any] = {"server_header": False, "access_log": False, "lifespan": "off"}
        config = uvicorn.Config(app, log_level="warning", **settings)
        listening.listen(128)
        announce(f"http://{ADDRESS}:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[listening])
