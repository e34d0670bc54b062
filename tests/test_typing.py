"""What users write against orca's types: mypy and pyright accept what is right and refuse what forgets something.

In `typing/refuse` a line that must be refused says so: `# error`, by both checkers; `# error: mypy`, by that one alone;
`# error: settings`, with the settings that the README names; `# error: mypy settings`, by mypy with them;
`# error: mypy, settings`, by mypy, and by both with them. No other line may be refused.
"""

import re
from pathlib import Path

import pytest
from type_checkers import CHECKERS, Strictness

SNIPPETS = Path(__file__).parent / "typing"
ACCEPT = sorted((SNIPPETS / "accept").glob("*.py"))
REFUSE = sorted((SNIPPETS / "refuse").glob("*.py"))

MARK = re.compile(r"# error(?:: ([a-z ,]+))?$")


def must_be_refused(checker: str, strictness: Strictness) -> set[str]:
    return {
        f"{path.name}:{number}"
        for path in REFUSE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (mark := MARK.search(line))
        and any(set(way.split()) <= {checker, strictness} for way in (mark[1] or "").split(","))
    }


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("strictness", ["default", "settings"])
def test_snippets_are_accepted_or_refused_line_by_line(
    checker: str, strictness: Strictness, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("types")
    refused = CHECKERS[checker]([*ACCEPT, *REFUSE], strictness, scratch)
    by_line = {f"{path.name}:{line}": message for (path, line), message in refused.items()}
    expected = must_be_refused(checker, strictness)
    assert {line: by_line[line] for line in by_line.keys() - expected} == {}, "refused without a mark"
    assert expected - by_line.keys() == set(), "marked and accepted"
