"""What a client on a real socket gets that sends all it has before it reads."""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest
import uvicorn

from tests.service.conftest import ServiceFixture

SIZE = 32 << 20  # more than max_body, and than sockets hold
PART = 1 << 16


class Server(uvicorn.Server):
    """A server in a thread, where it cannot handle signals."""

    def install_signal_handlers(self) -> None:
        """Install none."""


@pytest.fixture(scope="module")
def port(service: ServiceFixture) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(service.app, log_level="warning", lifespan="off", ws="none"))
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()


def send_all(port: int, head: list[str], parts: Any) -> bytes:
    """Send a whole request on a new connection, and return the first line of the answer."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as client:
        client.sendall("\r\n".join([*head, "Host: service", "Connection: close", "", ""]).encode())
        for part in parts:
            client.sendall(part)
        with client.makefile("rb") as answer:
            return answer.readline().strip()


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("who", "line", "status"),
    [
        ("anna", "POST /v1/releases/city/distances HTTP/1.1", b"413 Request Entity Too Large"),
        ("anna", "PUT /v1/releases/new HTTP/1.1", b"413 Request Entity Too Large"),
        ("carla", "PUT /v1/releases/city HTTP/1.1", b"409 Conflict"),  # an upload, which is refused before it is read
    ],
)
def test_a_refusal_arrives_though_more_was_sent_than_is_read(
    service: ServiceFixture, port: int, who: str, line: str, status: bytes, chunked: bool
) -> None:
    part = b" " * PART
    head = [line, f"Authorization: Bearer {service.keys[who]}"]
    if chunked:
        head.append("Transfer-Encoding: chunked")
        parts = [b"%x\r\n%b\r\n" % (PART, part)] * (SIZE // PART) + [b"0\r\n\r\n"]
    else:
        head.append(f"Content-Length: {SIZE}")
        parts = [part] * (SIZE // PART)
    assert status.split()[0] in send_all(port, head, parts)


def test_who_asks_before_sending_need_not_send(service: ServiceFixture, port: int) -> None:
    """As curl does with what is large: the refusal comes instead of 100 Continue."""
    head = ["POST /v1/releases/city/distances HTTP/1.1", f"Authorization: Bearer {service.keys['anna']}"]
    head += [f"Content-Length: {SIZE}", "Expect: 100-continue"]
    assert b"413" in send_all(port, head, [])
