# Several nodes on one machine: the file is the same as one process's, whatever carries the events.
# First ranks of one node that pass for several; then a launch on two hosts, which are this machine
# under two names, each with a /dev/shm of its own; then one of them has too little of it.
source "$(dirname "$0")/common.bash"

same() { # same FILE: as the reference
    h5diff -q --exclude-path /run "$work/reference.h5" "$work/$1" || fail "$1 differs"
}

# compare TRANSPORT ARGUMENTS: the transport that --stats must name, and the result of a launch.
compare() {
    local transport=$1 status=0
    shift
    echo "$place: $transport: $*"
    (cd "$work" && patiently "${launcher[@]}" "$AHBM_PDES" --stats --output run.h5 "$@") \
        >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = 0 ] || fail "status $status: $(tail -3 "$work/err")"
    grep -q "synchronisation over $transport" "$work/out" || fail "$(grep over "$work/out" || true)"
    same run.h5
    rm -f "$work/run.h5"
}

reference() {
    rm -f "$work/reference.h5"
    launch 1 --quiet --output reference.h5 "$@"
}

pretend() { # pretend RANKS_PER_NODE RANKS: the launches that follow
    place="nodes of $1"
    launcher=(env "AHBM_RANKS_PER_NODE=$1" mpirun --oversubscribe -np "$2")
}

reference --case 4
pretend 1 6
compare "mpi, not shared memory: every process is on a node of its own" --case 4
pretend 8 16
compare shared+mpi --case 4
pretend 3 8
compare shared+mpi --case 4
compare shared+mpi --case 4 --transport shared
compare mpi --case 4 --transport mpi

# A remote shell that stays here. Names with "narrow" have a small /dev/shm.
namespaces="--uts --mount"
unshare $namespaces true 2>/dev/null || namespaces="--map-root-user $namespaces"
cat >"$work/agent" <<EOF
#!/bin/sh
while case "\$1" in -*) true ;; *) false ;; esac do shift; done
host=\$1
shift
exec unshare $namespaces sh -c '
    case "\$0" in *narrow*) size=12m ;; *) size=64m ;; esac
    hostname "\$0" && mount -t tmpfs -o size=\$size tmpfs /dev/shm && eval "\$*"' "\$host" "\$@"
EOF
chmod +x "$work/agent"

# The hosts have the slots; told to oversubscribe them, Open MPI 5 starts all ranks on the first.
# Its launcher refuses to talk to itself over the loopback, that of 4 may have nothing else.
over_loopback=()
if [[ $(mpirun --version) == *"(Open MPI) "[1-4].* ]]; then
    over_loopback=(--mca oob_tcp_if_include lo)
fi

hosts() { # hosts NAME:RANKS,... RANKS: the launches that follow
    place=$1
    launcher=(mpirun --bind-to none --mca plm_rsh_agent "$work/agent" --mca btl "tcp,vader,self"
        --mca btl_tcp_if_include lo "${over_loopback[@]}" --host "$1" -np "$2")
}

hosts here:8,there:8 16
if [ "$(patiently "${launcher[@]}" hostname 2>/dev/null | sort -u | tr '\n' ' ')" != "here there " ]
then
    [ "$failures" = 0 ] || conclude
    echo "skipped: mpirun cannot pass this machine for two here"
    exit 77
fi
compare shared+mpi --case 4
for split in 5,there:3 1,there:7; do
    hosts "here:$split" 8
    compare shared+mpi --case 4
done
hosts here:8,narrow:8 16
compare "mpi, not shared memory: on node narrow: /dev/shm has 1[0-2] MiB free" --case 4

reference --context 1M --trace commands
hosts here:3,there:5 8
compare shared+mpi --context 1M --trace commands
compare mpi --context 1M --trace commands --transport mpi
reference --phase prefill --context 1K
compare shared+mpi --phase prefill --context 1K

conclude
