# Sourced by the other scripts: `needs NAME...` ensures that Debian packages are installed.

# Packages that are not installed under either name: Debian 13 renamed some with the suffix t64.
missing() {
    for name in "$@"; do
        dpkg-query -W -f '${Status}\n' "$name" "${name}t64" 2>/dev/null | grep -q 'install ok installed' || echo "$name"
    done
}

# Install missing packages, or without root print the command to do so. On other systems than Debian, do nothing.
needs() {
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 0
    wanted=$(missing "$@" | tr '\n' ' ')
    [ -n "$wanted" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "System packages are missing. Install them, then run make again:" >&2
        echo "    sudo apt-get install --no-install-recommends $wanted" >&2
        exit 1
    fi
    echo "Installing system packages: $wanted"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086  # one word per package
    apt-get install -y -qq --no-install-recommends $wanted >/dev/null
}
