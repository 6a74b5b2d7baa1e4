#!/usr/bin/env bash
# Makes this checkout ready: .venv with the pinned packages, and the system
# libraries that Qt's window needs. `make` calls it before everything else;
# done again without a change it returns at once.
#
#   ./setup.sh run     what the window and the command line need
#   ./setup.sh test    also what the tests and the checks need
#
# PYTHON=/path/to/python chooses the interpreter (3.11 or newer).
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

goal=${1:-run}
venv=.venv
installing=$venv/ridgeline-installing
stamp=$venv/ridgeline-ready-$goal
place=$venv/ridgeline-place

say() { printf 'setup: %s\n' "$*" >&2; }

stop() {
    say "$1"
    say "$2"
    exit 1
}

case $goal in run | test) ;; *) stop "unknown goal '$goal'" "use: ./setup.sh run|test" ;; esac

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The pins are tested on 3.11, so it is the first choice. Every candidate is
# run: version managers put stand-ins on PATH for versions that are not there.
find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || stop "PYTHON=$PYTHON is not a Python 3.11 or newer" "name another one"
        printf '%s' "$PYTHON"
        return
    fi
    for candidate in python3.11 python3.12 python3.13 python3.14 python3 /usr/bin/python3; do
        if is_new_enough "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    stop "Ridgeline needs Python 3.11 or newer and found none" \
        "install one (Debian 12: apt-get install python3 python3-venv), or name it: make run PYTHON=/path/to/python"
}

has_apt() { command -v apt-get >/dev/null 2>&1; }
is_root() { [ "$(id -u)" -eq 0 ]; }

install_packages() {
    if ! has_apt; then
        stop "this system lacks what Debian calls: $*" "install your distribution's equivalents, then try again"
    fi
    if ! is_root; then
        stop "packages are missing; install them with this command, then try again:" \
            "sudo apt-get install --no-install-recommends $*"
    fi
    say "installing with apt-get: $*"
    # A broken third-party list must not stop us: what counts is the install.
    DEBIAN_FRONTEND=noninteractive apt-get update -qq || say "apt-get update had errors, going on"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

missing_packages() {
    local python=$1
    if [ ! -x $venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    fi
    [ "$(uname -s)" = Linux ] || return 0
    # The tests open real windows, whatever platform this shell has chosen.
    [ "$goal" = run ] || unset QT_QPA_PLATFORM
    "$python" -I core/system_libraries.py --missing || true
    [ "$goal" = test ] || return 0
    command -v Xvfb >/dev/null 2>&1 || echo xvfb
    command -v xdotool >/dev/null 2>&1 || echo xdotool
    command -v import >/dev/null 2>&1 || echo imagemagick
    # A Vulkan driver for the CPU, so that the device probe meets a real one.
    "$python" -I -c 'import ctypes; ctypes.CDLL("libvulkan.so.1")' 2>/dev/null || echo libvulkan1
    compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null || echo mesa-vulkan-drivers
}

# Changes whenever the pins, the dependencies or the place of the checkout do
# (a virtual environment cannot be moved).
fingerprint() {
    { pwd -P && cat constraints.txt pyproject.toml setup.sh; } |
        if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi
}

is_ready() {
    [ -f "$stamp" ] && [ ! -e $installing ] && [ "$(cat "$stamp")" = "$1" ] && $venv/bin/python -c '' 2>/dev/null
}

# Whether .venv was made in this place (its scripts name the place) and its Python lives.
is_usable() {
    [ "$(cat $place 2>/dev/null || pwd -P)" = "$(pwd -P)" ] &&
        is_new_enough $venv/bin/python && $venv/bin/python -m pip --version >/dev/null 2>&1
}

make_venv() {
    local python=$1
    if [ -e $installing ]; then
        say "the last installation was interrupted, starting over"
        rm -rf $venv
    elif [ -d $venv ] && ! is_usable; then
        say "$venv does not work here (moved, or its Python is gone), making a new one"
        rm -rf $venv
    fi
    [ -d $venv ] || { mkdir $venv && : >$installing && "$python" -m venv $venv; }
    : >$installing
    pwd -P >$place
}

# torch goes first and alone: it is the one package that must never be
# resolved to another build (other builds are several GB).
install_pins() {
    local requirements=$venv/ridgeline-requirements-$goal.txt
    $venv/bin/python - "$goal" >"$requirements" <<'PYTHON'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
wanted = list(project["dependencies"])
if sys.argv[1] == "test":
    wanted += project["optional-dependencies"]["dev"]
print("\n".join(wanted))
PYTHON
    local pip=("$venv/bin/python" -m pip install --disable-pip-version-check --no-input -c constraints.txt)
    "${pip[@]}" "$(grep '^torch==' constraints.txt)" >&2
    say "installing the rest"
    "${pip[@]}" --quiet -r "$requirements" >&2
    $venv/bin/python -m pip check >&2
}

main() {
    local wanted python missing
    wanted=$(fingerprint)
    if is_ready "$wanted"; then
        python=$venv/bin/python
    else
        python=$(find_python)
    fi
    missing=$(missing_packages "$python")
    # shellcheck disable=SC2086 # one word a package
    [ -z "$missing" ] || install_packages $missing
    if is_ready "$wanted"; then
        return
    fi
    say "preparing $venv with $("$python" --version), this takes some minutes the first time"
    make_venv "$python"
    install_pins
    printf '%s' "$wanted" >"$stamp"
    rm -f $installing
    if [ "$goal" = run ]; then
        say "compiling the trace reader"
        # Not needed to start: what is not compiled now is compiled when it is first used.
        $venv/bin/python main.py _prepare || true
    fi
    say "ready"
}

# Two at a time would spoil each other's environment; the second one waits.
if command -v flock >/dev/null 2>&1; then
    exec 9<setup.sh
    flock 9
fi
main
