"""The ten tags as values: their causes, constructors that take anything, the sentence, and what to do."""

import copy
import dataclasses
import inspect
import json
import pickle
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, cast, get_args

import pytest
from error_strategies import TAGS, errors, property_test
from hypothesis import given

import orca
import orca.errors
from orca import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    Diagnostic,
    FileSystemError,
    IoFailed,
    NothingToCommit,
    PushRejected,
    RefRejection,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    UnsupportedFeature,
    is_retryable,
    recovery,
    to_wire,
)
from orca.errors import (
    BackendCause,
    BackendTag,
    CommandCause,
    Effect,
    FileCause,
    PushCause,
    RuntimeError,
    Seam,
    Severity,
    advice,
    backend_failed,
    branch_already_exists,
    command_failed,
    file_system_error,
    io_failed,
    nothing_to_commit,
    push_rejected,
    structured_output_validation_failed,
    typecheck_failed,
    unsupported_feature,
)

# Each constructor with arguments that its types allow, and the class that it makes.
CONSTRUCTORS: dict[Callable[..., Any], tuple[type[Any], dict[str, Any]]] = {
    nothing_to_commit: (NothingToCommit, {}),
    branch_already_exists: (BranchAlreadyExists, {"branch": "main"}),
    push_rejected: (PushRejected, {"stderr": "no"}),
    command_failed: (CommandFailed, {"command": "make", "exit_code": 2, "stdout": "", "stderr": "no rule"}),
    structured_output_validation_failed: (StructuredOutputValidationFailed, {"issues": ["a: missing"], "raw": "{}"}),
    unsupported_feature: (UnsupportedFeature, {"feature": "x", "reason": "y"}),
    backend_failed: (BackendFailed, {"backend": "pi", "message": "no"}),
    typecheck_failed: (TypecheckFailed, {"stdout": "", "stderr": "", "exit_code": 1}),
    file_system_error: (FileSystemError, {"path": "a", "message": "no"}),
    io_failed: (IoFailed, {"seam": "sink", "kind": "file", "message": "no"}),
}
ALL = [make(**arguments) for make, (_, arguments) in CONSTRUCTORS.items()]
PARAMETERS = [(make, name) for make in CONSTRUCTORS for name in inspect.signature(make).parameters]

CLOSED_SETS: dict[Any, str] = {
    PushCause: """fetch-first non-fast-forward stale-lease already-exists hook-declined protected atomic checked-out
        deletion-denied shallow other""",
    CommandCause: """exit signal timeout cancelled not-found not-executable bad-format bad-interpreter bad-cwd
        bad-argument too-long refused checker-failed not-a-repository dubious-ownership identity-missing signing-failed
        hook-failed locked conflict dirty ignored-path unknown-path unknown-ref bad-ref-name ref-conflict
        unknown-remote no-upstream detached unborn auth network rate-limit other""",
    BackendCause: """not-installed auth rate-limit usage-limit overloaded network bad-model bad-request
        context-overflow max-turns budget permission session-not-found timeout stalled cancelled protocol crashed
        other""",
    FileCause: """not-found already-exists permission is-a-directory not-a-directory not-a-file outside-root symlink
        no-space read-only not-text too-large no-match ambiguous other""",
    Effect: "none unknown landed",
    Seam: "source sink tool",
    Severity: "error warning information",
    BackendTag: "claude codex opencode pi",
}


@pytest.mark.parametrize(("literal", "words"), CLOSED_SETS.items())
def test_closed_sets_hold_the_words_of_the_design(literal: Any, words: str) -> None:
    assert sorted(get_args(literal)) == sorted(words.split())


def test_there_are_ten_tags_and_each_has_one_constructor_named_after_it() -> None:
    assert len(TAGS) == 10
    assert {kind for kind, _ in CONSTRUCTORS.values()} == set(TAGS)
    for make, (kind, arguments) in CONSTRUCTORS.items():
        error = make(**arguments)
        assert type(error) is kind
        assert error.tag == kind.__name__
        assert make.__name__ == re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        assert isinstance(error, RuntimeError)
        assert all(getattr(error, name) == value for name, value in arguments.items() if name != "issues")


def test_a_constructor_takes_every_field_of_its_tag() -> None:
    for make, (kind, _) in CONSTRUCTORS.items():
        parameters = inspect.signature(make).parameters
        assert {f.name for f in dataclasses.fields(kind)} == {"tag", *parameters}
        for f in dataclasses.fields(kind):
            if f.name != "tag" and f.default is not dataclasses.MISSING:
                assert parameters[f.name].default == f.default


def test_a_wrong_call_of_a_constructor_is_misuse() -> None:
    with pytest.raises(TypeError):
        command_failed("make", 1, "", "", reason="none")  # type: ignore[call-arg]


class Unprintable:
    def __str__(self) -> str:
        raise ArithmeticError

    __repr__ = __str__


