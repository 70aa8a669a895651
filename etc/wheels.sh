#!/bin/sh
# Builds wheels for Linux on x86-64 and arm64 into dist/, on either of them: zig compiles the C codec for both. The codec
# uses the stable ABI, so each wheel serves Python 3.11 and all later ones; glibc 2.17 or newer.
#
#   sh etc/wheels.sh
#
# PYTHON   interpreter to build with, by default python3; it needs its venv module
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
python=$folder/venv/bin/python
"$python" -m pip install --quiet --disable-pip-version-check build 'setuptools>=77' ziglang

for machine in x86_64 aarch64; do
    CC="$python -m ziglang cc -target $machine-linux-gnu.2.17"
    LDSHARED="$CC -shared"
    _PYTHON_HOST_PLATFORM=linux-$machine
    export CC LDSHARED _PYTHON_HOST_PLATFORM
    # From a copy, so that nothing built for one machine gets into the other's wheel.
    mkdir "$folder/$machine"
    (cd "$root" && cp -R README.md LICENSE MANIFEST.in pyproject.toml setup.py etc man pybroker pybrokerctl "$folder/$machine")
    find "$folder/$machine" \( -name '*.so' -o -name __pycache__ \) -prune -exec rm -rf {} +
    "$python" -m build --no-isolation --wheel --outdir "$root/dist" \
        "-C--build-option=--plat-name=manylinux2014_$machine" "$folder/$machine" >"$folder/log" 2>&1 || {
        tail -20 "$folder/log" >&2
        exit 1
    }
done
"$python" - "$root"/dist/*abi3*.whl <<'END'
import sys
import zipfile

for wheel in sys.argv[1:]:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    print(wheel, *names)
    built = ("spark/parse/_deliveries", "wire/_codec", "wire/amqp10/_contents", "wire/stream/_entries")
    if sorted(names) != [f"pybroker/{name}.abi3.so" for name in built]:
        sys.exit("a module in C was left out")
END
