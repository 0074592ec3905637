#!/bin/sh
# Runs the demo or the tests, on a virtual screen where there is no other.
#   run.sh demo [ONE TWO]    run.sh test [pytest arguments]
set -eu
cd "$(dirname "$0")/.."
what=$1
shift

# Settings of a person's own napari must not change what is seen here.
settings=$(mktemp -d)
trap 'rm -rf "$settings"' EXIT
NAPARI_CONFIG=$settings/napari.yaml
export NAPARI_CONFIG

has_display() {
    [ "$(uname)" != Linux ] || [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]
}

on_virtual_screen() {
    env -u WAYLAND_DISPLAY QT_QPA_PLATFORM=xcb xvfb-run -a -s "-screen 0 1600x1200x24" "$@"
}

demo() {
    set -- .venv/bin/python -m napari_shape_ensembles.viewer.demo "$@"
    if has_display; then
        "$@"
    else
        on_virtual_screen "$@" --out demo.png
    fi
}

tests() {
    NAPARI_ENSURE_PLUGIN_MAIN_THREAD=1
    export NAPARI_ENSURE_PLUGIN_MAIN_THREAD
    set -- .venv/bin/python -m pytest "$@"
    if command -v xvfb-run >/dev/null; then
        on_virtual_screen "$@"
    else
        "$@"
    fi
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
esac
