"""Names that a caller gives, and names that git gives back: any bytes, taken for nothing but a name."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from outcomes import changed, failed, state
from worlds.repository import NEUTRAL, commit, git, run_git, sha, write

from orca.errors import RuntimeError
from orca.results import Result, or_raise
from orca.tools import GitTool, Pathspec
from orca.tools.repository.names import Refused, is_branch_name, is_revision, literal_path, pathspecs

EVERY_TIME_THE_SAME = settings(derandomize=True, deadline=None)

NAMES: tuple[bytes, ...] = (
    b"caf\xc3\xa9.txt",
    b"bad\xffname",
    b"\xff\xfe",
    b"line\nbreak",
    b"\n",
    b'quo"te',
    b"apo'strophe",
    b"back\\slash",
    b"tab\tstop",
    b"carriage\rreturn",
    b" lead",
    b"trail ",
    b" ",
    b"-A",
    b"--force",
    b"-",
    b"--",
    b"--pathspec-from-file=x",
    b":colon",
    b":(glob)x",
    b":!x",
    b":",
    b"::",
    b"*.txt",
    b"[ab]",
    b"?",
    b"!x",
    b"#comment",
    b"r -> s",
    b"a => b",
    b"{a => b}",
    b"@",
    b"HEAD",
    b"~",
    b"$HOME",
    b"`id`",
    b"\x01\x1b[31m\x7f",
    b"\xe2\x80\xa8separator",
    b"nfc \xc3\xa9 nfd e\xcc\x81",
    b"x" * 255,
    b"folder \xff/-\n/:x",
    b"a.txt.lock",
    b"con",
    b"...",
)


@pytest.fixture
def named(repo: Path) -> Path:
    """A repository with an untracked file of each name, and files that patterns or options could take in."""
    for name in NAMES:
        path = Path(os.fsdecode(os.path.join(os.fsencode(repo), name)))
        write(path, name)
    write(repo / "decoy.txt", "matches *.txt\n")
    write(repo / "b", "matches [ab] and ?\n")
    write(repo / "x", "matches the pathspecs with magic\n")
    return repo


def test_every_name_is_listed_staged_and_committed_as_it_is(named: Path) -> None:
    tool = GitTool(named)
    listed = [entry.path for entry in or_raise(tool.status()).untracked]
    decoys = {b"decoy.txt", b"b", b"x"}
    assert {os.fsencode(path) for path in listed} == {*NAMES, *decoys}
    for path in (path for path in listed if os.fsencode(path) not in decoys):
        assert or_raise(tool.add(path)) == (path,)
    assert set(git(named, "diff", "--cached", "--name-only", "-z").split(b"\0")) - {b""} == set(NAMES)
    made = or_raise(tool.commit("named"))
    assert {os.fsencode(file.path) for file in made.files} == changed(named) == set(NAMES)
    assert {os.fsencode(entry.path) for entry in or_raise(tool.status()).untracked} == decoys


def test_every_name_is_committed_alone_by_add_and_by_only(named: Path) -> None:
    tool = GitTool(named)
    for number, name in enumerate(NAMES):
        path = os.fsdecode(name)
        made = or_raise(tool.commit("x", add=[path]) if number % 2 else tool.commit("x", only=[path]))
        assert [file.path for file in made.files] == [path]
        assert changed(named) == {name}
        if number % 4 == 0:
            assert [entry.sha for entry in or_raise(tool.log(paths=[path]))] == [made.sha]


def test_every_name_is_unstaged_alone_and_its_deletion_committed(named: Path) -> None:
    tool = GitTool(named)
    or_raise(tool.add(all=True))
    for name in NAMES:
        or_raise(tool.unstage(os.fsdecode(name)))
    assert set(git(named, "diff", "--cached", "--name-only", "-z").split(b"\0")) == {b"decoy.txt", b"b", b"x", b""}
    or_raise(tool.commit("all", add="all"))
    for name in NAMES:
        os.unlink(os.path.join(os.fsencode(named), name))
    made = or_raise(tool.commit("deleted", add=[os.fsdecode(name) for name in NAMES]))
    assert {(os.fsencode(file.path), file.kind) for file in made.files} == {(name, "deleted") for name in NAMES}
    assert or_raise(tool.status()).clean


def test_a_rename_is_a_pair_of_names_whatever_they_are(repo: Path) -> None:
    tool = GitTool(repo)
    old = "a.txt"
    for name in (b"r -> s", b"line\nbreak -> \xff", b"tab\t{a => b}", b"-M"):
        new = os.fsdecode(name)
        os.rename(os.path.join(repo, old), os.path.join(repo, new))
        or_raise(tool.add(old, new))
        (entry,) = or_raise(tool.status()).staged
        assert (entry.path, entry.old_path, entry.index) == (new, old, "R")
        (file,) = or_raise(tool.commit("moved")).files
        assert (file.path, file.old_path, file.kind) == (new, old, "renamed")
        old = new


def test_paths_of_a_failure_are_text_and_paths_of_a_result_keep_their_bytes(named: Path) -> None:
    write(named / ".git/info/exclude", "*name\n")
    error = failed(GitTool(named).add("bad\udcffname"))
    assert (error.cause, error.paths) == ("ignored-path", ("bad\\udcffname",))


# Branches

BRANCHES = ("käse", "a\u2028b", "x\u00a0", "\u0085", "bad\udcff", "a.b", "a/b/c", "$(id)", "'", '"', "#1", "&|;", "%00")


def test_branches_of_every_name(repo: Path) -> None:
    tool = GitTool(repo)
    for name in BRANCHES:
        assert or_raise(tool.create_branch(name)).name == name
        assert or_raise(tool.current_branch()) == or_raise(tool.status()).branch == name
        assert or_raise(tool.head()) == or_raise(tool.resolve(name)) == sha(repo)
        assert or_raise(tool.commit("x", allow_empty=True)).branch == name
    assert {branch.name for branch in or_raise(tool.branches())} == {*BRANCHES, "main"}
    or_raise(tool.switch("main"))
    for name in BRANCHES:
        tip = sha(repo, os.fsencode(f"refs/heads/{name}").decode("utf-8", "surrogateescape"))
        assert or_raise(tool.delete_branch(name, force=True)) == tip
    assert [branch.name for branch in or_raise(tool.branches())] == ["main"]


def funny(names: list[bytes]) -> list[bool]:
    """Of each name for a branch, whether git calls `refs/heads/<name>` funny: all of them asked in one process."""
    zero = b"0" * 40
    capabilities = b"\0report-status delete-refs"
    lines = [b"%s %s refs/heads/%s" % (b"1" * 40, zero, name) for name in names]
    lines[0] += capabilities
    pushed = b"".join(b"%04x%s" % (len(line) + 4, line) for line in lines) + b"0000"
    with tempfile.TemporaryDirectory() as bare:
        git(Path(bare), "init", "--quiet", "--bare")
        args = ("git", "-c", "receive.denyDeletes=false", "receive-pack", bare)
        done = subprocess.run(args, input=pushed, capture_output=True, check=False, env=dict(NEUTRAL))
    answer = done.stdout[done.stdout.index(b"unpack ok\n") :]
    found = {}
    at = len(b"unpack ok\n")
    while (size := int(answer[at : at + 4], 16)) > 4:
        line = answer[at + 4 : at + size].removesuffix(b"\n")
        found[line.split(b" ", 1)[1].removesuffix(b" funny refname")] = line.endswith(b" funny refname")
        at += size
    return [found[b"refs/heads/" + name] for name in names]


PIECES = st.sampled_from(
    [
        *(b"a", b"/", b".", b"..", b"@", b"{", b"@{", b".lock", b"-", b"~", b"^", b":", b"?", b"*", b"[", b"\\", b" "),
        *(b"\x7f", b"\x01", b"\t", b"\xc3\xa9", b"\xff", b"HEAD", b"refs", b"heads", b"!", b"#", b"'", b'"', b"lock"),
        *(b"//", b"/."),
    ]
)
SPELLINGS = st.one_of(st.lists(PIECES, min_size=1, max_size=6).map(b"".join), st.binary(min_size=1, max_size=6))


@settings(EVERY_TIME_THE_SAME, max_examples=12)
@given(st.lists(SPELLINGS.filter(lambda name: b"\0" not in name), min_size=200, max_size=400, unique=True))
def test_a_name_is_for_a_branch_exactly_when_git_says_so(names: list[bytes]) -> None:
    # A name ends where the report's line ends: what holds a line break is looked at below.
    names = [name for name in names if b"\n" not in name and b" funny refname" not in name]
    for name, is_funny in zip(names, funny(names), strict=True):
        wanted = not is_funny and not name.startswith(b"-") and name not in (b"@", b"HEAD")
        assert is_branch_name(os.fsdecode(name)) == wanted, name


def test_the_names_that_git_forbids_for_a_branch_only(repo: Path) -> None:
    for name in ("HEAD", "-x", "--all", "-", "", "a\nb", "a b", "@{-1}", "a@{b", "main", "a", "é", "a.lock", ".a"):
        plain = run_git(repo, "check-ref-format", "--branch", name)
        assert is_branch_name(name) == (plain.returncode == 0 and plain.stdout.decode() == f"{name}\n"), name
    assert not any(map(is_branch_name, ("a\0b", "\ud800", "@")))  # git would take "@" for HEAD


BAD_BRANCHES = ("", "-x", "--help", "a b", "a..b", "a~1", "HEAD", "@{-1}", "-", "a.lock", "a\nb", "a\0b", "\ud800")


@pytest.mark.parametrize("name", BAD_BRANCHES)
def test_a_bad_name_for_a_branch_never_reaches_git(name: str, repo: Path) -> None:
    before = state(repo)
    tool = GitTool(repo)
    calls = [tool.create_branch(name), tool.create_branch(name, switch=False), tool.switch(name)]
    for result in (*calls, tool.delete_branch(name), tool.delete_branch(name, force=True)):
        assert (failed(result).cause, failed(result).effect) == ("bad-ref-name", "none")
    assert state(repo) == before


# Options in the place of names

OPTIONS = (
    *("--output={out}", "-o{out}", "--exec=touch {out}", "--upload-pack=touch {out};", "--receive-pack=touch {out};"),
    *("-c", "--help", "--all", "-f", "--force", "--orphan", "--no-index", "--stdin", "-h", "--", "--end-of-options"),
    "--output={out}\nHEAD",
)

Call = Callable[[GitTool, str], Result[object, RuntimeError]]
PLACES: Mapping[str, Call] = {
    "resolve": lambda tool, text: tool.resolve(text),
    "log rev": lambda tool, text: tool.log(rev=text),
    "switch": lambda tool, text: tool.switch(text),
    "create_branch": lambda tool, text: tool.create_branch(text),
    "create_branch start": lambda tool, text: tool.create_branch("new", start=text),
    "create_branch start without switch": lambda tool, text: tool.create_branch("new", start=text, switch=False),
    "delete_branch": lambda tool, text: tool.delete_branch(text, force=True),
    "commit author": lambda tool, text: tool.commit("x", author=text),
    "commit trailer": lambda tool, text: tool.commit("x", trailers=[text]),
    "add": lambda tool, text: tool.add(text),
    "add pattern": lambda tool, text: tool.add(Pathspec(text)),
    "commit add": lambda tool, text: tool.commit("x", add=[text]),
    "commit only": lambda tool, text: tool.commit("x", only=[text]),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_option_in_the_place_of_a_name_is_refused_or_only_a_name(place: str, repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    before = state(repo)
    for option in OPTIONS:
        error = failed(PLACES[place](GitTool(repo), option.format(out=repo.parent / "out")))
        assert error.cause in ("bad-ref-name", "bad-argument", "unknown-path", "refused"), option
        assert error.effect == "none"
        assert os.listdir(repo.parent) == ["repo"]
    assert state(repo) == before


def test_an_option_in_the_place_of_a_message_or_a_key_is_only_that(repo: Path) -> None:
    for option in OPTIONS:
        text = option.format(out=repo.parent / "out")
        made = or_raise(GitTool(repo).commit(text, allow_empty=True))
        assert made.subject == text.replace("\n", " ")
        assert failed(GitTool(repo).commit("x", allow_empty=True, sign=text)).cause == "signing-failed"
        assert os.listdir(repo.parent) == ["repo"]


def test_options_that_are_files_and_branches_on_disk(repo: Path) -> None:
    """What the injections would do if they got through, and that what is called like them can be listed."""
    ref = write(repo / ".git/refs/heads/--output=x", f"{sha(repo)}\n")
    tool = GitTool(repo)
    assert [branch.name for branch in or_raise(tool.branches())] == ["--output=x", "main"]
    assert failed(tool.switch("--output=x")).cause == "bad-ref-name"
    assert failed(tool.delete_branch("--output=x")).cause == "bad-ref-name"
    assert or_raise(tool.resolve("refs/heads/--output=x")) == sha(repo)
    run_git(repo, "log", "--output=x")
    assert (repo / "x").exists()
    assert ref.exists()


# Paths


PARTS = st.sampled_from(["a", "b", "..", ".", "", "é", "\udcff", "-x", ":x", "*", "a b"])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


@settings(EVERY_TIME_THE_SAME)
@given(PATHS)
@example("a/../../a")
@example("..")
def test_a_path_is_inside_or_refused(path: str) -> None:
    wanted = os.path.normpath(os.path.join("/top", path))
    try:
        (spec,) = pathspecs([path], "/top")
    except Refused:
        assert not path or not f"{wanted}/".startswith("/top/")
        return
    found = literal_path(spec)
    assert found is not None
    assert os.path.normpath(os.path.join("/top", found)) == wanted
    assert not found.startswith(("/", "../"))
    assert spec == ":(top)" if found == "" else spec == f":(top,literal){found}"


@settings(EVERY_TIME_THE_SAME)
@given(PATHS.filter(bool))
def test_only_what_the_caller_calls_a_pathspec_has_magic(path: str) -> None:
    assert pathspecs([Pathspec(path)], "/top") == [path]
    assert literal_path(Pathspec(f":(top,literal){path}")) is None
    assert repr(Pathspec(path)) == f"Pathspec({path!r})"


def test_a_revision_is_one_and_no_option() -> None:
    assert all(map(is_revision, ("HEAD", "main~2^3", ":/text", "HEAD:path", "a..b", "@{u}", "ü")))
    assert not any(map(is_revision, ("", "-1", "--all", "^main", "a\nb", "a\0b", "\ud800")))


def test_a_branch_and_a_file_of_one_name_are_not_mixed_up(repo: Path) -> None:
    git(repo, "branch", "same")
    commit(repo, "same")
    write(repo / "same", "changed\n")
    tool = GitTool(repo)
    assert [entry.subject for entry in or_raise(tool.log(rev="same"))] == ["seed"]
    assert len(or_raise(tool.log(paths=["same"]))) == 1
    assert failed(tool.switch("same")).cause == "dirty"
    assert (repo / "same").read_text() == "changed\n"
