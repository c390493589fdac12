"""Secrets are taken out of texts and values; what only looks like one stays readable."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from preflight.findings.report import Setting
from preflight.secrets.hiding import REDACTED, Secrets
from preflight.secrets.naming import Says, says
from tests.render.sample import finding

CANARY = "cAnary7-Zx90qwPL44"


@pytest.mark.parametrize(
    "name",
    [
        *("WANDB_API_KEY", "HF_TOKEN", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SENTRY_DSN"),
        *("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AZURE_STORAGE_KEY", "GH_PAT", "SMTP_PASS"),
        *("api_key", "apiKey", "hf_token", "auth_token", "client_secret", "credentials", "auth"),
        *("SECRET_KEY_BASE", "passwd", "dsn", "db-password", "hftoken", "APIKey", "MINIO_KEY"),
    ],
)
def test_a_name_says_that_its_value_is_secret(name: str) -> None:
    assert says(name) is Says.SECRET


@pytest.mark.parametrize(
    "name",
    [
        *("tokenizer", "TOKENIZERS_PARALLELISM", "keys", "author", "keyword", "keyring", "PWD"),
        *("SSH_AUTH_SOCK", "AUTH_TYPE", "password_length", "token_type", "HF_TOKEN_PATH", "OLDPWD"),
        *("KeyError", "monkey", "compass", "passes", "secretary", "pad_token_id", "key_name"),
    ],
)
def test_a_name_says_nothing_of_the_kind(name: str) -> None:
    assert says(name) is Says.NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "has 3.1 GB free of 80 GB, driver 535.129.03",
        "KeyError: 'API_KEY'",
        "KeyError: 'n01440764_10026'",
        "RuntimeError: needs HF_TOKEN",
        "num_tokens=77, max_tokens=4096, pad_token='<|endoftext|>', eos_token=\"</s>\"",
        'key = "{stem}.pt"',
        "keys: image, caption",
        "key=n01440764_10026 has no image",
        "Missing key(s) in state_dict: unet.down_blocks.0.attn1.to_k.weight",
        "tokenizer='openai/clip-vit-large-patch14'",
        'api_key = os.environ["WANDB_API_KEY"]',
        "token = args.hf_token",
        "token = get_token()",
        "make(token=token, password=None, auth=True)",
        "password=$DB_PASSWORD token=${HF_TOKEN} secret=<secret> api_key=***",
        "missing token: expected a string",
        "PWD=/data/job and SSH_AUTH_SOCK=/tmp/ssh-x/agent.12",
        "basic training of basic augmentations, bearer of news",
        "data/sk-resnet50-imagenet-epoch12.pt, hf_datasets, hf_transformers, asianfoodimages01.tar",
        "sk_test_images/000.tar, pypi-mirror, ghs_images",
        "https://host.example:8080/a@b/000.tar and s3://bucket/key=1/0.tar",
        "git clone ssh://git@host.example/x.git, mail ada@host.example",
        "https://ada@host.example/x, https://Ada@h/x, ssh://user1@h/x and s3://bucket1@point/x",
        "https://oauth2@host.example/x, https://$TOKEN1@h/x, https://${TOKEN2}@h/x, https://h1/a@b",
        "image_key='jpg', sort_key='name', cache_key='latents_128x128'",
        "columns ['password', 'email']",
        "--header is an option, and -H too; --password must be given",
        "a/signature.json sig=0.5 code=3",
        "run train.py --image_key=caption_v2_en --monitor-key val_loss_00012 --max_tokens=512",
        "hf_keys=3, s3_key='data/img_0001ab.jpg', openai: key models",
        "tokens = ['a photo of', '<sks0001ab>'], auth=(user, password)",
        "api_key = Secret(os.environ['WANDB_API_KEY'])",
        "cookie: a plate of cookies, cookiecutter=1",
        "fields ('password', 'username'), {'image_key': ['jpg', 'png']}, secret=[1, 2], api_key={}",
        "token=tokenizer('hello world'), credentials=Path('a/b.json'), auth: ['anonymous']",
        "{'credentials': {'file': 'a.json'}}, password=os.environ.get('DB_PASSWORD')",
        "login(key=key) and def login(key=None)",
        "no login:\n  wrong password: topsecret words\n  token: missing\n",
        "the reason for it, password: topsecret\nand: no more",
    ],
)
def test_ordinary_sentences_are_left_alone(text: str) -> None:
    assert Secrets().text(text) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("DB_PASSWORD=hunter2 is wrong", f"DB_PASSWORD={REDACTED} is wrong"),
        ("error: password=hunter2: bad", f"error: password={REDACTED} bad"),
        ("{'WANDB_API_KEY': 'abcd1234', 'x': 1}", f"{{'WANDB_API_KEY': '{REDACTED}', 'x': 1}}"),
        ("environ['HF_TOKEN']='abcd1234'", f"environ['HF_TOKEN']='{REDACTED}'"),
        ('api_key = "correct horse"', f'api_key = "{REDACTED}"'),
        ('{\\"token\\": \\"abcd1234\\"}', f'{{\\"token\\": \\"{REDACTED}\\"}}'),
        ("password: hunter2-again", f"password: {REDACTED}"),
        (f"('api-key', '{CANARY}')", f"('api-key', '{REDACTED}')"),
        ("https://ada:pw@h.example/x", f"https://ada:{REDACTED}@h.example/x"),
        ("postgres://u:p@ss:w@h/db", f"postgres://u:{REDACTED}@h/db"),
        ("https://abcdef0123456789@git.example/x", f"https://{REDACTED}@git.example/x"),
        (
            "https://abcdef0123456789:x-oauth-basic@git.example/x",
            f"https://{REDACTED}:{REDACTED}@git.example/x",
        ),
        ("https://abc123@git.example/x", f"https://{REDACTED}@git.example/x"),
        ("https://abc123:x-oauth-basic@h/x", f"https://{REDACTED}:{REDACTED}@h/x"),
        ("https://abc123:@h.example/x", f"https://{REDACTED}:@h.example/x"),
        ("pip install git+https://aBcDe@h/x", f"pip install git+https://{REDACTED}@h/x"),
        ("https://h/x.tar?a=1&sig=Ab%2B1%3D&b=2", f"https://h/x.tar?a=1&sig={REDACTED}&b=2"),
        ("https://h/x?X-Amz-Signature=0a1b2c", f"https://h/x?X-Amz-Signature={REDACTED}"),
        ("https://h/x?key=AbCd12345", f"https://h/x?key={REDACTED}"),
        (
            "pipe:curl --header 'Authorization: Bearer abc' https://h/0.tar",
            f"pipe:curl --header 'Authorization: {REDACTED}' https://h/0.tar",
        ),
        ("curl -H X-Own:abc https://h/0", f"curl -H X-Own:{REDACTED} https://h/0"),
        ("curl --header=X-Own:abc https://h/0", f"curl --header=X-Own:{REDACTED} https://h/0"),
        (
            """curl -H '"'"'X-Own: a b'"'"' https://h/0""",
            f"""curl -H '"'"'X-Own: {REDACTED}'"'"' https://h/0""",
        ),
        ("['curl', '-H', 'X-Own: a b', 'u']", f"['curl', '-H', 'X-Own: {REDACTED}', 'u']"),
        ("pipe:curl -s -u ada:pw https://h/0", f"pipe:curl -s -u ada:{REDACTED} https://h/0"),
        ("aws --secret-key hunter2 cp", f"aws --secret-key {REDACTED} cp"),
        ("run train.py --password=hunter2 -x", f"run train.py --password={REDACTED} -x"),
        ("['--hf-token=abcd1234', '-p']", f"['--hf-token={REDACTED}', '-p']"),
        (f"run x.py --wandb_key={CANARY}", f"run x.py --wandb_key={REDACTED}"),
        (f"--unheard-of-key {CANARY} -x", f"--unheard-of-key {REDACTED} -x"),
        (f"openai_key='{CANARY}'", f"openai_key='{REDACTED}'"),
        (f"s3://AKIAABCDEFGHIJKL:{CANARY}@b/x", f"s3://{REDACTED}:{REDACTED}@b/x"),
        (f"get(auth=('ada', '{CANARY}'))", f"get(auth=('ada', '{REDACTED}'))"),
        (f"token: SecretStr('{CANARY}')", f"token: SecretStr('{REDACTED}')"),
        (
            f"storage(credentials=namespace(value='{CANARY}'))",
            f"storage(credentials=namespace(value='{REDACTED}'))",
        ),
        (f"wandb.login(key='{CANARY}')", f"wandb.login(key='{REDACTED}')"),
        (f"{{'Cookie': 'sid={CANARY}; x=1'}}", f"{{'Cookie': '{REDACTED}'}}"),
        ("pipe:sshpass -p pw9 ssh h cat x", f"pipe:sshpass -p {REDACTED} ssh h cat x"),
        ("Bearer abcdefgh0123", f"Bearer {REDACTED}"),
        ("Basic YWRhOnB3MTI=", f"Basic {REDACTED}"),
        ("Authorization: Bearer abc1 password='pw12'", f"Authorization: {REDACTED}"),
        (
            """'Authorization: Digest username="u", response="pw12"'""",
            f"'Authorization: {REDACTED}'",
        ),
        (
            '{"Authorization": "Token token=\\"pw12\\"", "x": 1}',
            f'{{"Authorization": "{REDACTED}", "x": 1}}',
        ),
        ("password: |\n  pwWORD12", f"password: |\n  {REDACTED}"),
        ("password: !!str pwWORD1", f"password: !!str {REDACTED}"),
        ("<password>pwWORD</password> <a>b</a>", f"<password>{REDACTED}</password> <a>b</a>"),
        ("access_token=bytes(b'pwWORD')", f"access_token=bytes(b'{REDACTED}')"),
        ("{'password': ['topsecret']}", f"{{'password': ['{REDACTED}']}}"),
        ("('password', 'my_secret')", f"('password', '{REDACTED}')"),
        ("{'x-api-key': ['pwLIST']}", f"{{'x-api-key': ['{REDACTED}']}}"),
        ("{'password': {'a': 'pw12'}}", f"{{'password': {{'a': '{REDACTED}'}}}}"),
        (
            '"credentials": {"user": "bob1", "pass": "pw12"}, "x": 1',
            f'"credentials": {{"user": "bob1", "pass": "{REDACTED}"}}, "x": 1',
        ),
        (f"tokens=['{CANARY}', 'dog']", f"tokens=['{REDACTED}', 'dog']"),
        (
            "[('X-Api-Key', 'pw12'), ('password', 'pw34')]",
            f"[('X-Api-Key', '{REDACTED}'), ('password', '{REDACTED}')]",
        ),
        ("password=SecretStr('pwWORD')", f"password=SecretStr('{REDACTED}')"),
        (
            "config:\n  password: topsecret\n  db_token: another\n  lr: 3",
            f"config:\n  password: {REDACTED}\n  db_token: {REDACTED}\n  lr: 3",
        ),
        ("hosts:\n- passwd: topsecret", f"hosts:\n- passwd: {REDACTED}"),
        (
            rf"'password: {CANARY}\nregion: eu\ndb_token: {CANARY}\n  secret = {CANARY}'",
            rf"'password: {REDACTED}\nregion: eu\ndb_token: {REDACTED}\n  secret = {REDACTED}'",
        ),
    ],
)
def test_a_name_or_a_shape_gives_it_away(text: str, told: str) -> None:
    """And the rest of the text stays."""
    assert Secrets().text(text) == told
    assert Secrets().text(told) == told


