"""What redaction takes out by its shape, and that it cannot be made to stop half way or to take long."""

from __future__ import annotations

import json
import random
import string
import time
from collections.abc import Mapping

import pytest
from error_strategies import property_test
from hypothesis import example, given
from hypothesis import strategies as st
from redaction_texts import ANY_TEXT, MESS, PEM, SECRET, STARRED, TOKEN, forget

from orca.redaction import MASK, add, redact, redact_deep, redact_text


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)


# By shape

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SHAPES = {
    # URLs
    f"fatal: unable to access 'https://user:{TOKEN}@example.com/r.git/'": "fatal: unable to access 'https://***@example.com/r.git/'",
    f"https://{TOKEN}@example.com:8443/r.git": "https://***@example.com:8443/r.git",
    f"HTTP://{TOKEN}@example.com": "HTTP://***@example.com",
    f"git+https://{TOKEN}@example.com/x": "git+https://***@example.com/x",
    f"https://{TOKEN}:x-oauth-basic@example.com": "https://***@example.com",
    "https://me@corp.example:p@ss#w?rd1@example.com/x": "https://***@example.com/x",
    "ssh://git:pw@example.com/x": "ssh://***@example.com/x",
    "redis://:p#1@cache:6379/0": "redis://***@cache:6379/0",
    "mongodb://u:p1@a,b/db?x=1": "mongodb://***@a,b/db?x=1",
    r"https:\/\/u:p1@example.com\/x": r"https:\/\/***@example.com\/x",
    "['https://u:p1@a.example','b@c.example']": "['https://***@c.example']",
    "could not read Password for 'http://ghp_TOKEN@host'": "could not read Password for 'http://***@host'",
    "http://h/x?private_token=QTOK/' not found": "http://h/x?private_token=***' not found",
    "https://h/x?access_token=a&page=2#t": "https://h/x?access_token=***&page=2#t",
    "https://h/x?a=1&amp;token=abc&amp;b=2": "https://h/x?a=1&amp;token=***&amp;b=2",
    r"https://h/x?a=1\u0026token=abc\u0026b=2": r"https://h/x?a=1\u0026token=***\u0026b=2",
    "https://h/#access_token=abc&state=1": "https://h/#access_token=***&state=1",
    "(https://h/x?key=abc)": "(https://h/x?key=***)",
    "?X-Amz-Credential=a/b&X-Amz-Signature=0f&X-Amz-Date=1": "?X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Date=1",
    "?sig=a%3D&api_key=b&apikey=c&secret=d&password=e&auth=f&pwd=g": (
        "?sig=***&api_key=***&apikey=***&secret=***&password=***&auth=***&pwd=***"
    ),
    # Headers
    "> Authorization: Basic dXNlcjpwYXNz\r\n> Accept: */*": "> Authorization: ***\r\n> Accept: */*",
    "authorization: Bearer abc": "authorization: ***",
    "AUTHORIZATION: token abc": "AUTHORIZATION: ***",
    "Proxy-Authorization: Negotiate YII=": "Proxy-Authorization: ***",
    "Authorization: lin_1234": "Authorization: ***",
    "curl -H 'Authorization: Basic dTpw==' -H \"Accept: x\" https://h": "curl -H 'Authorization: ***' -H \"Accept: x\" https://h",
    'Authorization: Digest username="u", realm="a b", response="6629fae4"': "Authorization: ***",
    '"authorization":"Basic dTpw=","accept":"x"': '"authorization":"***","accept":"x"',
    r'"{\"Authorization\": \"Bearer abc\", \"x\": 1}"': r'"{\"Authorization\": \"***\", \"x\": 1}"',
    "{'Authorization': b'Bearer abc', 'x': 1}": "{'Authorization': b'***', 'x': 1}",
    "[('Authorization', 'Bearer abc'), ('x', 'y')]": "[('Authorization', '***'), ('x', 'y')]",
    "'GET / HTTP/1.1\\nAuthorization: Bearer abc\\nAccept: x'": "'GET / HTTP/1.1\\nAuthorization: ***\\nAccept: x'",
    "git -c http.extraHeader='X-Custom: abc' fetch": "git -c http.extraHeader='X-Custom: ***' fetch",
    "http.https://h/.extraheader=AUTHORIZATION: basic eDp5": "http.https://h/.extraheader=AUTHORIZATION: ***",
    "http.https://h/.extraheader X-Custom: eDp5": "http.https://h/.extraheader X-Custom: ***",
    "HTTP.EXTRAHEADER=X-Custom: eDp5": "HTTP.EXTRAHEADER=X-Custom: ***",
    "\textraheader = X-Custom: eDp5": "\textraheader = X-Custom: ***",
    "Cookie: sid=abc; theme=dark": "Cookie: ***",
    "COOKIE: sid=abc": "COOKIE: ***",
    "Set-Cookie: sid=abc; Path=/; HttpOnly": "Set-Cookie: ***",
    f"PRIVATE-TOKEN: {TOKEN}": "PRIVATE-TOKEN: ***",
    f"x-api-key: {TOKEN}, x": "x-api-key: ***, x",
    # Names that only a value follows
    f"docker run -e API_TOKEN={TOKEN} image": "docker run -e API_TOKEN=*** image",
    f"export DB_PASSWORD='{TOKEN}'; x": "export DB_PASSWORD='***'; x",
    f"TOKEN={TOKEN}": "TOKEN=***",
    f"tool --token={TOKEN} --api-key={TOKEN} x": "tool --token=*** --api-key=*** x",
    f"//npm.example/:_authToken={TOKEN}": "//npm.example/:_authToken=***",
    f'{{"access_token": "{TOKEN}", "expires_in": 3600}}': '{"access_token": "***", "expires_in": 3600}',
    f"{{'apiKey': '{TOKEN}', 'b': 2}}": "{'apiKey': '***', 'b': 2}",
    f'"{{\\"client_secret\\": \\"{TOKEN}\\"}}"': '"{\\"client_secret\\": \\"***\\"}"',
    # Keys
    f"x\n{PEM}\ny": "x\n***\ny",
    f"x\n{PEM[:100]}": "x\n***",
    "x\n-----BEGIN OPENSSH PRIVATE KEY-----": "x\n***",
    f"one line\n{PEM[40:]}\ny": "one line\n***\ny",
    f"{PEM[40:]}\r\ny {PEM}".replace("\n", "\r\n"): "***\r\r\ny ***",
    json.dumps({"key": f"{PEM}\n", "x": 1}): '{"key": "***\\n", "x": 1}',
    json.dumps({"key": PEM[40:], "x": 1}): '{"key": "***", "x": 1}',
    "  key: |\n" + "".join(f"    {line}\n" for line in PEM.splitlines()): "  key: |\n    ***\n",
    "\n".join(f"    {line}" for line in PEM.splitlines()[1:]): "    ***",
}


