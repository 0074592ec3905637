#!/bin/sh
# Creates .venv with the package, PyQt6 and the tools; on Debian, also installs the system libraries for Qt windows.
set -eu
cd "$(dirname "$0")/.."
. tools/packages.sh

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return 0
        fi
    done
    echo "Python 3.11 or later is needed, and none was found. On Debian 12 or later: apt-get install python3-venv" >&2
    return 1
}

# Debian's Python lacks ensurepip, which installs pip into environments.
needs_venv() {
    "$1" -c 'import ensurepip' 2>/dev/null && return 0
    needs "$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    "$1" -c 'import ensurepip' 2>/dev/null && return 0
    echo "$1 cannot make environments: its module ensurepip is missing." >&2
    return 1
}

has_pip() {
    .venv/bin/python -m pip --version >/dev/null 2>&1
}

install() {
    .venv/bin/python -m pip install --quiet --editable '.[dask,ebsd,imagej,napari,parquet,r]' 'napari[pyqt6]' --group dev
}

# A new Python version may lack wheels of some libraries: pip then builds them.
needs_compiler() {
    needs gcc libc6-dev "$(.venv/bin/python -c 'import sys; print("python%d.%d-dev" % sys.version_info[:2])')"
}

python=$(find_python)
needs libfontconfig1 libgl1 libegl1 libglib2.0-0 libdbus-1-3 libxkbcommon0 libxkbcommon-x11-0 \
    libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0

if ! has_pip; then
    needs_venv "$python"
    "$python" -m venv .venv
fi
echo "Installing Python packages into .venv; the first time takes some minutes"
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
install || {
    echo "Some library has no wheel for this Python, so it is built here"
    needs_compiler
    install
}
.venv/bin/python -c 'import PyQt6.QtOpenGLWidgets' || {
    echo "Qt does not load. Install the library named above with the system's package manager, then run make again." >&2
    exit 1
}
touch .venv/ready