@pytest.mark.parametrize(
    "value",
    [
        *(CANARY, "a b'c\"d\\e5", "pässwört99", "http://x:y@z/?a=b&c", "12345678", "hunter2"),
        *("onlylettersbutlong", "cR9x", "hunTer"),
    ],
)
@pytest.mark.parametrize("write", [str, repr, json.dumps, quote, lambda one: json.dumps(repr(one))])
def test_the_very_value_is_found_wherever_it_stands(value: str, write: object) -> None:
    hide = Secrets.known({"DB_PASSWORD": value})
    text = f"the server says {write(value)} is wrong"  # type: ignore[operator]

    of_page = [] if value.isdigit() else [hide.bytes_of(text)]
    for hidden in (hide.text(text), *of_page):
        assert write(value).strip("'\"\\") not in hidden  # type: ignore[operator]
        assert hidden.startswith("the server says ")
        assert hidden.endswith(" is wrong")


@pytest.mark.parametrize("value", ["pässwört99", "a b'c\"d\\e5", "line 1\nline 2", CANARY])
def test_the_very_value_is_found_as_bytes_are_written(value: str) -> None:
    """As a client says it that has sent it."""
    hide = Secrets.known({"DB_PASSWORD": value})
    for text in (repr(value.encode()), json.dumps(repr(value.encode()))):
        for hidden in (hide.text(text), hide.bytes_of(text)):
            assert hidden == text[: text.index("b'") + 2] + REDACTED + text[text.rindex("'") :]


