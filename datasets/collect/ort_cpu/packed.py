"""Text files, packed as their names say: .gz, .xz or not at all. The same text gives the same bytes."""
import gzip
import lzma
import pathlib


def read_text(path):
    data = pathlib.Path(path).read_bytes()
    suffix = pathlib.Path(path).suffix
    if suffix == ".gz":
        data = gzip.decompress(data)
    elif suffix == ".xz":
        data = lzma.decompress(data)
    return data.decode()


def write_text(path, text):
    data = text.encode()
    suffix = pathlib.Path(path).suffix
    if suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)  # no time stamp
    elif suffix == ".xz":
        data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    pathlib.Path(path).write_bytes(data)
