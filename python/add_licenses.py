#!/usr/bin/env python3
"""Adds to a wheel the licenses of mpc, of the libraries that auditwheel put into it, and of
other packages whose code is in it, as files of its folder *.dist-info/licenses.

Usage: add_licenses.py WHEEL LICENSE [NAME=FILE|PACKAGE]...
  LICENSE     the license of mpc
  NAME=FILE   the license of the library that is called libNAME, or else of NAME
  PACKAGE     a Debian package whose code is compiled in

A library that has no NAME must be of a Debian package, whose copyright file is added.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

# auditwheel renames libzip.so.4.0 to libzip-0123abcd.so.4.0.
GRAFTED = re.compile(r"[^/]+\.libs/lib(.+)-[0-9a-f]{8}(\.so[.\d]*)")


class LicenseError(Exception):
    """What has no license."""


def package_of(library):
    """The Debian package that installed a library."""
    command = ["dpkg-query", "-S", f"*/{library}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    packages = {line.split(":")[0] for line in found.splitlines()
                if line.split(": ")[-1].startswith(("/lib/", "/usr/lib/"))}
    if len(packages) != 1:
        raise LicenseError(
            f"{library} is of {len(packages)} Debian packages instead of one; give its "
            f"license as {library.removeprefix('lib').split('.')[0]}=FILE")
    return packages.pop()


def copyright_of(package):
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    if not path.is_file():
        raise LicenseError(f"{path} is missing; install the package {package}")
    return path.read_bytes()


def licenses(names, license_file, extra):
    """The texts of all licenses, by the names of their files."""
    given = dict(item.split("=", 1) for item in extra if "=" in item)
    packages = {item for item in extra if "=" not in item}
    texts = {"LICENSE": pathlib.Path(license_file).read_bytes()}
    for name in names:
        if match := GRAFTED.fullmatch(name):
            if match[1] not in given:
                packages.add(package_of(f"lib{match[1]}{match[2]}"))
    for name, path in given.items():
        texts[name] = pathlib.Path(path).read_bytes()
    for package in sorted(packages):
        texts[package] = copyright_of(package)
    return texts


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, license_file, extra):
    new = f"{wheel}.new"
    with zipfile.ZipFile(wheel) as old:
        record = next(n for n in old.namelist() if n.endswith(".dist-info/RECORD"))
        folder = record.removesuffix("RECORD") + "licenses/"
        lines = old.read(record).decode()
        texts = licenses(old.namelist(), license_file, extra)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for info in old.infolist():
                if info.filename != record and not info.filename.startswith(folder):
                    out.writestr(info, old.read(info), compresslevel=9)
            lines = "".join(line for line in lines.splitlines(True)
                            if not line.startswith(folder))
            at = old.getinfo(record).date_time
            for name, text in texts.items():
                lines += record_line(folder + name, text)
                write(out, folder + name, text, at)
            write(out, record, lines.encode(), at)
    os.replace(new, wheel)
    print(f"    licenses: {', '.join(texts)}")


def write(archive, name, data, date_time):
    info = zipfile.ZipInfo(name, date_time)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    archive.writestr(info, data)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        add(sys.argv[1], sys.argv[2], sys.argv[3:])
    except LicenseError as error:
        sys.exit(f"add_licenses.py: error: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