@pytest.mark.parametrize("value", ["true", "1", "ada", "postgres", "1234", "/", "default", ""])
def test_short_and_common_values_are_not_looked_for(value: str) -> None:
    text = f"the value {value} of ada is true, 1 of 1234 in /data, postgres by default"

    assert Secrets.known({"DB_PASSWORD": value, "AUTH": value}).text(text) == text


def test_the_users_name_is_readable_where_it_is_the_password_too() -> None:
    hide = Secrets.known({"USER": "adalove12", "DB_PASSWORD": "adalove12"})

    assert hide.text("made by adalove12") == "made by adalove12"


def test_a_file_that_holds_the_secret_is_named() -> None:
    assert Secrets.known({"MY_CREDENTIALS": __file__}).values == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", f"postgres://u:{CANARY}@h/db"),
        ("AUTH_HEADER", f"Bearer {CANARY}"),
        ("SERVICE_CREDENTIALS", json.dumps({"private_key": CANARY})),
        ("HTTP_PROXY", f"http://u:{CANARY}@proxy:3128"),
    ],
)
def test_a_part_of_a_variable_is_known_too(name: str, value: str) -> None:
    hidden = Secrets.known({name: value}).text(f"401 for {CANARY}")

    assert hidden == f"401 for {REDACTED}"


