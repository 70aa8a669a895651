#!/bin/sh
# Sets pybroker up in a virtual environment beside the sources and starts what is asked for. Safe to run again: what
# is there already is kept; a changed pyproject.toml or C codec is installed anew, and so is all when a compiler came.
#
#   sh etc/setup.sh run [options of pybroker]     the broker, in the foreground
#   sh etc/setup.sh test [options of pytest]      the tests, three at once for two cores (`-n 0`: one)
#   sh etc/setup.sh install [run|test|dev]        the environment only
#
# It needs python3, 3.11 or newer. Debian and Ubuntu keep half of Python's venv in a package of its own; where that is
# missing it is installed by apt-get, through sudo when you are not root.
#
# PYBROKER_VENV   folder of the environment, by default .venv in the checkout
# PYTHON          interpreter to make it with, by default python3
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=${PYBROKER_VENV:-$root/.venv}
python=${PYTHON:-python3}

say() { printf 'setup: %s\n' "$*" >&2; }

# The exit codes are those of sysexits.h, as everywhere in pybroker.
die() {
    code=$1
    shift
    say "$*"
    exit "$code"
}

usage() {
    sed -n '4,7p' "$0" | cut -c 5- >&2
    exit 64
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        say "asking sudo for: $*"
        sudo "$@"
    fi
}

check_python() {
    command -v "$python" >/dev/null 2>&1 || die 69 "no $python here: install Python 3.11 or newer"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die 69 "$python is $version, pybroker needs 3.11 or newer: set PYTHON to a newer one"
}

# On Debian `venv` can be imported, but fails half-way because ensurepip lives in python3.X-venv.
install_venv_package() {
    command -v apt-get >/dev/null 2>&1 ||
        die 69 "$python lacks ensurepip: install the package with Python's venv module, then try again"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
        die 77 "you are not root and there is no sudo: let root run 'apt-get install python$version-venv', then try again"
    say "python$version-venv is missing, installing it with apt-get"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "python$version-venv" >/dev/null
}

make_environment() {
    if [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    check_python
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || install_venv_package
    say "making a virtual environment in $venv"
    "$python" -m venv "$venv"
}

# Whether the C codec can be built: it needs a compiler and Python's headers.
compiler() {
    headers=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    if command -v "${CC:-cc}" >/dev/null 2>&1 && [ -f "$headers/Python.h" ]; then
        echo compiler
    else
        echo none
    fi
}

# `dev` contains `test`, and `test` contains what `run` needs.
installed() {
    for larger in dev test run; do
        stamp=$venv/.pybroker-$larger
        [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return 0
        [ "$larger" = "$1" ] && return 1
    done
    return 1
}

install() {
    make_environment
    wanted="$root $(compiler) $(cd "$root" && cat pyproject.toml setup.py pybroker/wire/_codec.c pybroker/wire/amqp10/_contents.c pybroker/wire/stream/_entries.c pybroker/spark/parse/_deliveries.c | cksum)"
    installed "$1" && return
    say "installing pybroker and the packages it needs (once)"
    case $1 in
        run) what=. ;;
        *) what=".[$1]" ;;
    esac
    (cd "$root" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 --editable "$what")
    printf '%s\n' "$wanted" >"$venv/.pybroker-$1"
}

case ${1:-} in
    run)
        shift
        install run
        exec "$venv/bin/pybroker" "$@"
        ;;
    test)
        shift
        install test
        cd "$root"
        exec "$venv/bin/python" -m pytest -n auto "$@"
        ;;
    install)
        case ${2:-run} in
            run | test | dev) install "${2:-run}" ;;
            *) usage ;;
        esac
        ;;
    *) usage ;;
esac
