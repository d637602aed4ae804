# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the NPU scenarios share. They run inside the VM, as root, with one NPU; if
# there is another device of the driver, it is kept away but where it is asked for.
#
#	. "$(dirname "$0")/npu-lib.sh"
#	scenario() { ...; expect "what is expected" COMMAND...; }
#	npu_test "name of the scenario" scenario
#	npu_done
#
# AI_TEST_UNIT names the device for vmctl: npu0 (default) or gpu0.
#
# A scenario fails when an expectation does, when the kernel has something to
# complain about, or when it leaves memory behind.

here=$(cd "$(dirname "$0")" && pwd)
driver=/sys/bus/pci/drivers/ai_npu
parameters=/sys/module/ai_npu/parameters
debug=/sys/kernel/debug
unit=${AI_TEST_UNIT:-npu0}
work=$(mktemp -d)

trap 'rm -rf "$work"' EXIT
exec 9>&1 # what is said from inside an expectation
exec 6<> <(:) # nothing ever comes from it, see pause()

# Starting a program takes long in a VM that is emulated: what bash can do it does.
pause() {
	read -r -t "$1" -u 6 || true # that the time is over is no failure
}

tap_number=0
tap_failed=0
tap_problems=0

note() {
	echo "# $*" >&9
}

problem() {
	tap_problems=$((tap_problems + 1))
	note "$*"
}

# expect TEXT COMMAND...: the command succeeds
expect() {
	expect_text=$1
	shift
	"$@" >/dev/null 2>&1 || problem "not so: $expect_text"
}

bail_out() {
	echo "Bail out! $*"
	exit 1
}

# ---- the kernel's log ----

log_mark() {
	log_marker="ai0-test $$ $tap_number $EPOCHREALTIME"
	echo "$log_marker" >/dev/kmsg
}

log_since() {
	dmesg | sed "1,/$log_marker/d"
}

# The driver said something that matches, since the scenario began.
log_has() {
	log_since | grep -q "ai_npu.*$1"
}

log_complaints() {
	log_since | grep -E 'BUG:|WARNING:|KASAN|UBSAN|Oops|INFO: task .* blocked|lockdep|DMA-API|general protection|possible recursive|suspicious RCU|kmemleak: [0-9]'
}

# ---- the device ----

npu_function() {
	for function in /sys/bus/pci/devices/*; do
		read -r id <"$function/modalias"
		[[ $id = pci:v00001AF4d00001110* ]] && npu_at=${function##*/} && return
	done
	return 1
}

# The driver's other device, which must not take the jobs that are meant for the one.
npu_other() {
	for function in /sys/bus/pci/devices/*; do
		read -r id <"$function/modalias"
		[[ $id = pci:v00001AF4d00001110* ]] && [ "${function##*/}" != "$npu_at" ] && return
	done
	return 1
}

npu_other_unbind() {
	npu_other || return 0
	echo kept-away >"$function/driver_override"
	[ ! -e "$function/driver" ] || echo "${function##*/}" >"$function/driver/unbind"
}

npu_other_bind() {
	npu_other && echo >"$function/driver_override" &&
		echo "${function##*/}" >/sys/bus/pci/drivers_probe && [ -e "$function/ai_npu" ]
}

# npu_number NAME: what it is called in uapi/ai.h
npu_number() {
	local number
	read -r number <"/sys/class/ai/$1/id" && echo "$number"
}

# The folder is there when probing has succeeded.
npu_bound() {
	[ -e "$driver/$npu_at/ai_npu" ]
}

no_device() {
	! compgen -G '/sys/class/ai/[gn]pu*' >/dev/null
}

npu_unbind() {
	! npu_bound || echo "$npu_at" >"$driver/unbind"
}

npu_bind() {
	npu_bound || echo "$npu_at" >"$driver/bind" 2>/dev/null
	npu_bound
}

# ai_module NAME: the file of the module that was built for this kernel
ai_module() {
	local folder
	for folder in ${AI_MODULES:-} "$here"/../../build/{stock,debug}/kmod; do
		if [[ $(modinfo -F vermagic "$folder/$1.ko" 2>/dev/null) = "$(uname -r) "* ]]; then
			echo "$folder/$1.ko"
			return
		fi
	done
	return 1
}

ai_insmod() {
	local module
	module=$(ai_module "$1") && insmod "$module"
}

npu_bind_fails() {
	! npu_bind
}

npu_sensors_fail() {
	! cat "/sys/bus/pci/devices/$npu_at/hwmon"/hwmon*/temp1_input
}

npu_rebind() {
	npu_unbind
	npu_bind
}

# npu_parameter NAME VALUE: of the module, until the end of the scenario
npu_parameter() {
	[ -e "$work/was.$1" ] || cat "$parameters/$1" >"$work/was.$1"
	echo "$2" >"$parameters/$1"
}

npu_parameters_back() {
	[ -e "$work"/was.job_timeout_ms ] && npu_unbind # it is taken when a device is bound
	for was in "$work"/was.*; do
		[ -e "$was" ] || continue
		cat "$was" >"$parameters/${was##*/was.}"
		rm "$was"
	done
}

# tell WORDS...: the control socket of the device. What vmctl does, without waiting
# for its interpreter; nobody else talks to the port here.
tell() {
	if [ -z "$control" ]; then
		answer=$(vmctl "$unit" "$@" 2>&1)
		return
	fi
	{
		echo "$unit $*" >&7
		read -r -t 30 answer <&7
	} 7<>"$control"
	[[ $answer = ok* ]]
}

ctl() {
	tell "$@" || problem "vmctl $unit $*: $answer"
}