@pytest.mark.parametrize("between", ["\n", " ", "\n  ", "\\n", "\r\n", " / "])
def test_a_value_of_several_lines_is_known_however_they_are_put_together(between: str) -> None:
    lines = [f"{CANARY}{number}" for number in range(3)]
    hidden = Secrets.known({"DEPLOY_TOKEN": "\n".join(lines)})

    assert "cAnary7" not in hidden.text(f"401 for {between.join(lines)}")
    assert "cAnary7" not in hidden.bytes_of(f'{{"error": "{between.join(lines[1:])}"}}')


def test_what_was_typed_and_what_is_set_is_known_too() -> None:
    """An error quotes the password alone, or the value of a keyword."""
    typed = [f"pipe:curl --header 'X-Own: {CANARY}' https://h/0.tar", "https://a:pw-99-pw@h/0"]
    settings = {"loader": [{"kwargs": {"auth": {"user": "x", "pw": "in-the-settings-1"}}}]}
    hide = Secrets.known({}, typed, settings)

    assert hide.text(f"{CANARY} pw-99-pw in-the-settings-1") == " ".join([REDACTED] * 3)


def test_a_value_that_was_cut_is_known_by_its_beginning() -> None:
    hide = Secrets.known({"HF_TOKEN": CANARY})

    assert hide.text(f"it says {CANARY[:9]}…") == f"it says {REDACTED}…"
    assert hide.text(f"it says {CANARY[:7]}") == f"it says {REDACTED}"
    assert hide.text(f"a {CANARY[:9]}...{CANARY[-7:]}!") == f"a {REDACTED}...{REDACTED}!"
    assert hide.text(f"a...b {CANARY[:9]}...c") == f"a...b {REDACTED}...c"
    assert hide.text("it ends with cAna") == "it ends with cAna"
    assert Secrets.known({"HF_TOKEN": "address-99-x"}).text("an address") == "an address"


@pytest.mark.parametrize("value", ["{TOKEN}", "{{ secrets.TOKEN }}", "{env:TOKEN}", "{}", "$TOKEN"])
def test_the_place_of_a_value_is_told(value: str) -> None:
    assert Secrets.known({"HF_TOKEN": value}).text(f"token={value}") == f"token={value}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("CAPTION_KEY", "text0"), ("TRIGGER_TOKEN", "ohwX1"), ("MAX_TOKENS", "4096")),
        *(("SPECIAL_TOKENS", "sks,ohwx"), ("PASSWORD", "Training")),
        ("WARMUP_TOKENS", "375e6"),
    ],
)
def test_short_values_of_names_that_leave_a_doubt_are_told(name: str, value: str) -> None:
    assert Secrets.known({name: value}).text(f"reads {value} here") == f"reads {value} here"


