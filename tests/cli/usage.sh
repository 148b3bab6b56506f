# Bad input: one line that says what is wrong and what is allowed, exit status 2 (1 when the world
# refuses), on standard error, once however many ranks there are. And what runs without MPI.
source "$(dirname "$0")/common.bash"

# ---- options ----
refused 1 2 "'--frobnicate'.* is unknown" --frobnicate
refused 1 2 "'-x'.* is unknown" -x
refused 1 2 "'-xy'.* is unknown" --case 1 -xy
refused 1 2 "'--output'.* lacks its value" --output
refused 1 2 "'--co' is unknown, ambiguous" --co 5
refused 1 2 "'stray' is not expected: there are only options" stray
refused 1 2 "'--output' is not expected: there are only options" --case 4 -- --output e.h5
refused 1 2 "--case: '5' is not allowed \(allowed: 1, 2, 3, 4" --case 5
refused 1 2 "--case: '1,' is not allowed" --case 1,
refused 1 2 "--case: '' is not allowed" --case ""
refused 1 2 "--context: '0' is not allowed \(allowed: 1 to" --context 0
refused 1 2 "--context: '-1' is not allowed" --context -1
refused 1 2 "--context: '8Q' is not allowed" --context 8Q
for range in 8K-64K 8k:64k 8K...64K 1K,8K-64K; do
    refused 1 2 "--context: '8.*64.' is not allowed \(did you mean 8[Kk]..64[Kk]\?\)" --context $range
done
refused 1 2 "--context: '' is not allowed" --context 8K,
refused 1 2 "--context: '16K..8K' runs backwards" --context 16K..8K
refused 1 2 "--context: '99999999999999999999' is not allowed" --context 99999999999999999999
refused 1 2 "--batch: '0' is not allowed" --batch 0
refused 1 2 "--batch: '1.5' is not allowed" --batch 1.5
refused 1 2 "--tile: '0' is not allowed" --tile 0
refused 1 2 "--record-ahead: '0' is not allowed" --record-ahead 0
refused 1 2 "--cubes-per-group: 2 is not allowed \(allowed: 1, 4, 8, and 16, all of a SIP\)" --cubes-per-group 2
refused 1 2 "--cubes-per-group: '0' is not allowed \(allowed: 1, 4, 8, and all CUBEs of a SIP\)" \
    --cubes-per-group 0
refused 1 2 "--query-len: '0' is not allowed \(allowed: 1 to the context\)" --query-len 0
refused 1 2 "--query-len: 9000 positions at the end of a context of 8192" --query-len 9000
refused 1 2 "--format: 'xml' is not allowed \(allowed: table, json\)" --format xml
refused 1 2 "--trace: 'all' is not allowed" --trace all
refused 1 2 "--reduce-pe: 'ring' is not allowed \(allowed: chain, tree, centre\)" --reduce-pe ring
refused 1 2 "--mlo: 'both' is not allowed" --mlo both
refused 1 2 "--tp-idle: 'on' is not allowed" --tp-idle on
refused 1 2 "--kv-layout: 'foo' is not allowed" --kv-layout foo
refused 1 2 "--kernel: there is no kernel 'decoder'" --kernel decoder
for option in output config tensors requests; do
    refused 1 2 "--$option: the file name is empty" --$option=
done

# ---- the machine ----
refused 1 2 "--set.*'topology'.*" --set topology
refused 1 2 "--set.*hbm.bandwith_gbps" --set hbm.bandwith_gbps=100
refused 1 2 "--set.*hbm.bandwidth_gbps.*'fast'" --set hbm.bandwidth_gbps=fast
refused 1 2 "--set.*ipcq.slots.*'0'" --set ipcq.slots=0
refused 1 2 "--set.*dma.channels.*'65'" --set dma.channels=65
refused 1 2 "nowhere.yaml" --config nowhere.yaml
refused 1 2 "'nowhere' is no file .* installed are ahbm-sip, ideal-collective, .*looked in .*/configs" \
    --config nowhere
refused 1 2 "--set scheduler.tile_n: '4096': scratch.capacity_bytes does not hold" \
    --set scheduler.tile_n=4096

