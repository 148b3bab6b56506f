# shellcheck shell=bash disable=SC2034,SC2154
# What a Debian or Ubuntu machine needs, and how the scripts of this folder use it. Sourced by
# them with `source_dir` set to the source tree.

# Which MPI; a build with MPICH has a folder of its own.
case ${AHBM_MPI:=openmpi} in
openmpi) packages_mpi=(openmpi-bin libopenmpi-dev libhdf5-openmpi-dev) build_dir=$source_dir/build ;;
mpich) packages_mpi=(mpich libmpich-dev libhdf5-mpich-dev) build_dir=$source_dir/build-mpich ;;
*)
    echo "$0: error: AHBM_MPI: '$AHBM_MPI' is not allowed (allowed: openmpi, mpich)" >&2
    exit 2
    ;;
esac

# To build, run, draw and test.
packages=(
    build-essential cmake ninja-build pkg-config
    "${packages_mpi[@]}" hdf5-tools
    libyaml-dev libjansson-dev libopenblas-dev libcunit1-dev
    python3 python3-numpy python3-h5py python3-matplotlib
)
# Others' readers of the result file, for the tests only.
packages_readers=(python3-xarray python3-netcdf4 netcdf-bin)
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

# now_and_then STEP: of the lines of standard input that match the pattern STEP one every ten seconds,
# with the time so far; errors, warnings and all others as they come.
now_and_then() {
    local line next=0
    while IFS= read -r line; do
        if [[ $line == [EW]:* || $line == Err* || $line == dpkg:* || $line != $1 ]]; then
            printf '%s\n' "$line"
        elif [ $SECONDS -ge $next ]; then
            printf '   %d:%02d %.100s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$line"
            next=$((SECONDS + 10))
        fi
    done
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
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
        "${missing[@]}" </dev/null | now_and_then '*'
    say "installed"
}

# configure FOLDER OPTION...: with Ninja where it is installed and the folder is new.
configure() {
    local folder=$1 generator=()
    shift
    if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    say "configuring $folder"
    # Where no packages can be installed the MPI is the one that is there.
    if command -v apt-get >/dev/null; then
        generator+=("-DAHBM_MPI=$AHBM_MPI")
    fi
    cmake -S "$source_dir" -B "$folder" "${generator[@]}" "$@" >/dev/null
}

# cached NAME FOLDER: what CMake found there.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$2/CMakeCache.txt"
}

# build FOLDER [OPTION...]: with a line now and then.
build() {
    local folder=$1
    shift
    say "building in $folder"
    cmake --build "$folder" --parallel "$(nproc)" "$@" | now_and_then '\[*[0-9%]\] *'
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

# For scripts that run the program and draw: installs, builds, finds a Python and the launcher of
# MPI, and makes the folder $results.
prepare_study() {
    install_packages "${packages[@]}"
    python=$(find_python)
    configure "$build_dir"
    build "$build_dir" --target ahbm-pdes
    launcher=("$(cached AHBM_MPIEXEC "$build_dir")")
    if [ "$(cached AHBM_MPI_FOUND "$build_dir")" = openmpi ]; then
        launcher+=(--oversubscribe)
    fi
    allow_root
    mkdir -p "$results"
}

# run_study NAME OPTION...: on $ranks ranks, $results/NAME.h5 and its summary, which is also printed.
run_study() {
    local name=$1
    shift
    say "$name: ahbm-pdes $*"
    "${launcher[@]}" -np "$ranks" "$build_dir/ahbm-pdes" "$@" \
        --output "$results/$name.h5" </dev/null | tee "$results/$name.txt"
    echo
}
