"""Texts, values and strategies for the tests of redaction, and a process that knows no secret."""

from __future__ import annotations

import os

import pytest
from hypothesis import strategies as st

from orca.redaction import values as known

TOKEN = "q7Wm2ZkX9rT4vB8nL1sD6fGh"
SECRET = 'p@ss/w:rd?1&x "é'

PEM_LINES = (
    "MIIEpAIBAAKCAQEAsecretkeylineone0123456789abcdefghijklmnopqrstuv",
    "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
    "c2hvcnQ=",
)
PEM = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *PEM_LINES, "-----END RSA PRIVATE KEY-----"))

# Whose name or value a careless rule would take for a secret.
HARMLESS = {
    "TOKENIZERS_PARALLELISM": "true",
    "CI_TOKEN": "1",
    "DB_PASSWORD": "main",
    "KEYBOARD": "us",
    "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
    "SSH_ASKPASS": "/usr/lib/ssh/ssh-askpass",
    "GIT_ASKPASS": "changed-file",
    "AUTH": "up",
    "POSTGRES_PASSWORD": "postgres",
    "APP_SECRET_FILE": "/srv/app/secrets.txt",
    "GOOGLE_APPLICATION_CREDENTIALS": "/srv/app",
    "MAX_TOKENS": "file changed, postgres up",
    "CACHE_KEY": "main->main",
    "PUBLIC_KEY": "layout us, branch",
    "KEY": "branch main->main",
    "OLDPWD": "/srv/app",
    "PWD": "/srv/app",
    "SECRETARY": "branch main",
    "BUILD_PASS": "20240131",
    "LOGIN_TOKEN": "",
    "API_KEY": "~/keys/api",
    "COMPASS": "file changed",
}
HARMLESS_LINE = "error: main is true; 1 file changed, postgres up at /srv/app, layout us, branch main->main"

ORDINARY = """\
On branch main, your branch is up to date with 'origin/main'.
origin\tgit@github.com:org/repo.git (fetch)
origin  ssh://git@git.example.com:2222/org/repo.git (push)
origin  ssh://alice@host/srv/repo.git, sftp://bob@host/x, git+ssh://git@host/x
To https://git.example.com/org/repo.git
 ! [rejected]        main -> main (fetch first)
commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 (HEAD -> main, tag: v1.2.3)
Author: Alice Example <alice@example.com>
fatal: could not read Username for 'https://git.example.com': terminal prompts disabled
fatal: Authentication failed for 'https://git.example.com/org/repo.git/'
Permission denied (publickey,password).
npm warn: scikit: use sk-learn, sk-internationalization-2024-release-notes, task-runner-abcdefghijklmnop
see http://localhost:5173/@vite/client and https://registry.example.com/@scope/pkg
urls = ['http://localhost:3000','admin@example.com']
{url:'https://localhost:8443',mail:'a@b.example'}
hosts: http://a.example:80, bob@b.example; http://[::1]:8080/x@y
GET /search?q=token&page=2&sort_key=name&tokens=512&keys=a,b HTTP/1.1
if (a&key==b || c?key==d) return
password = getpass.getpass()
password: the one that you chose at sign-up
token: str | None = None
token = tokens[position2]
def f(authorization: str | None = None, cookie: str = Cookie(None)) -> None: ...
async def g(authorization: Optional[str] = Header(None)): ...
The Authorization header is missing; set the Cookie header.
error: Argument "authorization" to "f" has incompatible type "int"; expected "str"
export GITHUB_TOKEN=$(gh auth token)
GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN_2024 }}
API_KEY=os.environ2["API_KEY"]
SECRET_KEY=get_secret2024(name)
SSH_KEY=~/.ssh/id_ed25519_2024
DEPLOY_KEY=/run/secrets/deploy_key_2024
DB_PASSWORD=main CI_TOKEN=1 TOKENIZERS_PARALLELISM=true
"cookie": "^0.7.2", "token": "string", "password": "required", "secret": null, "apiKey": ""
"nextToken": "{{ token1234 }}", 'token': 'a sentence about 1 token'
"integrity": "sha512-3vUO2m9c7mnZ3nqdcmCJ8Ry8SqLLeQ0t0dF2XvZBzIV7oJ8X2m0aPZ1s8Ahcvb8l0C3jY7f1d1Q=="
key: value, cache-key: linux-py311-abc12345
from hf_hub_download import hf_transfer; npm_config_registry, npm_lifecycle_event
ghp_ and github_pat_ are prefixes, AKIA too, and so is eyJ; gho_example, glpat-xxxx
File "/srv/app/auth/token.py", line 12, in refresh_token
AssertionError: assert 'abc123def456' == 'abc123def457'
-----BEGIN CERTIFICATE-----
MIIBszCCAVmgAwIBAgIUOYf6m3c1s6b7S0eJrQ4y
-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
-----END PUBLIC KEY-----
The private key lies between BEGIN PRIVATE KEY and END PRIVATE KEY.
\x1b[32mok\x1b[0m 100% | 3 * 4 ** 5 | café \U0001f600 | C:\\keys\\token | \\n \\u0026 \\"quoted\\"
""".splitlines()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's environment is known any more, and nothing that another test has added."""
    for name in list(os.environ):
        if not name.startswith("PYTEST"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(known, "_added", {})


# No star: what a star does is said by the test of idempotence.
VALUES = st.text(st.characters(exclude_characters="*", exclude_categories=()), min_size=8, max_size=40).filter(
    lambda value: value == value.strip() and len(value.splitlines()) == 1 and known._is_secret_value(value)
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


PIECES = [
    *r"""
:// http https:// HTTP:// ssh:// u : @ / ? & &amp; \u0026 # key= token= access_token= sig= a b1 = == " ' ` \ \n Basic
Authorization authorization: AUTHORIZATION Proxy-Authorization: username="u" extraHeader extraheader= XTRAHEADER Bearer
Cookie: cookie *** * ** ghp_ AAAAAAAAAAAAAAAAAAAA a1B2a1B2a1B2a1B2a1B2a1B2 ghp_a1B2a1B2a1B2a1B2a1B2a1B2 github_pat_ xtra
glpat- sk- sk-ant- xoxb- AKIA ABCDEFGH12345678 npm_ hf_ pypi- AIza dop_v1_ abcdef0123456789abcdef shpat_ eyJ
eyJhbGciOiJI . eyJzdWIi 1234567 abcdefgh ( [ { $ ~ | API_TOKEN API_TOKEN= _KEY= SECRET "token" -token: --token= , ; < >
) _authToken= ] } hunter2hunter2 hunter2 p@ss/w:rd?1&x p%40ss%2fw%3Ard%3F1%26x ab***cd12345678 cd12345678
starred12 a*b*c dce9 8080 n r t u0026 - _ + % %40 | é 0x MIIEabcdefghijklmnop qrstuvwxyz0123456789 6key= \":
""".split(),
    *(" ", "\n", "\r\n", "\t", "\ud800", "\udce9", "\x1b[32m", '"token": "', "str | None"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
]
# How a process is found out that takes a mask for a secret: values with stars in them and at their edges.
STARRED = {
    "A_TOKEN": "hunter2hunter2",
    "B_SECRET": "p@ss/w:rd?1&x",
    "C_PASSWORD": "ab***cd12345678",
    "D_PASS": "*starred12*",
    "E_AUTH": "back\\slash\"quote'1",
    "F_SECRET": "*a*b*c*d*1",
    "G_PAT": f"{PEM}\nMIIEabcdefghijklmnop\nqrstuvwxyz0123456789\n",
}
MESS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