yaml() { # yaml NAME TEXT
    printf "$2" >"$work/$1.yaml"
}
yaml unknown "hbm:\n  bandwith_gbps: 100\n"
yaml number "ipcq:\n  slots: 4\n  slot_bytes: many\n"
yaml range "topology:\n  pes_x: 0\n"
yaml twice "ipcq:\n  slots: 4\n  slots: 5\n"
yaml syntax "ipcq: [\n"
yaml empty ""
yaml clash "hbm:\n  pseudo_channels: 31\n"
refused 1 2 "unknown.yaml:2: .*hbm.bandwith_gbps" --config unknown.yaml
refused 1 2 "number.yaml:3: .*ipcq.slot_bytes.*'many'" --config number.yaml
refused 1 2 "range.yaml:2: .*topology.pes_x.*'0'" --config range.yaml
refused 1 2 "twice.yaml:3: .*ipcq.slots" --config twice.yaml
refused 1 2 "syntax.yaml:" --config syntax.yaml
refused 1 2 "empty.yaml" --config empty.yaml
refused 1 2 "clash.yaml:2: .*hbm.pseudo_channels" --config clash.yaml

# ---- the output is not one of the inputs, under whatever name ----
ln -s clash.yaml "$work/link.yaml"
ln "$work/clash.yaml" "$work/hard.yaml"
for name in clash.yaml ./clash.yaml link.yaml hard.yaml; do
    for option in config tensors requests kernel; do
        [ $option != requests ] || echo 4096 >"$work/clash.yaml"
        refused 1 2 "--output: '$name' is the file that --$option reads" \
            --$option clash.yaml --output $name
    done
    yaml clash "hbm:\n  pseudo_channels: 31\n"
done
refused 4 2 "--output: 'clash.yaml' is the file that --config reads" \
    --config clash.yaml --output clash.yaml
grep -q "pseudo_channels: 31" "$work/clash.yaml" || fail "the input was harmed"

# ---- the world ----
refused 1 1 "/nowhere" --output /nowhere/x.h5
refused 1 1 "" --output /proc/x.h5

# ---- the same from several ranks: once ----
refused 4 2 "'--frobnicate'.* is unknown" --frobnicate
refused 4 2 "--context: '0' is not allowed" --context 0
refused 4 2 "--set.*hbm.bandwith_gbps" --set hbm.bandwith_gbps=100
refused 4 2 "unknown.yaml:2: .*hbm.bandwith_gbps" --config unknown.yaml
refused 4 2 "nowhere.yaml" --config nowhere.yaml
refused 4 2 "--kernel: there is no kernel 'decoder'" --kernel decoder
refused 4 2 "--cubes-per-group: 2 is not allowed" --cubes-per-group 2
refused 4 1 "/nowhere" --output /nowhere/x.h5
refused 17 2 "17 ranks for 16 CUBEs" --case 1
refused 3 2 "3 ranks for 2 CUBEs" --set topology.cubes_x=2 --set topology.cubes_y=1 \
    --cubes-per-group 1

# ---- a kernel that cannot work: refused before anything runs, with case, kernel, PE and line ----
refused 1 2 "case 2: context 8192: kernel decode, CUBE [0-9]+ PE [0-9]+, command [0-9]+ \([^ ]*kernels/decode/attention.c:[0-9]+\)" \
    --case 2 --form one-shot
refused 4 2 "case 2: context 8192: kernel decode, CUBE [0-9]+ PE [0-9]+, command [0-9]+ \([^ ]*kernels/decode/attention.c:[0-9]+\)" \
    --case 2 --form one-shot

# ---- without MPI ----
# A program that calls MPI_Init under this setting ends in an error.
alone() { # alone PATTERN ARGUMENTS
    local pattern=$1 status=0
    shift
    echo "without MPI: $*"
    (cd "$work" && OMPI_MCA_pml=none patiently "$AHBM_PDES" "$@") >"$work/out" 2>"$work/err" ||
        status=$?
    [ "$status" = 0 ] || fail "status $status"
    [ ! -s "$work/err" ] || fail "standard error: $(head -3 "$work/err")"
    grep -Eq -e "$pattern" "$work/out" || fail "says: $(head -3 "$work/out")"
    rm -f "$work/out" "$work/err"
    [ -z "$(ls "$work" | grep -v '\.yaml$')" ] || fail "left: $(ls "$work")"
}
if OMPI_MCA_pml=none "$AHBM_PDES" --quiet --output "$work/x.h5" >/dev/null 2>&1; then
    echo "(this MPI starts without a transport: the next checks do not see whether MPI is used)"
