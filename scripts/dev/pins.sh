#!/bin/sh
# Writes constraints.txt: every package that this project, its extras and its builds need, for every Python it supports.
set -eu
cd "$(dirname "$0")/../.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
    echo '# Every package that an environment of this project can hold, at the version that is tested. Made by `make pins`.'
    .venv/bin/uv --no-config pip compile --quiet --universal --python-version 3.11 --all-extras --group pyproject.toml:build \
        --upgrade --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml
} > "$new"
cat "$new" > constraints.txt
