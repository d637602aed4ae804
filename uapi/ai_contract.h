/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * ai0: contracts. A part of ai.h, which includes it.
 */
#ifndef _UAPI_LINUX_AI_CONTRACT_H
#define _UAPI_LINUX_AI_CONTRACT_H

#include "ai.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A value above it is refused, never cut. */
#define AI_MAX_CONTRACT_MEMORY 8

/**
 * DOC: Contracts
 *
 * A contract says in advance what will be needed. %AI_CONTRACT_CREATE answers
 * whether it can be kept together with all others; a granted one is a file
 * descriptor. Until that is closed, or the reservation lapses, its memory is there,
 * and its requests are served in the time it names as long as they keep to its rate
 * and to its service time. Who has the descriptor may use it, in whatever process:
 * all is accounted to the contract. Each breach is an event, which read() of the
 * descriptor gives; poll() says when there is one.
 */

/**
 * enum ai_term - a term of a contract
 * @AI_TERM_NONE: none
 * @AI_TERM_MEMORY: bytes of a device's memory, or of the system's
 * @AI_TERM_ADDRESSES: logical addresses for that memory
 * @AI_TERM_RATE: share of the device's time: service time by period
 * @AI_TERM_LATENCY: time from request to end
 * @AI_TERM_ENERGY: energy of one inference
 * @AI_TERM_POWER: power of the device
 * @AI_TERM_SHARE: share of the device's time as such
 * @AI_TERM_BANDWIDTH: tensor data that the device moves a second
 * @AI_TERM_PRECISION: precision of the model
 * @AI_TERM_DEVICE: the device is there and works
 */
enum ai_term {
	AI_TERM_NONE = 0,
	AI_TERM_MEMORY = 1,
	AI_TERM_ADDRESSES = 2,
	AI_TERM_RATE = 3,
	AI_TERM_LATENCY = 4,
	AI_TERM_ENERGY = 5,
	AI_TERM_POWER = 6,
	AI_TERM_SHARE = 7,
	AI_TERM_BANDWIDTH = 8,
	AI_TERM_PRECISION = 9,
	AI_TERM_DEVICE = 10,
};

/**
 * enum ai_fallback - what becomes of requests after three running broke a term or failed
 * @AI_FALLBACK_FORBID: nothing: they stay where they are
 * @AI_FALLBACK_WARN: they go to &ai_terms.fallback_model, and each result is an event
 * @AI_FALLBACK_ALLOW: they go there; only going and coming back are events
 */
enum ai_fallback {
	AI_FALLBACK_FORBID = 0,
	AI_FALLBACK_WARN = 1,
	AI_FALLBACK_ALLOW = 2,
};

/**
 * define AI_TERMS_CRITICAL - bit of &ai_terms.flags, the device may fail and the work not
 *
 * A request whose device fails or goes runs again on the fallback in the same call,
 * and later ones go there at once. Without it such a request fails, and only three of
 * them running move the others.
 */
#define AI_TERMS_CRITICAL (1U << 0)
/**
 * define AI_TERMS_DEGRADE - bit of &ai_terms.flags, the fallback may be less precise
 *
 * That is, than &ai_terms.model and than &ai_terms.precision.
 */
#define AI_TERMS_DEGRADE (1U << 1)

/**
 * struct ai_memory_term - memory that a contract reserves
 * @device: In: home: %AI_DEVICE_SYSTEM or a device with %AI_DEVICE_F_MEMORY; each
 *	at most once a contract
 * @reserved: must be zero
 * @bytes: In: how much, rounded up to pages
 * @used: Out (%AI_CONTRACT_QUERY): how much of it is allocated, else must be zero
 * @la: Out (%AI_CONTRACT_QUERY): first page of the one range of logical addresses in
 *	which all of it lies, else must be zero
 * @pages: Out (%AI_CONTRACT_QUERY): pages of that range, else must be zero. It is
 *	longer than @bytes, so that it cannot be cut up until an allocation that
 *	@bytes allow finds no place
 */