def test_values_under_a_name_are_taken_out_of_mappings() -> None:
    plain = {
        "job": {
            "loader.0.kwargs.api_key": "abcd1234",
            "cache.0.key": "{stem}.pt",
            "keys": "a1b2c3d4",
        },
        "settings": {"password": Setting(value=12345678, origin="x:1")},
        "kwargs": {"password": 12345678, "num_tokens": 12345678, "token": True},
        "credentials": ["user7777", "word"],
        "loader.0.kwargs.headers.Authorization": "Token abcd1234",
    }

    assert Secrets().plain(plain) == {
        "job": {
            "loader.0.kwargs.api_key": REDACTED,
            "cache.0.key": "{stem}.pt",
            "keys": "a1b2c3d4",
        },
        "settings": {"password": Setting(value=REDACTED, origin="x:1")},
        "kwargs": {"password": 12345678, "num_tokens": 12345678, "token": True},
        "credentials": [REDACTED, REDACTED],
        "loader.0.kwargs.headers.Authorization": REDACTED,
    }


def test_what_one_text_names_is_taken_out_of_the_others() -> None:
    """Such as the line of the source that an exception was raised at."""
    told = Secrets().plain(("Client(apikey='zq81kkw0-abcd')", 'Client("h", "zq81kkw0-abcd")'))

    assert told == (f"Client(apikey='{REDACTED}')", f'Client("h", "{REDACTED}")')


def test_a_word_that_is_named_once_stands_in_other_texts() -> None:
    texts = ("password='captions'", "7 captions are empty")

    assert Secrets().plain(texts)[1] == texts[1]


def test_what_holds_none_stays_the_very_same() -> None:
    """Nothing is made anew where there is nothing to hide."""
    found = finding("shard-damaged", "is cut", file="a.tar")

    assert Secrets.known({"HF_TOKEN": CANARY}).plain(found) is found


def test_long_texts_take_no_time() -> None:
    """Whatever they are made of: no pattern looks at a place twice."""
    hide = Secrets.known({"HF_TOKEN": CANARY})
    for piece in (
        "a",
        "a=",
        "://",
        "token ",
        "--a ",
        "https://a:",
        "-H ",
        "'",
        "\\",
        "sk-a-",
        "curl ",
        "token=(",
        "token=a(a(",
        "token=('a', ",
        "login(key",
        "cookie:a",
        "sshpass -p ",
        "token=['",
        "password=[",
        "authorization:a='",
    ):
        hide.text(piece * (50_000 // len(piece)) + " token")


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title, str.swapcase])
def test_a_value_is_known_in_other_letters(change: Callable[[str], str]) -> None:
    hidden = Secrets(values=(CANARY,)).text(f"refused {change(CANARY)} at /x/{change(CANARY)}/y")

    assert hidden == f"refused {REDACTED} at /x/{REDACTED}/y"


@pytest.mark.parametrize("value", ["Stable-Diffusion", "correct-horse-battery", "Photos24"])
def test_a_phrase_or_a_short_value_in_other_letters_may_be_a_name(value: str) -> None:
    """Passwords are called after what their owners do."""
    secrets = Secrets(values=(value,))

    assert (
        secrets.text(f"{value.swapcase()}/a.jpg is empty") == f"{value.swapcase()}/a.jpg is empty"
    )
    assert secrets.text(f"{value}/a.jpg") == f"{REDACTED}/a.jpg"


