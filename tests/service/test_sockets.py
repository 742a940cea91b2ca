"""What a client on a real socket gets that sends all it has before it reads."""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest
import uvicorn

from tests.service.conftest import House

SIZE = 32 << 20  # more than max_body, and than sockets hold
PART = 1 << 16


class Server(uvicorn.Server):
    """In a thread, where signals are not for it."""

    def install_signal_handlers(self) -> None:
        """None."""


@pytest.fixture(scope="module")
def port(house: House) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(house.app, log_level="warning", lifespan="off", ws="none"))
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


def exchanged(port: int, head: list[str], parts: Any) -> bytes:
    """The first line of the answer to a request, of which all is sent first, and after which the connection ends."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as client:
        client.sendall("\r\n".join([*head, "Host: house", "Connection: close", "", ""]).encode())
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
    house: House, port: int, who: str, line: str, status: bytes, chunked: bool
) -> None:
    part = b" " * PART
    head = [line, f"Authorization: Bearer {house.keys[who]}"]
    if chunked:
        head.append("Transfer-Encoding: chunked")
        parts = [b"%x\r\n%b\r\n" % (PART, part)] * (SIZE // PART) + [b"0\r\n\r\n"]
    else:
        head.append(f"Content-Length: {SIZE}")
        parts = [part] * (SIZE // PART)
    assert status.split()[0] in exchanged(port, head, parts)


def test_who_asks_before_sending_need_not_send(house: House, port: int) -> None:
    """As curl does with what is large: the refusal comes instead of 100 Continue."""
    head = ["POST /v1/releases/city/distances HTTP/1.1", f"Authorization: Bearer {house.keys['anna']}"]
    head += [f"Content-Length: {SIZE}", "Expect: 100-continue"]
    assert b"413" in exchanged(port, head, [])
