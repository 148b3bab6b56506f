# The set-up: what CMake says of a library that is not there or an option that it does not know, what
# the scripts of jobs/ say while they install and when they cannot, and study.sh in a folder with a
# space in its name. Packages are looked for and installed by stand-ins.
source "$(dirname "$0")/common.bash"
: "${AHBM_SOURCE_DIR:?the repository}"
mpi=${AHBM_MPI:-openmpi}
unset AHBM_MPI

says() { # says TEXT WHAT: in the output, whatever its line breaks
    tr -s ' \n' ' ' <"$work/out" | grep -qF -- "$1" || fail "$2 does not say '$1': $(cat "$work/out")"
}

# ---- cmake ----
configured() { # configured STATUS OPTION...
    local wanted=$1 status=0
    shift
    cmake -S "$AHBM_SOURCE_DIR" -B "$work/build" "-DAHBM_MPI=$mpi" "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "cmake $*: status $status: $(tail -5 "$work/out")"
}

# One library at a time is hidden; of HDF5 there is still the serial one.
mkdir "$work/known"
IFS=: read -ra folders <<<"$(pkg-config --variable=pc_path pkg-config)"
for folder in "${folders[@]}"; do
    [ ! -d "$folder" ] || find "$folder" -name '*.pc' -exec ln -sf -t "$work/known" {} +
