#!/bin/sh
# Usage: venv.sh EXTRAS
#
# Makes .venv if it is not there, and installs this checkout into it with the extras given ("sandbox", "dev,sandbox") at
# the versions that constraints.txt pins. Needs a Python of 3.11 or later and nothing else; uses uv where it is installed.
# What it cannot mend it says in one line, and then leaves nothing behind. PYTHON=... chooses the interpreter.
set -eu
cd "$(dirname "$0")/../.."
extras=$1

# Another project's environment, or a pip configured for installs outside environments, must not reach this one.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USE_PEP517=1
# The isolated builds (this project's, and antlr4-python3-runtime's) follow the pins too: pip has read the first name since
# 25.3, and the second before. Relative, since pip splits these variables at spaces.
export PIP_BUILD_CONSTRAINT=constraints.txt PIP_CONSTRAINT=constraints.txt

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

suits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Prints the interpreter to use, or nothing.
choose_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if suits "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

# Debian and Ubuntu keep the half of venv that installs pip in a package of its own.
missing_venv() {
    package=python3-venv
    case $(basename "$1") in python3.*) package=$(basename "$1")-venv ;; esac
    as_root=
    if [ "$(id -u)" -ne 0 ]; then as_root='sudo '; fi
    if command -v apt-get >/dev/null 2>&1; then
        fail "$1 cannot make virtual environments yet. Run this, then try again: ${as_root}apt-get install -y $package"
    fi
    fail "$1 cannot make virtual environments: install its venv and ensurepip modules (or uv), then try again."
}

create_with_python() {
    if "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        "$1" -m venv --clear .venv
    elif "$1" -m virtualenv --version >/dev/null 2>&1; then
        "$1" -m virtualenv --quiet --clear .venv
    elif "$1" -c 'import venv' >/dev/null 2>&1 && "$1" -m pip --python "$1" --version >/dev/null 2>&1; then
        # The system's pip installs a pip into the new environment.
        "$1" -m venv --clear --without-pip .venv
        "$1" -m pip --python .venv/bin/python install --quiet pip
    else
        missing_venv "$1"
    fi
}

# An environment without an installer is one whose making was interrupted.
have_environment() {
    suits .venv/bin/python || return 1
    [ -n "$uv" ] || .venv/bin/python -m pip --version >/dev/null 2>&1
}

uv=$(command -v uv || true)
if ! have_environment; then
    python=$(choose_python)
    if [ -z "$python" ] && [ -z "$uv" ]; then
        fail "Python 3.11 or later is needed, and found was $(python3 --version 2>/dev/null || echo none). PYTHON=/path/to/python names another."
    fi
    trap 'rm -rf .venv' EXIT
    trap 'exit 130' INT TERM HUP
    if [ -n "$uv" ]; then
        uv venv --quiet --clear --python "${python:-3.13}" .venv
    else
        create_with_python "$python"
    fi
    trap - EXIT INT TERM HUP
fi

echo "Installing what constraints.txt pins ($extras) ..." >&2
if [ -n "$uv" ]; then
    uv pip install --quiet --python .venv/bin/python \
        --constraints constraints.txt --build-constraints constraints.txt --editable ".[$extras]"
else
    .venv/bin/python -m pip install --quiet --editable ".[$extras]"
fi
