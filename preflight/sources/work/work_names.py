"""Names by which training is told from what only prepares it, where code cannot be looked into."""

from __future__ import annotations

import ast
import re

from preflight.syntax.running import last_name

# A loop over one of these starts workers. Not `loaders`: that is a list of them.
_LOADER = re.compile(r"(^|_)(data_?loader|loader|dl)$", re.IGNORECASE)

# These load something else, and looping over them starts nothing.
OTHER_LOADER = re.compile(
    r"(^|_)(config|cfg|plugin|template|ya?ml|json|module|class|file|resource|spec|extension|env"
    r"|checkpoint|ckpt|weights|model|entry_?points?|settings|source|up|down|off)_?loaders?$",
    re.IGNORECASE,
)

# `loaders["train"]` and `dataloaders[phase]` are loaders.
LOADERS = re.compile(r"(^|_)(data_?loaders|loaders|dls)$", re.IGNORECASE)

LOADER_CLASSES = frozenset({"DataLoader", "WebLoader", "StatefulDataLoader", "FastDataLoader"})

# `.step()` of these is training; of an environment, a profiler or a tracker it is not.
_STEPPED = re.compile(
    r"(^|_)(optim\w*|opt\w?|sched\w*|lr_scheduler|(grad_)?scaler|model_engine)$", re.IGNORECASE
)

_TRAINER = re.compile(r"((^|_)(trainer|solver|runner)|Trainer|Runner)$")
_LEARNER = re.compile(r"((^|_)(learner|learn)|Learner)$")
_FITS = frozenset({"fit", "train", "fit_one_cycle", "fine_tune"})
_RUNS = frozenset({"validate", "test", "predict", "evaluate", "run"})
_RUN_BY = re.compile(r"((^|_)trainer|Trainer)$")

# Own functions of these names train, whatever they hold.
TRAINS = re.compile(
    r"^_?((async_?|a|real_?|inner_?)?main(_?(worker|fun|func|loop|process))?|entry(_?point)?"
    r"|train|pre_?train|fine_?tune"
    r"|(run|start|do|launch|begin|execute)_(train|training|pre_?training|fine_?tuning|experiment)"
    r"|train(ing)?_(loop|model|network|net|epochs?|one_epoch|fn|func|gan|vae|lora|agent|policy)"
    r"|(run|do)_(one_)?epochs?|train_and_\w+)$"
)

# These may hand something over instead: only where nobody takes what they give.
_PERHAPS = re.compile(
    r"^_?(run|fit|launch|(run|start|launch)_\w*(train\w*|job|experiment)|fit_(model|one_cycle)"
    r"|(train|fit)_step)$"
)

# In a loop these are the training step.
_STEPS = re.compile(r"^_?((train|training|optimi[sz]er?|update)_?)?(step|iteration|epoch|batch)$")

# Own classes that learn something of the data and train no model of the job's.
PREPARES = re.compile(
    r"scale|token|vocab|encod|normali|transform|whiten|pca|k_?means|cluster|quanti[sz]|calibrat"
    r"|bpe|stat|standardi|imput|bins?$|binari|vectori",
    re.IGNORECASE,
)

# What is called so holds data, whatever made it.
DATA = re.compile(r"data|(^|_)ds$|set$|split|reader|samples|images|files|paths", re.IGNORECASE)


def is_loader_name(name: str) -> bool:
    """Whether a name is that of a loader of batches."""
    return bool(_LOADER.search(name)) and not OTHER_LOADER.search(name)


def is_running_name(name: str, *, in_loop: bool) -> bool:
    """Whether a function of this name runs something where nobody takes what it gives."""
    return bool(_PERHAPS.match(name)) or (in_loop and bool(_STEPS.match(name)))


def called_method(call: ast.Call) -> str | None:
    """Say what work a method is by its name and its holder's, as a predicate; None where none."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return None
    method, value = function.attr, function.value
    holder = last_name(value.func) if isinstance(value, ast.Call) else last_name(value)
    if method in {"backward", "manual_backward"}:
        return "runs a backward pass"
    if method == "step" and _STEPPED.search(holder):
        return "takes an optimizer step"
    given = {one.arg for one in call.keywords}
    if method in _FITS and (_TRAINER.search(holder) or given & {"epochs", "max_epochs"}):
        return "trains"
    if method in _FITS - {"train"} and _LEARNER.search(holder):
        return "trains"
    if method == "fit_one_cycle" or (method == "learn" and "total_timesteps" in given):
        return "trains"
    arguments = [*call.args, *(one.value for one in call.keywords)]
    if method == "fit" and any(map(_is_loader, arguments)):
        return "trains"
    if method in _RUNS and _RUN_BY.search(holder):
        return f"runs {holder}.{method}()"
    return None


def _is_loader(node: ast.expr) -> bool:
    made = last_name(node.func) if isinstance(node, ast.Call) else ""
    return is_loader_name(last_name(node)) or made in LOADER_CLASSES


def short_name(node: ast.expr) -> str:
    """Give the last word of what is called or handed over."""
    return last_name(node) or (short_name(node.func) if isinstance(node, ast.Call) else "it")
