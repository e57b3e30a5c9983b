#!/bin/sh
# The job that the demo traces: standard tools, nothing of Gordon's.
#   job.sh INPUTS OUTPUTS
# Sorts 100-byte records through temporary files, greps and archives a multilingual text corpus,
# and waits until all of it is on the medium.
set -eu
in=$1
out=$2
export LC_ALL=C
sort --parallel=2 -S 256M -T "$out" "$in/records.txt" -o "$out/sorted.txt"
LC_ALL=C.UTF-8 grep -rhoE '[[:alpha:]]*(tion|ung|ment)[^[:alpha:]]+[[:alpha:]]+ the ' "$in/corpus" >"$out/matches.txt"
tar -C "$in" -cf - corpus | gzip >"$out/corpus.tar.gz"
sync
