"""Files of a cache are held against each other: what many share is right, what few have is odd."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

import pytest

from preflight.tensors.facts import CachedTensor, Content, OddContent
from preflight.tensors.neighbours import contents_of


def tensor(*shape: int, path: str = "", dtype: str = "float16", **values: object) -> CachedTensor:
    elements = math.prod(shape)
    return CachedTensor(path=path, dtype=dtype, shape=shape, elements=elements, **values)  # type: ignore[arg-type]


def content(name: str, *tensors: CachedTensor, kind: str | None = None) -> Content:
    keys = tuple(sorted(one.path for one in tensors if one.path and not one.path[1:-1].isdigit()))
    kind = kind or ("dict" if keys else "tensor")
    return Content(file=f"cache/{name}", kind=kind, keys=keys, tensors=tensors)


def odd(contents: Iterable[Content]) -> list[tuple[str, str, str]]:
    """Give the file, kind and path of all that stands out, in whatever order the files came."""
    contents = list(contents)
    found = contents_of("cache", contents).odd
    random.Random(7).shuffle(contents)
    assert contents_of("cache", contents).odd == found
    return [(one.file.removeprefix("cache/"), one.kind, one.path) for one in found]


def many(count: int, *tensors: CachedTensor, begin: str = "a", end: str = ".pt") -> list[Content]:
    return [content(f"{begin}{number:05}{end}", *tensors) for number in range(count)]


LATENT = tensor(16, 128, 128)
EMBED = tensor(1, 77, 768, path="['prompt_embeds']")
POOLED = tensor(1, 768, path="['pooled']")


# --- what is left alone ---------------------------------------------------------------------------


def test_files_alike_are_left_alone() -> None:
    assert odd(many(1, LATENT)) == []
    assert odd(many(100, EMBED, POOLED)) == []


@pytest.mark.parametrize("main", [10, 500])
def test_latents_of_any_size_are_left_alone(main: int) -> None:
    """A trainer sorts images into buckets by their ratio, and some buckets hold one image."""
    sizes = [(96, 160), (160, 96), (112, 144), (64, 232), (152, 104)]
    others = [content(f"b{h}x{w}.pt", tensor(16, h, w)) for h, w in sizes]

    assert odd([*many(main, LATENT), *others]) == []
    assert odd([*many(main, LATENT), others[0]]) == []


def test_videos_of_any_length_are_left_alone() -> None:
    clips = [content(f"v{n}.pt", tensor(1, 16, n, 60, 104)) for n in (21, 21, 21, 21, 21, 13)]

    assert odd(clips) == []


def test_token_lengths_may_vary() -> None:
    """Not every trainer pads."""
    files = [
        content(
            f"t{n}.pt",
            tensor(n, 4096, path="['embeds']"),
            tensor(n, path="['ids']", dtype="int64"),
            tensor(1, n, path="['mask']", dtype="bool"),
        )
        for n in (12, 40, 7, 300, 77, 77, 77, 77)
    ]

    assert odd(files) == []


def test_masks_of_any_size_are_left_alone() -> None:
    """They are as large as their pictures."""
    masks = [content(f"m{n}.pt", tensor(1024, n)) for n in (1024, 1024, 1024, 1024, 1024, 768)]

    assert odd(masks) == []


def test_two_kinds_of_files_in_one_folder_are_left_alone() -> None:
    """As scripts that keep latents and embeddings beside each image do, not all of both."""
    latents = many(100, tensor(4, 128, 128, path="['latents']"), end=".npz")
    texts = many(30, EMBED, POOLED, end="_te.npz")

    assert odd([*latents, *texts]) == []
    assert odd([*many(40, LATENT), *many(38, tensor(1, 77, 768), begin="b")]) == []


def test_files_in_other_folders_or_of_other_suffixes_are_no_neighbours() -> None:
    """One settings file beside a thousand tensors is no odd one."""
    files = many(100, LATENT)
    stranger = content("stats.npz", tensor(16, path="['mean']"))
    elsewhere = content("sub/a.pt", EMBED)

    assert odd([*files, stranger, elsewhere]) == []


def test_fewer_than_five_are_not_held_against_each_other() -> None:
    """Nobody could say who of them is odd."""
    assert odd([*many(3, LATENT), content("b.pt", EMBED)]) == []


@pytest.mark.parametrize(
    "stranger",
    [
        content("stats.pt", tensor(16)),
        content("null.pt", tensor(1, 77, 768, path="['prompt_embeds']")),
        content("index.pt", tensor(9, path="['ids']", dtype="int64")),
        content("a00001_mask.pt", tensor(128, 128)),
    ],
)
@pytest.mark.parametrize("others", [(LATENT,), (EMBED, POOLED)])
def test_a_file_of_another_sort_of_name_is_no_neighbour(
    stranger: Content, others: Sequence[CachedTensor]
) -> None:
    """Means, indices and the embedding of nothing lie beside what they belong to."""
    hashed = [content(f"{n:032x}-sdxl.pt", *others) for n in range(20)]
    assert odd([*many(100, *others), stranger]) == []
    assert odd([*hashed, stranger]) == []


def test_among_files_named_after_something_a_stranger_is_left_alone() -> None:
    """It shares no key with them, and nobody could say what it should be."""
    words = ("cat", "dog", "cow", "hen", "fox", "owl")
    named = [content(f"{word}.pt", EMBED, POOLED) for word in words]

    assert odd([*named, content("stats.pt", tensor(16))]) == []
    assert odd([*named, content("cat.npz", EMBED)]) == []
    assert odd([*named, content("stats.pt", tensor(16, path="['mean']"))]) == []
    assert odd([*named, content("bat.pt", EMBED)]) == [("bat.pt", "missing-key", "['pooled']")]


def test_where_no_two_are_alike_none_is_odd() -> None:
    """Files that hold a dict by captions."""
    files = [content(f"a{n}.pt", tensor(77, 768, path=f"['caption {n}']")) for n in range(50)]

    assert odd(files) == []


def test_two_widths_of_many_files_each_are_left_alone() -> None:
    """A fifth of a cache is no oversight."""
    wide = tensor(1, 77, 1024, path="['prompt_embeds']")

    assert odd([*many(32, EMBED), *many(8, wide, begin="b")]) == []


def test_half_and_half_is_left_alone() -> None:
    """Three of one kind and two of another say nothing."""
    assert odd([*many(3, EMBED), *many(2, EMBED, POOLED, begin="b")]) == []


def test_lists_of_any_length_are_left_alone() -> None:
    """One tensor for each crop, or frame."""
    files = [
        content(f"a{n}.pt", *(tensor(4, 8, 8, path=f"[{k}]") for k in range(n)), kind="list")
        for n in (1, 2, 3, 5, 8)
    ]

    assert odd(files) == []


@pytest.mark.parametrize(
    "one",
    [
        tensor(path="", zero=True),
        tensor(2, zero=True),
        tensor(1, 6, path="['time_ids']", zero=True),
        tensor(1, 512, path="['attention_mask']", zero=True),
        tensor(768, path="['layer.bias']", zero=True),
        tensor(1, 1, 77, 77, zero=True, negative=900),
        tensor(77, 77, path="['causal_mask']", negative=9),
        tensor(8, 77, 77, path="['position_bias']", negative=9),
    ],
    ids=[
        *("a number", "two numbers", "settings", "a mask", "a bias"),
        *("a mask of minus infinity", "a causal mask", "a bias of positions"),
    ],
)
def test_numbers_that_are_meant_are_left_alone(one: CachedTensor) -> None:
    """Crops begin at 0; a mask may hide nothing, and minus infinity hides a token of attention."""
    assert odd([content("a.pt", one)]) == []


@pytest.mark.parametrize(
    "name",
    ["d41d8cd98f00b204e9800998ecf8427e-sdxl.pt", "null_embed.pt", "empty.pt", "uncond.pt"],
)
def test_the_embedding_of_the_empty_prompt_may_be_zero(name: str) -> None:
    """Some models are trained so; it is known by its name, such as the MD5 of nothing."""
    zero = tensor(1, 77, 768, path="['prompt_embeds']", zero=True)

    assert odd([*many(9, EMBED), content(name, zero)]) == []


def test_what_is_zero_in_many_files_is_meant() -> None:
    """A model without pooled embeddings is given zeros for them; so is a dropped caption."""
    zero = tensor(1, 768, path="['pooled']", zero=True)

    assert odd(many(2, EMBED, zero)) == []
    assert odd(many(9, EMBED, zero)) == []
    assert odd([*many(90, EMBED, POOLED), *many(10, EMBED, zero, begin="b")]) == []


def test_a_model_may_hold_zeros() -> None:
    """LoRA begins with them, and so do the moments of an optimizer."""
    weights = (tensor(320, 4, path=f"['up.{n}']", zero=True) for n in range(40))

    assert odd([content("lora.pt", *weights)]) == []


@pytest.mark.parametrize("name", ["infinite", "negative", "nan"])
def test_the_best_score_of_a_run_may_be_any_number(name: str) -> None:
    """EarlyStopping and ModelCheckpoint begin with inf, and have NaN where nothing was measured."""
    score = tensor(path="['callbacks']['EarlyStopping']['best_score']", **{name: 1})

    assert odd([content("epoch=1.ckpt", score, tensor(64, 64, path="['w']"))]) == []


def test_small_views_and_shared_storages_are_left_alone() -> None:
    """Less than a megabyte is not worth a word, and a storage may have many tensors."""
    small = tensor(10, storage=900_000, used=40)
    part = tensor(10, path="['a']", storage=8_000_000, used=8_000_000)

    assert odd([content("a.pt", small), content("b.pt", part)]) == []


def test_nested_tensors_are_left_alone() -> None:
    nested = CachedTensor(path="", dtype="float32", shape=None, elements=9)

    assert odd(many(9, nested)) == []


# --- what is found --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (tensor(16, 8, 8, nan=1), "nan"),
        (tensor(16, 8, 8, infinite=1), "infinite"),
        (tensor(16, 8, 8, negative=1), "infinite"),
        (tensor(16, 8, 8, zero=True), "zero"),
        (tensor(16, 8, 8, storage=90_000_000, used=2048), "storage"),
    ],
)
def test_what_is_wrong_by_itself_is_found_without_neighbours(one: CachedTensor, kind: str) -> None:
    assert odd([content("a.pt", one)]) == [("a.pt", kind, "")]


@pytest.mark.parametrize("count", [4, 30, 3000])
@pytest.mark.parametrize(
    ("tensors", "kind", "path"),
    [
        ((EMBED,), "missing-key", "['pooled']"),
        ((EMBED, POOLED, tensor(9, path="['x']")), "extra-key", "['x']"),
        ((tensor(77, 768, path="['prompt_embeds']"), POOLED), "rank", "['prompt_embeds']"),
        (
            (EMBED, tensor(1, 768, path="['pooled']", dtype="float32")),
            "dtype",
            "['pooled']",
        ),
        ((tensor(1, 77, 1024, path="['prompt_embeds']"), POOLED), "shape", "['prompt_embeds']"),
        ((EMBED, tensor(1, 1280, path="['pooled']")), "shape", "['pooled']"),
        ((tensor(1, 77, 768),), "kind", ""),
    ],
    ids=["lacks one", "has one more", "rank", "type", "width", "pooled width", "no dict"],
)
def test_one_that_is_unlike_all_others_is_found(
    count: int, tensors: Sequence[CachedTensor], kind: str, path: str
) -> None:
    """Once, for the gravest way in which it is."""
    files = [*many(count, EMBED, POOLED), content("a99999.pt", *tensors)]

    assert odd(files) == [("a99999.pt", kind, path)]


def test_latents_of_another_model_are_found_by_their_channels() -> None:
    files = [content(f"a{n}.pt", tensor(16, n, 128)) for n in (96, 104, 112, 128, 128, 128)]

    assert odd([*files, content("a999.pt", tensor(4, 128, 128))]) == [("a999.pt", "shape", "")]


def test_another_number_of_channels_is_graver_than_another_float() -> None:
    """A batch of both types can be stacked, and one of both sizes cannot."""
    others = many(40, LATENT)

    def kinds_of(one: CachedTensor) -> list[str]:
        return [kind for _, kind, _ in odd([*others, content("a99999.pt", one)])]

    assert kinds_of(tensor(4, 128, 128, dtype="float32")) == ["shape"]
    assert kinds_of(tensor(16, 96, 128, dtype="float32")) == ["dtype"]
    assert kinds_of(tensor(4, 128, 128, dtype="int64")) == ["dtype"]


def test_an_odd_one_beside_two_kinds_is_held_against_the_nearer() -> None:
    """It is an embedding without its pooled part, not a latent without anything."""
    files = [*many(100, tensor(4, 64, 64, path="['latents']")), *many(40, EMBED, POOLED, begin="t")]

    assert odd([*files, content("a99999.pt", EMBED)]) == [
        ("a99999.pt", "missing-key", "['pooled']")
    ]


def test_a_key_that_many_hold_in_two_types_is_found_once() -> None:
    """For the folder: nobody could say which of them is right."""
    other = tensor(1, 77, 768, path="['prompt_embeds']", dtype="float32")
    (found,) = contents_of("cache", [*many(60, EMBED), *many(40, other, begin="b")]).odd

    assert found == OddContent(
        file="cache",
        kind="mixed-dtype",
        path="['prompt_embeds']",
        seen="float32 in 40",
        usual="float16",
        count=60,
    )


def test_a_cache_of_nothing_but_zeros_is_found_once() -> None:
    assert odd(many(20, tensor(16, 64, 64, zero=True))) == [("cache", "all-zero", "")]


def test_one_finding_a_file_counts_its_other_tensors() -> None:
    bad = [tensor(9, 9, path=f"['{name}']", nan=2) for name in "abc"]
    (found,) = contents_of("cache", [content("a.pt", *bad)]).odd

    assert (found.path, found.more, found.count, found.of) == ("['a']", 2, 2, 81)
    assert found.seen == "9 x 9, float16"


def test_what_was_not_loaded_is_counted_by_its_reason() -> None:
    skipped = [Content(file=f"cache/{n}.pt", skipped="it is damaged") for n in range(3)]
    found = contents_of("cache", [*skipped, *many(2, EMBED, POOLED)])

    assert (found.files, found.tensors, found.skipped) == (2, 4, {"it is damaged": 3})


def test_a_folder_in_which_every_file_differs_stays_within_bounds() -> None:
    """It is not held in memory file by file."""
    files = (content(f"a{n}.pt", tensor(9, path=f"['{n}']")) for n in range(12_000))

    assert contents_of("cache", files).odd == ()


@pytest.mark.parametrize("at", [0, 1])
def test_a_narrow_width_beside_tokens_that_vary_is_held(at: int) -> None:
    """It need not be as wide as an embedding: that all others agree while tokens vary says it."""

    def sized(width: int, tokens: int) -> CachedTensor:
        return tensor(1, *((tokens, width) if at else (width, tokens)))

    whole = [content(f"a{tokens:05}.pt", sized(96, tokens)) for tokens in range(20, 60)]
    assert odd(whole) == []

    assert odd([*whole, content("a00099.pt", sized(64, 33))]) == [("a00099.pt", "shape", "")]


def test_two_dimensions_that_both_vary_or_hardly_do_hold_nothing() -> None:
    """Masks of latents have their heights and widths; most prompts may have one length."""
    sizes = [(64, 64), (48, 80), (80, 48), (56, 72), (72, 56), (40, 96), (96, 40)]
    masks = [
        content(f"a{number:05}.pt", tensor(*sizes[number % len(sizes)])) for number in range(70)
    ]
    assert odd(masks) == []
    prompts = many(60, tensor(77, 64))

    assert odd([*prompts, content("a00077.pt", tensor(154, 64))]) == []
