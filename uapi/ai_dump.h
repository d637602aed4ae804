/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * ai0: the format of what AI_DUMP writes, and devcoredump on a failure.
 */
#ifndef _UAPI_LINUX_AI_DUMP_H
#define _UAPI_LINUX_AI_DUMP_H

#include "ai.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: The format of a dump
 *
 * A dump is a &struct ai_dump_header of @header_bytes, followed by sections up to
 * @total_bytes. A section is a &struct ai_dump_section and @bytes of contents: @count
 * elements of @element_bytes each, then zeroes up to a multiple of 8. All numbers are
 * little-endian, all texts NUL-terminated and padded with NUL.
 *
 * A reader skips sections whose type it does not know, and in each element what is
 * beyond the part it knows; what an older kernel wrote is shorter and reads as zero. A
 * change that is more than that counts up &ai_dump_section.version of the section or
 * &ai_dump_header.format of the whole.
 *
 * A dump holds no tensor data, no artefact of a model and no address of the kernel's.
 */

/**
 * define AI_DUMP_MAGIC - the characters AI0DUMP and a NUL
 */
#define AI_DUMP_MAGIC 0x00504d5544304941ULL
#define AI_DUMP_FORMAT 1

/**
 * define AI_DUMP_F_FULL - bit of &ai_dump_header.flags, who asked may see everything
 *
 * Else jobs, contracts, events and decisions are those of the caller's file and user
 * alone, and &ai_dump_header.withheld names the sections that are not there for that.
 */
#define AI_DUMP_F_FULL (1U << 0)
/**
 * define AI_DUMP_F_GONE - bit of &ai_dump_header.flags, the device is being removed and
 *	its driver was not asked
 */
#define AI_DUMP_F_GONE (1U << 1)

/**
 * struct ai_dump_header - begin of a dump
 * @magic: %AI_DUMP_MAGIC
 * @format: %AI_DUMP_FORMAT
 * @header_bytes: size of this struct as it was written
 * @total_bytes: size of the whole dump
 * @flags: AI_DUMP_F_* bits
 * @sections: how many there are
 * @device: number of the device
 * @reserved: zero
 * @time_ns: when it was made, ``CLOCK_MONOTONIC`` as all times in the dump
 * @wall_ns: the same, ``CLOCK_REALTIME``
 * @job: &ai_dump.job
 * @withheld: bits ``1 << enum ai_dump_type``: not there because the caller may not see it
 * @absent: bits ``1 << enum ai_dump_type``: not there because the device has no such
 *	thing, or was not asked
 * @abi_major: %AI_ABI_MAJOR of the kernel
 * @abi_minor: %AI_ABI_MINOR of the kernel
 * @name: name of the device
 * @module_version: version of ai.ko
 * @module_source: checksum of the source it was built from
 * @kernel: release of the kernel
 * @reason: why the dump was made
 */
struct ai_dump_header {
	__u64 magic;
	__u32 format;
	__u32 header_bytes;
	__u64 total_bytes;
	__u32 flags;
	__u32 sections;
	__u32 device;
	__u32 reserved;
	__s64 time_ns;
	__s64 wall_ns;
	__u64 job;
	__u64 withheld;
	__u64 absent;
	__u32 abi_major;
	__u32 abi_minor;
	char name[16];
	char module_version[16];
	char module_source[32];
	char kernel[72];
	char reason[160];
};

/**
 * enum ai_dump_type - what a section holds
 * @AI_DUMP_DEVICE: one &struct ai_dump_device
 * @AI_DUMP_SENSORS: one &struct ai_dump_sensors
 * @AI_DUMP_REGISTERS: &struct ai_dump_value, registers of the device
 * @AI_DUMP_DRIVER: &struct ai_dump_value, what the driver counts and remembers
 * @AI_DUMP_QUEUE: &struct ai_dump_job, those in flight, then those that wait, the next first
 * @AI_DUMP_CONTRACTS: &struct ai_dump_contract, those whose terms name the device
 * @AI_DUMP_EVENTS: &struct ai_dump_event, the last ones of each of these
 * @AI_DUMP_DECISIONS: &struct ai_dump_decision, the last ones about the device and
 *	contracts, then the last ones about jobs
 * @AI_DUMP_TENSORS: &struct ai_dump_tensor, of &ai_dump.job or of the jobs in flight
 * @AI_DUMP_PTES: &struct ai_dump_pte, of these tensors in the device's page table;
 *	&ai_dump_section.omitted counts pages
 * @AI_DUMP_FIRMWARE_LOG: text of the firmware, an element a character
 */
