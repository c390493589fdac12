"""What is measured and the bound of each, once: the tests beside this file measure, and say it.

Of two things that take time, `a / b` is how many times as long as b a takes. Each is measured as
whole commands, unless it says that it is a call in this process.
"""

from __future__ import annotations

BOUNDS = {
    # Starting.
    "preflight --help / import click": "at most 1.5",
    "preflight run, a small tar / python -c pass": "at most 30",
    # 10,000 archives of 160 kB, as a trainer caches text embeddings.
    "torch.load / preflight run, 10,000 archives": "at least 4.5",
    "zipfile.testzip / preflight run, 10,000 archives": "at least 2",
    "the first run / the second, 10,000 archives": "at least 2",
    "the first run / the second, 10,000 archives, none in memory": "at least 4",
    # One archive of 1.6 GB, as a checkpoint is; a call.
    "an archive of 1.6 GB, records of 64 MiB / zipfile.testzip": "at most 0.43",
    "an archive of 1.6 GB, records of 4 MiB / zipfile.testzip": "at most 0.31",
    "an archive of 1.6 GB, records of 64 MiB / cat": "at most 0.9",
    "an archive of 1.6 GB, records of 4 MiB / cat": "at most 0.97",
    # safetensors of 160 kB; calls. load_file reads nothing of large ones.
    "400 safetensors, every byte / load_file": "at most 0.67",
    "800 safetensors in 40 shapes, the geometry / load_file": "at most 0.15",
    "800 safetensors in 800 shapes, the geometry / load_file": "at most 0.28",
    # 10,000 keys of a cache and their samples; a call.
    "keys that are said / listing both folders": "at most 5.4",
    "keys that are guessed / listing both folders": "at most 8",
    # Shards; webdataset iterates over them and decodes nothing, or every image by Pillow.
    "webdataset / preflight run --depth index, 10 shards": "at least 6",
    "webdataset / preflight run --depth bytes, 10 shards": "at least 5",
    "webdataset, decoding / preflight run --depth bytes, 10 shards": "at least 5",
    "preflight run --depth index, 100 shards / tar -tf": "at most 2.3",
    # One shard of 1,000 samples; calls.
    "structure of a shard (ustar) / webdataset": "at most 0.061",
    "structure of a shard (pax) / webdataset": "at most 0.062",
    "structure and pairing of a shard (ustar) / webdataset": "at most 0.082",
    "structure and pairing of a shard (pax) / webdataset": "at most 0.072",
    "a shard at index (ustar) / webdataset": "at most 0.1",
    "a shard at index (pax) / webdataset": "at most 0.083",
    "structure and pairing of a shard (ustar) / tar -tf": "at most 1.6",
    "structure and pairing of a shard (pax) / tar -tf": "at most 1.7",
    "a shard at index (ustar) / tar -tf": "at most 1.7",
    "a shard at index (pax) / tar -tf": "at most 1.8",
    # Folders of images.
    "100,000 files in 1 folder, listed and paired / find | wc": "at most 1.2",
    "100,000 files in 100 folders, listed and paired / find | wc": "at most 2.8",
    "preflight run, again, 100,000 images / find -printf %s": "at most 4.7",
    "preflight run, again / --no-ledger, 20,000 images": "at most 0.3",
    "preflight run --reread 0 / --no-ledger, 20,000 images": "at most 1.7",
    # A tree of 2,000 sources.
    "preflight run, 2,000 sources / ast.parse": "at most 1",
    "preflight run, again, 2,000 sources / ast.parse": "at most 0.2",
    "preflight run, a pipeline in 250 modules / ast.parse": "at most 4",
    # What the workers of a loader are sent; a call, once they have started.
    "round trip of 2 GiB of arrays / pickle.dump": "at most 0.29",
    "round trip of 2 GiB of tensors / pickle.dump": "at most 0.45",
    "round trip of a million samples / pickle.dump": "at most 2.5",
    # What a copy or a worker refuses, 300 times; calls.
    "seconds of a model that holds 300 locks": "below 1 s",
    "seconds of a loader that holds 300 locks": "below 1 s",
    # A script that is run as itself, under watch: it is the same process, and does the same.
    "start-up of a script under watch / python train.py": "at most 1.05",
    "a step of 8 layers of 512 under watch / a step": "at most 1.02",
    # 64 ranks of 8 workers: the whole command; a pass over a DistributedSampler, import and all.
    "64 ranks x 8 workers, 100,000 items, by_worker / one DistributedSampler": "at most 2",
    "64 ranks x 8 workers, 100,000 items, function / one DistributedSampler": "at most 4",
    "64 ranks x 8 workers, 100,000 items, loader / one DistributedSampler": "at most 6",
    "64 ranks x 8 workers, 100,000 items, stacked / one DistributedSampler": "at most 2",
    "seconds of 64 ranks x 8 workers, 100,000 items, by_worker": "below 10 s",
    "seconds of 64 ranks x 8 workers, 100,000 items, function": "below 10 s",
    "seconds of 64 ranks x 8 workers, 100,000 items, loader": "below 10 s",
    "seconds of 64 ranks x 8 workers, 100,000 items, stacked": "below 10 s",
    # Memory: the largest process of a command, or what a call takes more.
    "memory of 100,000 keys": "below 100 MB",
    "memory of 10,000 archives": "below 150 MB",
    "memory of an archive of 1.6 GB, records of 64 MiB": "below 150 MB",
    "memory of an archive of 1.6 GB, records of 4 MiB": "below 150 MB",
    "memory of the round trip of 2 GiB of arrays": "below 50 MB",
    "memory of the round trip of 2 GiB of tensors": "below 50 MB",
    "memory of 2,000 shards": "below 100 MB",
    "memory of each shard more": "at most 3000 bytes",
    "memory of 80,000 images": "below 100 MB",
    "memory of each image more": "at most 150 bytes",
    "memory of 64 ranks x 8 workers, 100,000 items, by_worker": "below 300 MB",
    "memory of 64 ranks x 8 workers, 100,000 items, function": "below 300 MB",
    "memory of 64 ranks x 8 workers, 100,000 items, loader": "below 300 MB",
    "memory of 64 ranks x 8 workers, 100,000 items, stacked": "below 300 MB",
}
