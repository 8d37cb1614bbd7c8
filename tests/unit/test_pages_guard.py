"""What stands before every local page, over a real server on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from esac_ag.errors import InfrastructureFailure
from esac_ag.pages.guard import MOST_BODY_BYTES, MOST_FIELDS, Secrets
from esac_ag.pages.serving import PageServer


async def echo(request: Request) -> PlainTextResponse:
    """What an application saw of a request."""
    form = await request.form() if request.method == "POST" else {}
    return PlainTextResponse(f"{request.url_for('echo')} {form.get('said', '')}")


APPLICATION = Starlette(routes=[Route("/echo", echo, name="echo", methods=["GET", "POST"])])


@pytest.fixture(scope="module")
def secrets() -> Secrets:
    """Of the module's server."""
    return Secrets()


@pytest.fixture(scope="module")
def server(secrets: Secrets) -> Iterator[PageServer]:
    """Pages that echo."""
    with PageServer(APPLICATION, secrets) as served:
        yield served


@pytest.fixture
def client(server: PageServer) -> Iterator[httpx.Client]:
    """Asks below the token."""
    with httpx.Client(base_url=server.url, trust_env=False) as asking:
        yield asking


def own(server: PageServer) -> dict[str, str]:
    """The origin of the server's own pages."""
    return {"origin": f"http://127.0.0.1:{server.port}"}


def test_a_page_is_served_below_the_token_and_knows_its_own_address(
    client: httpx.Client, server: PageServer
) -> None:
    """An application routes and links without knowing of the token."""
    answer = client.get("echo")
    assert (answer.status_code, answer.text) == (200, f"{server.url}echo ")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("content-security-policy", "default-src 'none'"),
        ("content-security-policy", "frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ],
)
@pytest.mark.parametrize("path", ["echo", "nothing-here", "../echo"])
def test_every_answer_holds_a_browser_to_the_policy(
    header: str, value: str, path: str, client: httpx.Client
) -> None:
    """Refusals as well as pages."""
    assert value in client.get(path).headers[header]


def test_no_answer_tells_what_serves(client: httpx.Client) -> None:
    """No server's name."""
    assert "server" not in client.get("echo").headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:{port}", "[::1]:{port}", ""])
def test_another_name_is_refused(host: str, client: httpx.Client, server: PageServer) -> None:
    """A web site whose name was made to point here reads nothing, even with the token."""
    answer = client.get("echo", headers={"host": host.format(port=server.port)})
    assert answer.status_code in {400, 421}
    assert "echo" not in answer.text


def test_localhost_is_our_name_too(client: httpx.Client, server: PageServer) -> None:
    """What a person may type."""
    assert client.get("echo", headers={"host": f"localhost:{server.port}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "0" * 64, "{token}0", "echo", "%00", "é"])
def test_an_unknown_token_is_told_nothing(token: str, server: PageServer, secrets: Secrets) -> None:
    """A program on this machine that does not know the address gets no page."""
    url = f"http://127.0.0.1:{server.port}/{token.format(token=secrets.token)}/echo"
    assert httpx.get(url, trust_env=False).status_code == 404


def test_our_own_form_is_taken(client: httpx.Client, server: PageServer, secrets: Secrets) -> None:
    """With our origin and the page's secret."""
    answer = client.post("echo", data={"said": "yes", "csrf": secrets.csrf}, headers=own(server))
    assert (answer.status_code, answer.text.endswith(" yes")) == (200, True)


def test_our_own_script_is_taken(client: httpx.Client, server: PageServer, secrets: Secrets) -> None:
    """Its secret is in a header; whatever the body is."""
    answer = client.post("echo", json={}, headers={**own(server), "x-csrf": secrets.csrf})
    assert answer.status_code == 200


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}"])
def test_a_form_from_elsewhere_is_refused(
    origin: str | None, client: httpx.Client, server: PageServer, secrets: Secrets
) -> None:
    """Even if it knew the secret."""
    headers = {} if origin is None else {"origin": origin.format(port=server.port)}
    assert client.post("echo", data={"csrf": secrets.csrf}, headers=headers).status_code == 403


@pytest.mark.parametrize("data", [{}, {"csrf": ""}, {"csrf": "0" * 64}, {"said": "yes"}])
def test_a_form_without_the_secret_is_refused(
    data: dict[str, str], client: httpx.Client, server: PageServer
) -> None:
    """Even from our own origin."""
    assert client.post("echo", data=data, headers=own(server)).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_is_known(
    method: str, client: httpx.Client, server: PageServer, secrets: Secrets
) -> None:
    """Also from our own pages."""
    answer = client.request(method, "echo", headers={**own(server), "x-csrf": secrets.csrf})
    assert answer.status_code == 405


@pytest.mark.parametrize("length", ["told", "in pieces"])
def test_a_body_without_end_is_refused(
    length: str, client: httpx.Client, server: PageServer, secrets: Secrets
) -> None:
    """Whether its length is told or comes in pieces."""
    body = b"said=" + b"x" * MOST_BODY_BYTES
    content = body if length == "told" else iter([body[:1000], body[1000:]])
    headers = {**own(server), "x-csrf": secrets.csrf, "content-type": "application/x-www-form-urlencoded"}
    assert client.post("echo", content=content, headers=headers).status_code == 413


def test_a_form_of_more_fields_than_any_page_has_is_refused(
    client: httpx.Client, server: PageServer, secrets: Secrets
) -> None:
    """It costs no more than being counted."""
    fields = {f"f{number}": "" for number in range(MOST_FIELDS)}
    answer = client.post("echo", data={**fields, "csrf": secrets.csrf}, headers=own(server))
    assert answer.status_code == 403


def test_pages_that_only_read_take_no_form(secrets: Secrets) -> None:
    """Not even with everything right."""
    with PageServer(APPLICATION, secrets, reads_only=True) as served:
        answer = httpx.post(
            f"{served.url}echo", data={"csrf": secrets.csrf}, headers=own(served), trust_env=False
        )
    assert answer.status_code == 405


def test_only_loopback_is_bound(server: PageServer) -> None:
    """Nobody outside this machine can connect, whatever its addresses are."""
    assert server._socket.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_told_with_what_to_do(secrets: Secrets) -> None:
    """No traceback."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InfrastructureFailure, match="cannot be served") as refused,
        PageServer(APPLICATION, secrets, port=taken.getsockname()[1]),
    ):
        raise AssertionError
    assert "--port" in refused.value.remedy


def test_a_server_that_ended_answers_no_more(secrets: Secrets) -> None:
    """Its port is free again at once."""
    with PageServer(APPLICATION, secrets) as served:
        url = served.url
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)
