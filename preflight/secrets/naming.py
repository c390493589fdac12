"""Tells which names say that their value is a secret, and which values are none whatever the name.

A job is full of keys and tokens that are no secrets: `num_tokens`, `pad_token`, `image_key`.
"""

from __future__ import annotations

import enum
import functools
import re


class Says(enum.IntEnum):
    """How much a name says."""

    NOTHING = 0
    PERHAPS = 1
    """A key or a token of which there are harmless ones: the value has to look random."""

    SECRET = 2


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET = _set(
    """auth authorization bearer cookie cookies cred credential credentials creds dsn passcode
    passphrase passwd password passwords passwort pwd secret secrets"""
)
_WITHIN = re.compile(
    r"(?:access|api|auth|private)key|credential|passphrase|passw(?:or)?d|secret(?!ar)"
)
"""In a word that is run together, whatever stands before or behind it: `CREDENTIALSJSON`."""

_AT_ITS_END = ("dsn", "token")

_WRITTEN_AS = re.compile(
    r"(?:_?(?:b64|base64|hex|json|pem|ya?ml)|_raw|_str|_value)$", re.IGNORECASE
)
"""At the end of a name: how it is written (`KEY_B64`)."""

# Before `key`, with which they name a secret: what it is for, and who gives it out.
_OF_A_KEY = _set(
    """access account admin aes api app application auth client consumer crypto decrypt decryption
    deploy deployment ecdsa encryption fernet gpg hmac jwt license master pgp private rsa secret
    service session shared signing sse ssh ssl storage subscription tls vault anthropic aws azure
    civitai clearml comet gcp github gitlab google hf huggingface kaggle minio mlflow neptune openai
    replicate roboflow runpod stripe wandb"""
)

_PERHAPS_OF_A_KEY = _set("ec enc encrypt my s server sign signature user")
"""Run together with `key`: one, if a machine drew the value (`SIGNKEY`); others are of the data."""

_WHICH = _set("backup dev live main new old primary prod production secondary staging test")
"""At the end of a name: which of several (`ApiKeyProd`)."""

_LOGS_IN = _set("admin auth db ftp http ldap login mongo mysql pg proxy redis root smtp sql user")
"""Before `pass`: who logs in with it, and where."""

_OF_DATA = _set(
    """annotation audio batch cache caption class column config context data dataset dict dtype
    feature field group image img index input item join label map mask metric model monitor name
    next optimizer output param partition prev primary prompt query record row sample sort state
    tar target tensor text value video"""
)
"""Before `key`: it names something of the data, and no service."""

# Beside `token`, with which they name something of a model or of its data.
_OF_A_MODEL = _set(
    """added additional audio batch begin bos class cls concept context end eos extra first image
    img init initializer input instance last learnable mask max min modifier n new newline next num
    number output pad patch per placeholder prev previous prompt query register sep space special
    src start stop style subject subtoken target text tgt time total train trigger unique unk video
    vision word"""
)

# At the end of a name: it tells of the secret, and its value is none.
_ABOUT = _set(
    """age backend class column count dim dir dropout embed embedding embeddings endpoint error
    errors exception expires expiry field file filename fn folder format func function home host id
    ids idx index len length level lifetime limit method min mode name names num number pad padding
    parallelism path pattern pos position protocol provider rate ratio region scheme server size
    sock socket timeout ttl type types uri url user username warning weight"""
)

# The shell's own names for its folders.
_FOLDERS = frozenset({"PWD", "OLDPWD"})


@functools.lru_cache(maxsize=4_096)
def says(name: str) -> Says:
    """Tell what the name of a variable, a keyword or an option says of its value."""
    words = [word.lower() for word in _WORDS.findall(_WRITTEN_AS.sub("", name))]
    while words and (words[-1].isdigit() or (len(words) > 1 and words[-1] in _WHICH)):
        words.pop()
    if not words or name in _FOLDERS:
        return Says.NOTHING
    if words[-3:] == ["access", "key", "id"] or words[-1:] == ["accesskeyid"]:
        return Says.SECRET
    if words[-1] in _ABOUT:
        return Says.NOTHING
    if not _SECRET.isdisjoint(words):
        return Says.SECRET
    if words[-1] in {"token", "tokens"}:
        is_one = words[-1] == "token" or (is_variable(name) and len(words) > 1)
        return Says.SECRET if is_one and not _of_a_model(words) else Says.PERHAPS
    at_an_end = any(word.endswith(_AT_ITS_END) for word in words) and not _of_a_model(words)
    if at_an_end or any(map(_WITHIN.search, words)):
        return Says.SECRET
    return _of_a_key(words, is_written_large=is_variable(name))