struct ai_memory_term {
	__u32 device;
	__u32 reserved;
	__u64 bytes;
	__u64 used;
	__u64 la;
	__u64 pages;
};

/**
 * struct ai_terms - service level of a contract; a term that is 0 is not asked for
 * @latency_ns: time from submission to the end of a request, the most it may take.
 *	2^10 to 2^37 - 1. Needs @period_ns and a service time
 * @period_ns: mean time between requests, below 2^37
 * @service_ns: longest time one request keeps the device busy; 0: as measured of
 *	@model. If @model was measured, too, the longer one counts
 * @energy_uj: energy of one inference in microjoules, at most
 * @lapse_ns: reservations lapse when they were not used for so long, 10 ms at least;
 *	used are they by an allocation or a request
 * @fuse_ns: how long the fuse stays open once ten requests running took three times
 *	@latency_ns or failed; 0: five minutes
 * @device: where the requests are to run, with any of the terms above but
 *	@lapse_ns, or @power_mw; else must be 0
 * @model: handle of a model of this file on @device whose measured service time
 *	counts, or 0
 * @burst: requests that may come at once, at most 65536; 0 means 1
 * @power_mw: power of the device while it serves the requests, at most, in milliwatts
 * @bandwidth: bytes of tensor data, inputs and outputs, that the requests may move a second;
 *	ones that move more are served like those without a contract
 * @share: of the device's time, in millionths, that the requests are to have at least
 *	while there are some, counted over 100 ms or as long as one takes. Needs a service
 *	time; not together with @latency_ns
 * @precision: &enum ai_precision of the models that requests may use, at least
 * @flags: AI_TERMS_* bits
 * @fallback: &enum ai_fallback; all but %AI_FALLBACK_FORBID need @model and @fallback_model
 * @fallback_model: handle of a model of this file, on another device, with the same inputs
 *	and outputs as @model, or 0. The contract keeps it when its handle ends
 * @reserved: must be zero
 */
struct ai_terms {
	__u64 latency_ns;
	__u64 period_ns;
	__u64 service_ns;
	__u64 energy_uj;
	__u64 lapse_ns;
	__u64 fuse_ns;
	__u32 device;
	__u32 model;
	__u32 burst;
	__u32 power_mw;
	__u64 bandwidth;
	__u32 share;
	__u32 precision;
	__u32 flags;
	__u32 fallback;
	__u32 fallback_model;
	__u32 reserved;
};

/**
 * enum ai_answer - whether a contract is granted
 * @AI_ANSWER_NONE: the terms were not looked at, because the call is wrong
 * @AI_ANSWER_GRANTED: at once
 * @AI_ANSWER_GRANTED_AFTER_WAIT: after &ai_contract_create.term had become free
 * @AI_ANSWER_REFUSED: over budget
 */
enum ai_answer {
	AI_ANSWER_NONE = 0,
	AI_ANSWER_GRANTED = 1,
	AI_ANSWER_GRANTED_AFTER_WAIT = 2,
	AI_ANSWER_REFUSED = 3,
};

/**
 * struct ai_contract_create - AI_CONTRACT_CREATE: ask for a contract
 * @hdr: see &struct ai_hdr; no flags
 * @memory: In: user pointer to @nr_memory &struct ai_memory_term
 * @nr_memory: In: at most %AI_MAX_CONTRACT_MEMORY
 * @reserved: must be zero
 * @wait_until_ns: In: absolute; what is over budget now is waited for until then
 * @terms: In: service level
 * @name: In: name for the record, printable, NUL-terminated
 * @id: Out: number of the contract, unique among those there are
 * @fd: Out: its file descriptor, close-on-exec
 * @answer: Out: &enum ai_answer; written on failure as well, with what follows. A
 *	refusal fails with ``EDQUOT``
 * @term: Out: &enum ai_term that is over budget or was waited for
 * @device: Out: where
 * @needed: Out: what there would have to be of it: bytes; for %AI_TERM_RATE
 *	millionths of the device's time in all; for %AI_TERM_LATENCY the time in ns it
 *	would take at worst until all was done that is due at @available; for
 *	%AI_TERM_SHARE as for %AI_TERM_RATE; for %AI_TERM_BANDWIDTH bytes a second
 * @available: Out: what there is: bytes; millionths; bytes a second; for
 *	%AI_TERM_LATENCY that time, which is the latency of this contract or of one that
 *	was admitted before
 * @offered: Out: 1 if @offer holds terms that would be granted now
 * @reserved2: Out: zero
 * @offer: Out: the nearest such terms
 */