@pytest.mark.parametrize("value", [CANARY, "hunter&2/Zebra<Kite>+99", "pä55wörter-und-mehr"])
@pytest.mark.parametrize("before", ["", "a:", "me:", "bob:", "user:"])
@pytest.mark.parametrize("behind", ["", "1", "22", "333"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_is_known_in_base_64_wherever_it_stands_in_it(
    value: str, before: str, behind: str, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(f"{before}{value}{behind}".encode()).decode()

    hidden = Secrets(values=(value,)).text(f"refused '{encoded}'")

    assert REDACTED in hidden
    assert len(hidden.removeprefix("refused '").removesuffix("'").replace(REDACTED, "")) <= 12
    for begin in range(len(encoded) - 7):
        with contextlib.suppress(ValueError):
            assert value[:3].encode() not in base64.b64decode(hidden[9:-1][begin : begin + 8])


@pytest.mark.parametrize("write", [bytes.hex, lambda value: value.hex().upper()])
def test_a_value_is_known_in_base_16(write: Callable[[bytes], str]) -> None:
    assert Secrets(values=(CANARY,)).text(f"key {write(CANARY.encode())}") == f"key {REDACTED}"


def test_what_is_encoded_of_something_else_is_left_alone() -> None:
    secrets = Secrets(values=(CANARY, "hunter&2/Zebra", "Photos24"))
    text = " ".join(
        write(one)
        for one in (b"a caption of a dog", CANARY[:6].encode(), CANARY[::-1].encode())
        for write in (bytes.hex, lambda one: base64.b64encode(one).decode())
    )

    assert secrets.text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "sync --db-password 'two words 77x' --retries 3",
        '--password "hunter-Zz9 x"',
        "--sse-c-key sseKeyCan77",
        "['sync', '--db-password', 'hunter22']",
        '{"password": "a\\"jsonPwCan71x", "n": 1}',
        '{\\"password\\": \\"hunterZz9\\"}',
        "connect(stripe_key='kv9Can2325x')",
        "connect(my_own_key='kv14Can6941x')",
        "SIGNINGKEY=kv9Can2325x",
        "f(signkey='kv9Can2325x', EncKey='kv9Can2325x')",
        "MASTERKEY='kv9Can2325x' KEY_B64='kv9Can2325x'",
        "CREDENTIALSJSON='kv9Can2325x' DBDSN='kv9Can2325x'",
    ],
)
def test_keys_passwords_and_options_of_many_forms_are_taken_out(text: str) -> None:
    hidden = Secrets().text(text)

    assert "<redacted>" in hidden
    for left in ("words", "hunter", "Can", "x'", "rest"):
        assert left not in hidden


@pytest.mark.parametrize(
    "name", ["myKey", "S3KEY", "KEY1", "SIGNKEY", "ENCRYPTIONKEY", "RSAKEYB64", "SERVICE_KEY_JSON"]
)
def test_a_variable_that_is_called_a_key_is_one(name: str) -> None:
    hide = Secrets.known({name: "ev7Can4413x"})

    assert hide.text("it has ev7Can4413x in it") == "it has <redacted> in it"
    assert hide.text("of <ev7Can4413xy>") != "of <ev7Can4413xy>"


@pytest.mark.parametrize("name", ["KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "HF_TOKEN_PATH"])
def test_one_that_is_called_otherwise_is_none(name: str) -> None:
    assert Secrets.known({name: "ev7Can4413x"}).text("it has ev7Can4413x") == "it has ev7Can4413x"


def test_keys_of_the_data_are_told() -> None:
    text = (
        "{'__key__': '3fa85f64aa11bb22cc', 'image_key': 'abc123def456gh', 'sort_key': 'a1b2c3d4x'}"
    )

    text += " user_key='user_id' key_value='a1b2c3d4x' server_key='workers'"

    assert Secrets().text(text) == text


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("DB_SECRET", '{"a":"cnryA1b2C3d4E5"}', "cnryA1b2C3d4E5"),
        ("GOOGLE_CREDENTIALS", '{"type": "sa", "id": "cnryA1b2C3d4E5"}', "cnryA1b2C3d4E5"),
        ("ApiKeyProd", "ev7Can4413x", "ev7Can4413x"),
        ("SERVICE_KEY_OLD", "ev7Can4413x", "ev7Can4413x"),
        ("GOOGLE_CREDENTIALS", '{"a":"canary1"}', "canary1"),
        ("API_TOKENS", "canary1,canary2", "canary1,"),
    ],
)
def test_what_stands_in_a_value_is_one_as_well(name: str, value: str, held: str) -> None:
    hide = Secrets.known({name: value})

    assert held not in hide.text(f"it has {value}, of it {held}")
