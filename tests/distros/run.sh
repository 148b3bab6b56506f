#!/usr/bin/env bash
# The two set-up scripts on bare distributions, as root and as a user with sudo.
#
#   run.sh [OPTION]... [NAME]...      NAME: bookworm, trixie, noble (default: all three)
#     --as LIST            root, user or root,user (default)
#     --scripts LIST       study, check or study,check (default)
#     --mpi LIST           openmpi (default), mpich or both: AHBM_MPI of jobs/packages.sh
#     --mirror URL         where Debian's packages come from (default http://deb.debian.org/debian)
#     --ubuntu-mirror URL  and Ubuntu's (default http://archive.ubuntu.com/ubuntu)
#     --logs FOLDER        receives the output of every run (default distro-logs)
#     --keep               leaves the roots in place
#
# For each name it builds a bare root below $TMPDIR (debootstrap --variant=minbase), puts a clean
# clone of this repository's HEAD into it and runs jobs/study.sh and jobs/check.sh there with an empty
# environment (env -i, HOME and PATH). Each of root and user begins with a root of its own, so that both
# install what they need. At the end it prints a table in Markdown. Needs root, debootstrap, and about
# 4 GiB and 15 minutes a run on two cores. Exit status: 0 all passed, 1 something failed or was not run,
# 2 bad usage. Processes and mounts live in namespaces that end with the script, whatever ends it.
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
who=root,user scripts=study,check mpis=openmpi keep=no logs=distro-logs
debian_mirror=http://deb.debian.org/debian ubuntu_mirror=http://archive.ubuntu.com/ubuntu
names=()

usage() {
    echo "$0: error: $*" >&2
    exit 2
}

list_of() { # list_of OPTION VALUE ALLOWED...
    local option=$1 value=$2 word
    shift 2
    for word in ${value//,/ }; do
        [[ " $* " == *" $word "* ]] || usage "$option: '$word' is not allowed (allowed: a list of $*)"
    done
    [[ $value == *[a-z]* ]] || usage "$option: an empty list (allowed: a list of $*)"
}

while [ $# -gt 0 ]; do
    case $1 in
    --as | --scripts | --mpi | --mirror | --ubuntu-mirror | --logs)
        [ -n "${2:-}" ] || usage "$1 wants a value"
        case $1 in
        --as) list_of "$1" "$2" root user && who=$2 ;;
        --scripts) list_of "$1" "$2" study check && scripts=$2 ;;
        --mpi) list_of "$1" "$2" openmpi mpich && mpis=$2 ;;
        --mirror) debian_mirror=$2 ;;
        --ubuntu-mirror) ubuntu_mirror=$2 ;;
        --logs) logs=$2 ;;
        esac
        shift
        ;;
    --keep) keep=yes ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" && exit ;;
    bookworm | trixie | noble) names+=("$1") ;;
    *) usage "'$1' is not expected (allowed: the options of --help, bookworm, trixie, noble)" ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=(bookworm trixie noble)
[ "$(id -u)" = 0 ] || usage "a root file system is made and entered: run as root"
for tool in debootstrap unshare git; do
    command -v $tool >/dev/null || usage "$tool is not installed"
done

mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ahbm-distros-XXXXXX")
work=$(cd "$work" && pwd -P)
child=

# In the background, or a signal would wait for its end.
attend() { # attend COMMAND...
    local status=0
    "$@" &
    child=$!
    wait "$child" || status=$?
    child=
    return $status
}