struct ai_contract_create {
	struct ai_hdr hdr;
	__u64 memory;
	__u32 nr_memory;
	__u32 reserved;
	__s64 wait_until_ns;
	struct ai_terms terms;
	char name[AI_NAME_LEN];
	__u64 id;
	__s32 fd;
	__u32 answer;
	__u32 term;
	__u32 device;
	__u64 needed;
	__u64 available;
	__u32 offered;
	__u32 reserved2;
	struct ai_terms offer;
};

/**
 * enum ai_contract_state - life of a contract
 * @AI_CONTRACT_ACTIVE: its reservations hold
 * @AI_CONTRACT_LAPSED: they were not used in time and are given up
 * @AI_CONTRACT_CLOSED: its descriptor is closed and jobs of it still run
 */
enum ai_contract_state {
	AI_CONTRACT_ACTIVE = 0,
	AI_CONTRACT_LAPSED = 1,
	AI_CONTRACT_CLOSED = 2,
};

/**
 * enum ai_fuse - the fuse of a contract
 * @AI_FUSE_CLOSED: requests are let through
 * @AI_FUSE_OPEN: requests are refused with ``EAGAIN``
 * @AI_FUSE_HALF_OPEN: one request is under way as a probe, others are refused
 */
enum ai_fuse {
	AI_FUSE_CLOSED = 0,
	AI_FUSE_OPEN = 1,
	AI_FUSE_HALF_OPEN = 2,
};

/**
 * define AI_CONTRACT_NEXT - bit of &ai_hdr.flags, answer for the first contract not below @id
 */
#define AI_CONTRACT_NEXT (1U << 0)

/**
 * struct ai_contract_info - AI_CONTRACT_QUERY: what became of a contract
 * @hdr: see &struct ai_hdr; flags: %AI_CONTRACT_NEXT
 * @id: In/Out: number of the contract, when the call is made on /dev/ai0: the
 *	contracts of the caller's user, all with ``CAP_SYS_ADMIN``. On a contract's own
 *	descriptor it must be 0, and there are no flags
 * @memory: In: user pointer to an array of &struct ai_memory_term
 * @capacity: In: elements of that array; as many as fit are written
 * @nr_memory: Out: how many there are
 * @terms: Out: as granted, with the service time that was used for @service_ns
 * @name: Out: name
 * @state: Out: &enum ai_contract_state
 * @fuse: Out: &enum ai_fuse
 * @fuse_left_ns: Out: time until an open fuse lets a probe through
 * @jobs: Out: requests that ended with a result
 * @failed: Out: requests that ended without one
 * @met: Out: results that kept all terms
 * @violated: Out: results that broke one
 * @excess: Out: results of requests that came too soon
 * @overruns: Out: results that kept the device longer than @service_ns of @terms
 * @refused: Out: requests that the fuse refused
 * @queue_ns: Out: time requests waited for the device, in all
 * @run_ns: Out: time the device was busy with them, in all
 * @energy_uj: Out: energy of all of them, see &ai_infer.energy_uj
 * @bytes: Out: bytes of tensor data in all of them
 * @latency_p50_ns: Out: half of all results took no longer; this and what follows
 *	are upper ends of buckets of 1/32 of the value
 * @latency_p95_ns: Out: 95 %
 * @latency_p99_ns: Out: 99 %
 * @latency_p999_ns: Out: 99.9 %
 * @latency_max_ns: Out: the longest, exactly
 * @events: Out: events recorded so far
 * @events_lost: Out: those of them that nobody can read any more
 * @degraded: Out: results of the fallback that kept all terms
 * @throttled: Out: results that came while the device slowed itself down
 * @moved: Out: &enum ai_term because of which requests go to the fallback now, or 0
 * @reserved: Out: zero
 * @moved_left_ns: Out: time until one of them is tried on the contract's device again
 */
