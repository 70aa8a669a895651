#!/usr/bin/env bash
# Runs the README's two commands as a newcomer does: on a minimal Debian (Python, its venv module, certificates; neither
# git nor Java nor a compiler), as an ordinary user, from a copy of a clean clone. Fails when they do.
#
#   bash tests/fresh_machine.sh bookworm|trixie [options of pytest]
#
# It needs root, git, debootstrap, unshare and setpriv, the network, 5 GB of disk and half an hour. The code is that of the
# last commit. pip reaches its index as it does here: by the same configuration, certificates and proxies.
#
# ROOTS   folder that keeps what debootstrap made, for the next time; by default nothing is left behind
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${1:?bookworm or trixie}
shift
user=1000

die() {
    printf 'fresh machine: %s\n' "$2" >&2
    exit "$1"
}

step() { printf '\n+ %s: %s\n' "$suite" "$*"; }

# The first command below a heading of the README.
readme_command() {
    awk -v heading="^## $1" '/^## /{here = $0 ~ heading} here && /^```/{if (inside) exit; inside = 1; next} here && inside' \
        "$here/README.md"
}

# All mounts and processes are of a namespace of their own: they end with this script.
if [[ ${FRESH_INSIDE:-} != yes ]]; then
    ((EUID == 0)) || die 77 "only root can make another root"
    for program in git debootstrap unshare setpriv; do
        command -v "$program" >/dev/null || die 69 "no $program here: apt-get install git debootstrap util-linux"
    done
    FRESH_FOLDER=$(mktemp -d /var/tmp/pybroker-fresh.XXXXXX)
    trap 'rm -rf --one-file-system "$FRESH_FOLDER"' EXIT
    export FRESH_FOLDER FRESH_INSIDE=yes
    unshare --mount --pid --fork --kill-child bash "${BASH_SOURCE[0]}" "$suite" "$@"
    exit
fi

root=$FRESH_FOLDER/root
log=$FRESH_FOLDER/log

make_root() {
    step "debootstrap"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$1" >"$log" 2>&1 || {
        tail -20 "$log" >&2
        die 69 "debootstrap failed"
    }
}

if [[ -n ${ROOTS:-} ]]; then
    [[ -d $ROOTS/$suite ]] || make_root "$ROOTS/$suite"
    cp -a "$ROOTS/$suite" "$root"
else
    make_root "$root"
fi

for program in git java cc gcc; do
    [[ ! -e $root/usr/bin/$program ]] || die 70 "the new root has $program: it is not minimal"
done

mount -t proc proc "$root/proc"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
cp /etc/resolv.conf /etc/hosts "$root/etc/"

# What pip is told here, it is told there: variables, files, and what these name.
given=()
while IFS='=' read -r name value; do
    [[ ${name,,} =~ ^((https?|no|all)_proxy|ssl_cert_file|requests_ca_bundle|pip_(cert|index_url|extra_index_url|trusted_host|default_timeout|retries))$ ]] ||
        continue
    given+=("$name=$value")
    [[ $value != /* || ! -f $value ]] || install -D -m 644 "$value" "$root$value"
done < <(env)
for file in "$HOME/.pip/pip.conf" "$HOME/.config/pip/pip.conf" /etc/pip.conf; do
    [[ ! -f $file ]] || install -D -m 644 "$file" "$root/etc/pip.conf"
done
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

printf 'fresh:x:%d:%d::/home/fresh:/bin/sh\n' "$user" "$user" >>"$root/etc/passwd"
printf 'fresh:x:%d:\n' "$user" >>"$root/etc/group"
git -c safe.directory="$here" clone --quiet --no-hardlinks "$here" "$FRESH_FOLDER/clone"
mkdir "$root/home/fresh"
mv "$FRESH_FOLDER/clone" "$root/home/fresh/pybroker"
chown -R "$user:$user" "$root/home/fresh"

# Runs a command line as the user, in the clone.
as_user() {
    chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --no-new-privs \
        env -i HOME=/home/fresh USER=fresh LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin "${given[@]}" \
        sh -c "cd ~/pybroker && $1" </dev/null
}

run=$(readme_command "Run it")
tests=$(readme_command "Run the tests")
[[ -n $run && -n $tests ]] || die 70 "README.md prints no commands"

step "$run"
as_user "exec $run" >"$log" 2>&1 &
broker=$!
until grep -q '^next: ' "$log"; do
    if ! kill -0 "$broker" 2>/dev/null; then
        cat "$log"
        die 1 "the broker ended before its first screen"
    fi
    sleep 0.5
done
sleep 0.5
cat "$log"
grep -q '^codec: pure Python, several times slower .* install gcc' "$log" || die 1 "the first screen does not name the codec"
# The first screen says what to type next.
next=$(sed -n 's/^next: \(.*\)  # show the status$/\1/p' "$log")
step "$next"
as_user "$next" | sed -n 1,12p
kill -INT "$(sed -n 's/^pid: //p' "$log")"
wait "$broker" || die 1 "the broker ended with exit code $?"

step "$tests $*"
SECONDS=0
as_user "exec $tests $*" || die 1 "the tests ended with exit code $?"
printf 'fresh machine: %s passed, the tests and their installation took %d minutes\n' "$suite" $((SECONDS / 60))
