"""What redaction takes out by value, and what it leaves alone."""

from __future__ import annotations

import json
import os
import random
import string
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from error_strategies import property_test
from hypothesis import assume, given
from redaction_texts import ANY_TEXT, HARMLESS, HARMLESS_LINE, ORDINARY, PEM, PEM_LINES, SECRET, TOKEN, VALUES, forget

from orca.redaction import MASK, add, redact, redact_text


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)


# What stays


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text_stays_byte_for_byte(line: str) -> None:
    assert redact(line) == line
    assert redact(line, HARMLESS) == line


def test_ordinary_text_stays_as_a_whole() -> None:
    text = "\r\n".join(ORDINARY)
    assert redact(text, HARMLESS) == text


def test_harmless_variables_take_no_word_out_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HARMLESS.items():
        monkeypatch.setenv(name, value)
    assert redact(HARMLESS_LINE) == HARMLESS_LINE


# By value

SECRET_NAMES = """
TOKEN GITHUB_TOKEN github_token SECRET CLIENT_SECRET DB_PASSWORD MYSQL_PASSWD SSH_PASSPHRASE DB_PASS AZURE_PAT
CREDENTIAL AWS_CREDENTIALS REGISTRY_AUTH SESSION_COOKIE API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY APP_SECRET_KEY
PRIVATE_KEY SIGNING_KEY ENCRYPTION_KEY STORAGE_ACCOUNT_KEY DEPLOY_KEY SSH_KEY MASTER_KEY SESSION_KEY SECRET_SAUCE
TOKEN_1 API_KEY_2 GPG_PRIVATE_KEY_B64 SERVICE_CREDENTIALS_JSON TLS_PRIVATE_KEY_PEM npm_config__authToken apiKey
""".split()
PLAIN_NAMES = """
KEY PUBLIC_KEY SSH_PUBLIC_KEY CACHE_KEY SORT_KEY MAX_TOKENS SECRET_TOKENS TOKENIZERS_PARALLELISM TOKENIZERS_AUTH
PASSWORD_FILE SECRET_KEY_FILE SSH_AUTH_SOCK SECRET_SOCK SSH_ASKPASS SECRET_ASKPASS PWD OLDPWD COMPASS PATH KEYBOARD
AUTHOR GIT_AUTHOR_NAME XAUTHORITY SECRETARY PASS_MAX_DAYS TOKEN_URL AWS_ACCESS_KEY_ID MONKEY BROKEN_TOKENIZER
""".split()


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_last_word_of_a_name_says_secret(name: str) -> None:
    assert redact(f"a {TOKEN} b", {name: TOKEN}) == "a *** b"


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_other_names_hold_no_secret(name: str) -> None:
    assert redact(f"a {TOKEN} b", {name: TOKEN}) == f"a {TOKEN} b"


@pytest.mark.parametrize(
    "value",
    [
        "hunter2x",
        "aLongWordOfLetters",
        "123456789012",
        "correct horse battery",
        "/Bq7Wm2ZkX9rT4vB8nL1sD6fGhJ0pKc3yNaUeViO",  # base64 that begins as a path does
        "a-b-c-d-e",
        "pässwörd1",
        "  padded-value-1  ",
        "{not json, but a value 1}",
        "x" * 5000,
    ],
)
def test_values_that_are_secrets(value: str) -> None:
    assert redact(f"<{value.strip()}>", {"A_TOKEN": value}) in {"<***>", f"<{MASK * 5}>"}


@pytest.mark.parametrize(
    "value",
    [
        *("hunter2", "abcdefghijklmno", "12345678901", "", "        ", "********"),
        *("/run/secrets/token", "./secrets/token-1", "../x/token-1", "~/token-1"),
        *("C:\\keys\\token-1", "C:/keys/token-1", "file:///run/token-1"),
        *("{}", "[]", '{"user": "someone-1234"}', '{"token": "short"}'),
    ],
)
def test_values_that_are_short_or_words_or_numbers_or_paths_are_none(value: str) -> None:
    text = f"<{value}>"
    assert redact(text, {"A_TOKEN": value}) == text


def spellings(value: str) -> dict[str, str]:
    """The forms in which programs print a value."""
    percent = quote(value, safe="")
    return {
        "as it is": value,
        "percent": percent,
        "percent in lower case": percent.lower() if value.lower() == value else percent,
        "percent, slashes kept": quote(value),
        "percent twice": quote(percent, safe=""),
        "form": quote_plus(value),
        "as a URI component": quote(value, safe="!'()*"),
        "JSON": json.dumps(value)[1:-1],
        "JSON in JSON": json.dumps(json.dumps(value))[3:-3],
        "JSON, not ASCII": json.dumps(value, ensure_ascii=False)[1:-1],
        "JSON, slashes escaped": json.dumps(value)[1:-1].replace("/", "\\/"),
        "JSON, markup escaped": json.dumps(value)[1:-1].replace("&", "\\u0026").replace("<", "\\u003C"),
        "repr": repr(value)[1:-1],
        "ascii": ascii(value)[1:-1],
    }


@pytest.mark.parametrize(
    "value", [SECRET, TOKEN, "back\\slash\\\\1", "tab\tand 'quotes' \"1\"", "\U0001f600 smile 1", "a<b>c&d=1"]
)
def test_a_value_is_found_in_every_spelling(value: str) -> None:
    for form, spelled in spellings(value).items():
        assert redact(f"before {spelled} after", {"A_TOKEN": value}) == "before *** after", form


