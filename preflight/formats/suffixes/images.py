"""Tells images by their names."""

from __future__ import annotations

from collections.abc import Iterable

PILLOW = {
    "JPEG": ("jpg", "jpeg", "jpe", "jfif"),
    "MPO": ("mpo",),
    "PNG": ("png", "apng"),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "BMP": ("bmp",),
    "DIB": ("dib",),
    "TIFF": ("tif", "tiff"),
    "AVIF": ("avif", "avifs"),
    "JPEG2000": ("jp2", "j2k", "j2c", "jpc", "jpf", "jpx"),
    "PPM": ("ppm", "pgm", "pbm", "pnm", "pfm"),
    "ICO": ("ico",),
    "CUR": ("cur",),
    "ICNS": ("icns",),
    "TGA": ("tga", "icb", "vda", "vst", "tpic"),
    "PCX": ("pcx",),
    "DCX": ("dcx",),
    "PSD": ("psd",),
    "QOI": ("qoi",),
    "SGI": ("sgi", "rgb", "rgba", "bw"),
    "DDS": ("dds",),
    "BLP": ("blp",),
    "FTEX": ("ftc", "ftu"),
    "FLI": ("fli", "flc"),
    "GBR": ("gbr",),
    "IM": ("im",),
    "MSP": ("msp",),
    "PIXAR": ("pxr",),
    "SUN": ("ras",),
    "XBM": ("xbm",),
    "XPM": ("xpm",),
}
"""The formats that Pillow decodes by itself, with their extensions.

Left out of what it registers: what needs another program or a handler of the job's (EPS, BUFR,
GRIB, HDF5, IPTC, WMF), videos (MPEG), and names that mostly mean something else, of which it reads
one form of many (`.fits`, tables too; `.pcd`, point clouds).
"""

PERHAPS = frozenset({"eps", "fit", "fits", "pcd", "pic", "ps", "spi", "targa", "wmf"})
"""Of files that Pillow may read, and that may be something else: nobody says that one is none."""

_BY_OTHERS = ("heic", "heif", "hif", "jxl", "exr")

EXTENSIONS = frozenset((*(one for names in PILLOW.values() for one in names), *_BY_OTHERS))
"""Of files that are images, without dots, in small letters."""

SAME_FORMAT = (frozenset(PILLOW["JPEG"]), frozenset(PILLOW["TIFF"]))
"""Extensions of one format: an image may be renamed from one of them to another."""


def is_image(name: str) -> bool:
    """Whether a file's name says that it is an image; `._dog.jpg` is what macOS left beside one."""
    dot = name.rfind(".")
    if name[dot + 1 :].lower() not in EXTENSIONS:  # most files of an archive are none
        return False
    base = name.rfind("/") + 1
    return dot > base and not name.startswith("._", base)


def may_be(suffixes: Iterable[str]) -> bool:
    """Whether one of these suffixes is of a file of which nobody says that it is no image."""
    return not PERHAPS.isdisjoint(one.rpartition(".")[2].lower() for one in suffixes)


def is_beside_an_image(name: str) -> bool:
    """Whether a file without a folder is what macOS has put beside an image: `._dog.jpg`."""
    return name.startswith("._") and is_image(name[2:])
