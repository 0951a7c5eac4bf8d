#!/bin/sh
# What sbatch runs: EXIT_FILE COMMAND [WORD...]. It writes the exit status of the command into the file, whole or not
# at all. Ended from outside (preemption, a time limit, scancel) it writes none: then Slurm knows what happened, and
# may begin it again.
exit_file=$1
shift
rm -f "$exit_file"
is_ended=
"$@" &
child=$!
trap 'is_ended=yes; kill -TERM "$child" 2>/dev/null' TERM
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do # a trap ends `wait` before its child
    wait "$child"
    status=$?
done
# Slurm signals all processes of a job one after the other: the command may end before this shell is told.
if [ "$status" != 0 ] && [ -z "$is_ended" ]; then sleep 1; fi
if [ -z "$is_ended" ]; then
    echo "$status" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"
fi
exit "$status"