fi
rm -rf "$work"/x.h5*
alone "^Usage: .*ahbm-pdes" --help
alone "^Usage: .*ahbm-pdes" -h
alone "^ahbm-pdes [0-9]+\.[0-9]+\.[0-9]+$" --version
alone "^ahbm-pdes [0-9]+\.[0-9]+\.[0-9]+$" -V
alone "^decode case 1 context 8192 batch 2 kernel decode memory [0-9]+ MiB$" --dry-run --context 4k..8k --batch 2
alone "^decode " --list-kernels
alone "^  bandwidth_gbps: 1200$" --print-config
alone "^  slots: 7$" --print-config --set ipcq.slots=7
alone "^decode case 4 context 16384 batch 3 kernel decode memory [0-9]+ MiB$" --dry-run --context 8K..32K --batch 3 --case 1,4

# ---- standard output that takes nothing ----
unheard() { # unheard TEXT: what the program said and, in $work/status, ended with
    local text=$1
    [ "$(cat "$work/status")" = 1 ] || fail "status $(cat "$work/status")"
    [ "$(cat "$work/err")" = "ahbm-pdes: error: cannot write standard output: $text" ] ||
        fail "says: $(head -3 "$work/err")"
}
for arguments in --help --version --list-kernels --print-config --dry-run \
    "--case 3 --output a.h5" "--case 3 --output a.h5 --format json"; do
    echo "to a full device, to a closed pipe: $arguments"
    status=0
    (cd "$work" && "$AHBM_PDES" $arguments) >/dev/full 2>"$work/err" || status=$?
    echo $status >"$work/status"
    unheard "No space left on device"
    exec 3> >(exec true) # the reader is gone when the program starts
    wait $!
    status=0
    (cd "$work" && "$AHBM_PDES" $arguments) >&3 2>"$work/err" || status=$?
    exec 3>&-
    echo $status >"$work/status"
    case $arguments in
    *--output*) unheard "Broken pipe" ;; # a run's summary is lost
    *)                                   # who lists has been heard as far as anyone cared
        [ "$status" = 141 ] || fail "status $status"
        [ ! -s "$work/err" ] || fail "says: $(head -3 "$work/err")"
        ;;
    esac
done
(cd "$work" && "$AHBM_PDES" --case 3 --output b.h5) >"$work/out" &&
    (cd "$work" && h5diff --exclude-path /run a.h5 b.h5) || fail "the result file is not complete"
"$AHBM_PDES" --quiet --output "$work/a.h5" >/dev/full || fail "--quiet prints"
rm -f "$work"/{a.h5,b.h5,out,err,status}

echo "print-config reads back"
"$AHBM_PDES" --print-config --set ipcq.slots=7 >"$work/seven.yaml"
# counted, as a grep that is content with the first would close the pipe
[ "$("$AHBM_PDES" --print-config --config "$work/seven.yaml" | grep -c "^  slots: 7$")" = 1 ] ||
    fail "slots are lost"

echo "variables that a launcher would set, without one: the program speaks all the same"
for variables in SLURM_PROCID=1 "SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_JOB_ID=7" PMI_RANK=1 PMIX_RANK=2 \
    OMPI_COMM_WORLD_RANK=1 "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"; do
    env $variables "$AHBM_PDES" --version | grep -q "^ahbm-pdes " || fail "$variables --version"
    status=0
    env $variables "$AHBM_PDES" --frobnicate 2>"$work/err" || status=$?
    [ $status = 2 ] && grep -q frobnicate "$work/err" || fail "$variables --frobnicate"
done
rm -f "$work/err"

echo "these, too, are said once by several ranks"
[ "$(launch 4 --version | wc -l)" = 1 ] || fail "--version"
[ "$(launch 4 --dry-run --case 1 | wc -l)" = 1 ] || fail "--dry-run"

# ---- what works ----
echo "a summary names the file"
launch 1 --case 3 >"$work/out" || fail "a bare run"
grep -q "^result file: ahbm-pdes.h5$" "$work/out" || fail "says: $(tail -1 "$work/out")"
rm -f "$work/ahbm-pdes.h5"

echo "the summary goes to standard output once, whatever the number of ranks"
for ranks in 1 4; do
    launch "$ranks" --case 3 --format json --output "$work/a.h5" >"$work/out" 2>"$work/err"
    [ "$(grep -c '"digest"' "$work/out")" = 1 ] || fail "$ranks ranks: not one point"
    [ ! -s "$work/err" ] || fail "$ranks ranks: standard error: $(head -3 "$work/err")"
done
launch 4 --case 3 --quiet --output "$work/a.h5" >"$work/out" 2>&1
[ ! -s "$work/out" ] || fail "--quiet says: $(head -3 "$work/out")"
[ "$(ls "$work" | grep -v yaml | sort | tr '\n' ' ')" = "a.h5 err out " ] ||
    fail "left: $(ls "$work")"

conclude
