"""Which globals of a pickle torch.load takes with weights_only, and which it refuses.

The list is that of PyTorch 2.13, as torch/_weights_only_unpickler.py has it, with its families of
names given by pattern. Where the job has a torch, weights_only.py reads that one's own.
"""

from __future__ import annotations

import re

_ALLOWED = frozenset(
    {
        *("_codecs.encode", "builtins.bytearray", "builtins.complex", "builtins.set"),
        *("collections.Counter", "collections.OrderedDict"),
        *("torch.Size", "torch.Tensor", "torch.bool", "torch.device"),
        *("torch._tensor._rebuild_from_type_v2", "torch.serialization._get_layout"),
        "torch.nn.parameter.Parameter",
        # These it takes once the module that they are of is imported.
        "torch._dynamo.decorators._DimRange",
        "torch.distributed._mesh_layout._FlatLayout",
        "torch.distributed._mesh_layout._MeshLayout",
        "torch.distributed._serialization._Entry",
        "torch.distributed.device_mesh.DeviceMesh",
        "torch.distributed.tensor.DTensor",
        "torch.distributed.tensor._dtensor_spec.DTensorSpec",
        "torch.distributed.tensor._dtensor_spec.ShardOrderEntry",
        "torch.distributed.tensor._dtensor_spec.TensorMeta",
        "torch.distributed.tensor.placement_types.Partial",
        "torch.distributed.tensor.placement_types.Replicate",
        "torch.distributed.tensor.placement_types.Shard",
        "torch.distributed.tensor.placement_types._StridedShard",
        "torch.nested._internal.nested_tensor.NestedTensor",
        "torch.nested._internal.nested_tensor._rebuild_njt",
    }
)
_ALLOWED_KIND = (
    r"torch\.(?:"
    r"(?:q?u?int|b?float|complex|bits)\d+[a-z0-9_]*"
    r"|per_(?:tensor|channel)_[a-z_]+"
    r"|_utils\._rebuild_(?!xla_)[a-z0-9_]+"
    r")"
)
_CLASS_OF_NUMBERS = (
    r"torch\.(?:cuda\.|sparse\.|cuda\.sparse\.)?"
    r"(?:BFloat16|Float|Bool|Byte|Char|ComplexDouble|ComplexFloat|Double|Half|Int|Long|Short"
    r"|QU?Int[0-9x]+)(?:Storage|Tensor)|torch\.storage\.(?:Unt|T)ypedStorage"
)

# Every torch takes these, and most pickles name nothing else.
_BY_ALL = frozenset(
    {"collections.OrderedDict", "torch._utils._rebuild_parameter"}
    | {"torch._utils._rebuild_tensor_v2", "torch.nn.parameter.Parameter"}
)

# What torch names devices, and packages that add one: of Ascend, Cambricon, Moore Threads, Enflame,
# Graphcore, Tecorigin, Biren, Rebellions, Trainium and TPU.
_DEVICE = re.compile(
    r"cpu|meta|(?:cuda|mps|xpu|hpu|mtia|privateuseone|maia|xla|ipu|npu|mlu|musa|gcu|sdaa|supa|rbln"
    r"|neuron|tpu|openreg)(?::\d+)?"
)

FRAMED = "pickle protocol 4 or 5"
"""Stands among the globals of a file of torch.save whose pickle is divided into frames, as from
protocol 4 on: torch.load refuses it with weights_only, whatever else is in it."""

DEVICE = "the device "
"""Stands among them in front of one that torch.load cannot bring tensors to by itself."""

TARRED = "the tar format from before 2017"
"""Stands among the globals of a file that torch.save wrote in it: weights_only refuses it whole."""

# Modules whose functions start programs, change files or run code; their classes hold values.
_DANGEROUS_MODULES = frozenset(
    {
        *("code", "codeop", "commands", "imp", "importlib", "marshal", "nt", "os", "pdb", "popen2"),
        *("posix", "pty", "runpy", "shutil", "subprocess", "sys", "timeit", "webbrowser"),
    }
)
_VALUES = ("_result", "_size", "_param")

