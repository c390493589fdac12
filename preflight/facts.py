"""What readers give and checks judge: frozen plain values; public, for plug-ins too.

Files are named as reports name them: relative to the job's folder, with forward slashes.
"""

from preflight.batches.facts import (
    FirstBatches,
    Form,
    OnTheWay,
    Parcel,
    Standing,
    Structure,
    TakenFor,
    Traceback,
)
from preflight.batches.pass_facts import AgainIn, Among, Epoch, RandomDraws, WholePass
from preflight.cached_files.facts import CacheFacts, CachePiece
from preflight.caches.facts import Alike, Burst, CacheFolderFacts, Unread
from preflight.checkpoints.facts import Checkpoint, CheckpointFacts
from preflight.datasets.class_facts import ClassFolder, ClassFolders, OtherNumbers, SplitClasses
from preflight.datasets.facts import (
    DatasetCaptions,
    DatasetFacts,
    FileList,
    Gone,
    KeyNames,
    Listed,
    NamedColumn,
    NamesSeen,
    Opened,
    Uncaptioned,
)
from preflight.epochs.facts import (
    ArchivesRead,
    Changing,
    Dropped,
    LeftBehind,
    LostBatches,
    SameOrder,
    SeededAlike,
)
from preflight.file_access.facts import Damage
from preflight.findings.check import Facts
from preflight.flow.facts import Flow, Lost, Passed, Swallowed
from preflight.host.facts import Gpu, GpuProcess, Gpus, HostFacts, LaunchCommand, NumberSaid
from preflight.images.facts import FolderFacts, ImageDamage, Picture, Pictures, Size
from preflight.keys.facts import CacheKeys, LackedKind, Respelled, SharedKey
from preflight.kinds.same import EVALUATES, EVENED, Same
from preflight.launched.facts import FoundThere, RankSeen, RanksSeen
from preflight.loaders.epoch_length import EpochLength
from preflight.loaders.facts import (
    Held,
    Inherited,
    Loaded,
    Sent,
    Trip,
    Unloadable,
    Unsendable,
)
from preflight.models.facts import Copied, Remedy, Uncopyable, UsesOriginal
from preflight.objects.facts import Definition, Part, Weight
from preflight.pairing.facts import (
    Captioned,
    CaptionFlaw,
    CaptionLengths,
    CaptionSuffix,
    Length,
    Pairing,
    SideFolder,
    Unpaired,
)
from preflight.pipelines.arrived import Arrived, Lacking
from preflight.pipelines.facts import Loss, Reads, ReadsClasses, Shifted, Stage, Survival
from preflight.ranks.facts import OneEntry, Owned, World, WorldFacts
from preflight.ranks.made.facts import NEARLY_ALL, OtherItems, RankBatches, RankCount, RankOrder
from preflight.resuming.facts import Difference, Resumed, SavedState
from preflight.scripts.facts import Ended, Met, Raised, RankLength, Rehearsal, StartedRanks, Waiting
from preflight.shards.facts import Field, FieldSet, Oddity, SampleFields, ShardFacts, Shared
from preflight.sheets.facts import Sheet
from preflight.sources.facts import EnvironmentRead, LoaderCall, SourceFacts, Unguarded
from preflight.sources.flaws.facts import (
    AliasedState,
    BusyWait,
    Flaws,
    Jump,
    Spot,
    Thread,
    TupleLoop,
    UnboundRead,
    UnstableOrder,
)
from preflight.storage.facts import Locks, ReadBack, StorageProbe, Tried, WriterTrial
from preflight.targets.facts import Absent
from preflight.tensors.facts import CacheContents, CachedTensor, Content, OddContent
from preflight.training.facts import Idle, NotFinite, Steps, Uncleared
from preflight.users_code.facts import Frame, GivesBatches, Lack, MadeOnCpu, Unbuilt
from preflight.zips.facts import ImageZip

__all__ = [
    "EVALUATES",
    "EVENED",
    "NEARLY_ALL",
    "Absent",
    "AgainIn",
    "AliasedState",
    "Alike",
    "Among",
    "ArchivesRead",
    "Arrived",
    "Burst",
    "BusyWait",
    "CacheContents",
    "CacheFacts",
    "CacheFolderFacts",
    "CacheKeys",
    "CachePiece",
    "CachedTensor",
    "CaptionFlaw",
    "CaptionLengths",
    "CaptionSuffix",
    "Captioned",
    "Changing",
    "Checkpoint",
    "CheckpointFacts",
    "ClassFolder",
    "ClassFolders",
    "Content",
    "Copied",
    "Damage",
    "DatasetCaptions",
    "DatasetFacts",
    "Definition",
    "Difference",
    "Dropped",
    "Ended",
    "EnvironmentRead",
    "Epoch",
    "EpochLength",
    "Facts",
    "Field",
    "FieldSet",
    "FileList",
    "FirstBatches",
    "Flaws",
    "Flow",
    "FolderFacts",
    "Form",
    "FoundThere",
    "Frame",
    "GivesBatches",
    "Gone",
    "Gpu",
    "GpuProcess",
    "Gpus",
    "Held",
    "HostFacts",
    "Idle",
    "ImageDamage",
    "ImageZip",
    "Inherited",
    "Jump",
    "KeyNames",
    "Lack",
    "LackedKind",
    "Lacking",
    "LaunchCommand",
    "LeftBehind",
    "Length",
    "Listed",
    "Loaded",
    "LoaderCall",
    "Locks",
    "Loss",
    "Lost",
    "LostBatches",
    "MadeOnCpu",
    "Met",
    "NamedColumn",
    "NamesSeen",
    "NotFinite",
    "NumberSaid",
    "OddContent",
    "Oddity",
    "OnTheWay",
    "OneEntry",
    "Opened",
    "OtherItems",
    "OtherNumbers",
    "Owned",
    "Pairing",
    "Parcel",
    "Part",
    "Passed",
    "Picture",
    "Pictures",
    "Raised",
    "RandomDraws",
    "RankBatches",
    "RankCount",
    "RankLength",
    "RankOrder",
    "RankSeen",
    "RanksSeen",
    "ReadBack",
    "Reads",
    "ReadsClasses",
    "Rehearsal",
    "Remedy",
    "Respelled",
    "Resumed",
    "Same",
    "SameOrder",
    "SampleFields",
    "SavedState",
    "SeededAlike",
    "Sent",
    "ShardFacts",
    "Shared",
    "SharedKey",
    "Sheet",
    "Shifted",
    "SideFolder",
    "Size",
    "SourceFacts",
    "SplitClasses",
    "Spot",
    "Stage",
    "Standing",
    "StartedRanks",
    "Steps",
    "StorageProbe",
    "Structure",
    "Survival",
    "Swallowed",
    "TakenFor",
    "Thread",
    "Traceback",
    "Tried",
    "Trip",
    "TupleLoop",
    "UnboundRead",
    "Unbuilt",
    "Uncaptioned",
    "Uncleared",
    "Uncopyable",
    "Unguarded",
    "Unloadable",
    "Unpaired",
    "Unread",
    "Unsendable",
    "UnstableOrder",
    "UsesOriginal",
    "Waiting",
    "Weight",
    "WholePass",
    "World",
    "WorldFacts",
    "WriterTrial",
]
