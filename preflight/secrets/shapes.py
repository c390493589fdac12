"""The shapes of secrets in a text: tokens of known issuers, headers, addresses, options.

In each pattern, the group `secret` is what must not be told.
"""

from __future__ import annotations

import re

# As their issuers document them. Case counts, so that no file is taken for one by its name.
_TOKENS = r"""
    (?P<secret>
      -----BEGIN[ ][A-Z0-9 ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z0-9 ]*PRIVATE[ ]KEY-----|\Z)
    | (?<![A-Za-z0-9])(?:
          (?:hf|api_org)_(?=[A-Za-z]*[0-9]|[A-Za-z]{30})[A-Za-z0-9]{12,}
        | sk-(?:proj|ant|svcacct|admin|or|lf)-[A-Za-z0-9_-]{12,}
        | sk-(?:[A-Za-z0-9]{1,20}-){0,6}(?=[A-Za-z]*[0-9])[A-Za-z0-9]{14,}
        | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}
        | gh[oprsu]_(?=[A-Za-z]*[0-9]|[A-Za-z]{30})[A-Za-z0-9]{12,}
        | github_pat_[A-Za-z0-9_]{16,}
        | glpat-[A-Za-z0-9_.-]{12,}
        | xox[a-z]-[A-Za-z0-9-]{10,}
        | xapp-[A-Za-z0-9-]{10,}
        | (?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}
        | AIza[A-Za-z0-9_-]{20,}
        | ya29\.[A-Za-z0-9_-]{8,}
        | (?:npm|dop_v1|shpat)_[A-Za-z0-9]{16,}
        | pypi-Ag[A-Za-z0-9_-]{14,}
        | nvapi-[A-Za-z0-9_-]{12,}
        | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?
      )
    )
"""

# What follows `--header` or `-H`, in whatever quotes a shell or a list of words has put it.
_QUOTED_HEADER = r"""
    (?:--(?:proxy-)?header|(?<![\w-])-H)[\s=,]*["'\\][\s,"'\\]*[\w-]{1,80}:[ ]*
    (?P<secret>[^"'\\\s<\ue000][^"'\\\n]*)
"""
_BARE_HEADER = r"""
    (?:--(?:proxy-)?header|(?<![\w-])-H)[\s=]*[\w-]{1,80}:(?P<secret>[^"'\\\s<\ue000]+)
"""

_AUTHORIZATION = r"""
    \b(?:proxy-)?authorization["']?\s*[:=,]\s*["']?
    (?P<secret>[^"'\\\s<\ue000](?:(?<==)\\{0,3}["'][^"'\n]*["']|[^"'\\\n])*)
"""

_COOKIE = r"""
    \bcookie["']?\s*[:,]\s*["']?(?P<secret>[\w.-]{1,80}=[^"'\\\s<\ue000][^"'\\\n]*)
"""

# `wandb.login(key=…)`: elsewhere a mere key is that of a sample.
_LOGIN = r"""
    \blogin\([^()\n]{0,200}?\b(?:key|pw)\s*=\s*["'](?P<secret>[^"'\\<\ue000]{6,})
"""

# A bearer's token, and not `bearer of news` or `basic training`.
_BEARER = r"""
    \b(?:bearer|basic)[ ]+
    (?P<secret>(?=[^\s]*[0-9=+/._~-][^\s]|[^\s]{20})[A-Za-z0-9._~+/=-]{8,})
"""

_ADDRESS = r"""
    (?<![\w+.-])[A-Za-z][\w+.-]{0,30}:/{1,2}(?:[^\s/?\#@:'"<>]{0,200}|<redacted>):
    (?P<secret>(?![0-9]{1,5}(?:[/\s]|$))[^\s'"<>\ue000]{1,400})
    @(?=[\w.\[%-])
"""
# A token that stands for a user, as of git and package indexes: no plain word, however short it is.
_ALONE_IN_ADDRESS = r"""
    (?<![\w.-])(?:[A-Za-z][\w.-]{0,30}\+)?(?:http|HTTP)[sS]?://(?!oauth2[@:]|[$%{])
    (?P<secret>(?=[^\s/@:]{0,400}(?:[0-9]|[a-z][A-Z]))[^\s/?\#@:'"<>\ue000]{4,400})
    (?::(?:x-oauth-basic)?)?@(?=[\w.\[%-])
"""
_USER = r"""
    (?<![\w+.-])[A-Za-z][\w+.-]{0,30}://
    (?P<secret>(?=[^\s/@:]{0,400}[0-9])[^\s/?\#@:'"<>\ue000]{16,400})
    (?::[^\s/@]{0,400})?@(?=[\w.\[%-])
"""

_CURL_USER = r"""
    \b(?:curl|wget|http)\b[^|\n]{0,400}?[\s"'](?:-u|--(?:proxy-)?user)["'\s,=\\]{0,8}[^\s:"'\\]{1,200}:
    (?P<secret>[^\s"'\\<\ue000]+)
"""
_SSHPASS = r"""\bsshpass\s+-p\s*["']?(?P<secret>[^\s"'\\<\ue000]+)"""