_DANGEROUS = frozenset(
    {
        *(f"builtins.{name}" for name in ("__import__", "breakpoint", "compile", "eval", "exec")),
        *(f"builtins.{name}" for name in ("execfile", "open")),
        *("_io.open", "_io.open_code", "io.open", "io.open_code"),
        *("_pickle.Unpickler", "_pickle.load", "_pickle.loads"),
        *("pickle.Unpickler", "pickle.load", "pickle.loads", "pickle._load", "pickle._loads"),
        *("bdb.Bdb", "code.InteractiveConsole", "code.InteractiveInterpreter"),
        *("cProfile.run", "cProfile.runctx", "profile.run", "profile.runctx", "trace.Trace"),
        *("ctypes.CDLL", "ctypes.LibraryLoader", "ctypes.PyDLL", "ctypes.cdll", "ctypes.pydll"),
        *("dill._dill.load", "dill._dill.loads", "joblib.numpy_pickle.load"),
        *("numpy.testing._private.utils.runstring", "pandas.io.pickle.read_pickle"),
        *("pip.main", "pip._internal.main", "pip._internal.cli.main.main"),
        *("requests.api.get", "requests.api.post", "requests.api.request"),
        *("socket.create_connection", "socket.socket", "_socket.socket", "subprocess.Popen"),
        *("torch.hub.load", "torch.jit._serialization.load", "torch.serialization.load"),
        *("types.CodeType", "types.FunctionType"),
        *("urllib.request.urlopen", "urllib.request.urlretrieve"),
    }
)


def refused(module: str, name: str) -> str | None:
    """Give `module.name` where torch.load refuses it, and None where it does not.

    Python 2's names, which torch.save writes into pickles of protocol 2, are given as Python 3's.
    """
    full = f"{'builtins' if module == '__builtin__' else module}.{name}"
    if is_known(full):
        return None
    from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING  # few files need it

    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"


def is_known(name: str) -> bool:
    """Whether PyTorch 2.13 takes it."""
    return (
        name in _ALLOWED
        or is_class_of_numbers(name)
        or re.fullmatch(_ALLOWED_KIND, name, re.ASCII) is not None
    )


def is_class_of_numbers(name: str) -> bool:
    """Whether it is one of torch's old classes for numbers of a type: `torch.FloatStorage`."""
    return re.fullmatch(_CLASS_OF_NUMBERS, name, re.ASCII) is not None


def is_by_all(name: str) -> bool:
    """Whether every torch takes it."""
    return name in _BY_ALL or is_class_of_numbers(name)


def is_dangerous(name: str) -> bool:
    """Whether a global that `refused` gave can do harm once it is called: `posix.system`.

    One that the pickle hides, or puts together as it is loaded, has a reason to.
    """
    module, _, attribute = name.rpartition(".")
    if "?" in (module, attribute) or name in _DANGEROUS:
        return True
    is_function = attribute[:1].islower() or attribute[:1] == "_"
    return module in _DANGEROUS_MODULES and is_function and not attribute.endswith(_VALUES)


# What numpy itself writes into the pickle of an array of objects, under the names of numpy 1 and 2
# alike, and values of Python's own library that do nothing but hold something.
_OF_ARRAYS = (
    r"numpy\.(?:"
    r"_?core\.multiarray\.(?:_reconstruct|scalar)"
    r"|_?core\.numeric\._frombuffer"
    r"|_?core\.records\.(?:recarray|record)|(?:rec\.)?recarray|record"
    r"|ma\.(?:core\.)?(?:_mareconstruct|MaskedArray|MaskedConstant)"
    r"|dtypes?(?:\.[A-Za-z0-9]+DType)?|ndarray|matrix(?:lib\.defmatrix\.matrix)?"
    r"|bool_?|(?:u?int|float|complex)\d+|u?(?:byte|short|intc|int_|long|longlong)"
    r"|(?:c?longdouble|datetime64|timedelta64|str_|bytes_|void|object_)"
    r")"
    r"|builtins\.(?:bool|bytes|complex|dict|float|frozenset|int|list|object|range|set|slice|str|tuple"
    r"|Ellipsis|NotImplemented)"
    r"|collections\.(?:defaultdict|deque|ChainMap|UserDict)"
    r"|datetime\.(?:date|datetime|time|timedelta|timezone)"
    r"|decimal\.Decimal|fractions\.Fraction|uuid\.UUID|uuid\.SafeUUID|types\.SimpleNamespace"
    r"|pathlib(?:\._local)?\.(?:Pure)?(?:Posix|Windows)?Path|zoneinfo\.ZoneInfo\._unpickle"
    r"|copyreg\._reconstructor"
)


def is_of_arrays(name: str) -> bool:
    """Whether a global that `refused` gave stands in healthy arrays of Python's own objects."""
    return re.fullmatch(_OF_ARRAYS, name, re.ASCII) is not None


def is_device(tag: str) -> bool:
    """Whether torch, or a package that adds devices to it, names one so in a file."""
    return _DEVICE.fullmatch(tag) is not None