enum ai_dump_type {
	AI_DUMP_DEVICE = 1,
	AI_DUMP_SENSORS = 2,
	AI_DUMP_REGISTERS = 3,
	AI_DUMP_DRIVER = 4,
	AI_DUMP_QUEUE = 5,
	AI_DUMP_CONTRACTS = 6,
	AI_DUMP_EVENTS = 7,
	AI_DUMP_DECISIONS = 8,
	AI_DUMP_TENSORS = 9,
	AI_DUMP_PTES = 10,
	AI_DUMP_FIRMWARE_LOG = 11,
};

/**
 * define AI_DUMP_S_UNREADABLE - bit of &ai_dump_section.flags, the device did not answer and
 *	what is there need not be from it
 */
#define AI_DUMP_S_UNREADABLE (1U << 0)

/**
 * struct ai_dump_section - begin of a section
 * @type: &enum ai_dump_type
 * @version: 1
 * @flags: AI_DUMP_S_* bits
 * @element_bytes: size of one element
 * @count: how many there are
 * @omitted: how many more there would be
 * @bytes: size of what follows, a multiple of 8
 */
struct ai_dump_section {
	__u32 type;
	__u32 version;
	__u32 flags;
	__u32 element_bytes;
	__u64 count;
	__u64 omitted;
	__u64 bytes;
};

/**
 * struct ai_dump_device - what the device is and how it fares
 * @device: number of the device
 * @health: &enum ai_health
 * @properties: AI_DEVICE_F_* bits
 * @generation: counts the resets
 * @queue_depth: jobs it takes at once
 * @queued: jobs that wait
 * @inflight: jobs it has
 * @claims: contracts with a claim on its time
 * @address_spaces: how many there are
 * @max_address_spaces: the most, 0 for no limit
 * @mem_total: bytes of device memory
 * @mem_free: of these neither allocated nor reserved
 * @bandwidth: as in &struct ai_device_info
 * @reserved_bandwidth: likewise
 * @jobs_done: likewise
 * @jobs_failed: likewise
 * @busy_ns: likewise
 * @name: likewise
 * @product: likewise
 * @firmware: likewise
 * @engine: likewise
 * @bus: likewise
 */
struct ai_dump_device {
	__u32 device;
	__u32 health;
	__u32 properties;
	__u32 generation;
	__u32 queue_depth;
	__u32 queued;
	__u32 inflight;
	__u32 claims;
	__u32 address_spaces;
	__u32 max_address_spaces;
	__u64 mem_total;
	__u64 mem_free;
	__u64 bandwidth;
	__u64 reserved_bandwidth;
	__u64 jobs_done;
	__u64 jobs_failed;
	__u64 busy_ns;
	char name[16];
	char product[64];
	char firmware[32];
	char engine[48];
	char bus[32];
};

/**
 * struct ai_dump_sensors - heat, power and clock
 * @temp_mc: temperature in thousandths of a degree Celsius
 * @temp_throttle_mc: where the device slows down
 * @power_mw: power in milliwatts
 * @power_limit_mw: the most the device is made for
 * @clock_mhz: clock of the compute engine
 * @clock_max_mhz: the highest such clock
 * @throttled: 1 while the device slows itself down
 * @throttles: how many times it has begun to
 */
struct ai_dump_sensors {
	__s32 temp_mc;
	__s32 temp_throttle_mc;
	__u32 power_mw;
	__u32 power_limit_mw;
	__u32 clock_mhz;
	__u32 clock_max_mhz;
	__u32 throttled;
	__u32 throttles;
};

/**
 * struct ai_dump_value - a register, or a number of the driver's
 * @name: as the driver's sources call it
 * @offset: of a register
 * @value: its value
 */
struct ai_dump_value {
	char name[32];
	__u64 offset;
	__u64 value;
};

/**
 * enum ai_dump_job_state - where a job is
 * @AI_DUMP_JOB_WAITS: in the queue
 * @AI_DUMP_JOB_IN_FLIGHT: with the device
 */
enum ai_dump_job_state {
	AI_DUMP_JOB_WAITS = 1,
	AI_DUMP_JOB_IN_FLIGHT = 2,
};