# npu_file NAME: from the driver's folder in sysfs
npu_file() {
	local value
	read -r value 2>/dev/null <"/sys/bus/pci/devices/$npu_at/ai_npu/$1" && echo "$value"
}

npu_state_is() {
	[ "$(npu_file state)" = "$1" ]
}

npu_reset() {
	echo 1 >"/sys/bus/pci/devices/$npu_at/ai_npu/reset" 2>/dev/null
}

# Whatever a scenario did: a device that works, with nothing left of its faults.
npu_restore() {
	npu_parameters_back
	npu_function || return 1
	if ! npu_bind || ! npu_state_is running; then
		tell repair
		npu_bind && { npu_state_is running || npu_reset; }
	fi
}

npu_reset_fails() {
	! npu_reset
}

# wait_until SECONDS COMMAND...
wait_until() {
	wait_steps=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		wait_steps=$((wait_steps - 1))
		[ $wait_steps -gt 0 ] || return 1
		pause 0.1
	done
}

# ---- jobs ----

# job_start NAME ARGUMENTS...: run npu-job in the background
job_start() {
	job_name=$1
	shift
	"$npu_job" "$@" >"$work/job.$job_name" 2>&1 &
	echo $! >"$work/pid.$job_name"
}

# job_kill NAME
job_kill() {
	kill -9 "$(<"$work/pid.$1")"
}

# job_end NAME SECONDS: it ends by then
job_end() {
	job_pid=$(<"$work/pid.$1")
	if ! wait_until "$2" job_gone "$job_pid"; then
		problem "job $1 has not ended within $2 s"
		kill -9 "$job_pid"
	fi
	wait "$job_pid" 2>/dev/null
	note "$1: $(job_line "$1")"
}

job_gone() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ $stat = *') Z '* ]]
}

# The last line of what it printed.
job_line() {
	local lines
	mapfile -t lines <"$work/job.$1"
	[ ${#lines[@]} -eq 0 ] || echo "${lines[-1]}"
}

# job_is NAME PATTERN: of its last line
job_is() {
	[[ $(job_line "$1") =~ $2 ]]
}

# jobs_on_device NUMBER: so many have been given to it and have not ended
jobs_on_device() {
	local lines found=0 line
	mapfile -t lines <"$debug/ai_npu/$npu_at/queues"
	for line in "${lines[@]}"; do
		[[ $line != *'operation 16'* ]] || found=$((found + 1))
	done
	[ $found -eq "$1" ]
}

# loads_on_device NUMBER: of models, likewise
loads_on_device() {
	local lines found=0 line
	mapfile -t lines <"$debug/ai_npu/$npu_at/queues"
	for line in "${lines[@]}"; do
		[[ $line != *'operation 5'* ]] || found=$((found + 1))
	done
	[ $found -eq "$1" ]
}

# The device works: a job gives the right result.
job_works() {
	"$npu_job" >"$work/job.works" 2>&1 || {
		note "works: $(job_line works)"
		return 1
	}
}

# ---- what the kernel holds ----

regions_held() {
	local lines
	mapfile -t lines <"$debug/ai/gpt"
	echo ${#lines[@]}
}

regions_no_more_than() {
	[ "$(regions_held)" -le "$1" ]
}

# ---- scenarios ----

npu_test() {
	tap_number=$((tap_number + 1))
	tap_problems=0
	regions_before=$(regions_held)
	log_mark
	test_began=$EPOCHSECONDS
	"$2"
	npu_restore || problem "the device could not be brought back"
	expect "a job works afterwards" job_works
	wait_until 20 regions_no_more_than "$regions_before" ||
		problem "$(regions_held) regions are left, there were $regions_before"
	complaints=$(log_complaints)
	[ -z "$complaints" ] || problem "the kernel complains: $(echo "$complaints" | head -n 3)"
	if [ $tap_problems -eq 0 ]; then
		echo "ok $tap_number - $1"
	else
		echo "not ok $tap_number - $1"
		log_since | grep ai_npu | tail -n 12 | sed 's/^/# /'
		tap_failed=$((tap_failed + 1))
	fi
	note "$1 took $((EPOCHSECONDS - test_began)) s"
}

# On the debug kernel: what was allocated is reachable or freed.
leaks() {
	[ -w "$debug/kmemleak" ] || return 0
	sleep 6 # objects younger than that do not count
	echo scan >"$debug/kmemleak"
	echo scan >"$debug/kmemleak"
	leaked=$(cat "$debug/kmemleak")
	[ -z "$leaked" ] || problem "memory leaked: $(echo "$leaked" | head -n 20)"
	[ ! -r "$debug/dma-api/error_count" ] || [ "$(cat "$debug/dma-api/error_count")" = 0 ] ||
		problem "DMA-API debugging counts $(cat "$debug/dma-api/error_count") errors"
}

npu_done() {
	npu_test "nothing leaked" leaks
	echo "1..$tap_number"
	[ $tap_failed -eq 0 ]
	exit
}

control=
for port in /sys/class/virtio-ports/*/name; do
	[ -r "$port" ] && [ "$(<"$port")" = ai0.ctl ] || continue
	port=${port%/name}
	control=/dev/${port##*/}
done
npu_job=$(command -v npu-job || echo "$here/../../build/tests/vm/npu-job")
[ -x "$npu_job" ] || bail_out "npu-job has not been built"
cp "$npu_job" "$work/npu-job" # out of the shared file system, which is slow
npu_job=$work/npu-job
[ -d /sys/module/ai_npu ] || bail_out "ai_npu is not loaded"
npu_function || bail_out "there is no NPU in this machine"
npu_other_unbind
npu_restore