# Whether a process lives that was started in one of the roots: only what this script started can.
inhabited() {
    local place
    for place in /proc/[0-9]*; do
        [[ $(readlink "$place/root" 2>/dev/null) != "$work"/* ]] || return 0
    done
    return 1
}

finish() {
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true # unshare, and all in it
    for _ in $(seq 100); do
        inhabited || break
        sleep 0.1
    done
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

# apart COMMAND...: in namespaces of its own, whose processes and mounts end with it.
apart() {
    attend unshare --mount --propagation private --pid --fork --kill-child "$@"
}

prepare() { # prepare NAME: $work/NAME.tar, a bare root with sudo and a user
    local name=$1 root=$work/$1 mirror=$debian_mirror extra=() script=()
    if [ "$name" = noble ]; then
        mirror=$ubuntu_mirror
        extra=(--components=main,universe --keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg)
        # One script serves all releases of Ubuntu; a debootstrap older than one does not know its name.
        [ -e /usr/share/debootstrap/scripts/noble ] || script=(/usr/share/debootstrap/scripts/gutsy)
    fi
    say "$name: a bare root from $mirror"
    # Without a key debootstrap goes on without a check: we do not.
    if [ "$name" = noble ] && [ ! -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]; then
        say "$name: no /usr/share/keyrings/ubuntu-archive-keyring.gpg"
        return 1
    fi
    if ! apart debootstrap --variant=minbase --include=sudo,ca-certificates "${extra[@]}" "$name" \
        "$root" "$mirror" "${script[@]}" >"$logs/$name-debootstrap.log" 2>&1; then
        tail -3 "$logs/$name-debootstrap.log" >&2
        return 1
    fi
    chroot "$root" useradd --create-home --shell /bin/bash tester
    echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/tester"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp /etc/hosts "$root/etc/hosts" # sudo looks the machine's name up
    # Packages are fetched once for all roots of a name.
    echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/99keep"
    mkdir "$work/$name-packages"
    tar -C "$root" -cf "$work/$name.tar" .
    rm -rf --one-file-system "$root"
}

# What a running system has, then the command of a fresh login: ROOT PACKAGES USER COMMAND.
inside='
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc "$1/proc" &&
        mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
        mount --bind "$2" "$1/var/cache/apt/archives" || exit 125
    [ -e "$1/dev/pts/ptmx" ] || mount -t devpts devpts "$1/dev/pts" || exit 125
    home=$(awk -F: -v name="$3" "\$1 == name { print \$6 }" "$1/etc/passwd")
    exec chroot --userspec="$3:$3" "$1" /usr/bin/env -i HOME="$home" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd && $4" </dev/null'

failed=no
run_script() { # run_script NAME USER MPI SCRIPT: leaves in $cell how it ended, its output in a log
    local log=$logs/$1-$2-$3-$4.log begun=$SECONDS status=0 tests mpi=
    [ "$3" = openmpi ] || mpi="AHBM_MPI=$3 "
    say "$1, $2: ${mpi}jobs/$4.sh"
    apart bash -c "$inside" inside "$root" "$work/$1-packages" "$account" \
        "${mpi}bash ahbm-pdes/jobs/$4.sh" >"$log" 2>&1 || status=$?
    # ctest's own count, skipped ones left out
    tests=$(awk '/tests passed, .* failed out of / { failed = $4; all = $NF; skipped = 0 }
                 /^\t.*\(Skipped\)$/ { skipped++ }
                 END { if (all) printf " (%d tests%s%s)", all - failed - skipped,
                           failed ? ", " failed " failed" : "", skipped ? ", " skipped " skipped" : "" }' \
        "$log")
    if [ $status = 0 ]; then
        cell="passed$tests, $((SECONDS - begun)) s"
    else
        cell="**failed** with $status$tests, $((SECONDS - begun)) s"
        say "$1, $2: jobs/$4.sh ended with $status: $log"
        failed=yes
    fi
}

versions() { # versions ROOT: of the packages that matter, "Open MPI 5.0.7, HDF5 1.14.5, ..."
    chroot "$1" dpkg-query -W -f '${Package} ${Version}\n' libopenmpi-dev libmpich-dev libhdf5-openmpi-dev \
        libhdf5-mpich-dev gcc cmake python3 2>/dev/null |
        sed -E 's/ [0-9]+:/ /; s/^libopenmpi-dev/Open MPI/; s/^libmpich-dev/MPICH/
                s/^libhdf5-[a-z]*-dev/HDF5/; s/^cmake/CMake/; s/^python3/Python/
                s/ [0-9.]+\+really/ /; s/( [0-9.]*[0-9]).*/\1/' | paste -sd , | sed 's/,/, /g'
}

rows=()
run_as() { # run_as NAME USER MPI
    local name=$1 user=$2 account=$2 root=$work/$1-$2-$3 home script cells=()
    mkdir "$root"
    tar -C "$root" -xf "$work/$name.tar"
    home=$root/root
    [ "$user" = root ] || home=$root/home/tester account=tester
    git clone -q "$source_dir" "$home/ahbm-pdes"
    chroot "$root" chown -R "$account:" "${home#"$root"}/ahbm-pdes"
    for script in ${scripts//,/ }; do
        run_script "$name" "$user" "$3" "$script"
        cells+=("$cell")
    done
    rows+=("| $name | $user | $(versions "$root") |$(printf ' %s |' "${cells[@]}")")
    [ "$keep" = yes ] || rm -rf --one-file-system "$root"
}

for name in "${names[@]}"; do
    if prepare "$name"; then
        for mpi in ${mpis//,/ }; do
            for user in ${who//,/ }; do
                run_as "$name" "$user" "$mpi"
            done
        done
    else
        rows+=("| $name | | its root could not be built |$(printf ' not run |%.0s' ${scripts//,/ })")
        failed=yes
    fi
done

echo "| distribution | as | with |$(printf ' `%s.sh` |' ${scripts//,/ })"
echo "|---|---|---|$(printf -- '---|%.0s' ${scripts//,/ })"
printf '%s\n' "${rows[@]}"
[ "$failed" = no ]
