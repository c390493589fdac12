"""Tells by names what lies beside images and is neither one of them nor a caption."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TEXTS = frozenset(
    {
        *("readme", "license", "licence", "notice", "requirements", "changelog", "about", "index"),
        *("metadata", "meta", "config", "settings", "stats", "dataset_info", "dataset_infos"),
        *("classes", "labels", "names", "prompts", "captions", "tags", "train", "val", "test"),
        *("urls", "list", "files", "image_list", "manifest", "annotations", "info", "state"),
        *("data", "dataset", "sample_prompts", "all_image_files", "trigger", "notes"),
        *("concepts", "sample", "samples", "prompt", "negative", "negative_prompt", "log", "todo"),
        *("meta_cap", "meta_cap_dd", "meta_clean", "meta_lat", "meta_tag"),  # kohya's sd-scripts
        *("multidatabackend", "dataloader", "user_prompt_library", "train_list", "val_list"),
        *("_annotations.coco", "_annotations", "_classes", "_darknet", "via_project", "result"),
    }
)

# Of SimpleTuner, img2dataset, COCO and video or dataset tools that write one text for many images.
_BEGINNINGS = (
    *("aspect_ratio_bucket_", "all_image_files_", "all_text_cache_files_", "all_vae_cache_files_"),
    *("meta_cap", "meta_lat", "instances_", "captions_train", "captions_val", "person_keypoints_"),
    *("readme", "license", "llava_"),
)
_ENDS = ("_stats", "_metadata", ".index", ".safetensors.index", "_state", "_config")

# What one image has for itself beside its own picture: the masks and conditions of OneTrainer, of
# trainers with masked loss, of ControlNet data; thumbnails.
_MASKS = frozenset(
    {
        *("-masklabel", "-condlabel", "_masklabel", "_condlabel", "_mask", "-mask", ".mask"),
        *("_matte", "_alpha", "_seg", "_cond", "_conditioning", "_control", "_depth", "_canny"),
        *("_pose", "_openpose", "_normal", "_thumb", "_thumbnail", "-thumb", ".thumb"),
    }
)

_SPARE_FOLDERS = re.compile(
    r"(?:.*[-_ ])?(?:reg|regs|regularization|regularisation|regularizations|reg_images|"
    r"class_images|masks?|masklabels?|conditioning|conditioning_images?|conditions?|control|"
    r"controls|depth|canny|pose|openpose|thumbs?|thumbnails?|@eadir|previews?)",
    re.IGNORECASE,
)

# Another caption of an image, or one in another language: dog_0.txt, dog-1.txt, dog.en.txt.
_VARIANT = re.compile(r"(.+?)(?:[_-]\d+|\.[^.]+|_[a-z]{2}(?:[-_][A-Za-z]{2})?)", re.DOTALL)

# Beside these the texts are boxes of a detector (YOLO), and an image without any is legal.
_LABELS = {"txt": "classes", "names": "obj", "labels": "_darknet"}


def captions_nothing(stem: str) -> bool:
    """Whether a text of this stem lies in a folder for people or a tool, and captions no image."""
    lower = stem.lower()
    return lower in _TEXTS or lower.startswith(_BEGINNINGS) or lower.endswith(_ENDS)


def is_spare_folder(place: str) -> bool:
    """Whether images in this folder need no captions: regularisation images, masks, thumbnails.

    The place begins below the folder that was named: whoever names one means its images.
    """
    return any(_SPARE_FOLDERS.fullmatch(part) for part in place.split("/"))


def mask_of(stem: str) -> str | None:
    """Give the stem of the image to which this one would belong as its mask; None for others."""
    at = max(stem.rfind("-"), stem.rfind("_"), stem.rfind("."))
    return stem[:at] if at > 0 and stem[at:].lower() in _MASKS else None


def variant_of(stem: str) -> str | None:
    """Give the stem of the image that a text of this stem would caption once more."""
    match = _VARIANT.fullmatch(stem)
    return match[1] if match else None


def are_for_labels(suffixes: Iterable[str], joined: str) -> bool:
    """Whether one of these files says that the texts beside it are labels, and no captions."""
    stems = [_LABELS[one] for one in suffixes if one in _LABELS]
    return any(f"/{stem}/" in f"/{joined}/" for stem in stems)
