"""What gh prints, taken apart, and why a call failed: pure functions."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca.tools.github.answers import Answer, Unreadable, parse_answer
from orca.tools.github.causes import advice, cause_of_answer, cause_of_words, was_not_sent
from orca.tools.github.checks import parse_check_run
from orca.tools.github.pull_requests import parse_pull_request
from orca.tools.github.records import Record

OUTPUT = (
    b'HTTP/2.0 200 OK\nContent-Type: application/json\r\nLink: <u?page=2>; rel="next", <u>; rel="last"\r\n\r\n[1]\n'
)


def test_an_answer_has_a_status_headers_and_a_body() -> None:
    answer = parse_answer(OUTPUT)
    assert answer is not None
    assert (answer.status, answer.headers["content-type"], answer.data) == (200, "application/json", [1])
    assert answer.has_next_page
    last = parse_answer(OUTPUT.replace(b'"next"', b'"prev"'))
    assert last is not None
    assert not last.has_next_page
    assert parse_answer(b"HTTP/1.1 204 No Content\n\r\n") == Answer(204, {}, b"")


@pytest.mark.parametrize(
    "output", [b"", b"{}", b"HTTP/2.0 200 OK", b"HTTP/2.0 200 OK\nA: b\r\n", b"\x1b[1mHTTP/2.0 200\n"]
)
def test_what_is_no_answer_is_none(output: bytes) -> None:
    assert parse_answer(output) is None


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(OUTPUT)))
def test_no_output_raises(noise: bytes, cut: int) -> None:
    for output in (noise, OUTPUT[:cut], OUTPUT[:cut] + noise, b"HTTP/2.0 500 X\n\r\n" + noise):
        answer = parse_answer(output)
        if answer is not None:
            assert isinstance(answer.words, str)
            assert isinstance(cause_of_answer(answer), str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(("head", "base", "number", "html_url", "title", "name", "status", "app", "output")), inner
        )
    ),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(JSON)
def test_a_value_of_another_shape_is_unreadable_and_nothing_else(value: object) -> None:
    for parse in (parse_pull_request, parse_check_run):
        with contextlib.suppress(Unreadable):
            parse(Record(value))


def answer(status: int, message: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, json.dumps({"message": message}).encode())


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (answer(403, "API rate limit exceeded for installation ID 1."), "rate-limit"),
        (answer(403, "You have exceeded a secondary rate limit."), "rate-limit"),
        (answer(403, "You have triggered an abuse detection mechanism."), "rate-limit"),
        (answer(200, "API rate limit exceeded"), "rate-limit"),
        (answer(403, "Forbidden", x_ratelimit_remaining="0"), "rate-limit"),
        (answer(403, "Forbidden", retry_after="3"), "rate-limit"),
        (answer(403, "Resource not accessible by personal access token"), "auth"),
        (answer(403, "Repository was archived so is read-only."), "refused"),
        (answer(401, "Requires authentication"), "auth"),
        (answer(404, "Not Found"), "unknown-ref"),
        (answer(410, "Issues are disabled for this repo"), "unknown-ref"),
        (answer(422, "No commit found for SHA: x"), "unknown-ref"),
        (answer(405, "Base branch was modified. Review and try the merge again."), "ref-conflict"),
        (answer(409, "Head branch was modified. Review and try the merge again."), "ref-conflict"),
        (answer(405, "Pull Request has merge conflicts"), "conflict"),
        (answer(405, "At least 1 approving review is required"), "refused"),
        (answer(409, "Git Repository is empty."), "unborn"),
        (answer(301, "Moved Permanently"), "unknown-remote"),
        (answer(503), "network"),
        (answer(418), "exit"),
    ],
)
def test_an_answer_has_a_cause(given: Answer, cause: str) -> None:
    assert cause_of_answer(given) == cause


@pytest.mark.parametrize(
    ("code", "words", "cause", "not_sent"),
    [
        (4, "To get started with GitHub CLI, please run:  gh auth login", "auth", True),
        (1, "gh: To use GitHub CLI in a GitHub Actions workflow, set the GH_TOKEN environment variable.", "auth", True),
        (1, "none of the git remotes ... please use `gh auth login`", "unknown-remote", True),
        (1, "no git remotes found", "unknown-remote", True),
        (1, "unable to find git executable in PATH; please install git before retrying", "not-found", True),
        (1, "failed to run git: fatal: not a git repository (or any of the parent", "not-a-repository", True),
        (1, "failed to run git: fatal: detected dubious ownership in repository", "dubious-ownership", True),
        (1, "error connecting to api.github.com", "network", True),
        (1, 'Post "https://api.github.com/x": dial tcp 1.2.3.4:443: connect: connection refused', "network", True),
        (1, 'Post "https://api.github.com/x": read: connection reset by peer', "network", False),
        (1, 'Post "https://api.github.com/x": unexpected EOF', "network", False),
        (1, "unknown flag: --include", "exit", False),
    ],
)
def test_words_of_gh_have_a_cause(code: int, words: str, cause: str, not_sent: bool) -> None:
    stderr = words.encode()
    assert cause_of_words(code, stderr) == cause
    assert was_not_sent(cause_of_words(code, stderr), stderr) is not_sent


def test_when_a_limit_ends() -> None:
    assert advice(answer(403, retry_after="57")) == "GitHub takes requests again in 57 s"
    assert advice(answer(403, x_ratelimit_remaining="0", x_ratelimit_reset="1")) == "GitHub takes requests again in 0 s"
    assert advice(answer(403, retry_after="soon", x_ratelimit_remaining="0", x_ratelimit_reset="x")) is None


def test_what_github_says_comes_with_its_errors() -> None:
    error = b'{"resource": "PullRequest", "field": "head", "code": "invalid"}'
    body = b'{"message": "Validation Failed", "errors": [' + error + b', "s", 3]}'
    assert Answer(422, {}, body).words == "Validation Failed\nPullRequest head invalid\ns"