struct ai_contract_info {
	struct ai_hdr hdr;
	__u64 id;
	__u64 memory;
	__u32 capacity;
	__u32 nr_memory;
	struct ai_terms terms;
	char name[AI_NAME_LEN];
	__u32 state;
	__u32 fuse;
	__u64 fuse_left_ns;
	__u64 jobs;
	__u64 failed;
	__u64 met;
	__u64 violated;
	__u64 excess;
	__u64 overruns;
	__u64 refused;
	__u64 queue_ns;
	__u64 run_ns;
	__u64 energy_uj;
	__u64 bytes;
	__u64 latency_p50_ns;
	__u64 latency_p95_ns;
	__u64 latency_p99_ns;
	__u64 latency_p999_ns;
	__u64 latency_max_ns;
	__u64 events;
	__u64 events_lost;
	__u64 degraded;
	__u64 throttled;
	__u32 moved;
	__u32 reserved;
	__u64 moved_left_ns;
};

/**
 * struct ai_contract_renew - AI_CONTRACT_RENEW: count as used, or ask again after a lapse
 * @hdr: see &struct ai_hdr; no flags. The call is made on the contract's descriptor
 * @answer: Out: &enum ai_answer, see &struct ai_contract_create; written on failure
 *	as well, with what follows
 * @term: Out: &enum ai_term that is over budget
 * @needed: Out: what there would have to be of it
 * @available: Out: what there is
 * @device: Out: where
 * @reserved: must be zero
 */
struct ai_contract_renew {
	struct ai_hdr hdr;
	__u32 answer;
	__u32 term;
	__u64 needed;
	__u64 available;
	__u32 device;
	__u32 reserved;
};

/**
 * struct ai_fuse_reset - AI_FUSE_RESET: close the fuses of a name; needs ``CAP_SYS_ADMIN``
 * @hdr: see &struct ai_hdr; no flags
 * @name: In: name of the contracts
 * @closed: Out: how many fuses were not closed before
 * @reserved: must be zero
 */
struct ai_fuse_reset {
	struct ai_hdr hdr;
	char name[AI_NAME_LEN];
	__u32 closed;
	__u32 reserved;
};

/**
 * enum ai_event_kind - what happened
 * @AI_EVENT_LATENCY: a result took longer than the terms allow; found and limit in ns
 * @AI_EVENT_ENERGY: a result took more energy; in microjoules
 * @AI_EVENT_POWER: the device drew more power; in milliwatts
 * @AI_EVENT_FAILED: a request ended without a result; found is its error number
 * @AI_EVENT_LAPSED: the reservations were not used in time; found and limit in ns
 * @AI_EVENT_RENEWED: lapsed reservations were granted again
 * @AI_EVENT_DEVICE_LOST: the contract's device failed or was removed
 * @AI_EVENT_FUSE_OPENED: requests are refused for limit ns, after found bad ones running
 * @AI_EVENT_FUSE_HALF_OPENED: one request is let through as a probe
 * @AI_EVENT_FUSE_CLOSED: requests are let through again
 * @AI_EVENT_FALLBACK: requests go to the device &ai_event.other from now on; found and
 *	limit as in the last breach of &ai_event.term
 * @AI_EVENT_RETURNED: they go to the contract's device again, from &ai_event.other
 * @AI_EVENT_DEGRADED: a result came from the fallback, with %AI_FALLBACK_WARN; found and
 *	limit are the &enum ai_precision of the model used and of the one asked for
 * @AI_EVENT_THROTTLED: the device slows itself down because of its temperature; found and
 *	limit in thousandths of a degree Celsius
 * @AI_EVENT_UNTHROTTLED: it does not any more; found is how long it did, in ns, and
 *	&ai_event.jobs how many results of the contract came meanwhile
 */
