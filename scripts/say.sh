# shellcheck shell=sh
# Sourced by the other scripts: how they speak and give up.

say() {
    printf '%s\n' "$*" >&2
}

# give_up WHAT REMEDY: the exit code is the one that esac-ag has for a machine that lacks something.
give_up() {
    say "setup: $1"
    say "  remedy:   $2"
    exit 2
}

is_root() {
    [ "$(id -u)" -eq 0 ]
}
