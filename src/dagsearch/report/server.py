"""The server of the live page: for this machine alone, and for those who know its address.

Every address begins with a random token. Whatever comes without it, or with a host name other than this
machine's (as after DNS rebinding), gets an empty 404 answer, and its connection is closed. The port in the
host name may be any, so that ``ssh -L`` can forward the page to another port.

A request whose body does not come in time is refused, and its connection is closed.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server

from dagsearch.errors import StorageError
from dagsearch.report.html import policy
from dagsearch.report.report import Watched

ADDRESS = "127.0.0.1"
# Seconds that a request to steer may take, and that the server's end waits for answers that are being sent.
_SECONDS_TO_SEND, _SECONDS_TO_END = 10.0, 2
# What a browser on this machine may call it, at whatever port.
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.ASCII)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{policy(True)}; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def _allowed(request: Request, token: str) -> bool:
    """Whether a request has the token, and comes to a name of this machine from a page of this server."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
    given = request.url.path.split("/")[1]
    # A page of this machine, too, has another origin if it comes from another port.
    known = secrets.compare_digest(given.encode(), token.encode()) and origin in ("", f"http://{host}")
    return known and _HOST.fullmatch(host) is not None


def make_app(watched: Watched, token: str, steer: bool) -> ASGIApp:
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

    async def answered(make: Callable[[], str | None], kind: str) -> Response:
        try:
            content = await run_in_threadpool(make)
        except ValueError as error:  # a number that JSON does not have
            return _refused(409, error)
        status = 204 if content is None else 200
        return Response(content, status, media_type=kind, headers=_HEADERS)

    async def page(request: Request) -> Response:
        return await answered(watched.page, "text/html")

    async def data(request: Request) -> Response:
        seen = request.query_params.get("seen", "")
        return await answered(lambda: watched.content(seen), "application/json")

    async def steered(request: Request) -> Response:
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                asked = await _body(request)
            if "action" not in asked:
                raise ValueError("the request has no action")
            wanted = asked.get("run"), asked["action"], asked.get("value")
            number = await run_in_threadpool(watched.request, *wanted)
        except TimeoutError:
            return _refused(408, TimeoutError("the request did not come in time"), Connection="close")
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

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        known = scope["type"] == "http" and _allowed(Request(scope), token)
        unknown = Response(status_code=404, headers={"Connection": "close"})
        await (app if known else unknown)(scope, receive, send)

    return guarded


def _refused(status: int, error: Exception, **headers: str) -> Response:
    """The answer to a request that was not sent: one line that says why."""
    told = " ".join(str(error).split()) or type(error).__name__
    return JSONResponse({"error": told}, status_code=status, headers={**_HEADERS, **headers})


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a request holds."""
    if request.headers.get("content-type") != "application/json":
        raise ValueError("the request must be JSON")
    asked = await request.json()
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
