#!/usr/bin/env bash
# The two set-up scripts on bare distributions, as root and as a user with sudo.
#
#   run.sh [OPTION]... [NAME]...      NAME: bookworm, trixie, noble (default: all three)
#     --as LIST        root, user or root,user (default)
#     --scripts LIST   study, check or study,check (default)
#     --mirror URL     where debootstrap and apt fetch Debian's packages from; --ubuntu-mirror URL
#                      Ubuntu's
#     --logs FOLDER    where the output of every run goes (default distro-logs)
#     --keep           leaves the roots in place
#
# For each name it builds a bare root below $TMPDIR (debootstrap --variant=minbase), puts a clean
# clone of this repository's HEAD into it and runs jobs/study.sh and jobs/check.sh there with an empty
# environment (env -i, HOME and PATH). Each of root and user begins with a root of its own, so that both
# install what they need. At the end it prints a table in Markdown. Needs root, debootstrap, and about
# 4 GiB and 15 minutes a run on two cores. Exit status: 0 all passed, 1 something failed, 2 bad usage.
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
who=root,user scripts=study,check keep=no logs=distro-logs
debian_mirror=http://deb.debian.org/debian ubuntu_mirror=http://archive.ubuntu.com/ubuntu
names=()

usage() {
    echo "$0: error: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --as) who=${2:?} && shift ;;
    --scripts) scripts=${2:?} && shift ;;
    --mirror) debian_mirror=${2:?} && shift ;;
    --ubuntu-mirror) ubuntu_mirror=${2:?} && shift ;;
    --logs) logs=${2:?} && shift ;;
    --keep) keep=yes ;;
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0" && exit ;;
    bookworm | trixie | noble) names+=("$1") ;;
    *) usage "'$1' is not expected (allowed: the options of --help, bookworm, trixie, noble)" ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=(bookworm trixie noble)
[[ $who =~ ^(root|user)(,(root|user))?$ ]] || usage "--as: '$who' is not a list of root and user"
[[ $scripts =~ ^(study|check)(,(study|check))?$ ]] ||
    usage "--scripts: '$scripts' is not a list of study and check"
[ "$(id -u)" = 0 ] || usage "a root file system is made and entered: run as root"
command -v debootstrap >/dev/null || usage "debootstrap is not installed"

mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ahbm-distros-XXXXXX")
mounted=()

leave() { # unmounts all of the present root
    local i
    for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
        umount -l "${mounted[i]}" || true
    done
    mounted=()
}
finish() {
    leave
    if [ "$keep" = yes ]; then
        echo "roots are left in $work" >&2
    else
        rm -rf --one-file-system "$work"
    fi
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

say() {
    echo "$(date +%T) $*" >&2
}

enter() { # enter ROOT: binds what a running system has
    local place
    for place in proc sys dev dev/shm; do
        mount --bind "/$place" "$1/$place"
        mounted+=("$1/$place")
    done
    cp /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
}

# Packages are fetched once for all roots of a name.
prepare() { # prepare NAME: $work/NAME.tar, a bare root with sudo, git and a user
    local name=$1 root=$work/$1 mirror=$debian_mirror
    [ "$name" != noble ] || mirror=$ubuntu_mirror
    say "$name: a bare root from $mirror"
    if ! debootstrap --variant=minbase --include=sudo,ca-certificates "$name" "$root" "$mirror" \
        >"$logs/$name-debootstrap.log" 2>&1; then
        tail -3 "$logs/$name-debootstrap.log" >&2
        return 1
    fi
    if [ "$name" = noble ]; then
        echo "deb $mirror noble main universe" >"$root/etc/apt/sources.list"
    fi
    chroot "$root" useradd --create-home --shell /bin/bash tester
    echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/tester"
    tar -C "$root" -cf "$work/$name.tar" .
    rm -rf --one-file-system "$root"
    mkdir -p "$work/$name-packages"
}

in_root() { # in_root ROOT USER COMMAND: with the environment of a fresh login
    local home=/root account=root
    [ "$2" = root ] || home=/home/tester account=tester
    chroot --userspec="$account:$account" "$1" /usr/bin/env -i HOME=$home PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c "cd && $3" </dev/null
}

run_script() { # run_script NAME ROOT USER SCRIPT: "passed in N s" or "FAILED"; its output into a log
    local log=$logs/$1-$3-$4.log begun=$SECONDS status=0 tests
    say "$1, $3: jobs/$4.sh"
    in_root "$2" "$3" "bash ahbm-pdes/jobs/$4.sh" >"$log" 2>&1 || status=$?
    tests=$(sed -n 's/^\([0-9]*%\) tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\3 tests, \2 failed/p' \
        "$log" | tail -1)
    if [ $status = 0 ]; then
        echo "passed${tests:+ ($tests)}, $((SECONDS - begun)) s"
    else
        echo "**failed** with $status${tests:+ ($tests)}, $((SECONDS - begun)) s"
        say "$1, $3: jobs/$4.sh ended with $status: $log"
    fi
}

versions() { # versions ROOT
    chroot "$1" dpkg-query -W -f '${Package} ${Version}\n' libopenmpi-dev libhdf5-openmpi-dev gcc \
        python3 2>/dev/null |
        sed -E 's/libopenmpi-dev/Open MPI/; s/libhdf5-openmpi-dev/HDF5/; s/^python3/Python/;
                s/[0-9]+:([0-9])/\1/; s/([0-9.]+).*/\1/' | paste -sd , | sed 's/,/, /g'
}

failed=no
rows=()
run_as() { # run_as NAME USER
    local name=$1 user=$2 root=$work/$1-$2 home account=root script cells=()
    mkdir "$root"
    tar -C "$root" -xf "$work/$name.tar"
    home=$root/root
    [ "$user" = root ] || home=$root/home/tester account=tester
    git clone -q "$source_dir" "$home/ahbm-pdes"
    chroot "$root" chown -R "$account" "${home#"$root"}/ahbm-pdes"
    enter "$root"
    mount --bind "$work/$name-packages" "$root/var/cache/apt/archives"
    mounted+=("$root/var/cache/apt/archives")
    echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true";' \
        >"$root/etc/apt/apt.conf.d/99keep"
    for script in ${scripts//,/ }; do
        cells+=("$(run_script "$name" "$root" "$user" "$script")")
        [[ ${cells[-1]} == passed* ]] || failed=yes
    done
    rows+=("| $name | $user | $(versions "$root") |$(printf ' %s |' "${cells[@]}")")
    leave
    [ "$keep" = yes ] || rm -rf --one-file-system "$root"
}

for name in "${names[@]}"; do
    if prepare "$name"; then
        for user in ${who//,/ }; do
            run_as "$name" "$user"
        done
    else
        rows+=("| $name | | its archive could not be reached |$(printf ' not run |%.0s' ${scripts//,/ })")
        failed=yes
    fi
done

echo "| distribution | as | with |$(printf ' `%s.sh` |' ${scripts//,/ })"
echo "|---|---|---|$(printf -- '---|%.0s' ${scripts//,/ })"
printf '%s\n' "${rows[@]}"
[ "$failed" = no ]