class Untouchable:
    """Such as a proxy to an object that is not there: not even its class can be asked for."""

    def __getattribute__(self, name: str) -> Any:
        raise ArithmeticError


class Exhausting:
    def __iter__(self) -> Iterator[str]:
        yield "one"
        raise ArithmeticError


class LyingText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise ArithmeticError


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(5_000):
        made = [made]
    return made


HOSTILE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "object": object,
    "number": lambda: 7,
    "huge number": lambda: 10**5000,
    "fraction": lambda: 1.5,
    "not a number": lambda: float("nan"),
    "signalling not a number": lambda: Decimal("sNaN"),
    "bytes": lambda: b"\xff\xfe\x00",
    "lone surrogate": lambda: "\ud800 \udcff",
    "control characters": lambda: "\x1b[31m\x00\r\n::error::\u2028##[error]\u202e",
    "megabyte": lambda: "x" * 1_000_000,
    "many": lambda: ["x" * 100] * 1_000,
    "ring": ring,
    "deep": deep,
    "set": lambda: {1, "two"},
    "generator": lambda: (word for word in ("a", "b")),
    "unprintable": Unprintable,
    "unprintables": lambda: [Unprintable()],
    "unprintable key": lambda: {Unprintable(): 1},
    "untouchable": Untouchable,
    "untouchables": lambda: [Untouchable()],
    "exhausting": Exhausting,
    "lying text": lambda: LyingText("text"),
    "class": lambda: Unprintable,
    "exception": lambda: ValueError("\ud800"),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_constructors_take_anything_and_what_they_make_can_be_shown_and_sent(hostile: Callable[[], Any]) -> None:
    for make, name in PARAMETERS:
        error = make(**(CONSTRUCTORS[make][1] | {name: hostile()}))
        assert error.tag == CONSTRUCTORS[make][0].__name__
        assert_plain_sentence(str(error))
        repr(error).encode("utf-8")
        json.dumps(to_wire(error), allow_nan=False).encode("utf-8")


def assert_plain_sentence(text: str) -> None:
    assert text
    assert len(text.splitlines()) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
    assert not text.lstrip().startswith(("::", "##["))
    assert len(text) < 16_000
    text.encode("utf-8")


@property_test
@given(errors())
def test_every_error_is_one_plain_sentence(error: RuntimeError) -> None:
    assert_plain_sentence(str(error))


def test_a_sentence_is_bounded_whatever_field_is_long() -> None:
    for kind in TAGS:
        make = next(make for make, (made, _) in CONSTRUCTORS.items() if made is kind)
        for f in dataclasses.fields(kind):
            for long in ("y" * 20_000, ("y" * 1_000,) * 100):
                if f.name != "tag":
                    assert_plain_sentence(str(make(**(CONSTRUCTORS[make][1] | {f.name: long}))))
    many = [RefRejection(local="l" * 1_000, remote="r" * 1_000, message="m" * 1_000)] * 100
    assert_plain_sentence(str(push_rejected("", refs=many)))
    found = [Diagnostic(path="p" * 20_000, message="m" * 20_000)]
    assert_plain_sentence(str(typecheck_failed("", "", 1, checker="c" * 20_000, diagnostics=found)))


def test_control_characters_of_a_program_are_shown_escaped() -> None:
    error = command_failed("x", 1, "", "\x1b]0;title\x07\u202eevil", cause="exit")
    assert r"\x1b]0;title\x07\u202eevil" in str(error)
    assert error.stderr == "\x1b]0;title\x07\u202eevil"


def test_every_cause_has_a_sentence_of_its_own() -> None:
    commands = [str(command_failed("x", 1, "", "", cause=cause)) for cause in get_args(CommandCause)]
    pushes = [str(push_rejected("", cause=cause)) for cause in get_args(PushCause)]
    backends = [str(backend_failed("pi", "", cause=cause)) for cause in get_args(BackendCause)]
    files = [str(file_system_error("a", "", cause=cause)) for cause in get_args(FileCause)]
    for sentences in (commands, pushes, backends, files):
        assert len(set(sentences)) == len(sentences)


