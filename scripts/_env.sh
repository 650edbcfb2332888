# shellcheck shell=bash
# Sourced by the other scripts: makes and refreshes the environment in .venv.
#
#   ensure_env dev      everything that tests and checks need
#   ensure_env runtime  what the product itself needs
#
# A stamp in .venv holds the hash of pyproject.toml, so that a second call costs nothing. One lock
# keeps scripts that start together from installing together.

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python
export PYRIGHT_PYTHON_IGNORE_WARNINGS=1
# Tests and demos start hundreds of processes, which take twice as long without byte code. Whoever
# wants none beside the sources has it in the environment's folder.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX=${PYTHONPYCACHEPREFIX:-$VENV/pycache}
fi

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "error: $*"
    exit 1
}

find_python() {
    local name
    for name in python3 python3.11 python3.12 python3.13 python3.14; do
        if "$name" -B -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    fail "emuzero needs Python 3.11 or later, and no python3 here is as new as that"
}

have_compiler() { command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null; }

# -B: nothing may be written into the environment's folder before it is one.
make_venv() {
    local python
    python=$(find_python)
    "$python" -B -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python has no venv module (on Debian: apt-get install python3-venv)"
    [ ! -e "$VENV" ] || fail "$VENV has no working Python: move it away and start again"
    if ! "$python" -B -m venv "$VENV"; then
        rm -rf -- "$VENV"
        fail "$python could not make an environment in $VENV"
    fi
}

# install EXTRA STAMP HASH
install() {
    local target=$ROOT log
    [ "$1" = runtime ] || target="${ROOT}[$1]"
    [ -x "$PYTHON" ] || make_venv
    say "environment: installing $1 packages (a minute or two the first time)"
    log=$(mktemp)
    if ! "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-input \
        --editable "$target" >"$log" 2>&1; then
        cat -- "$log" >&2
        rm -f -- "$log"
        fail "pip could not install the $1 packages"
    fi
    rm -f -- "$log"
    printf '%s\n' "$3" >"$2"
}

is_fresh() { [ -x "$PYTHON" ] && [ "$(cat -- "$1" 2>/dev/null)" = "$2" ]; }

ensure_env() {
    local extra=$1 hash stamp
    if ! have_compiler; then
        [ "$extra" != dev ] || fail "no C compiler found (on Debian: apt-get install gcc libc6-dev)"
        say "note: no C compiler found; the product runs, tests and benchmarks will not"
    fi
    hash=$(sha256sum <"$ROOT/pyproject.toml")
    stamp=$VENV/.emuzero-$extra
    # The development environment holds all that the product needs.
    if [ "$extra" = runtime ] && is_fresh "$VENV/.emuzero-dev" "$hash"; then return; fi
    if is_fresh "$stamp" "$hash"; then return; fi
    (
        if command -v flock >/dev/null && ! flock --nonblock 9; then
            say "environment: waiting for another script to install it"
            flock 9
        fi
        # Another script may have done the work while this one waited.
        is_fresh "$stamp" "$hash" || install "$extra" "$stamp" "$hash" 9<&-
    ) 9<"$ROOT"
}
