/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by ai_contract*.c, ai_claim.c, ai_fallback.c, ai_share.c, ai_sla.c and ai_watch.c. */
#ifndef AI_CONTRACT_H
#define AI_CONTRACT_H

#include <linux/cred.h>

#include "ai_admission.h"
#include "ai_internal.h"

/* Events kept for a reader who comes late; a power of two. */
#define AI_EVENTS_KEPT 32

/**
 * struct ai_ghost - the claim of a contract that let go of it
 * @node: &ai_device.ghosts
 * @claim: still counted, so that nobody has its burst again at once by asking anew
 * @until: when its last requests are no more than it may have sent by then
 * @idle: &ai_device.claimed_idle when it let go
 */
struct ai_ghost {
	struct list_head node;
	struct ai_claim claim;
	s64 until;
	u64 idle;
};

/**
 * struct ai_sla - what became of the requests of a contract
 * @lock: all of it
 * @tat: when the next request would come if they came at the rate of the terms:
 *	theoretical arrival time of the generic cell rate algorithm
 * @fuse: &enum ai_fuse
 * @fuse_until: when an open fuse lets a probe through
 * @bad: requests running that failed or were far too late
 * @bytes_tat: when the next request would come if they moved as much as the terms say
 * @breaches: requests running that broke a term or failed, on the contract's device
 * @breach: the last of them: term, found and limit
 * @moved: &enum ai_term because of which requests go to the fallback, or 0
 * @moved_until: when one is tried on the contract's device again
 * @trial: one is under way
 * @throttled: results since the device began to slow itself down
 * @latencies: how many took how long; NULL until there is a request
 * @counts: what AI_CONTRACT_QUERY says
 * @sequence: of the last event
 * @read: of the last event that was read or lost
 * @lost: events that were lost
 * @event: event @sequence at index @sequence % AI_EVENTS_KEPT
 */
struct ai_sla {
	spinlock_t lock; /* all below */
	s64 tat;
	enum ai_fuse fuse;
	s64 fuse_until;
	u32 bad;
	s64 bytes_tat;
	u32 breaches;
	struct ai_event breach;
	u32 moved;
	s64 moved_until;
	bool trial;
	u64 throttled;
	u32 *latencies;
	struct {
		u64 jobs, failed, met, violated, excess, overruns, refused;
		u64 degraded, throttled;
		u64 queue_ns, run_ns, energy_uj, bytes, latency_max_ns;
	} counts;
	u64 sequence;
	u64 read;
	u64 lost;
	struct ai_event event[AI_EVENTS_KEPT];
};

/**
 * struct ai_contract - a contract
 * @ref: the descriptor, jobs, look-ups under way
 * @id: number, unique among those there are
 * @name: for the record
 * @uid: whose it is
 * @terms: as granted
 * @nr_memory: how many reservations there are
 * @memory: devices and sizes of the reservations
 * @adev: the device of the terms, or NULL
 * @claim: what is asked of it, if there is a latency
 * @ghost: what becomes of @claim, allocated when it is admitted
 * @model: whose requests may go to @fallback, or NULL
 * @fallback: what stands in for it, or NULL
 * @device_node: &ai_device.contracts, under its lock
 * @told: &ai_watch.round that it has heard of, under that lock, with what follows
 * @share_at: when the next of @pending has its turn
 * @share_node: &ai_device.shares, while there are some
 * @pending: jobs that wait for the share, see ai_share.c
 * @lock: what follows
 * @state: &enum ai_contract_state
 * @bandwidth: of the device's, that is held
 * @claimed: @claim is admitted; also read without the lock
 * @reserve: the reservations, NULL once they are let go
 * @used_at: when it was last used; without a lock
 * @running: requests that have not ended
 * @lapse_work: looks whether it was not used for too long
 * @wait: for events
 * @sla: what became of its requests
 */
struct ai_contract {
	struct kref ref;
	u64 id;
	char name[AI_NAME_LEN];
	kuid_t uid;
	struct ai_terms terms;
	u32 nr_memory;
	struct ai_memory_term memory[AI_MAX_CONTRACT_MEMORY];
	struct ai_device *adev;
	struct ai_claim claim;
	struct ai_ghost *ghost;
	struct ai_model *model;
	struct ai_model *fallback;
	struct list_head device_node;
	u32 told;
	s64 share_at;
	struct rb_node share_node;
	struct list_head pending;
	struct mutex lock; /* all below */
	enum ai_contract_state state;
	u64 bandwidth;
	bool claimed;
	struct ai_reserve *reserve[AI_MAX_CONTRACT_MEMORY];
	s64 used_at;
	atomic_t running;
	struct delayed_work lapse_work;
	wait_queue_head_t wait;
	struct ai_sla sla;
	struct work_struct release_work;
};

/* Why a contract is not granted: see struct ai_contract_create. */
struct ai_refusal {
	u32 term;
	u32 device;
	u64 needed;
	u64 available;
};

/* ai_contract.c */
struct ai_contract *ai_contract_new(const struct ai_contract_create *arg);
int ai_contract_register(struct ai_contract *contract);
int ai_contract_open(struct ai_call *call, struct ai_contract *contract);
void ai_contract_close(struct ai_contract *contract);
void ai_contract_let_go(struct ai_contract *contract);
void ai_contract_watch(struct ai_contract *contract);
int ai_contract_enter(struct ai_call *call, struct ai_contract *contract);
void ai_contract_leave(struct ai_contract *contract);
void ai_contract_fill_memory(struct ai_contract *contract, u32 i, struct ai_memory_term *term);

/* ai_claim.c */
bool ai_device_present(const struct ai_device *adev);
int ai_contract_claim(struct ai_contract *contract, struct ai_refusal *why,
		      struct ai_claim *offer);
void ai_contract_unclaim(struct ai_contract *contract);
int ai_contract_hold_bandwidth(struct ai_contract *contract, struct ai_refusal *why);
void ai_contract_free_bandwidth(struct ai_contract *contract);

/* ai_fallback.c */
int ai_fallback_check(struct ai_call *call, struct ai_contract *contract);
int ai_fallback_precision(struct ai_call *call, const struct ai_contract *contract,
			  const struct ai_model *model);
void ai_fallback_begin(struct ai_contract *contract, struct ai_job *job);
void ai_fallback_judge(struct ai_contract *contract, const struct ai_job *job, bool good);
void ai_fallback_no_trial(struct ai_contract *contract, const struct ai_job *job);

/* ai_sla.c */
void ai_sla_init(struct ai_contract *contract);
void ai_sla_exit(struct ai_contract *contract);
void ai_sla_note(struct ai_contract *contract, const struct ai_event *event);
void ai_sla_event(struct ai_contract *contract, const struct ai_event *event);
void ai_sla_wake(struct ai_contract *contract);
bool ai_job_own_fault(const struct ai_job *job);
void ai_sla_fill(struct ai_contract *contract, struct ai_contract_info *info);
u32 ai_sla_peek(struct ai_contract *contract, u64 after, struct ai_event *events, u32 capacity);
bool ai_sla_fuse_reset(struct ai_contract *contract);
ssize_t ai_sla_read(struct file *filp, char __user *to, size_t bytes, loff_t *pos);
__poll_t ai_sla_poll(struct file *filp, struct poll_table_struct *table);

#endif /* AI_CONTRACT_H */
