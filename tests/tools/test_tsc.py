"""Type checks by the real tsc, of the two majors that print differently; stand-ins where it must misbehave."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import hostile_display, typescript
from worlds.repository import script
from worlds.typecheckers import found_errors, not_checked, project, put, report
from worlds.typescript import VERSIONS, Package

from orca.errors import CommandFailed, Diagnostic
from orca.tools import TypecheckTool
from orca.tools.typecheckers.tsc import parse_tsc
from orca.tools.typecheckers.tsconfig import parse_jsonc, projects

GOOD = "export const total: number = 1;\n"
BAD = 'export const total: number = "";\n'
FAST = {"types": [], "lib": ["es5"], "skipLibCheck": True}
PLAIN = json.dumps({"compilerOptions": {**FAST, "strict": True}})
COMPOSITE = json.dumps({"compilerOptions": {**FAST, "composite": True}})
SOLUTION = '{"files": [], "references": [{"path": "./app"}, {"path": "./node/tsconfig.node.json"}]}'
BOTH = pytest.mark.parametrize("package", VERSIONS)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", typescript.search_path())
    return project(tmp_path, monkeypatch)


def everything(root: Path) -> dict[str, bytes]:
    """What is in the project, but for the program."""
    files = [path for path in root.rglob("*") if path.is_file() and "node_modules" not in path.parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


# What a run that took place says.


@BOTH
def test_code_without_errors_is_a_report(root: Path, package: Package) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": GOOD, "shop/price.ts": GOOD, "tsconfig.json": PLAIN})
    said = report(TypecheckTool(root).run())
    assert (said.checker, said.version, said.files) == ("tsc", VERSIONS[package], 2)
    assert (said.diagnostics, said.stdout, said.stderr) == ((), "", "")


@BOTH
def test_an_error_is_data_with_its_place_in_utf_16(root: Path, package: Package) -> None:
    typescript.install(root, package)
    nested = 'export const cart: { price: { net: number } } = { price: { net: "" } } as { price: { net: string } };\n'
    put(root, {"cart.ts": f'const s = "ä𝄞"; {BAD}', "nested.ts": nested, "tsconfig.json": PLAIN})
    error = found_errors(TypecheckTool(root).run())
    assert (error.checker, error.exit_code in (1, 2), error.stderr) == ("tsc", True, "")
    first, second = error.diagnostics
    place = (first.path, first.line, first.column, first.severity, first.code)
    assert place == ("cart.ts", 1, 31, "error", "TS2322")
    assert first.message == "Type 'string' is not assignable to type 'number'."
    assert second.message.splitlines()[1:] == [
        "  The types of 'price.net' are incompatible between these types.",
        "    Type 'string' is not assignable to type 'number'.",
    ]
    assert error.stdout.splitlines()[0] == f"cart.ts(1,31): error TS2322: {first.message}"
    assert str(root) not in error.stdout


def test_a_syntax_error_is_an_error_in_the_code(root: Path) -> None:
    typescript.install(root)
    put(root, {"cart.ts": "function total(:\n", "tsconfig.json": PLAIN})
    error = found_errors(TypecheckTool(root).run())
    assert {(found.path, found.severity) for found in error.diagnostics} == {("cart.ts", "error")}


def test_a_syntax_error_in_json_that_the_code_imports_is_in_the_code(root: Path) -> None:
    typescript.install(root)
    put(root, {"cart.ts": 'import prices from "./prices.json";\nexport { prices };\n', "prices.json": "{"})
    put(root, {"tsconfig.json": json.dumps({"compilerOptions": {**FAST, "resolveJsonModule": True}})})
    assert {found.path for found in found_errors(TypecheckTool(root).run()).diagnostics} == {"prices.json"}


# What could not be checked.


@BOTH
@pytest.mark.parametrize(
    ("config", "code"),
    [
        pytest.param("{", "TS1005", id="not JSON"),
        pytest.param('{"compilerOptions": {"bogus": true}}', "TS5023", id="an unknown option"),
        pytest.param('{"extends": "./gone.json"}', "TS5083", id="a base that is not there"),
        pytest.param('{"include": ["gone"]}', "TS18003", id="nothing to check"),
        pytest.param('{"files": ["gone.ts"]}', "TS6053", id="a file that is not there"),
        pytest.param('{"compilerOptions": {"types": ["gone"]}}', "TS2688", id="types that are not installed"),
    ],
)
def test_what_is_wrong_in_the_configuration_is_no_error_in_the_code(
    root: Path, package: Package, config: str, code: str
) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": BAD, "tsconfig.json": config})
    error = not_checked(TypecheckTool(root).run())
    assert (error.cause, error.exit_code in (1, 2), error.effect) == ("checker-failed", True, "unknown")
    assert code in error.stdout


@pytest.mark.parametrize(
    "paths", [["gone.ts"], ["cart.ts", "gone.ts"], ["readme"], ["other.ts"], ["empty"], ["../x.ts"]]
)
def test_a_path_that_the_project_does_not_have_is_not_checked(root: Path, paths: list[str]) -> None:
    typescript.install(root)
    config = json.dumps({"compilerOptions": FAST, "files": ["cart.ts"]})
    put(root, {"cart.ts": GOOD, "other.ts": BAD, "readme": "", "empty/readme": "", "tsconfig.json": config})
    error = not_checked(TypecheckTool(root).run(*paths))
    assert error.cause == "checker-failed"
    assert Path(paths[-1]).name in error.stderr
    assert "not a file of the project" in error.stderr


def test_no_configuration_and_no_paths(root: Path) -> None:
    typescript.install(root)
    put(root, {"cart.ts": BAD})
    error = not_checked(TypecheckTool(root).run(checker="tsc"))
    assert error.cause == "checker-failed"
    assert str(root / "tsconfig.json") in error.stdout


def test_tsc_that_is_not_installed(root: Path) -> None:
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    error = not_checked(TypecheckTool(root).run())
    assert (error.command, error.cause, error.effect) == ("tsc", "checker-failed", "none")
    assert str(root / "node_modules/.bin") in error.stderr


def test_a_node_that_is_not_installed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typescript.install(root)
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    monkeypatch.setattr("sys.executable", str(tmp_path / "own/bin/python"))
    (tmp_path / "path").mkdir()
    (tmp_path / "path/env").symlink_to("/usr/bin/env")
    error = not_checked(TypecheckTool(root, env={"PATH": str(tmp_path / "path")}).run())
    assert (error.cause, error.exit_code) == ("checker-failed", 127)


ERROR_LINE = "cart.ts(1,1): error TS1: no"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("exit 0", id="nothing checked"),
        pytest.param(f"echo '{ERROR_LINE}'; exit 2", id="no end"),
        pytest.param(f"echo '{ERROR_LINE}'; echo $PWD/cart.ts; exit 134", id="a crash after the end"),
        pytest.param("echo $PWD/cart.ts; exit 1", id="a failure without an error"),
        pytest.param("echo $PWD/node_modules/typescript/lib/lib.d.ts", id="nothing but libraries"),
    ],
)
def test_tsc_that_did_not_come_to_its_end_has_failed(root: Path, body: str) -> None:
    script(root / "node_modules/.bin/tsc", body)
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    assert not_checked(TypecheckTool(root).run()).cause == "checker-failed"


def test_errors_beside_noise_of_a_wrapper_are_errors(root: Path) -> None:
    body = f"echo note >&2; echo; echo '> tsc'; echo '{ERROR_LINE}'; echo '  more'; echo $PWD/cart.ts; exit 2"
    script(root / "node_modules/.bin/tsc", body)
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    (found,) = found_errors(TypecheckTool(root).run()).diagnostics
    assert (found.path, found.message) == ("cart.ts", "no\n  more")


def test_all_runs_are_inside_one_deadline(root: Path) -> None:
    script(root / "node_modules/.bin/tsc", 'case "$*" in *app*) echo $PWD/app/a.ts;; *) sleep 1000;; esac')
    put(root, {"tsconfig.json": SOLUTION, "app/tsconfig.json": PLAIN, "node/tsconfig.node.json": PLAIN})
    error = not_checked(TypecheckTool(root).run(timeout=0.5))
    assert (error.cause, error.exit_code) == ("timeout", None)


# What is checked.


@BOTH
@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([], {"cart.ts", "shop/price.ts", "shop/sub/tax.ts"}),
        (["."], {"cart.ts", "shop/price.ts", "shop/sub/tax.ts"}),
        (["shop"], {"shop/price.ts", "shop/sub/tax.ts"}),
        (["shop/sub/", "cart.ts"], {"cart.ts", "shop/sub/tax.ts"}),
        (["good.ts"], set()),
    ],
)
def test_paths_choose_from_what_the_project_says(
    root: Path, package: Package, paths: list[str], found: set[str]
) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": BAD, "shop/price.ts": BAD, "shop/sub/tax.ts": BAD, "good.ts": GOOD, "tsconfig.json": PLAIN})
    result = TypecheckTool(root).run(*paths)
    if found:
        assert {each.path for each in found_errors(result).diagnostics} == found
    else:
        assert (report(result).diagnostics, report(result).files) == ((), 1)


def test_under_a_configuration_further_up_only_the_root_is_checked(root: Path) -> None:
    typescript.install(root)
    put(root, {"bad.ts": BAD, "part/worse.ts": BAD, "good/cart.ts": GOOD, "tsconfig.json": PLAIN})
    error = found_errors(TypecheckTool(root / "part").run())
    assert {found.path for found in error.diagnostics} == {"worse.ts"}
    assert report(TypecheckTool(root / "good").run()).files == 1


@BOTH
def test_without_a_configuration_the_files_that_are_named(root: Path, package: Package) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": BAD, "-x.ts": BAD, "@y.ts": BAD, "z.ts": BAD})
    error = found_errors(TypecheckTool(root).run("cart.ts", "-x.ts", "@y.ts", checker="tsc"))
    assert {found.path for found in error.diagnostics} == {"cart.ts", "-x.ts", "@y.ts"}


@BOTH
def test_names_of_every_kind(root: Path, package: Package) -> None:
    typescript.install(root, package)
    odd = ["-x.ts", "@y.ts", "a b.ts", "ö𝄞.ts", "glob[*].ts", "(group)/page (1,2).ts", "it's.ts"]
    put(root, dict.fromkeys(odd, BAD))
    put(root, {"tsconfig.json": PLAIN})
    error = found_errors(TypecheckTool(root).run(*odd))
    assert sorted(found.path for found in error.diagnostics) == sorted(odd)
    assert {(found.line, found.column) for found in error.diagnostics} == {(1, 14)}


@pytest.mark.parametrize("package", VERSIONS)
def test_a_name_that_is_not_text_is_a_failure_and_no_exception(root: Path, package: Package) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    with open(os.path.join(os.fsencode(root), b"n\xff.ts"), "w") as file:
        file.write(BAD)
    assert not_checked(TypecheckTool(root).run(os.fsdecode(b"n\xff.ts"))).cause == "checker-failed"


def test_paths_are_relative_to_the_root_also_through_a_link(root: Path, tmp_path: Path) -> None:
    typescript.install(root)
    put(
        root,
        {"cart.ts": BAD, "tsconfig.json": json.dumps({"compilerOptions": FAST, "include": ["*", "../outside.ts"]})},
    )
    put(tmp_path, {"outside.ts": BAD})
    link = tmp_path / "link"
    link.symlink_to(root)
    error = found_errors(TypecheckTool(link).run())
    assert {found.path for found in error.diagnostics} == {"cart.ts", "../outside.ts"}
    inside = found_errors(TypecheckTool(link).run(link / "cart.ts"))
    assert {found.path for found in inside.diagnostics} == {"cart.ts"}


# Projects that reference others.


@BOTH
def test_a_solution_stands_for_what_it_references(root: Path, package: Package) -> None:
    typescript.install(root, package)
    put(root, {"tsconfig.json": f"// all of it\n{SOLUTION}", "app/tsconfig.json": COMPOSITE, "app/cart.ts": BAD})
    put(root, {"node/tsconfig.node.json": COMPOSITE, "node/config.ts": BAD, "stray.ts": BAD})
    error = found_errors(TypecheckTool(root).run())
    assert [found.path for found in error.diagnostics] == ["app/cart.ts", "node/config.ts"]
    assert error.stdout.count("TS2322") == 2
    only = found_errors(TypecheckTool(root).run("node"))
    assert [found.path for found in only.diagnostics] == ["node/config.ts"]
    put(root, {"app/cart.ts": GOOD, "node/config.ts": GOOD})
    assert report(TypecheckTool(root).run()).files == 2


def test_one_project_of_a_solution_that_cannot_be_checked_is_enough(root: Path) -> None:
    typescript.install(root)
    put(root, {"tsconfig.json": SOLUTION, "app/tsconfig.json": COMPOSITE, "app/cart.ts": BAD})
    error = not_checked(TypecheckTool(root).run())
    assert error.cause == "checker-failed"
    assert "tsconfig.node.json" in error.stdout
    assert "app/cart.ts(1,14)" in error.stdout


@BOTH
def test_what_a_reference_built_is_needed_and_said_so(root: Path, package: Package) -> None:
    typescript.install(root, package)
    app = json.dumps({"compilerOptions": {**FAST, "composite": True}, "references": [{"path": "../core"}]})
    put(root, {"core/tsconfig.json": COMPOSITE, "core/index.ts": 'export const name: string = "";\n'})
    put(root, {"app/tsconfig.json": app, "app/cart.ts": 'import { name } from "../core/index";\nexport { name };\n'})
    error = not_checked(TypecheckTool(root / "app").run("cart.ts", checker="tsc"))
    assert error.cause == "checker-failed"
    assert "TS6305" in error.stdout


def test_a_solution_of_nothing_is_not_checked(root: Path) -> None:
    typescript.install(root)
    put(root, {"tsconfig.json": '{"files": [], "references": [{"path": "part"}]}', "cart.ts": BAD})
    put(root, {"part/tsconfig.json": '{"files": [], "references": [{"path": ".."}]}'})
    assert not_checked(TypecheckTool(root).run()).cause == "checker-failed"


def test_which_projects_a_configuration_stands_for(root: Path) -> None:
    reference = '"references": [{"path": "./%s"}]'
    put(root, {"tsconfig.json": f'\ufeff{{"files": [], {reference % "a"},}}', "a/tsconfig.json": "{}"})
    top, first, second = (str(root / name / "tsconfig.json") for name in ("", "a", "a/b"))
    assert projects(top) == (first,)
    put(
        root, {"a/tsconfig.json": f"{{{reference % 'b'}}}", "a/b/tsconfig.json": f'{{"files": [], {reference % ".."}}}'}
    )
    assert projects(top) == (first,)
    put(root, {"a/b/tsconfig.json": f'{{"files": [], "include": ["*"], {reference % ".."}}}'})
    assert projects(top) == (first, second)
    assert projects(first) == (first,)
    for broken in ("{", "[]", '{"files": [], "references": 1}', '{"files": [], "references": [1, {"path": 2}]}', "\0"):
        put(root, {"tsconfig.json": broken})
        assert projects(top) == (top,)
    assert projects(str(root / "gone.json")) == (str(root / "gone.json"),)


# The caller's machine, and the project's.

WRITES: dict[str, Mapping[str, object]] = {
    "outputs": {"outDir": "out", "declaration": True, "sourceMap": True},
    "build information": {"composite": True, "tsBuildInfoFile": "out/info"},
    "its own build information": {"incremental": True},
    "declarations only": {"emitDeclarationOnly": True, "declaration": True},
    "a trace": {"generateTrace": "trace"},
}


@BOTH
@pytest.mark.parametrize("options", WRITES.values(), ids=WRITES)
def test_nothing_is_written(root: Path, package: Package, options: Mapping[str, object]) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": GOOD, "tsconfig.json": json.dumps({"compilerOptions": {**FAST, **options}})})
    before = everything(root)
    report(TypecheckTool(root).run())
    assert everything(root) == before
    assert not Path("/dev/null").is_file()


@BOTH
def test_display_settings_and_language_change_nothing(
    root: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    typescript.install(root, package)
    put(root, {"cart.ts": BAD, "tsconfig.json": PLAIN})
    neutral = found_errors(TypecheckTool(root).run())
    for variable, value in {**hostile_display.ENVIRONMENT, "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"}.items():
        monkeypatch.setenv(variable, value)
    shown = ("pretty", "listFiles", "explainFiles", "extendedDiagnostics", "traceResolution", "noErrorTruncation")
    options = {**FAST, "strict": True, **dict.fromkeys(shown, True)}
    put(root, {"tsconfig.json": json.dumps({"compilerOptions": options})})
    error = found_errors(TypecheckTool(root).run())
    assert error.diagnostics == neutral.diagnostics
    assert "\x1b" not in error.stdout + error.stderr


def test_the_projects_tsc_beats_others_also_from_further_up(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    put(root, {"part/tsconfig.json": "{}"})
    places = [root / "part/node_modules/.bin", root / "node_modules/.bin", tmp_path / "path"]
    for place in places:
        script(place / "tsc", "exit 9")
    for place in places:
        error = TypecheckTool(root / "part").run().failure()
        assert isinstance(error, CommandFailed)
        assert shlex.split(error.command)[0] == str(place / "tsc")
        (place / "tsc").unlink()


@pytest.mark.parametrize("wrapper", [True, False])
def test_the_version_is_the_packages(root: Path, wrapper: bool) -> None:
    package = root / "node_modules/typescript"
    put(root, {"node_modules/typescript/package.json": '{"name": "typescript", "version": "5.0.4"}'})
    put(root, {"cart.ts": GOOD, "tsconfig.json": PLAIN})
    script(package / "bin/tsc", "echo $PWD/cart.ts")
    program = root / "node_modules/.bin/tsc"
    if wrapper:
        script(program, f"exec {package}/bin/tsc")
    else:
        program.parent.mkdir()
        program.symlink_to(package / "bin/tsc")
    assert report(TypecheckTool(root).run()).version == "5.0.4"
    (package / "package.json").write_text("{")
    assert report(TypecheckTool(root).run()).version is None


# Parsers.

ROOTS = ("/srv/shop", "/data/shop")
words = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))
names = st.from_regex(r"[\w.@-][\w .()@-]*", fullmatch=True).filter(lambda name: not name.startswith("./"))
entries = st.tuples(
    names, st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**5), words, st.lists(words, max_size=3)
)


@settings(deadline=None)
@given(st.lists(entries), st.lists(names), st.sampled_from(["", *(f"{root}/" for root in ROOTS)]))
def test_output_gives_back_what_was_written(
    written: list[tuple[str, int, int, int, str, list[str]]], listed: list[str], above: str
) -> None:
    lines: list[str] = []
    for path, line, column, code, message, more in written:
        lines.append(f"{above}{path}({line},{column}): error TS{code}: {message}")
        lines += [f"  {each}" for each in more]
    files = [f"/srv/shop/{name}" for name in listed]
    output = parse_tsc("".join(f"{line}\n" for line in [*lines, *files]).encode(), ROOTS)
    assert output.files == tuple(files)
    assert output.text.decode() == "".join(f"{line}\n" for line in lines)
    assert output.diagnostics == tuple(
        Diagnostic(
            path=path, line=line, column=column, code=f"TS{code}", message="\n".join([said, *(f"  {m}" for m in more)])
        )
        for path, line, column, code, said, more in written
    )


@settings(deadline=None)
@given(
    st.binary()
    | st.text().map(str.encode)
    | st.lists(st.sampled_from([b"a(1,2): error TS1: x\n", b"/a\n", b"  b\n", b"error TS2: \r\n"])).map(b"".join)
)
def test_the_parser_takes_whatever_is_printed(stdout: bytes) -> None:
    output = parse_tsc(stdout, ROOTS)
    assert len(output.text) + sum(len(os.fsencode(file)) for file in output.files) <= len(stdout)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values, st.sampled_from([None, 2]))
def test_json_is_json_with_comments(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert parse_jsonc(f"// one\n/* two\n // */{text}/**/ // three") == value


def test_comments_and_last_commas() -> None:
    text = '{"a": ["//", "/*", ",]", "\\",}",], /* , */ // ]\n "b": {"c": 1, // last\n },}'
    assert parse_jsonc(text) == {"a": ["//", "/*", ",]", '",}'], "b": {"c": 1}}
