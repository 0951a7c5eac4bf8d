#!/bin/sh
# Run by sbatch: EXIT_FILE COMMAND [WORD...]. It writes the exit status of the command into the file atomically.
# If it is ended from outside (preemption, a time limit, scancel), it writes none: then Slurm knows what happened, and
# may start it again.
exit_file=$1
shift
rm -f "$exit_file"
is_ended=
"$@" &
child=$!
trap 'is_ended=yes; kill -TERM "$child" 2>/dev/null' TERM
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do # a trap ends `wait` before the child ends
    wait "$child"
    status=$?
done
# Slurm signals all processes of a job one after another: the command may end before this shell gets its signal.
if [ "$status" != 0 ] && [ -z "$is_ended" ]; then sleep 1; fi
if [ -z "$is_ended" ]; then
    echo "$status" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"
fi
exit "$status"
