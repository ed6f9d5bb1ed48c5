"""Builds the Python package: a wheel for a platform, or a source distribution (PEP 517). It needs Go and a C compiler, and no
Python package.

    python3 build_backend.py OUT [GOOS/GOARCH …]    wheels; the environment may name C compilers, such as CC_linux_arm64
    pip install .                                   for this machine, from the repository or a source distribution
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "neardup"
# The oldest systems on which the library runs: the wheel of Linux is built against the glibc of the builder, see _glibc.
TAGS = {
    "linux/amd64": "{glibc}_x86_64",
    "linux/arm64": "{glibc}_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
}
COMPILERS = {"linux/arm64": "aarch64-linux-gnu-gcc", "linux/amd64": "x86_64-linux-gnu-gcc", "windows/amd64": "x86_64-w64-mingw32-gcc"}
LIBRARIES = {"darwin": "libneardup.dylib", "windows": "neardup.dll"}
EPOCH = (2026, 1, 1, 0, 0, 0)  # of all files, so that equal sources make equal wheels


def _version() -> str:
    with open(os.path.join(HERE, "src", NAME, "__init__.py"), encoding="utf-8") as f:
        return re.search(r'^__version__ = "(.+)"', f.read(), re.M).group(1)


def _metadata() -> str:
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return f"""Metadata-Version: 2.1
Name: {NAME}
Version: {_version()}
Summary: Near-duplicate texts: Chinese and English first, everything else well
Home-page: https://github.com/neardup/neardup
License: MIT
Requires-Python: >=3.9
Classifier: License :: OSI Approved :: MIT License
Classifier: Programming Language :: Go
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Text Processing
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""


def _native_platform() -> str:
    return subprocess.run(["go", "env", "GOHOSTOS", "GOHOSTARCH"], check=True, capture_output=True, text=True).stdout.strip().replace("\n", "/")


def _build_library(platform: str, out: str) -> None:
    """Builds the shared library for a platform. The sources are in the repository, or in go/ of a source distribution."""
    goos, goarch = platform.split("/")
    env = dict(os.environ, GOOS=goos, GOARCH=goarch, CGO_ENABLED="1")
    compiler = os.environ.get("CC_" + platform.replace("/", "_"))
    if platform != _native_platform():
        compiler = compiler or COMPILERS.get(platform)
        if not compiler:
            raise SystemExit(f"neardup: set CC_{platform.replace('/', '_')} to a C compiler for {platform}")
    if compiler:
        env["CC"] = compiler
    shipped = os.path.join(HERE, "go")
    where, package = (shipped, "./native") if os.path.isdir(shipped) else (os.path.dirname(HERE), "./python/native")
    subprocess.run(["go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, package], cwd=where, env=env, check=True)
    header = os.path.splitext(out)[0] + ".h"
    if os.path.exists(header):
        os.remove(header)


def _glibc(library: str) -> str:
    """Returns the tag of the oldest glibc with which a library works: that of the newest symbol that it names."""
    with open(library, "rb") as f:
        needed = {tuple(map(int, v)) for v in re.findall(rb"GLIBC_(\d+)\.(\d+)", f.read())}
    major, minor = max(needed | {(2, 17)})
    return f"manylinux_{major}_{minor}"


class _Wheel:
    """A zip file with the list of its files that a wheel has."""

    def __init__(self, path: str) -> None:
        self.zip, self.records = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        info = zipfile.ZipInfo(name, EPOCH)
        info.external_attr, info.compress_type, info.create_system = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED, 3
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record: str) -> None:
        self.records.append(f"{record},,")
        info = zipfile.ZipInfo(record, EPOCH)
        info.external_attr, info.compress_type, info.create_system = 0o100644 << 16, zipfile.ZIP_DEFLATED, 3
        self.zip.writestr(info, "\n".join(self.records) + "\n")
        self.zip.close()


def _sources() -> list[str]:
    """Returns the Python files of the package, in order."""
    return sorted(n for n in os.listdir(os.path.join(HERE, "src", NAME)) if n.endswith((".py", ".pyi", ".typed")))


def _read(*path: str) -> bytes:
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def _license() -> bytes:
    for folder in (HERE, os.path.dirname(os.path.dirname(HERE))):
        if os.path.exists(os.path.join(folder, "LICENSE")):
            return _read(folder, "LICENSE")
    raise SystemExit("neardup: no LICENSE")


def wheel(out: str, platform: str) -> str:
    """Builds the wheel of a platform, and returns the name of its file."""
    if platform not in TAGS:
        raise SystemExit(f"neardup: no wheel for {platform}; there are {', '.join(TAGS)}")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, LIBRARIES.get(platform.split("/")[0], "libneardup.so"))
        _build_library(platform, library)
        tag = "py3-none-" + TAGS[platform].format(glibc=_glibc(library))
        name = f"{NAME}-{_version()}-{tag}.whl"
        os.makedirs(out, exist_ok=True)
        w = _Wheel(os.path.join(out, name))
        for n in _sources():
            w.add(f"{NAME}/{n}", _read(HERE, "src", NAME, n))
        w.add(f"{NAME}/{os.path.basename(library)}", _read(library), 0o755)
        info = f"{NAME}-{_version()}.dist-info"
        w.add(f"{info}/METADATA", _metadata().encode())
        w.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: neardup build_backend\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        w.add(f"{info}/LICENSE", _license())
        w.close(f"{info}/RECORD")
    return name