_PLAIN = re.VERBOSE | re.DOTALL

_ISSUED = tuple(
    """hf_ api_org_ sk- k_live_ k_test_ gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- xox xapp- akia
    asia aroa aida aiza ya29. npm_ dop_v1_ shpat_ pypi-ag nvapi- eyj -----begin""".split()  # noqa: SIM905
)

PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("://",), re.compile(_ALONE_IN_ADDRESS, _PLAIN)),
    ((":/",), re.compile(_ADDRESS, _PLAIN)),  # before what may be the name of its user
    (_ISSUED, re.compile(_TOKENS, _PLAIN)),
    (("-h", "header"), re.compile(_QUOTED_HEADER, _PLAIN)),
    (("-h", "header"), re.compile(_BARE_HEADER, _PLAIN)),
    (("authorization",), re.compile(_AUTHORIZATION, _PLAIN | re.IGNORECASE)),
    (("cookie",), re.compile(_COOKIE, _PLAIN | re.IGNORECASE)),
    (("login(",), re.compile(_LOGIN, _PLAIN)),
    (("bearer ", "basic "), re.compile(_BEARER, _PLAIN | re.IGNORECASE)),
    (("://",), re.compile(_USER, _PLAIN)),
    (("curl", "wget", "http"), re.compile(_CURL_USER, _PLAIN | re.IGNORECASE)),
    (("sshpass",), re.compile(_SSHPASS, _PLAIN)),
)
"""Whatever stands in their group `secret` is one; before each, what a text has to hold in small
letters for it: to look for that takes a hundredth of the time."""

NAMES = ("key", "token", "secret", "pass", "pwd", "cred", "dsn", "auth", "bearer", "pat", "cookie")
"""One of these is in each name that says so."""

QUERY = re.compile(r"[?&;](?P<name>[\w.-]{1,80})=(?P<secret>[^\s&#;'\"<>\ue000]+)")
"""A parameter of an address: its name decides."""

SIGNING = frozenset(
    {"code", "hdnts", "hmac", "policy", "sas", "sig", "signature", "googleaccessid"}
)
"""Parameters of signed addresses whose names say nothing elsewhere."""

OPTION = re.compile(
    r"""
    (?<![\w-])--(?P<name>[A-Za-z][\w.-]{1,80})(?:=|[ \t]+)(?P<quote>["'])?
    (?P<secret>(?(quote)(?:(?!(?P=quote))[^\n\ue000]){1,400}|[^\s"'<\ue000-][^\s"']*))
    """,
    re.VERBOSE,
)
"""An option with its value."""

ELEMENT = re.compile(r"<(?P<name>[A-Za-z_][\w-]{0,80})>(?P<secret>[^<>\n\ue000]{1,400})</")
"""`<name>value</name>`."""

ENCLOSED = re.compile(
    r"""
    (?<![\w-])(?P<name>[A-Za-z_][\w-]{0,80})\s?[=:]\s?(?:[\w.]{0,80}[(\[{]\s?){1,3}
    (?:["'][^"'\n]{0,200}["']\s?,\s?){0,3}(?:\w{1,80}=)?b?["'](?P<secret>[^"'\\\n\ue000]{8,400})["']
    """,
    re.VERBOSE,
)
"""`auth=('name', 'value')`, `token=Secret(value='value')`: the last of a few texts in brackets."""

NAMED = re.compile(
    r"""
    (?<![\w-])-{0,2}(?P<name>[A-Za-z_][\w-]{0,80})
    (?P<between>\\{0,3}["']?\]?\s{0,3}(?::=|=>|==?|:)\s{0,3}|\\{0,3}["']\s?,\s?(?=\\{0,3}["']))
    """,
    re.VERBOSE,
)
"""`NAME=value`, `name: "value"`, `{'name': 'value'}`, `('name', 'value')`: the name decides."""

VALUE = re.compile(
    r"""
    [rbfuRBFU]{0,2}(?P<quote>\\{0,3}["'])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n])){0,8000})
    | (?:[|>][+-]?\s{1,80}|!!\w{1,20}\s{1,8})?
      (?P<bare>(?:(?!\\[nrt][\s-]*[\w-]{1,80}\s?[:=])[^\s"'&;,()\[\]{}<>\ue000])+)(?P<behind>[(\[{]?)
    """,
    re.VERBOSE,
)
"""What stands behind it, in YAML on a line of its own, too; a bracket behind makes it a call, and
the escaped end of a line ends it where another name follows."""

OPENS = re.compile(r"\s?(?:(?:bytes|bytearray|str)|(?P<called>[\w.]{0,80}))[(\[{]")
"""A bracket that a name holds, and what is called with it, but for what only writes a text."""

IN_BRACKETS = re.compile(
    r"""
    (?P<bracket>[\[\](){}])
    | b?(?P<quote>\\{0,3}["'])(?:(?P<key>[^"'\n]{0,200}?)(?P=quote)\s?[:=]
        | (?P<text>[^"'\n\ue000]{0,8000}?)(?P=quote))
    """,
    re.VERBOSE,
)
"""What stands in it: brackets, keys, and texts."""
