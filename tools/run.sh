#!/bin/sh
# Runs the demo, the tests or a script that opens windows, on a virtual screen where there is no other.
#   run.sh demo [ONE TWO]    run.sh test [pytest arguments]    run.sh script FILE [arguments]
set -eu
cd "$(dirname "$0")/.."
. tools/packages.sh
what=$1
shift

# Settings of a person's own napari must not change what is seen here.
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
    set -- .venv/bin/python -m napari_shape_ensembles.viewer.demo "$@"
    if has_screen; then
        "$@"
    else
        on_virtual_screen "$@" --out demo.png
    fi
}

# On Linux each process of the tests opens a virtual screen of its own (tests/conftest.py), off a person's. Elsewhere
# windows of several processes would share one screen, and take the focus from each other. Windows wait now and then:
# with one process more than processors, these are busy.
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