/**
 * define AI_DUMP_JOB_CLAIMED - bit of &ai_dump_job.flags, goes by @due_ns
 */
#define AI_DUMP_JOB_CLAIMED (1U << 0)
/**
 * define AI_DUMP_JOB_EXCESS - bit of &ai_dump_job.flags, came sooner than its contract allows
 */
#define AI_DUMP_JOB_EXCESS (1U << 1)
/**
 * define AI_DUMP_JOB_RERUN - bit of &ai_dump_job.flags, a reset ended it before and it runs again
 */
#define AI_DUMP_JOB_RERUN (1U << 2)
/**
 * define AI_DUMP_JOB_PROBE - bit of &ai_dump_job.flags, of the contract's fuse
 */
#define AI_DUMP_JOB_PROBE (1U << 3)
/**
 * define AI_DUMP_JOB_TRIAL - bit of &ai_dump_job.flags, while others go to the fallback
 */
#define AI_DUMP_JOB_TRIAL (1U << 4)

/**
 * struct ai_dump_job - a job that has not ended
 * @job: number, see &ai_record.job
 * @file: number of the open file
 * @contract: number of its contract, or 0
 * @model: number of the model
 * @cookie: &ai_infer.cookie
 * @submitted_ns: when it came
 * @started_ns: when the device was given it last, or 0
 * @due_ns: when it is due, with %AI_DUMP_JOB_CLAIMED
 * @deadline_ns: &ai_infer.deadline_ns
 * @state: &enum ai_dump_job_state
 * @priority: &ai_infer.priority
 * @flags: AI_DUMP_JOB_* bits
 * @abort_error: number of the error with which it is to end early, or 0
 * @moved: &enum ai_term because of which it is on a fallback, or 0
 * @inputs: how many
 * @outputs: how many
 * @model_version: version of the model
 * @model_name: its name
 */
struct ai_dump_job {
	__u64 job;
	__u64 file;
	__u64 contract;
	__u64 model;
	__u64 cookie;
	__s64 submitted_ns;
	__s64 started_ns;
	__s64 due_ns;
	__s64 deadline_ns;
	__u32 state;
	__u32 priority;
	__u32 flags;
	__u32 abort_error;
	__u32 moved;
	__u32 inputs;
	__u32 outputs;
	__u32 model_version;
	char model_name[AI_NAME_LEN];
};

/**
 * struct ai_dump_contract - a contract
 * @uid: whose it is
 * @memory_known: 1 if &ai_memory_term.used, &ai_memory_term.la and &ai_memory_term.pages of
 *	@memory are filled in; 0 if the contract was being changed
 * @memory: its reservations, &ai_contract_info.nr_memory of them
 * @info: as %AI_CONTRACT_QUERY answers; without &ai_contract_info.hdr and pointer. It may grow
 */
struct ai_dump_contract {
	__u32 uid;
	__u32 memory_known;
	struct ai_memory_term memory[AI_MAX_CONTRACT_MEMORY];
	struct ai_contract_info info;
};

/**
 * struct ai_dump_event - an event of a contract
 * @contract: number of the contract
 * @event: as read() of its descriptor gives it. It may grow
 */
struct ai_dump_event {
	__u64 contract;
	struct ai_event event;
};

/**
 * enum ai_decision_kind - what was decided
 * @AI_DECISION_GRANTED: a contract; term is what was waited for
 * @AI_DECISION_REFUSED: a contract; found is what was needed, limit what there was
 * @AI_DECISION_LAPSED: the reservations of a contract; found and limit in ns
 * @AI_DECISION_RENEWED: they were granted again
 * @AI_DECISION_FUSE_OPENED: after found bad requests running, for limit ns
 * @AI_DECISION_FUSE_HALF_OPENED: a job is let through as a probe
 * @AI_DECISION_FUSE_CLOSED: all are let through
 * @AI_DECISION_FALLBACK: requests go to the device other; found and limit as in the last
 *	breach of term
 * @AI_DECISION_RETURNED: they come back from the device other
 * @AI_DECISION_HEALTH: found is &enum ai_health now, limit what it was
 * @AI_DECISION_GENERATION: a reset lost what the device held; found is the number now
 * @AI_DECISION_JOB_FAILED: found is the number of the error
 * @AI_DECISION_JOB_TIMEOUT: likewise; the time-out or the deadline passed
 * @AI_DECISION_JOB_ABORTED: likewise; it was ended early
 * @AI_DECISION_JOB_RERUN: a reset that it did not cause ended it: it runs again
 */