done
printf 'Name: hdf5\nDescription: the serial one\nVersion: 1.10\n' >"$work/serial"
ln -sf "$work/serial" "$work/known/hdf5.pc"
for module in hdf5-$mpi:libhdf5-$mpi-dev yaml-0.1:libyaml-dev jansson:libjansson-dev cunit:libcunit1-dev; do
    name=${module%%:*} package=${module##*:}
    echo "cmake without $name"
    mv "$work/known/$name.pc" "$work/hidden"
    PKG_CONFIG_LIBDIR=$work/known configured 1
    says "$name was not found: install the Debian package $package" "cmake"
    mv "$work/hidden" "$work/known/$name.pc"
done

for option in AHBM_SANITIZE=foo AHBM_SANITIZE=address,thread AHBM_MPI=foo; do
    echo "cmake -D$option"
    configured 1 "-D$option"
    says "${option%%=*}: '${option#*=}' is not allowed" "cmake"
    says "(allowed: " "cmake"
done

# ---- jobs/packages.sh ----
# A machine of stand-ins: nothing installed, the programs of `has` and those that the script calls.
stand_in() { # stand_in NAME: its text on standard input
    { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
mkdir "$work/bin"
for tool in bash sh cat sed env seq sleep dirname nproc; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
stand_in dpkg-query <<<'exit 1'
stand_in id <<<'echo ${USER_ID:-0}'

installs() { # installs NAME...: in the background where it has to be watched
    PATH=$work/bin bash -euo pipefail -c 'source_dir=$1 && . "$1/jobs/packages.sh" && shift &&
        install_packages "$@"' install "$AHBM_SOURCE_DIR" "$@" >"$work/out" 2>&1
}

echo "packages, and no apt-get"
installs some-package || fail "status $?"
says "these Debian packages or their like are needed: some-package" "the script"

echo "packages, and neither root nor sudo"
stand_in apt-get <<<'exit 0'
status=0
USER_ID=1000 installs some-package || status=$?
[ "$status" != 0 ] || fail "status 0"
says "run as root or install sudo" "the script"

echo "packages that take long"
stand_in apt-get <<END
case "\$*" in *install*) ;; *) exit 0 ;; esac
echo "Get:1 some-package"
for i in \$(seq 600); do [ ! -e "$work/seen" ] || break; sleep 0.1; done
i=0
while [ \$i -lt 500 ]; do echo "Unpacking \$i"; i=\$((i + 1)); done
echo "E: nothing came of it" >&2
exit 100
END
status=0
installs some-package &
until grep -q "Get:1" "$work/out" || ! kill -0 $! 2>/dev/null; do
    sleep 0.1
done
if [ ! -e "$work/out" ] || ! grep -q "Get:1 some" "$work/out"; then
    fail "nothing is said while it installs"
fi
kill -0 $! 2>/dev/null || fail "what it says comes when all is over"
touch "$work/seen"
wait $! || status=$?
[ "$status" = 100 ] || fail "a failed installation: status $status"
says "E: nothing came of it" "a failed installation"
[ "$(wc -l <"$work/out")" -lt 50 ] || fail "$(wc -l <"$work/out") lines"

# ---- bad usage ----
for command in "study.sh a b" "study.sh --help" "kernels.sh -x" "check.sh all"; do
    status=0
    bash "$AHBM_SOURCE_DIR/jobs/"$command >"$work/out" 2>&1 || status=$?
    [ "$status" = 2 ] || fail "$command: status $status"
    says "usage: " "$command"
done
for script in study.sh check.sh; do
    status=0
    AHBM_MPI=lam bash "$AHBM_SOURCE_DIR/jobs/$script" >"$work/out" 2>&1 || status=$?
    [ "$status" = 2 ] || fail "AHBM_MPI=lam $script: status $status"
    says "AHBM_MPI: 'lam' is not allowed (allowed: openmpi, mpich)" "$script"
done

# ---- mpirun ----
if [ "$mpi" = openmpi ]; then
    echo "more ranks than slots: the launcher says so"
    status=0
    env -u OMPI_MCA_rmaps_base_oversubscribe mpirun --host localhost:1 -np 2 "$AHBM_PDES" \
        --output "$work/x.h5" >"$work/out" 2>&1 || status=$?
    [ "$status" != 0 ] || fail "status 0"
    says "not enough slots available" "mpirun"
fi

# ---- study.sh ----
# What is built is there already; a run from another folder, with a space in every name.
python3=
for python3 in /usr/bin/python3 python3 ''; do
    ! "$python3" -c 'import h5py, matplotlib' 2>/dev/null || break
done
if [ -n "$python3" ]; then
    tree="$work/a tree"
    mkdir "$tree" "$work/a place" "$work/stand ins" "$work/a tmp"
    cp -r "$AHBM_SOURCE_DIR/jobs" "$AHBM_SOURCE_DIR/analysis" "$AHBM_SOURCE_DIR/configs" "$tree"
    rm -rf "$tree/analysis/__pycache__" "$work/bin"
    ln -s "stand ins" "$work/bin"
    stand_in dpkg-query <<<'echo installed'
    stand_in apt-get <<<'exit 1'
    stand_in cmake <<END
folder=\$2
[ "\$1" = --build ] || folder=\$4
mkdir -p "\$folder"
printf 'AHBM_MPIEXEC:INTERNAL=%s\nAHBM_MPI_FOUND:INTERNAL=%s\n' \
    "$(command -v "${AHBM_MPIEXEC:-mpirun}")" "$mpi" >"\$folder/CMakeCache.txt"
cp "$AHBM_PDES" "\$folder/ahbm-pdes"
END
    find "$tree" | sort >"$work/before"
    status=0
    echo "study.sh in a folder with a space"
    (cd "$work/a place" && env -u PYTHONDONTWRITEBYTECODE "PATH=$work/stand ins:$PATH" \
        "TMPDIR=$work/a tmp" "AHBM_MPI=$mpi" bash "$tree/jobs/study.sh" "the results") >"$work/out" 2>&1 ||
        status=$?
    [ "$status" = 0 ] || fail "study.sh: status $status: $(tail -5 "$work/out")"
    for name in study.h5 study.txt sweep.h5 sweep.txt figures/study-context.svg figures/study-latency.png; do
        [ -s "$work/a place/the results/$name" ] || fail "there is no $name"
    done
    for text in "== study: ahbm-pdes --case all" "== sweep: " "== figures" "== done: the results"; do
        says "$text" "study.sh"
    done
    [ "$(grep '\.svg$' "$work/out" | sort | uniq -d)" = "" ] || fail "a figure is drawn twice"
    find "$tree" | grep -v "^$tree/build" | sort | diff "$work/before" - >"$work/new" ||
        fail "it writes into the source tree: $(cat "$work/new")"
    [ "$(ls "$work/a place")" = "the results" ] || fail "it leaves $(ls "$work/a place")"
else
    echo "study.sh is left out: no python3 that has h5py and matplotlib"
fi

conclude