def _of_a_key(words: list[str], *, is_written_large: bool) -> Says:
    """Tell what a key to something says (`ssh_key`, `SIGNINGKEY`, `sse_c_key`), and a pass."""
    last, before = words[-1], words[-2:-1]
    if last == "pass" and not _LOGS_IN.isdisjoint(words):
        return Says.SECRET
    if last in {"key", "pass", "pat"} and is_written_large:
        return Says.SECRET
    stem = last.removesuffix("s")
    if stem.endswith("key"):
        of = before if stem == "key" else [stem.removesuffix("key")]
        if not _OF_A_KEY.isdisjoint(of) or (last == "key" and "sse" in words):
            return Says.SECRET
        if stem != "key" and not _PERHAPS_OF_A_KEY.isdisjoint(of):
            return Says.PERHAPS
    return Says.PERHAPS if last in {"key", "pass", "pat"} else Says.NOTHING


def is_of_data(name: str) -> bool:
    """Whether a key is one of the data: `image_key`, `__key__`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return name.startswith("__") or not _OF_DATA.isdisjoint(words)


def is_bare(name: str) -> bool:
    """Whether a name does not say of what the key is."""
    return name.strip("_").lower() in {"key", "keys", "pass", "pat", "tokens"}


def is_about(name: str) -> bool:
    """Whether a name tells of a secret or stands beside one, and its value is none: `auth.user`."""
    words = _WORDS.findall(name)
    return bool(words) and words[-1].lower() in _ABOUT


def _of_a_model(words: list[str]) -> bool:
    return not _OF_A_MODEL.isdisjoint(words)


def is_variable(name: str) -> bool:
    """Whether it is written as a variable of the environment."""
    return name.isupper() and "_" in name


# --- values ---------------------------------------------------------------------------------------

_COMMON = _set(
    """anonymous auto basic default digest disabled dummy empty enabled example false local
    localhost missing none null optional prompt required root test true undefined unknown unset
    """
)
_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\$\{?\w+\}?|%\w+%|[*.x…\ue000]+|(?:\{+\s*[\w.-]*(?::\w+)?\s*\}+)+",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_RANDOM = re.compile(r"[A-Za-z0-9+/=_.~%:@!#$*-]{8,}")
_WORD_LIKE = re.compile(r"[A-Za-z]*[0-9]{0,4}|[0-9]{1,5}x[0-9]{1,5}")
_SUFFIXED = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,10}$")

# Letters alone up to which a value is a word, and digits alone up to which it is a number.
_WORD, _NUMBER = 9, 7


def may_be_secret(value: str) -> bool:
    """Whether a value may be one, where its name says so: no `true`, no `$TOKEN`."""
    value = value.strip()
    if len(value) < 4 or value.lower() in _COMMON:
        return False
    return not (_PLACEHOLDER.fullmatch(value) or _DOTTED.fullmatch(value))


def is_no_word(value: str) -> bool:
    """Whether a value is long enough to be looked for wherever it may stand."""
    if not may_be_secret(value) or len(value) < 6:
        return False
    if value.isalpha():
        return len(value) > _WORD
    return not (value.isdigit() and len(value) <= _NUMBER)


def is_password(name: str, value: str) -> bool:
    """Whether a value is looked for that is no longer than a word, since its name leaves no doubt.

    `CAPTION_KEY` leaves some.
    """
    if says(name) is not Says.SECRET or name.lower().endswith(("key", "keys", "pat", "tokens")):
        return False
    is_word = value.isalpha() and value in (value.lower(), value.upper(), value.title())
    return value.isalnum() and not (is_word or value.isdigit()) and may_be_secret(value)


def looks_random(value: str) -> bool:
    """Whether a value looks like one that was drawn by a machine: no name, no path, no template."""
    if not (_RANDOM.fullmatch(value) and is_no_word(value)) or _SUFFIXED.search(value):
        return False
    return not all(map(_WORD_LIKE.fullmatch, re.split(r"[_.\-/:]", value)))
