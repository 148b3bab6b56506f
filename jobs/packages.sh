# shellcheck shell=bash disable=SC2034,SC2154
# What a Debian or Ubuntu machine needs, and how the scripts of this folder use it. Sourced by
# them with `source_dir` set to the source tree.

# To build, run, draw and test.
packages=(
    build-essential cmake ninja-build pkg-config
    openmpi-bin libopenmpi-dev libhdf5-openmpi-dev hdf5-tools
    libyaml-dev libjansson-dev libopenblas-dev libcunit1-dev
    python3 python3-numpy python3-h5py python3-matplotlib
)
# For the tests' static analysis only.
packages_lint=(clang-tidy cppcheck)

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "$0: run as root or install sudo: needed for $*" >&2
        return 1
    fi
}

# say TEXT: what the script does now, and how long it has been running.
say() {
    printf '== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

# install_packages NAME...: does nothing when all are there.
install_packages() {
    local name missing=()
    if ! command -v apt-get >/dev/null; then
        echo "$0: no apt-get here; these Debian packages or their like are needed: $*" >&2
        return 0
    fi
    for name in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
            missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "looking for packages"
    as_root apt-get -qq update
    say "installing ${#missing[@]} packages and what they need, a few minutes: ${missing[*]}"
    # apt's own words, a line now and then: so many that it shows that it goes on
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
        "${missing[@]}" </dev/null |
        awk '/^(Fetched|E:|W:)/ { print; fflush() }
             /^(Get|Unpacking|Setting up)/ && ++seen % 25 == 0 {
                 printf "   %d steps, %s %s\n", seen, $1, $2; fflush() }'
    say "installed"
}

# configure FOLDER OPTION...: with Ninja where it is installed and the folder is new.
configure() {
    local folder=$1 generator=()
    shift
    if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    cmake -S "$source_dir" -B "$folder" "${generator[@]}" "$@" >/dev/null
}

# build FOLDER [OPTION...]: with a line now and then.
build() {
    local folder=$1
    shift
    say "building in $folder"
    cmake --build "$folder" --parallel "$(nproc)" "$@" |
        awk '!/^\[[0-9]+\/[0-9]+\]|^\[ *[0-9]+%\]/ || ++seen % 50 == 0 { print; fflush() }'
}

# Open MPI refuses to run as root unless told twice that it is meant.
allow_root() {
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}

# A Python that reads result files; the system's before one of the user's own.
find_python() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import h5py, matplotlib' 2>/dev/null; then
            echo "$python"
            return 0
        fi
    done
    echo "$0: no python3 that has h5py and matplotlib" >&2
    return 1
}

# For scripts that run the program and draw: installs, builds, finds a Python and makes the folder
# $results.
prepare_study() {
    install_packages "${packages[@]}"
    python=$(find_python)
    configure "$source_dir/build"
    build "$source_dir/build" --target ahbm-pdes
    allow_root
    mkdir -p "$results"
}

# run_study NAME OPTION...: on $ranks ranks, $results/NAME.h5 and its summary, which is also printed.
run_study() {
    local name=$1
    shift
    say "$name: ahbm-pdes $*"
    mpirun --oversubscribe -np "$ranks" "$source_dir/build/ahbm-pdes" "$@" \
        --output "$results/$name.h5" </dev/null | tee "$results/$name.txt"
    echo
}