def build_wheel(wheel_directory: str, config_settings=None, metadata_directory=None) -> str:
    """PEP 517."""
    return wheel(wheel_directory, _native_platform())


def build_sdist(sdist_directory: str, config_settings=None) -> str:
    """PEP 517: the Python files and all sources in Go, so that pip needs no network to build."""
    base = f"{NAME}-{_version()}"
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, base)
        shutil.copytree(os.path.join(HERE, "src", NAME), os.path.join(root, "src", NAME), ignore=lambda _, names: [n for n in names if n not in _sources()])
        for n in ("build_backend.py", "pyproject.toml", "README.md"):
            shutil.copy(os.path.join(HERE, n), root)
        with open(os.path.join(root, "LICENSE"), "wb") as f:
            f.write(_license())
        with open(os.path.join(root, "PKG-INFO"), "w", encoding="utf-8") as f:
            f.write(_metadata())
        if os.path.isdir(os.path.join(HERE, "go")):
            shutil.copytree(os.path.join(HERE, "go"), os.path.join(root, "go"))
        else:
            _vendor(os.path.join(root, "go"))
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path, _, names in sorted(os.walk(root)):
                for n in sorted(names):
                    info = tar.gettarinfo(os.path.join(path, n), os.path.relpath(os.path.join(path, n), folder))
                    info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode = 1767225600, 0, 0, "", "", 0o644
                    with open(os.path.join(path, n), "rb") as f:
                        tar.addfile(info, f)
        os.makedirs(sdist_directory, exist_ok=True)
        with open(os.path.join(sdist_directory, base + ".tar.gz"), "wb") as f:
            with gzip.GzipFile("", "wb", fileobj=f, mtime=0) as z:
                z.write(buffer.getvalue())
    return base + ".tar.gz"


def _vendor(to: str) -> None:
    """Makes a module with the sources of the library, and of everything that it imports."""
    bindings = os.path.dirname(HERE)
    repository = os.path.dirname(bindings)
    shutil.copytree(os.path.join(HERE, "native"), os.path.join(to, "native"), ignore=shutil.ignore_patterns("*_test.go"))
    with open(os.path.join(bindings, "go.mod"), encoding="utf-8") as f:
        version = re.search(r"^go .*$", f.read(), re.M).group(0)
    with open(os.path.join(to, "go.mod"), "w", encoding="utf-8") as f:
        f.write(f"module github.com/neardup/neardup/bindings/python\n\n{version}\n\nrequire github.com/neardup/neardup v{_version()}\n\nreplace github.com/neardup/neardup => {repository}\n")
    env = dict(os.environ, GOWORK="off", GOFLAGS="-mod=mod")
    subprocess.run(["go", "mod", "tidy"], cwd=to, env=env, check=True)
    subprocess.run(["go", "mod", "vendor"], cwd=to, env=env, check=True)
    for name in ("go.mod", os.path.join("vendor", "modules.txt")):  # the sources are in vendor, wherever the repository was
        with open(os.path.join(to, name), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(to, name), "w", encoding="utf-8") as f:
            f.write(text.replace(f"replace github.com/neardup/neardup => {repository}\n", "").replace(f" => {repository}", "").replace(f"# github.com/neardup/neardup\n", ""))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    for platform in sys.argv[2:] or [_native_platform()]:
        print(os.path.join(sys.argv[1], wheel(sys.argv[1], platform)))