def test_a_value_of_bytes_that_are_no_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"caf\xe9-p\xe4ssword-1"
    monkeypatch.setitem(os.environb, b"A_TOKEN", raw)
    shown = [raw.decode("utf-8", how) for how in ("surrogateescape", "backslashreplace", "replace")]
    assert [redact(text) for text in (*shown, quote(raw))] == [MASK] * 4
    assert redact_text(raw) == MASK


@property_test
@given(VALUES, ANY_TEXT, ANY_TEXT)
def test_any_secret_value_vanishes_from_any_text(value: str, before: str, after: str) -> None:
    assume(not value.startswith(("{", "[")))
    for spelled in (value, json.dumps(value)[1:-1], ascii(value)[1:-1], quote(value, "", "utf-8", "surrogatepass")):
        assert spelled not in redact(before + spelled + after, {"A_TOKEN": value})


def test_the_environment_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{TOKEN} x"
    assert redact(text) == text
    monkeypatch.setenv("A_TOKEN", TOKEN)
    assert redact(text) == "*** x"
    assert redact(text, {}) == "*** x"  # what the child does not see, its output may still hold
    assert redact(f"{TOKEN} {SECRET}", {"B_TOKEN": SECRET}) == "*** ***"
    monkeypatch.delenv("A_TOKEN")
    assert redact(text) == text


def test_a_variable_that_is_taken_out_is_no_secret() -> None:
    env: Any = {"A_TOKEN": None, "B_TOKEN": TOKEN, 3: "x"}
    assert redact(f"None {TOKEN}", env) == "None ***"


def test_the_longest_value_goes_first() -> None:
    env = {"A_TOKEN": "abcdefg1", "B_TOKEN": "abcdefg1-and-more", "C_TOKEN": "and-more"}
    assert redact("abcdefg1-and-more abcdefg1 and-more", env) == "*** *** ***"


def test_each_long_line_of_a_value_is_a_secret() -> None:
    env = {"DEPLOY_KEY": PEM}
    for line in PEM_LINES[:2]:
        assert redact(f"x {line} y", env) == "x *** y"
    frame = ("-----BEGIN CERTIFICATE-----", "Proc-Type: 4,ENCRYPTED")
    for line in (*frame, PEM_LINES[2]):
        assert redact(f"x {line} y", {"DEPLOY_KEY": "\n".join((PEM, *frame))}) == f"x {line} y"


def test_a_short_line_goes_with_the_whole_value() -> None:
    value = "first line of it\nlast"
    for text in (value, json.dumps(value)[1:-1], quote(value)):
        assert redact(f"<{text}>", {"A_SECRET": value}) == "<***>"


@pytest.mark.parametrize("indent", [None, 2])
def test_in_a_json_value_the_members_with_secret_names_are_secrets(indent: int | None) -> None:
    account = {
        "type": "service-account-1",
        "private_key": PEM,
        "clientSecret": "s3cr3t-value",
        "nested": [{"api-key": {"current": "k3y-of-today", "n": 1}}, {"refresh_token": ["t0ken-in-list"]}],
    }
    env = {"SERVICE_CREDENTIALS": json.dumps(account, indent=indent)}
    for secret in (PEM_LINES[0], PEM_LINES[1], "s3cr3t-value", "k3y-of-today", "t0ken-in-list"):
        assert redact(f"x {secret} y", env) == "x *** y"
    for plain in ("service-account-1", '"type": "service-account-1",', "nested"):
        assert redact(f"x {plain} y", env) == f"x {plain} y"


def test_a_json_list_of_secrets_is_one() -> None:
    assert redact("x t0ken-one y", {"API_TOKEN": '["t0ken-one", "t0ken-two"]'}) == "x *** y"


def test_a_value_that_is_too_deep_to_be_json_is_a_plain_one() -> None:
    deep = "[" * 100_000
    assert redact("untouched", {"A_TOKEN": deep}) == "untouched"


def test_a_long_value_is_found_in_pieces() -> None:
    rng = random.Random(1)
    value = "".join(rng.choices(string.ascii_letters + string.digits + "+/=", k=100_000))
    shown = redact(f"<{value}> {quote(value)}", {"A_TOKEN": value})
    assert set(shown) == set("<*> ")
    assert len(shown) < 1000


def test_an_added_value_is_known_whatever_it_is() -> None:
    add("on")
    add("a b")
    add("")
    add("***")
    assert redact("one a b a%20b") == "***e *** ***"
    with pytest.raises(TypeError):
        add(b"bytes")  # type: ignore[arg-type]
    assert redact("one") == "***e"


class Counting(Mapping[str, str]):
    """An environment that counts what is read of it."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables
        self.read: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.read.append(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def test_the_values_are_derived_once_for_as_long_as_the_secrets_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    loads = json.loads

    def counted(text: str) -> Any:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", counted)
    first, second = json.dumps({"token": TOKEN}), json.dumps({"token": TOKEN[::-1]})
    env = Counting({"A_JSON": "x", "A_TOKEN": first, "LANG": "C"})
    for _ in range(3):
        assert redact(TOKEN, env) == MASK
    assert parsed == [first]
    assert set(env.read) == {"A_TOKEN"}
    assert redact(TOKEN, {"A_TOKEN": second}) == TOKEN
    assert parsed == [first, second]
