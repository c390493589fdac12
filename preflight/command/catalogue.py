"""Lists and explains the checks."""

from __future__ import annotations

import json

from preflight.findings import registry


def listing(form: str) -> str:
    """List all checks, in the order in which a job would meet them."""
    checks, bad = registry.load()
    if form == "json":
        plain = [
            {
                "id": one.id,
                "title": one.title,
                "severity": one.severity.word,
                "scope": one.scope.value,
                "over": [kind.__name__ for kind in one.over],
                "explanation": one.explanation,
            }
            for one in checks.values()
        ]
        return json.dumps(plain, indent=2)
    if form == "markdown":
        head = ["| check | finds | at most | to mend |", "|---|---|---|---|"]
        rows = [
            f"| `{one.id}` | {one.title} | {one.severity.word} | {one.scope.value} |"
            for one in checks.values()
        ]
        return "\n".join([*head, *rows])
    width = max(map(len, checks))
    lines = [f"{one.id:{width}}  {one.severity.word:7}  {one.title}" for one in checks.values()]
    lines += [f"{name:{width}}  broken   {reason}" for name, reason in bad]
    return "\n".join([*lines, "", "preflight explain CHECK-ID tells the whole story of one."])


def explanation(word: str) -> str:
    """Explain the check, or all the checks, that a word names.

    Raises:
        NoSuchCheckError: it names none.
    """
    checks, _ = registry.load()
    return "\n\n\n".join(
        f"{one.id}  ({one.severity.word} at most; mend the {one.scope.value})\n\n{one.explanation}"
        for one in map(checks.__getitem__, registry.matching(word, checks))
    )
