"""Makes the splitter of a job's settings, with what is installed and what the user wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from preflight.ranks.divide import Splitter
from preflight.ranks.real_splits import FIX, of_accelerate, of_user
from preflight.ranks.rules import RULES, Rule, shards_or_samples
from preflight.settings.split import INSTALLED, PADDED, Steps, is_function
from preflight.users_code.named_function import named_function


def splitter_of(
    steps: Steps,
    names: Sequence[str],
    options: Mapping[str, Any],
    step: Callable[[str], AbstractContextManager[None]],
    *,
    shards: bool,
) -> tuple[Splitter, tuple[str, ...]]:
    """Make it, and say the versions of the libraries that divide.

    Raises:
        CannotLookError: a library is not installed, or the user's module raises.
        MistypedError: the user's module or function does not exist.
    """
    rules: dict[str, Rule] = {}
    versions: dict[str, None] = {}
    for word in dict.fromkeys(word for one in steps for word in one):
        if word in INSTALLED:
            with step("import accelerate"):
                version, rules[word] = of_accelerate(pads=word in PADDED)
            versions[version] = None
        elif is_function(word):
            function = named_function(word, options, step, FIX)
            rules[word] = of_user(word, function, names, options["root"])
        elif word == "datasets" and shards:
            rules[word] = shards_or_samples
        else:
            rules[word] = RULES[word]
    return Splitter(steps=steps, rules=rules), tuple(versions)
