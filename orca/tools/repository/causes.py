"""Why a git command failed: one table from what git says under the C locale to a cause.

What plumbing can answer is asked there, by the operations; this table is for what git tells in words alone.
"""

from __future__ import annotations

import re
from typing import Final

from orca.errors import CommandCause

_CAUSES: Final[tuple[tuple[bytes, CommandCause], ...]] = (
    (rb"detected dubious ownership", "dubious-ownership"),
    (rb"not a git repository|must be run in a work tree", "not-a-repository"),
    (
        (
            rb"tell me who you are|empty ident name|no (?:email|name) was given|unable to auto-detect|"
            rb"auto-detection is disabled|consists only of disallowed characters"
        ),
        "identity-missing",
    ),
    (rb"failed to sign|gpg\.ssh\.|user\.signingkey|signing failed|Couldn't load public key", "signing-failed"),
    (
        rb"cannot lock ref '[^']*': '[^']*' exists|(?:exists|conflicts); cannot create|reference name conflict",
        "ref-conflict",
    ),
    (
        (
            rb"cannot lock ref .*(?:Not a directory|Is a directory|but expected |reference already exists|"
            rb"unable to resolve reference|there are still refs under)"
        ),
        "ref-conflict",
    ),
    # Only where the lock is there: that it cannot be made (a full disk, no permission) no waiting will change.
    (rb"\.lock': File exists|could not lock config file .*: File exists", "locked"),
    (
        rb"aborted by (?:the reference-transaction )?hook|The pre-rebase hook refused|^error: '[a-z-]+' hook failed",
        "hook-failed",
    ),
    (rb"paths are ignored", "ignored-path"),
    (
        rb"pathspec (?s:.*) did not match any file|is outside repository|beyond a symbolic link|is in submodule",
        "unknown-path",
    ),
    (
        (
            rb"would be overwritten|[Cc]ommit your changes or stash|You have (?:unstaged|uncommitted) changes|"
            rb"contains (?:modified|uncommitted)|index contains uncommitted|[Cc]annot (?:rebase|pull)|"
            rb"would lose untracked files|not uptodate\. Cannot merge"
        ),
        "dirty",
    ),
    (
        (
            rb"unmerged files|unresolved conflict|needs merge|is not possible because you have unmerged|partial commit|"
            rb"cannot switch branch while|You are in the middle of a"
        ),
        "conflict",
    ),
    (rb"No such remote", "unknown-remote"),
    (
        (
            rb"Permission denied \(|Authentication failed|could not read (?:Username|Password)|returned error: 40[137]|"
            rb"Host key verification failed|terminal prompts disabled|HTTP Basic: Access denied|Invalid credentials"
        ),
        "auth",
    ),
    (
        (
            rb"does not appear to be a git repository|[Rr]epository '.*' (?:not found|does not exist)|"
            rb"returned error: 404|not valid: is this a git repository|^ERROR: Repository not found"
        ),
        "unknown-remote",
    ),
    (
        (
            rb"couldn't find remote ref|remote ref does not exist|Remote branch .* not found|unknown revision|"
            rb"bad revision|Needed a single revision|not a valid object name|invalid reference|not a commit|"
            rb"does not match any|branch '.*' not found|no such branch|reference is not a tree|bad object|"
            rb"Not a valid|a branch is expected"
        ),
        "unknown-ref",
    ),
    (rb"not a valid (?:branch|ref|tag) ?name|invalid refspec|is not a valid name", "bad-ref-name"),
    (
        (
            rb"Could not resolve|Failed to connect|Couldn't connect|Connection (?:refused|reset|timed out|closed)|"
            rb"Network is unreachable|No route to host|unable to access|hung up|early EOF|RPC failed|unable to look up|"
            rb"Could not read from remote|unexpected disconnect|transport '.*' not allowed|unable to connect"
        ),
        "network",
    ),
)
_OF_THE_REMOTE: Final = rb"(?m)^remote: .*$"


def cause_of(stderr: bytes) -> CommandCause:
    """Return the first cause whose words git used; `exit` where it used none of them.

    What a remote says for itself is no word of git's.
    """
    said = re.sub(_OF_THE_REMOTE, b"", stderr)
    for pattern, cause in _CAUSES:
        if re.search(pattern, said, re.MULTILINE):  # compiled, and kept, when something fails for the first time
            return cause
    return "exit"
