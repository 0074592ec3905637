#!/bin/sh
# Runs the demo, the tests or a script that opens windows, on a virtual display if there is no other.
#   run.sh demo [ONE TWO]    run.sh test [pytest arguments]    run.sh script FILE [arguments]
set -eu
cd "$(dirname "$0")/.."
. tools/packages.sh
what=$1
shift

# Isolate from the user's napari settings.
settings=$(mktemp -d)
trap 'rm -rf "$settings"' EXIT
export NAPARI_CONFIG="$settings/napari.yaml"

has_screen() {
    [ "$(uname)" != Linux ] || [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]
}

has_virtual_screen() {
    command -v xvfb-run >/dev/null && command -v xauth >/dev/null
}

needs_virtual_screen() {
    has_virtual_screen || needs xvfb xauth
    has_virtual_screen || {
        echo "No display found, and no virtual one: install Xvfb, xvfb-run and xauth." >&2
        exit 1
    }
}

on_virtual_screen() {
    needs_virtual_screen
    env -u WAYLAND_DISPLAY QT_QPA_PLATFORM=xcb xvfb-run -a -s "-screen 0 1600x1200x24" "$@"
}

demo() {
    set -- .venv/bin/python tools/demo.py "$@"
    if has_screen; then
        "$@"
    else
        on_virtual_screen "$@" --out demo.png
    fi
}

# On Linux each test process opens its own virtual display (tests/conftest.py), separate from the user's. On other
# systems, windows of several processes would share one display and compete for focus, so a single process is used. GUI
# tests wait now and then: one process more than processors keeps them busy.
tests() {
    export NAPARI_ENSURE_PLUGIN_MAIN_THREAD=1 NAPARI_STRICT_QT=1
    has_screen || needs_virtual_screen
    if [ "$(uname)" = Linux ] && has_virtual_screen; then
        unset DISPLAY WAYLAND_DISPLAY
        workers=$(($(nproc) + 1))
        set -- -n $((workers < 5 ? workers : 5)) --dist worksteal "$@"
    fi
    .venv/bin/python -m pytest "$@"
}

case $what in
demo)
    if [ -z "${1:-}" ] && [ -z "${2:-}" ]; then
        demo
    elif [ -n "${1:-}" ] && [ -n "${2:-}" ]; then
        demo --a "$1" --b "$2"
    else
        echo "Give two images: make demo A=one.tif B=two.tif" >&2
        exit 2
    fi
    ;;
test) tests "$@" ;;
script)
    if has_screen; then .venv/bin/python "$@"; else on_virtual_screen .venv/bin/python "$@"; fi
    ;;
esac
