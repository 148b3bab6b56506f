# shellcheck shell=bash
# check_new_result PROGRAM: docs/examples/new-result.patch is in the sources of PROGRAM. Its one row is
# in the file with unit and description, in the JSON document, in the table and in the list. Sourced by
# one_place.sh; runs in the present folder.
check_new_result() {
    local program=$1 told
    "$program" --case 4 --output result.h5 >result.table || fail "new result: no run"
    "$program" --case 4 --output result.h5 --format json >result.json || fail "new result: no run"
    told=$(sed -n 's/.*"slots_filled": \([0-9]*\),*$/\1/p' result.json)
    [ "${told:-0}" -gt 0 ] || fail "new result: not in the JSON document"
    h5dump -d /points/slots_filled result.h5 >result.dump || fail "new result: not in the file"
    grep -q "(0): $told\$" result.dump || fail "new result: another value in the file"
    grep -q 'IPCQ slots that filled' result.dump || fail "new result: no description in the file"
    grep -q 'IPCQ slots' result.table || fail "new result: no column in the table"
    grep -Eq "^decode .* $told " result.table || fail "new result: not in the table"
    "$program" --list-results >result.list
    grep -q '^| `slots_filled` | u64 .* | sum, group 0 | file, json, table |' result.list ||
        fail "new result: not in the list"
}
