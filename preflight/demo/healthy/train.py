"""Teaches a small model what the captions say of the dogs: the loader, the EMA, the launch."""

import copy
import os
from functools import partial

import webdataset as wds
from model import make_model
from torch.utils.data import DataLoader

SHARDS = "data/shard-{000..003}.tar"


class EMA:
    """A second model that follows the first."""

    def __init__(self, model):
        self.model = copy.deepcopy(model)


def resized(image):
    """Make all images of one size."""
    return image.resize((64, 64))


def as_text(caption):
    """Take what stands around a caption away."""
    return caption.strip()


def named(fields, sample):
    """Give each part of a sample its name."""
    return dict(zip(fields, sample))


def as_is(samples):
    """Leave a batch as the list that it is."""
    return samples


def make_loader():
    """Hand out batches of images and captions, for ever."""
    go_on = wds.warn_and_continue
    pipeline = (
        wds.WebDataset(SHARDS, resampled=True, shardshuffle=False, nodesplitter=None, handler=go_on)
        .decode("pil", handler=go_on)
        .to_tuple("jpg;png", "txt", handler=go_on)
        .map_tuple(resized, as_text)
        .map(partial(named, ("image", "caption")))
    )
    return DataLoader(pipeline, batch_size=4, num_workers=2, collate_fn=as_is)


def main():
    """Train."""
    rank = int(os.environ.get("SLURM_LOCALID", "0"))
    model = make_model().to(f"cuda:{rank}")
    ema = EMA(model)
    for batch in make_loader():
        model.learn(batch)
        ema.model.follow(model)


if __name__ == "__main__":
    main()