enum ai_decision_kind {
	AI_DECISION_GRANTED = 1,
	AI_DECISION_REFUSED = 2,
	AI_DECISION_LAPSED = 3,
	AI_DECISION_RENEWED = 4,
	AI_DECISION_FUSE_OPENED = 5,
	AI_DECISION_FUSE_HALF_OPENED = 6,
	AI_DECISION_FUSE_CLOSED = 7,
	AI_DECISION_FALLBACK = 8,
	AI_DECISION_RETURNED = 9,
	AI_DECISION_HEALTH = 10,
	AI_DECISION_GENERATION = 11,
	AI_DECISION_JOB_FAILED = 12,
	AI_DECISION_JOB_TIMEOUT = 13,
	AI_DECISION_JOB_ABORTED = 14,
	AI_DECISION_JOB_RERUN = 15,
};

/**
 * struct ai_dump_decision - a decision of the kernel's about a device
 * @sequence: counts them, from 1; a gap is what was not kept or is somebody else's
 * @time_ns: when
 * @kind: &enum ai_decision_kind
 * @term: &enum ai_term it is about, or 0
 * @contract: number of the contract, or 0
 * @job: number of the job, or 0
 * @found: see there
 * @limit: see there
 * @other: another device, see there
 * @reserved: zero
 */
struct ai_dump_decision {
	__u64 sequence;
	__s64 time_ns;
	__u32 kind;
	__u32 term;
	__u64 contract;
	__u64 job;
	__u64 found;
	__u64 limit;
	__u32 other;
	__u32 reserved;
};

/**
 * define AI_DUMP_TENSOR_OUTPUT - bit of &ai_dump_tensor.flags, else it is an input
 */
#define AI_DUMP_TENSOR_OUTPUT (1U << 0)

/**
 * struct ai_dump_tensor - where a tensor of a job is
 * @job: number of the job
 * @index: among all tensors of the job, inputs first
 * @flags: AI_DUMP_TENSOR_* bits
 * @la: logical address of the page of its first byte
 * @offset: of that byte in the page
 * @bytes: its size, or room
 * @va: address of that byte as the device sees it
 * @region_la: first page of the range it lies in, 0 for a tensor without elements
 * @region_pages: pages of that range
 * @home: home device of that range
 * @perm: AI_PERM_* bits of that range
 * @cache: &enum ai_cache of that range
 * @pieces: physically contiguous pieces of that range
 */
struct ai_dump_tensor {
	__u64 job;
	__u32 index;
	__u32 flags;
	__u64 la;
	__u64 offset;
	__u64 bytes;
	__u64 va;
	__u64 region_la;
	__u64 region_pages;
	__u32 home;
	__u32 perm;
	__u32 cache;
	__u32 pieces;
};

/**
 * define AI_DUMP_PTE_VALID - bit of &ai_dump_pte.flags, the device can reach it
 */
#define AI_DUMP_PTE_VALID (1U << 0)
/**
 * define AI_DUMP_PTE_READ - bit of &ai_dump_pte.flags, and read it
 */
#define AI_DUMP_PTE_READ (1U << 1)
/**
 * define AI_DUMP_PTE_WRITE - bit of &ai_dump_pte.flags, and write it
 */
#define AI_DUMP_PTE_WRITE (1U << 2)
/**
 * define AI_DUMP_PTE_DEVICE - bit of &ai_dump_pte.flags, it is device memory
 */
#define AI_DUMP_PTE_DEVICE (1U << 3)

/**
 * struct ai_dump_pte - an entry of the page table of a job's address space
 * @job: number of the job
 * @tensor: &ai_dump_tensor.index for which it was looked up
 * @level: level of the table, 0 for single pages
 * @va: first address that it covers
 * @la: the logical address behind that
 * @bytes: how much it covers
 * @entry: as the device reads it, 0 if nothing is mapped
 * @flags: AI_DUMP_PTE_* bits, what that means
 * @reserved: zero
 */
struct ai_dump_pte {
	__u64 job;
	__u32 tensor;
	__u32 level;
	__u64 va;
	__u64 la;
	__u64 bytes;
	__u64 entry;
	__u32 flags;
	__u32 reserved;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_LINUX_AI_DUMP_H */
