"""Addresses of remotes: as the configuration gives them, and with what is secret in them kept out of every argv."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orca.redaction import redact

# By this git names every remote and all that rewrites an address.
CONFIGURED: Final = (
    "config",
    "-z",
    "--get-regexp",
    r"^(remote\..*\.(url|pushurl|fetch)|url\..*\.(insteadof|pushinsteadof))$",
)

_USERINFO: Final = r"(?si)(https?://)([^/?#]*)@(.*)"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """An address: `bare` is without userinfo (of HTTP), `shown` without anything secret."""

    bare: str
    shown: str
    user: str | None = None
    password: str | None = None


def take_apart(url: str) -> Address:
    """Return the parts of an address, user and password decoded."""
    found = re.fullmatch(_USERINFO, url)
    if found is None:
        return Address(url, redact(url))
    bare = found[1] + found[3]
    user, colon, password = found[2].partition(":")
    return Address(bare, redact(bare), _decoded(user), _decoded(password) if colon else None)


def holds_secret(url: str) -> bool:
    """Return whether an address must not stand in an argv."""
    return "://" in url and redact(url) != url


class Shield:
    """What a git is given beside its argv: settings after the user's own, and the variables that they speak of."""

    def __init__(self) -> None:
        self._settings: list[tuple[str, str]] = []
        self._variables: dict[str, str] = {}

    def set(self, key: str, value: str) -> None:
        """Add a setting, which overrides those that the user has of this name."""
        self._settings.append((key, value))

    def hide(self, url: str, *, asked: str | None = None, push: bool = False) -> str:
        """Let git reach `url` where it is asked for another address; returns that one, which no secret is in.

        `asked` is an address of the configuration, `push` says that only pushes are meant. git shows the address that
        it ends up with to its own transport: so the userinfo goes by a credential helper that knows just this one.
        """
        address = take_apart(url)
        self.set(f"url.{address.bare}.{'pushInsteadOf' if push else 'insteadOf'}", asked or address.shown)
        # A query is no part of what credentials are looked up by.
        bare, query = re.split(r"[?#]", address.bare, maxsplit=1)[0], "?" in address.bare
        scope = "/".join(bare.split("/", 3)[:3]) if query else bare
        if address.user is not None and "\n" not in address.user + (address.password or ""):
            # Named so that redaction knows the values as secrets: either may be the token.
            number = len(self._variables)
            user, password = f"ORCA_GIT_USER_SECRET_{number}", f"ORCA_GIT_PASSWORD_{number}"
            self._variables[user] = address.user
            if address.password is None:
                self.set(f"credential.{scope}.username", address.user)
            else:
                self._variables[password] = address.password
                answer = f'printf "username=%s\\npassword=%s\\n" "${user}" "${password}"'
                self.set(f"credential.{scope}.helper", "")  # the user's helpers are not asked: the address says it all
                self.set(f"credential.{scope}.helper", f'!f() {{ test "$1" = get && {answer}; }}; f')
        return address.shown

    def over(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with the settings behind those that it has."""
        given = env.get("GIT_CONFIG_COUNT") or "0"
        if not self._settings or not given.isdecimal():  # a wrong count git finds itself
            return dict(env)
        laid = {**env, **self._variables, "GIT_CONFIG_COUNT": str(int(given) + len(self._settings))}
        for number, (key, value) in enumerate(self._settings, int(given)):
            laid |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return laid


class Remotes:
    """What the configuration says of remotes: read once, from the output of `CONFIGURED`."""

    def __init__(self, output: bytes) -> None:
        rows = (os.fsdecode(row).partition("\n") for row in output.split(b"\0") if row)
        self._rows = [(key, value) for key, _, value in rows]

    @property
    def names(self) -> list[str]:
        """The remotes that have an address, by name."""
        found = {key[len("remote.") : -len(".url")] for key, _ in self._rows if _is(key, "remote", "url")}
        return sorted(found)

    def refspecs(self, remote: str) -> list[tuple[str, str]]:
        """What is fetched from a remote by default: names there and here, `*` for a part that is the same."""
        pairs = (value.lstrip("+").partition(":") for value in self._values(remote, "fetch"))
        return [(source, local) for source, _, local in pairs if local]

    def shield(self, remote: str) -> Shield:
        """Return what keeps the secrets in the addresses of a remote out of the argv of git's own children."""
        shield = Shield()
        urls, push_urls = self._values(remote, "url"), self._values(remote, "pushurl")
        for rule, push, asked_for in (("insteadof", False, [*urls, *push_urls]), ("pushinsteadof", True, urls)):
            rules = self._rules(rule)
            for asked in asked_for:
                url = rewritten(asked, rules)
                if holds_secret(url) and not (push and url == asked) and "\n" not in url + asked:
                    shield.hide(url, asked=asked, push=push)
        return shield

    def _values(self, remote: str, name: str) -> list[str]:
        return [value for key, value in self._rows if key == f"remote.{remote}.{name}"]

    def _rules(self, rule: str) -> dict[str, str]:
        return {value: key[len("url.") : -len(rule) - 1] for key, value in self._rows if _is(key, "url", rule)}


def rewritten(url: str, rules: Mapping[str, str]) -> str:
    """Return the address that git makes of one: its longest beginning that has a rule is replaced."""
    longest = max((start for start in rules if url.startswith(start)), key=len, default=None)
    return url if longest is None else rules[longest] + url[len(longest) :]


def write_section(config: str, name: str, settings: Iterable[tuple[str, str]]) -> None:
    """Append a section `remote.<name>` to a configuration file as git does it: under its lock, whole or not at all.

    Raises `OSError`: `FileExistsError` where somebody holds the lock.
    """
    lines = "".join(f"\t{key} = {_quoted(value)}\n" for key, value in settings)
    section = os.fsencode(f"[remote {_quoted(name)}]\n{lines}")
    config = os.path.realpath(config)
    lock = f"{config}.lock"
    fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(fd, "wb") as new, open(config, "rb") as old:
            os.fchmod(fd, stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            text = old.read()
            new.write(text + (b"\n" if text and not text.endswith(b"\n") else b"") + section)
            new.flush()
            os.fsync(fd)
        os.replace(lock, config)
    except BaseException:
        os.unlink(lock)
        raise


def _decoded(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text, errors="surrogateescape")


def _is(key: str, section: str, name: str) -> bool:
    return key.startswith(f"{section}.") and key.endswith(f".{name}")


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
