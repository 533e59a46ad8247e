"""The server of the live page, for users of this machine who know its address.

Every address begins with a random token. Requests without it, with a host name other than this machine's (as
after DNS rebinding), or from pages of another origin are refused. Any port is allowed in the host name, so
that ``ssh -L`` can forward the page to another port.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server

from dagsearch.errors import StorageError
from dagsearch.report.html import policy
from dagsearch.report.report import Watched

ADDRESS = "127.0.0.1"
# Timeouts in seconds: for the body of a request, and for unsent answers when the server stops.
_SECONDS_TO_SEND, _SECONDS_TO_END = 10.0, 2
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{policy(True)}; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _OwnOrigin:
    """Refuses requests from pages of another origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        own = headers.get("origin") in (None, f"http://{headers.get('host')}")
        answer = self._app if own else Response("Another origin", 403)
        await answer(scope, receive, send)


def make_app(watched: Watched, token: str, steer: bool) -> Starlette:
    """The application that serves the page; the ``token`` is the first part of every path.

    Steering requests are accepted only with ``steer``; otherwise nothing is ever written.
    """

    async def page(_: Request) -> Response:
        return Response(await run_in_threadpool(watched.page), media_type="text/html", headers=_HEADERS)

    async def data(request: Request) -> Response:
        content = await run_in_threadpool(watched.content, request.query_params.get("seen", ""))
        status = 204 if content is None else 200
        return Response(content, status, media_type="application/json", headers=_HEADERS)

    async def steered(request: Request) -> Response:
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                asked = await request.json()
            number = await run_in_threadpool(lambda: watched.request(**asked))
        except TimeoutError:
            return _refused(408, "the request did not arrive in time", Connection="close")
        except (ValueError, TypeError, RecursionError, ClientDisconnect) as error:
            return _refused(400, str(error) or type(error).__name__)
        except StorageError as error:  # no process runs the search, or its database cannot be written
            return _refused(409, str(error))
        return JSONResponse({"request": number}, headers=_HEADERS)

    routes = [Route("/", page), Route("/data", data)]
    if steer:
        routes.append(Route("/steer", steered, methods=["POST"]))
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[ADDRESS, "localhost"])
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[hosts, Middleware(_OwnOrigin)])


def _refused(status: int, reason: str, **headers: str) -> Response:
    """The answer to a refused request: one line with the reason."""
    content = {"error": " ".join(reason.split())}
    return JSONResponse(content, status_code=status, headers={**_HEADERS, **headers})


def serve(watched: Watched, port: int, steer: bool, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C, at any free port if ``port`` is 0.

    ``announce`` is called with the address of the page once the server is ready.
    """
    token = secrets.token_urlsafe(24)
    config = Config(
        make_app(watched, token, steer),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",  # bad requests are only warnings
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    with socket.create_server((ADDRESS, port)) as listening:
        announce(f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/")
        Server(config).run(sockets=[listening])