enum ai_event_kind {
	AI_EVENT_LATENCY = 1,
	AI_EVENT_ENERGY = 2,
	AI_EVENT_POWER = 3,
	AI_EVENT_FAILED = 4,
	AI_EVENT_LAPSED = 5,
	AI_EVENT_RENEWED = 6,
	AI_EVENT_DEVICE_LOST = 7,
	AI_EVENT_FUSE_OPENED = 8,
	AI_EVENT_FUSE_HALF_OPENED = 9,
	AI_EVENT_FUSE_CLOSED = 10,
	AI_EVENT_FALLBACK = 11,
	AI_EVENT_RETURNED = 12,
	AI_EVENT_DEGRADED = 13,
	AI_EVENT_THROTTLED = 14,
	AI_EVENT_UNTHROTTLED = 15,
};

/**
 * struct ai_event - what read() of a contract's descriptor gives, as many as fit
 * @sequence: counts the events of the contract, from 1; a gap is what was lost,
 *	because it was not read before 32 others had come
 * @time_ns: when, ``CLOCK_MONOTONIC``
 * @kind: &enum ai_event_kind
 * @device: where
 * @job: job it is about, 0 if none
 * @found: the value found
 * @limit: the value allowed
 * @term: &enum ai_term it is about, 0 if none
 * @other: the other device, with a fallback: where requests go or come from, or where
 *	the one ran that this is about; else 0
 * @jobs: requests it is about, 0 if that says nothing
 */
struct ai_event {
	__u64 sequence;
	__s64 time_ns;
	__u32 kind;
	__u32 device;
	__u64 job;
	__u64 found;
	__u64 limit;
	__u32 term;
	__u32 other;
	__u64 jobs;
};

/**
 * struct ai_contract_events - AI_CONTRACT_EVENTS: look at events, leaving them for read()
 * @hdr: see &struct ai_hdr; no flags
 * @id: In: number of the contract, as for %AI_CONTRACT_QUERY
 * @after: In: sequence number of the last event known, 0 for none
 * @events: In: user pointer to an array of &struct ai_event; those after @after that
 *	are still kept are written, the oldest first, as many as fit
 * @capacity: In: elements of that array
 * @count: Out: how many were written
 */
struct ai_contract_events {
	struct ai_hdr hdr;
	__u64 id;
	__u64 after;
	__u64 events;
	__u32 capacity;
	__u32 count;
};

/* Struct sizes, see ai.h. */
#define AI_CONTRACT_CREATE_SIZE_VER0 352
#define AI_CONTRACT_QUERY_SIZE_VER0 368
#define AI_CONTRACT_QUERY_SIZE_VER1 400
#define AI_CONTRACT_RENEW_SIZE_VER0 56
#define AI_FUSE_RESET_SIZE_VER0 96
#define AI_CONTRACT_EVENTS_SIZE_VER0 56

#define AI_CONTRACT_CREATE _IOWR(AI_IOC_MAGIC, 0x0a, struct ai_contract_create)
#define AI_CONTRACT_QUERY _IOWR(AI_IOC_MAGIC, 0x0b, struct ai_contract_info)
#define AI_CONTRACT_RENEW _IOWR(AI_IOC_MAGIC, 0x0c, struct ai_contract_renew)
#define AI_FUSE_RESET _IOWR(AI_IOC_MAGIC, 0x0d, struct ai_fuse_reset)
#define AI_CONTRACT_EVENTS _IOWR(AI_IOC_MAGIC, 0x0e, struct ai_contract_events)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_LINUX_AI_CONTRACT_H */