def test_the_sentence_holds_what_a_person_needs() -> None:
    assert "feature/cart" in str(branch_already_exists("feature/cart"))
    assert "2 unstaged" in str(nothing_to_commit(unstaged=2, untracked=0))
    assert "exited with 3: last words" in str(command_failed("x", 3, "", "first\nlast words\n\n", cause="exit"))
    assert "an unknown status: said on stdout" in str(command_failed("x", None, "said on stdout", "\n", cause="exit"))
    assert "SIGKILL" in str(command_failed("x", None, "", "", cause="signal", signal="SIGKILL"))
    assert "a.txt, b.txt" in str(command_failed("git rebase", 1, "", "", cause="conflict", paths=("a.txt", "b.txt")))
    refused = RefRejection(local="main", remote="refs/heads/main", cause="protected", message="GH006: protected")
    rejected = str(push_rejected("", remote="origin", refs=[refused], landed=["refs/tags/v1"]))
    assert all(words in rejected for words in ("origin", "refs/heads/main", "GH006: protected", "refs/tags/v1"))
    found = [Diagnostic(path="w.py", severity="warning"), Diagnostic(path="a.py", line=7, message="bad type")]
    checked = str(typecheck_failed("", "", 1, checker="mypy", diagnostics=found))
    assert all(words in checked for words in ("mypy", "1 error", "a.py:7: bad type"))
    assert "tasks.0: missing" in str(structured_output_validation_failed(["tasks.0: missing"], None))


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.tag)
def test_errors_are_frozen_slotted_plain_data(error: RuntimeError) -> None:
    for f in dataclasses.fields(error):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(error, f.name, None)
    assert not hasattr(error, "__dict__")
    with pytest.raises(TypeError):
        cast("Any", type(error))("positional")


@property_test
@given(errors())
def test_errors_are_copied_pickled_and_hashed_by_value(error: RuntimeError) -> None:
    for same in (
        copy.copy(error),
        copy.deepcopy(error),
        pickle.loads(pickle.dumps(error)),
        dataclasses.replace(error),  # redacts what is redacted already: nothing may change
    ):
        assert type(same) is type(error)
        assert same == error
        assert hash(same) == hash(error)


@property_test
@given(errors())
def test_no_string_of_an_error_holds_a_lone_surrogate(error: RuntimeError) -> None:
    repr(error).encode("utf-8")
    json.dumps(dataclasses.asdict(error), default=str, ensure_ascii=False).encode("utf-8")


def test_a_secret_is_redacted_however_the_error_was_built() -> None:
    secret = "hunter2hunter2"
    url = f"https://user:{secret}@example.invalid/x.git"
    base = push_rejected("", refs=[RefRejection(local="a", remote=url, message=url)])
    for error in (
        command_failed(url, 1, url, url, signal=url, cwd=url, paths=[url]),
        CommandFailed(command=url, exit_code=1, stdout=url, stderr=url, paths=(url,)),
        dataclasses.replace(base, stderr=url, landed=(url,)),
        structured_output_validation_failed([url], {"deep": [{"er": url}]}),
        orca.parse_error({"_tag": "BranchAlreadyExists", "branch": url}),
        typecheck_failed("", "", 1, diagnostics=[Diagnostic(path="a", message=url)]),
    ):
        for shown in (str(error), repr(error), json.dumps(to_wire(error)), recovery(error)):
            assert secret not in shown


def test_words_outside_a_closed_set_become_its_open_one() -> None:
    error: Any = command_failed("x", 1, "", "", cause="gremlins", effect="maybe")  # type: ignore[arg-type]
    assert (error.cause, error.effect) == ("other", "unknown")
    ref: Any = RefRejection(local="a", remote="b", cause="gremlins")  # type: ignore[arg-type]
    assert ref.cause == "other"


def test_recovery_says_what_to_do_for_every_tag_and_more_for_some_causes() -> None:
    by_tag = {error.tag: recovery(error) for error in ALL}
    assert len(set(by_tag.values())) == 10
    assert all(text.endswith((".", "!")) and "\n" not in text for text in by_tag.values())
    causes: dict[str, Any] = {
        "PushRejected": PushCause,
        "CommandFailed": CommandCause,
        "BackendFailed": BackendCause,
        "FileSystemError": FileCause,
    }
    for (tag, cause), text in advice._RECOVERY_BY_CAUSE.items():
        assert cause in get_args(causes[tag]), "advice that no error can reach"
        kind = getattr(orca, tag)
        make = next(make for make, (made, _) in CONSTRUCTORS.items() if made is kind)
        error = make(**(CONSTRUCTORS[make][1] | {"cause": cause}))
        assert recovery(error) == text != by_tag[tag]


def test_what_may_help_to_try_again() -> None:
    retryable = {cause for cause in get_args(CommandCause) if is_retryable(command_failed("x", 1, "", "", cause=cause))}
    assert retryable == {"locked", "network", "rate-limit", "timeout"}
    for cause in get_args(BackendCause):
        assert is_retryable(backend_failed("pi", "", cause=cause, retryable=True))
        assert not is_retryable(backend_failed("pi", "", cause=cause, retryable=False))
    assert is_retryable(io_failed("tool", "http", "", retryable=True))
    assert not is_retryable(io_failed("tool", "http", ""))
    others = [error for error in ALL if not isinstance(error, (CommandFailed, BackendFailed, IoFailed))]
    assert len(others) == 7
    assert not any(is_retryable(error) for error in others)
    assert not any(is_retryable(push_rejected("", cause=cause)) for cause in get_args(PushCause))
    assert not any(is_retryable(file_system_error("a", "", cause=cause)) for cause in get_args(FileCause))
