"""The server of the live page: for this machine alone, and for those who know its address.

Every address begins with a random token. Whatever comes without it, or with a host name other than this
machine's (as after DNS rebinding), gets an empty 404 answer, and its connection is closed. The port in the
host name may be any, so that ``ssh -L`` can forward the page to another port.

A request whose body does not come in time is refused, and its connection is closed.
"""

import asyncio
import json
import re
import secrets
import socket
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server

from dagsearch.errors import StorageError
from dagsearch.report.html import policy
from dagsearch.report.report import Watched

ADDRESS = "127.0.0.1"
# Longest request to steer in bytes, and seconds that it may take.
_LONGEST, _SECONDS_TO_SEND = 1 << 20, 10.0
# Seconds that the server's end waits for answers that are being sent.
_SECONDS_TO_END = 2
# What a browser on this machine may call it, at whatever port.
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.ASCII)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{policy(True)}; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guarded:
    """Answers only requests with the token, to a name of this machine.

    Parameters
    ----------
    app : ASGI application
        Gets the other requests.
    token : str
        The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not self._allowed(scope):
            await Response(status_code=404, headers={"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        given = scope["path"].split("/")[1:2]
        known = bool(given) and secrets.compare_digest(given[0].encode(), self._token.encode())
        # A page of this machine, too, has another origin if it comes from another port.
        return known and _HOST.fullmatch(host) is not None and origin in ("", f"http://{host}")


def make_app(watched: Watched, token: str, steer: bool) -> Guarded:
    """The application that serves the page.

    Parameters
    ----------
    watched : Watched
        What the page shows.
    token : str
        The first part of every path.
    steer : bool
        Whether requests to steer are taken; otherwise nothing is ever written.
    """

    async def page(request: Request) -> Response:
        try:
            return HTMLResponse(await run_in_threadpool(watched.page), headers=_HEADERS)
        except ValueError as error:  # a number that JSON does not have
            return _refused(409, error)

    async def data(request: Request) -> Response:
        try:
            content = await run_in_threadpool(watched.content, request.query_params.get("seen", ""))
        except ValueError as error:
            return _refused(409, error)
        if content is None:
            return Response(status_code=204, headers=_HEADERS)
        return Response(content, media_type="application/json", headers=_HEADERS)

    async def steered(request: Request) -> Response:
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                asked = await _body(request)
            if "action" not in asked:
                raise ValueError("the request has no action")
            wanted = asked.get("run"), asked["action"], asked.get("value")
            number = await run_in_threadpool(watched.request, *wanted)
        except TimeoutError:
            answer = _refused(408, TimeoutError("the request did not come in time"))
            answer.headers["Connection"] = "close"
            return answer
        except (ValueError, TypeError, RecursionError, ClientDisconnect) as error:
            return _refused(400, error)
        except StorageError as error:  # no process runs the search, or its database cannot be written
            return _refused(409, error)
        return JSONResponse({"request": number}, headers=_HEADERS)

    routes = [Route(f"/{token}/", page), Route(f"/{token}/data", data)]
    if steer:
        routes.append(Route(f"/{token}/steer", steered, methods=["POST"]))
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return Guarded(app, token)


def _refused(status: int, error: Exception) -> Response:
    """The answer to a request that was not sent: one line that says why."""
    told = " ".join(str(error).split()) or type(error).__name__
    return JSONResponse({"error": told}, status_code=status, headers=_HEADERS)


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
    token = secrets.token_urlsafe(24)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        port = listening.getsockname()[1]
        config = Config(
            make_app(watched, token, steer),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",  # bad requests, which anyone can send, are only warnings
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_END,
        )
        listening.listen()
        announce(f"http://{ADDRESS}:{port}/{token}/")
        Server(config).run(sockets=[listening])