@pytest.mark.parametrize(("text", "shown"), SHAPES.items())
def test_shapes(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


PREFIXES = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), (string.ascii_letters + string.digits, 36)),
    "github_pat_": (string.ascii_letters + string.digits + "_", 82),
    "glpat-": (string.ascii_letters + string.digits + "_-", 20),
    "glrt-": (string.ascii_letters + string.digits + "_-", 20),
    "sk-": (string.ascii_letters + string.digits, 48),
    "sk-proj-": (string.ascii_letters + string.digits + "_-", 148),
    "sk-ant-api03-": (string.ascii_letters + string.digits + "_-", 95),
    "sk-or-v1-": ("0123456789abcdef", 64),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), ("0123456789", 12)),
    "AKIA": (string.ascii_uppercase + "234567", 16),
    "ASIA": (string.ascii_uppercase + "234567", 16),
    "npm_": (string.ascii_letters + string.digits, 36),
    "pypi-": (string.ascii_letters + string.digits + "_-", 160),
    "hf_": (string.ascii_letters, 34),
    "AIza": (string.ascii_letters + string.digits + "_-", 35),
    "dop_v1_": ("0123456789abcdef", 64),
    "shpat_": ("0123456789abcdef", 32),
    "rk_live_": (string.ascii_letters + string.digits, 24),
    "sk_live_": (string.ascii_letters + string.digits, 24),
    "gsk_": (string.ascii_letters + string.digits, 52),
    "ghs_123456_": (string.ascii_letters, 0),
    "": (string.ascii_letters, 0),
}
AROUND = [
    "{}",
    "x {} y",
    '"{}"',
    "'{}',",
    "token={};",
    "(see {})",
    "<{}>",
    "a\n{}\nb",
    "\\n{}\\n",
    "\x1b[32m{}\x1b[0m",
    "[{}]",
    "{}, {}",
    "/tmp/{}/x",
    "{}.",
    "é{}é",
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("around", AROUND)
def test_tokens_with_known_prefixes_vanish_wherever_they_stand(prefix: str, around: str) -> None:
    alphabet, length = PREFIXES[prefix]
    rng = random.Random(f"{prefix} {around}")
    for _ in range(20):
        body = "".join(rng.choices(alphabet, k=length)) if length else JWT
        shown = redact(around.replace("{}", prefix + body))
        assert not any(body[at : at + 8] in shown for at in range(len(body) - 7)), shown
        assert MASK in shown


# Twice is once


@property_test
@given(st.one_of(MESS, ANY_TEXT))
@example("https://u:p&key=a/b&c@host")
@example("mghp_a1B2a1B2a1B2a1B2a1B2a1B2=-----END PRIVATE KEY-----:")
@example("\\nlocalhost-----END PRIVATE KEY-----\\nA\\n-----END PRIVATE KEY-----\\n-----END PRIVATE KEY-----")
@example("AKIAABCDEFGH12345678AIzaAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
@example("AKIAABCDEFGH12345678Xsk-a1B2a1B2a1B2a1B2a1B2a1B2")
@example("Authorization: ghp_a1B2a1B2a1B2a1B2a1B2a1B2 = x")
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text, STARRED)
    assert redact(once, STARRED) == once
    clean = redact_text(text, STARRED)
    assert redact_text(clean, STARRED) == clean
    deep = redact_deep({"token": text, text: [text]}, STARRED)
    assert redact_deep(deep, STARRED) == deep


@property_test
@given(MESS)
def test_what_was_added_does_not_change_that(text: str) -> None:
    for value in ("a", "*", "b1*", "\\", "***", ":/"):
        add(value)
    once = redact(text)
    assert redact(once) == once


# Time and size

# fmt: off
HOSTILE = [
    "?", "=", "A=", "a:", "://", "http://a:", "http://a:b@", "a:b@", "?ab=", "?a_a_a_a_a_a_a_a_a_=", "&key=a", "ghp_",
    "gh", "sk-", " sk-a-b-", " sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "eyJ", " eyJaaaaaaaa.", "AKIA", "AIza",
    "xox", "pypi-", '"token":"', '"token":"abcdefgh",', "':", "-token:", "Authorization:", "Authorization ", "Cookie: ",
    'Authorization: a="', "cookie:a", "extraHeader", "extraHeader a:", "\\", '\\"', "-----BEGIN ", "\n", "MIIEabcdef\n",
    "-----BEGIN PRIVATE KEY-----\n-----END ", "a\n-----END PRIVATE KEY-----", "-----END PRIVATE KEY-----", "n\\", " ",
    "TOKEN=", "_KEY=aaaaaaaa", "a", "p%", "p@ss/w:rd?1&", "ab%2a%2A", "\\\\\\\\\\\\\\\\\\u0070", "p", "ß", "\ud800",
]
# fmt: on


def seconds(text: str, env: Mapping[str, str]) -> float:
    start = time.process_time()
    redact(text, env)
    return time.process_time() - start


@pytest.mark.parametrize(
    "start", ["", "sk-", "eyJ", "https://", "Authorization: ", "API_KEY=", "?", "-----BEGIN PRIVATE KEY-----"]
)
def test_four_times_the_text_takes_about_four_times_as_long(start: str) -> None:
    env = {"A_SECRET": SECRET, "B_TOKEN": "\\\\\\\\" * 3 + "\"'\\1", "C_TOKEN": "-ab-%2a*-1"}
    for unit in HOSTILE:
        small, large = (start + unit * (size // len(unit)) for size in (1 << 15, 1 << 17))
        seconds(small, env)
        ratio = min(seconds(large, env) / max(seconds(small, env), 0.004) for _ in range(3))
        assert ratio < 9, unit  # 16 if the time grew with the square
