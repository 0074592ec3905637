#!/bin/sh
# Makes .venv with the package, PyQt6 and the tools, and on Debian the system libraries that a window needs.
set -eu
cd "$(dirname "$0")/.."

window_libraries="libfontconfig1 libgl1 libegl1 libglib2.0-0 libdbus-1-3 libxkbcommon0 libxkbcommon-x11-0 \
libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 xvfb xauth"

as_root() {
    DEBIAN_FRONTEND=noninteractive apt-get "$@" -qq >/dev/null
}

# A library under the name it has in this release: Debian 13 renamed some with the suffix t64.
missing() {
    for name in "$@"; do
        dpkg-query -W -f '${Status}\n' "$name" "${name}t64" 2>/dev/null | grep -q 'install ok installed' || echo "$name"
    done
}

install_system() {
    wanted=$(missing $1)
    [ -z "$wanted" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        echo "System libraries are missing. As root, run:" >&2
        echo "    apt-get install --no-install-recommends" $wanted >&2
        exit 1
    fi
    echo "Installing system packages:" $wanted
    as_root update
    as_root install -y --no-install-recommends $wanted
}

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return 0
        fi
    done
    echo "Python 3.11 or later is needed; none was found." >&2
    return 1
}

python=$(find_python)
if command -v dpkg-query >/dev/null; then
    install_system "$window_libraries"
    # Debian's own Python comes without the module that makes environments.
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_system python3-venv
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
echo "Installing Python packages into .venv"
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
.venv/bin/python -m pip install --quiet --editable . 'napari[pyqt6]' --group dev
touch .venv/ready
