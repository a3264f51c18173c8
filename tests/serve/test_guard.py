"""Who may ask: tokens, Host and Origin headers, websockets, and the headers of every answer."""

from __future__ import annotations

import pytest
from served import client, read
from starlette.websockets import WebSocketDisconnect

from ecmsketch.errors import ConfigError
from ecmsketch.serve.access import Access, is_loopback, make_access, name_of_host

TOKEN = "correct-horse-battery-staple"
GUARDED = ["/api/v1/total", "/api/v1/sites", "/api/v1/openapi.json", "/metrics", "/", "/nosuch"]


@pytest.fixture
def token_file(tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    return str(tmp_path / "token")


@pytest.fixture(scope="module")
def locked_app(known_store):
    return client(read(known_store), Access(None, TOKEN))


@pytest.fixture
def locked(locked_app):
    locked_app.cookies.clear()
    return locked_app


@pytest.fixture(scope="module")
def on_loopback(known_store):
    return client(read(known_store), make_access("127.0.0.7", None))


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN}x"},
        {"cookie": f"ecmsketch={TOKEN}"},
        {"cookie": "ecmsketch="},
        {"cookie": 'ecmsketch="; \x01=,'},
    ],
)
def test_without_the_token_nothing_is_said(locked, path, headers):
    response = locked.get(path, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer TOKEN" in response.json()["detail"]


def test_with_the_token_all_is_said(locked):
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert locked.get("/api/v1/total", headers=headers).status_code == 200
    assert locked.get("/metrics", headers=headers).status_code == 200


def test_a_person_logs_in_and_gets_a_cookie(locked):
    shown = locked.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (shown.status_code, shown.headers["location"]) == (303, "/login")
    assert "<form" in locked.get("/login").text
    assert locked.post("/login", content=b"token=wrong").status_code == 401
    assert locked.post("/login", content=b"x" * 10_000).status_code == 413
    let_in = locked.post("/login", content=f"token={TOKEN}".encode(), follow_redirects=False)
    assert let_in.status_code == 303
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert locked.get("/api/v1/total").status_code == 200  # the client keeps the cookie


def test_health_needs_no_token_and_tells_nothing(tmp_path):
    app = client(read(tmp_path / "secret-name"), Access(None, TOKEN))
    assert app.get("/healthz").json() == {"status": "ok"}
    hidden = app.get("/readyz")
    assert hidden.status_code == 503
    assert "secret-name" not in hidden.text
    assert "secret-name" in app.get("/readyz", headers={"authorization": f"Bearer {TOKEN}"}).text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8600", "127.0.0.1.evil.example", "", "[::2]:8600"])
def test_other_names_in_the_host_header_are_refused_on_loopback(on_loopback, host):
    for path in (*GUARDED, "/healthz"):
        response = on_loopback.get(path, headers={"host": host})
        assert response.status_code == 403
        assert "this is not a name of this server" in response.json()["detail"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8600", "127.0.0.1:8600", "[::1]:8600", "127.0.0.7"])
def test_names_of_this_machine_are_accepted(on_loopback, host):
    assert on_loopback.get("/api/v1/sites", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "https://localhost.evil"])
def test_pages_of_other_sites_are_refused(on_loopback, origin):
    headers = {"host": "localhost:8600", "origin": origin}
    assert "pages of other sites" in on_loopback.get("/api/v1/sites", headers=headers).json()["detail"]
    assert on_loopback.get("/api/v1/sites", headers={**headers, "origin": "http://localhost:8600"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "localhost", "origin": "http://evil.example"},
        {"host": "localhost"},
        {"host": "localhost", "authorization": "Bearer wrong"},
    ],
)
def test_websockets_are_guarded_too(known_store, headers):
    app = client(read(known_store), make_access("127.0.0.1", None)._replace(token=TOKEN))
    with pytest.raises(WebSocketDisconnect) as refused, app.websocket_connect("/_nicegui_ws/", headers=headers):
        pass
    assert refused.value.code == 1008


def test_every_answer_has_headers_that_browsers_heed(api):
    for path in ("/api/v1/total", "/api/v1/nosuch", "/metrics", "/nosuch", "/healthz"):
        headers = api.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
    assert api.get("/api/v1/total").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "10.0.0.1", ""])
def test_other_addresses_need_a_token(host, token_file):
    with pytest.raises(ConfigError, match="--token-file"):
        make_access(host, None)
    assert make_access(host, token_file) == Access(None, TOKEN)


@pytest.mark.parametrize("content", ["", "short", "with a space in it, long", "umlaut-ü-umlaut-ü-umlaut", "x" * 5000])
def test_bad_tokens_are_refused(tmp_path, content):
    (tmp_path / "t").write_text(content)
    with pytest.raises(ConfigError, match="openssl rand -hex 32"):
        make_access("127.0.0.1", str(tmp_path / "t"))
    with pytest.raises(ConfigError, match="cannot be read"):
        make_access("127.0.0.1", str(tmp_path / "nosuch"))


def test_names():
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost", "0.0.0.0")] == [
        True, True, True, True, True, False,
    ]  # fmt: skip
    assert [name_of_host(host) for host in ("A:1", "[::1]:2", "b")] == ["a", "[::1]", "b"]
