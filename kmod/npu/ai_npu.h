/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared inside ai_npu.ko, the driver of the reference NPU.
 *
 * ai_npu_drv.c		probe, remove, the module
 * ai_npu_hw.c		registers: what the silicon says of itself, reset, power
 * ai_npu_fw.c		firmware image: checks, loading, boot handshake
 * ai_npu_queue.c	queue pairs, tags, interrupts, control commands
 * ai_npu_mmu.c		page tables, address spaces, mapped regions
 * ai_npu_model.c	models
 * ai_npu_job.c		jobs
 * ai_npu_recovery.c	watchdog, events, the ladder of resets
 * ai_npu_hwmon.c	hwmon and thermal zone
 * ai_npu_log.c		the firmware's log
 * ai_npu_dump.c	what is in a dump of ai.ko's
 * ai_npu_sysfs.c	sysfs attributes and debugfs files
 *
 * Locks, outermost first:
 *
 *	ai_npu.as_mutex		which address spaces the device is told of
 *	ai_npu.model_mutex	models and their states
 *	ai_npu_as.mutex		page tables of one address space
 *	ai_npu_queue.lock	spinlock, irqs off; the slots of jobs too
 *	ai_npu_recovery.lock	spinlock, irqs off
 *
 * as_mutex may be held while a control command is waited for, the others not.
 * Nothing of ai.ko is called with any of them held.
 *
 * Everything that resets the device runs on one ordered workqueue: the
 * watchdog, the escalation of aborts, events and the recovery itself never
 * overlap. Operations of ai.ko may run beside them. What they can rely on:
 *
 *	AI_NPU_OPEN	the firmware serves the queues, or is believed to
 *	AI_NPU_CLOSING	recovery is about to stop the device. Commands wait; jobs
 *			go back to ai.ko at once. Bounded by the ladder
 *	AI_NPU_STOPPED	the device does no DMA: reset to ROM, powered off, or cut
 *			off from the bus. Commands end with -ESHUTDOWN
 *
 * &ai_npu.stops counts the times STOPPED was reached. Commands under way are
 * ended only then: one that ends with -ESHUTDOWN was overtaken by a stop, after
 * which the device knows no address space, no model and no job. So an unmapping
 * that gets that answer is done: the page table entries were cleared before.
 *
 * Nothing that the device writes is trusted: not registers, not completions,
 * not descriptors, not texts. Each value is read once and checked.
 */
#ifndef AI_NPU_H
#define AI_NPU_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/ratelimit.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../include/ai_driver.h"
#include "ai_npu_regs.h"

struct ai_npu;
struct ai_npu_request;
struct device;
struct firmware;
struct seq_file;
struct thermal_zone_device;

#define AI_NPU_NAME "ai_npu"
/* Jobs given to the device at once: one that runs, and others ready to follow. */
#define AI_NPU_JOBS 4
/* Models the device is asked to compile at once; keeps room for other commands. */
#define AI_NPU_LOADS 16
/* The watchdog looks at the device this often. */
#define AI_NPU_WATCHDOG_MS 500

/* ---- queues ---- */

/* Put in the place of &npu_cpl.status when a completion cannot be. */
#define AI_NPU_ST_MALFORMED U32_MAX

enum ai_npu_queue_state {
	AI_NPU_STOPPED = 0,
	AI_NPU_OPEN,
	AI_NPU_CLOSING,
};

/**
 * struct ai_npu_request - a command under way
 * @tag: as given to the device, 0 while it is not under way
 * @done: called once, without locks, in process context. @cpl is NULL if the
 *	device was stopped before it answered. The request may be used again
 *	from there
 */
struct ai_npu_request {
	u64 tag;
	void (*done)(struct ai_npu *npu, struct ai_npu_request *req, const struct npu_cpl *cpl);
};

/* What the device knows of one queue, in coherent memory. */
struct ai_npu_ring {
	struct npu_ring_index index;
	struct npu_cmd cmd[NPU_QUEUE_ENTRIES];
	struct npu_cpl cpl[NPU_QUEUE_ENTRIES];
};

struct ai_npu_shared {
	struct ai_npu_ring ring[NPU_QUEUES];
	struct npu_config config;
};

/**
 * struct ai_npu_queue - a queue pair
 * @npu: the device
 * @ring: entries and indices
 * @doorbell: NPU_DB_*
 * @lock: all below
 * @state: see the head of this file
 * @cmd_tail: commands written
 * @cpl_head: completions read
 * @sequence: upper part of the next tag, so that no tag is used twice
 * @slots: slots taken
 * @tags: tag by slot
 * @ops: operation by slot
 * @requests: request by slot, NULL if nobody waits any more
 * @wait: for room, and for a change of @state
 */
struct ai_npu_queue {
	struct ai_npu *npu;
	struct ai_npu_ring *ring;
	u32 doorbell;
	spinlock_t lock; /* all below */
	enum ai_npu_queue_state state;
	u32 cmd_tail;
	u32 cpl_head;
	u64 sequence;
	DECLARE_BITMAP(slots, NPU_QUEUE_ENTRIES);
	u64 tags[NPU_QUEUE_ENTRIES];
	u32 ops[NPU_QUEUE_ENTRIES];
	struct ai_npu_request *requests[NPU_QUEUE_ENTRIES];
	wait_queue_head_t wait;
};

/* ---- memory ---- */

#define AI_NPU_LEVELS 4

/**
 * struct ai_npu_table - one table of a page table
 * @entry: what the device walks, in coherent memory
 * @dma: its bus address
 * @child: tables of the level below, NULL at level 0
 * @used: entries that are valid
 * @free_node: to be freed after the TLB was invalidated
 */
struct ai_npu_table {
	u64 *entry;
	dma_addr_t dma;
	struct ai_npu_table **child;
	u32 used;
	struct list_head free_node;
};

/**
 * struct ai_npu_as - an address space
 * @node: ai_npu.as_list
 * @mutex: the tables
 * @asid: number, 0 for the driver's own
 * @stops: &ai_npu.stops when the device was told of it, under ai_npu.as_mutex
 * @root: table of the highest level
 */
struct ai_npu_as {
	struct list_head node;
	struct mutex mutex; /* the tables */
	u32 asid;
	int stops;
	struct ai_npu_table *root;
};

/**
 * struct ai_npu_map - a region mapped in an address space
 * @as: the address space
 * @va: device address of the first page
 * @bytes: size
 * @dma: pages in system memory, mapped for DMA; not mapped for a region in
 *	device memory
 * @direction: how it was mapped for DMA
 */
struct ai_npu_map {
	struct ai_npu_as *as;
	u64 va;
	u64 bytes;
	struct ai_region_dma dma;
	enum dma_data_direction direction;
};

/* ---- models ---- */

enum ai_npu_model_state {
	AI_NPU_MODEL_WAITING = 0, /* to be sent to the device */
	AI_NPU_MODEL_LOADING, /* sent */
	AI_NPU_MODEL_REPORTING, /* ai.ko is being told */
	AI_NPU_MODEL_READY,
	AI_NPU_MODEL_FAILED,
};

/**
 * struct ai_npu_model - a model
 * @node: ai_npu.models
 * @npu: the device
 * @model: the model for ai.ko
 * @map: artefact in address space 0
 * @info: answer of the device, in coherent memory as long as the model lives so
 *	that loading it again after a reset needs no memory
 * @info_dma: its bus address
 * @request: the command that loads it
 * @cpl: what the device answered, for @report_work
 * @error: why the driver gave up on it, 0: what the device answered counts
 * @reason: sentence with @error
 * @report_work: tells ai.ko; apart from the interrupt thread, because ai.ko may
 *	wait for one who waits for a control command
 * @state: &enum ai_npu_model_state
 * @sent: @request is under way
 * @unloading: nothing is reported any more
 * @was_ready: it has been ready and is loaded again after a reset
 * @given_up: ai.ko was told that it failed, and the device may still be at it
 * @cancelled: the device was told so
 * @compiling: the device was at it when it was stopped
 * @stops: &ai_npu.stops when the device answered
 * @tries: times a reset ended its compilation since ai.ko was last told
 * @crashes: of these, the times the device had to be stopped
 * @order: when it was last sent, among all that were
 * @since: the same in jiffies
 * @given_up_at: in jiffies
 */
struct ai_npu_model {
	struct list_head node;
	struct ai_npu *npu;
	struct ai_model *model;
	struct ai_npu_map *map;
	struct npu_model_info *info;
	dma_addr_t info_dma;
	struct ai_npu_request request;
	struct npu_cpl cpl;
	int error;
	const char *reason;
	struct work_struct report_work;
	enum ai_npu_model_state state;
	bool sent;
	bool unloading;
	bool was_ready;
	bool given_up;
	bool cancelled;
	bool compiling;
	int stops;
	u32 tries;
	u32 crashes;
	u64 order;
	unsigned long since;
	unsigned long given_up_at;
};

/* ---- jobs ---- */

/**
 * struct ai_npu_slot - place of a job in flight, under the job queue's lock
 * @request: the command
 * @job: the job, NULL if the slot is free
 * @desc: descriptor in coherent memory
 * @desc_dma: its bus address
 * @started: when it was given to the device
 * @aborted: when it was first told to end, in jiffies; see @aborting
 * @aborting: it was told to end
 * @blamed: it ran when the firmware or the engine died
 * @excused: it was with the device while the engine was reset
 */
struct ai_npu_slot {
	struct ai_npu_request request;
	struct ai_job *job;
	struct npu_job_desc *desc;
	dma_addr_t desc_dma;
	ktime_t started;
	unsigned long aborted;
	bool aborting;
	bool blamed;
	bool excused;
};

/* A job that the device was stopped for; it ends when the recovery does. */
struct ai_npu_guilty {
	struct ai_job *job;
	s64 ran_ms;
	bool aborting;
};

/* ---- recovery ---- */

/* The ladder. A rung that fails is followed by the next one. */
enum ai_npu_rung {
	AI_NPU_RUNG_JOB = 0, /* abort the job */
	AI_NPU_RUNG_ENGINE, /* reset the tensor engine */
	AI_NPU_RUNG_FIRMWARE, /* restart the firmware */
	AI_NPU_RUNG_POWER, /* power-cycle the slot */
	AI_NPU_RUNG_LOST, /* give up */
	AI_NPU_RUNGS,
};

#define AI_NPU_REASON_BYTES 128

/**
 * struct ai_npu_recovery - why and how the device is to be reset
 * @wq: ordered: whatever resets the device runs here
 * @work: climbs the ladder
 * @watchdog_work: looks at the heartbeat
 * @abort_work: escalates aborts
 * @event_work: looks at state, throttling and memory errors
 * @pause_work: keeps all of these from running while the bus resets the device
 * @paused: @pause_work runs
 * @resume: @pause_work shall end
 * @lock: @wanted and what follows
 * @wanted: rung to begin with
 * @pending: a recovery is wanted
 * @blame: the job that runs is guilty
 * @manual: asked for by the administrator: not subject to the rate limit
 * @stops: &ai_npu.stops when it was asked for; a stop since then makes it moot
 * @asked: tickets given
 * @reason: clause for messages, as in "the device is reset because ..."
 * @idle: waits for the end of a recovery
 * @finished: latest ticket served
 * @started: faults are acted on
 * @count: rungs that succeeded, and devices lost
 * @recent: times of the latest full recoveries that speak against the device, a ring
 * @recent_next: place of the next one in @recent
 * @heartbeat: last value seen
 * @heartbeat_missed: checks since it changed
 * @ecc_errors: last value seen
 * @throttled: last value seen
 */
struct ai_npu_recovery {
	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work watchdog_work;
	struct delayed_work abort_work;
	struct work_struct event_work;
	struct work_struct pause_work;
	struct completion paused;
	struct completion resume;
	spinlock_t lock; /* wanted and what follows, recent */
	enum ai_npu_rung wanted;
	bool pending;
	bool blame;
	bool manual;
	int stops;
	u32 asked;
	char reason[AI_NPU_REASON_BYTES];
	wait_queue_head_t idle;
	u32 finished;
	bool started;
	atomic_t count[AI_NPU_RUNGS];
	ktime_t recent[5];
	u32 recent_next;
	u32 heartbeat;
	u32 heartbeat_missed;
	u32 ecc_errors;
	bool throttled;
};

/* What a hostile or broken device was caught at; shown in debugfs. */
enum ai_npu_fault {
	AI_NPU_FAULT_INDEX = 0, /* completion index beyond the commands sent */
	AI_NPU_FAULT_TAG, /* completion for a tag that is not under way */
	AI_NPU_FAULT_OP, /* completion with another operation than the command */
	AI_NPU_FAULT_STATUS, /* completion with an unknown status */
	AI_NPU_FAULT_RESULT, /* impossible shape, type or size of an output */
	AI_NPU_FAULT_MODEL, /* impossible description of a model */
	AI_NPU_FAULT_LATE, /* completion after the driver gave up waiting */
	AI_NPU_FAULTS,
};

/**
 * struct ai_npu - one device
 * @pdev: its PCI function
 * @adev: the device for ai.ko
 * @regs: registers in BAR2
 * @ivshmem: BAR0
 * @load: firmware load window in BAR2
 * @load_bytes: its size
 * @log: firmware log in BAR2
 * @log_bytes: its size
 * @profile: enum npu_profile
 * @reset_seq: number of the latest reset
 * @fw: image, kept for restarts
 * @fw_name: its name
 * @shared: rings and configuration
 * @shared_dma: bus address of @shared
 * @queue: queue pairs
 * @stops: times the device was stopped
 * @stop_wait: for a change of @stops
 * @lost: given up; the device is cut off from the bus
 * @removing: the driver lets go of it: nobody waits longer than need be
 * @gone: not in its slot any more; registers cannot be read
 * @asids: numbers of address spaces
 * @as_mutex: @as_list, and AS_CREATE and AS_DESTROY under way
 * @as_list: address spaces without @own_as
 * @own_as: address space 0
 * @model_mutex: @models, @loads, and states of models
 * @models: models
 * @loads: commands to load a model under way
 * @model_wait: for a change of the state of a model
 * @slots: jobs in flight, under the lock of the job queue
 * @guilty: jobs that end when the recovery ends, under the same lock
 * @nr_guilty: elements of @guilty
 * @job_wait: for a slot to become free
 * @engine_reset: the engine is being reset, under the same lock
 * @recovery: see there
 * @faults: by &enum ai_npu_fault
 * @fault_limit: of what is said about them
 * @hwmon: hwmon device or NULL
 * @thermal: thermal zone or NULL
 * @debugfs: folder in debugfs
 */
struct ai_npu {
	struct pci_dev *pdev;
	struct ai_device *adev;
	void __iomem *regs;
	void __iomem *ivshmem;
	void __iomem *load;
	u64 load_bytes;
	void __iomem *log;
	u64 log_bytes;
	u32 profile;
	u32 reset_seq;

	const struct firmware *fw;
	char *fw_name;

	struct ai_npu_shared *shared;
	dma_addr_t shared_dma;
	struct ai_npu_queue queue[NPU_QUEUES];
	atomic_t stops;
	wait_queue_head_t stop_wait;
	bool lost;
	bool gone;
	bool removing;

	struct ida asids;
	struct mutex as_mutex; /* as_list, and what the device is told of it */
	struct list_head as_list;
	struct ai_npu_as *own_as;

	struct mutex model_mutex; /* models, loads, states of models */
	struct list_head models;
	u32 loads;
	u64 load_order;
	bool reloading; /* those that were ready before the stop go first */
	unsigned long loads_since; /* when the device began with the load it is at, at the latest */
	wait_queue_head_t model_wait;

	struct ai_npu_slot slots[AI_NPU_JOBS];
	struct ai_npu_guilty guilty[AI_NPU_JOBS];
	u32 nr_guilty;
	wait_queue_head_t job_wait;
	bool engine_reset;

	struct ai_npu_recovery recovery;
	atomic_t faults[AI_NPU_FAULTS];
	struct ratelimit_state fault_limit;

	struct device *hwmon;
	struct thermal_zone_device *thermal;
	struct dentry *debugfs;
};

/* ---- ai_npu_drv.c ---- */

extern unsigned int ai_npu_command_timeout_ms;
extern unsigned int ai_npu_abort_timeout_ms;
extern unsigned int ai_npu_engine_reset_timeout_ms;
extern unsigned int ai_npu_firmware_restart_timeout_ms;
extern unsigned int ai_npu_power_cycle_timeout_ms;
extern unsigned int ai_npu_heartbeat_timeout_ms;
extern unsigned int ai_npu_model_timeout_ms;
extern unsigned int ai_npu_reload_timeout_ms;

/* A time-out that is a module parameter: the administrator may write anything. */
static inline unsigned int ai_npu_timeout(const unsigned int *parameter)
{
	return clamp(READ_ONCE(*parameter), 10U, 600000U);
}

char *ai_npu_firmware_name(void);
bool ai_npu_fault(struct ai_npu *npu, enum ai_npu_fault fault);
void ai_npu_text(char *to, size_t to_bytes, const char *from, size_t from_bytes);

/* ---- ai_npu_hw.c ---- */

int ai_npu_hw_init(struct ai_npu *npu);
void ai_npu_hw_describe(struct ai_npu *npu);
bool ai_npu_hw_readable(struct ai_npu *npu);
bool ai_npu_hw_present(struct ai_npu *npu);
u32 ai_npu_hw_state(struct ai_npu *npu);
const char *ai_npu_hw_state_name(u32 state);
int ai_npu_hw_reset(struct ai_npu *npu, enum npu_reset reset, unsigned int timeout_ms);
int ai_npu_hw_to_rom(struct ai_npu *npu, unsigned int timeout_ms);
int ai_npu_hw_power_cycle(struct ai_npu *npu, unsigned int timeout_ms);
void ai_npu_hw_cut_off(struct ai_npu *npu);
void ai_npu_hw_crash_text(struct ai_npu *npu, char *text, size_t bytes);
void ai_npu_hw_sensors(struct ai_npu *npu, struct ai_sensors *sensors);

/* ---- ai_npu_fw.c ---- */

int ai_npu_fw_request(struct ai_npu *npu);
void ai_npu_fw_release(struct ai_npu *npu);
int ai_npu_fw_boot(struct ai_npu *npu, unsigned int timeout_ms);

/* ---- ai_npu_queue.c ---- */

int ai_npu_queues_init(struct ai_npu *npu);
void ai_npu_queues_fini(struct ai_npu *npu);
int ai_npu_irqs_init(struct ai_npu *npu);
void ai_npu_irqs_fini(struct ai_npu *npu);
void ai_npu_queues_reset(struct ai_npu *npu);
void ai_npu_queues_close(struct ai_npu *npu);
void ai_npu_queues_stopped(struct ai_npu *npu);
void ai_npu_queue_set(struct ai_npu_queue *queue, enum ai_npu_queue_state state);
void ai_npu_queue_poll(struct ai_npu_queue *queue);
int ai_npu_queue_send_locked(struct ai_npu_queue *queue, struct ai_npu_request *req,
			     struct npu_cmd *cmd);
int ai_npu_queue_send(struct ai_npu_queue *queue, struct ai_npu_request *req,
		      struct npu_cmd *cmd);
int ai_npu_command(struct ai_npu *npu, struct npu_cmd *cmd, int stops, u64 *value,
		   unsigned int timeout_ms);
bool ai_npu_queue_abandon(struct ai_npu_queue *queue, struct ai_npu_request *req);
const char *ai_npu_status_name(u32 status);

/* ---- ai_npu_mmu.c ---- */

int ai_npu_mmu_init(struct ai_npu *npu);
void ai_npu_mmu_fini(struct ai_npu *npu);
int ai_npu_mmu_restore(struct ai_npu *npu);
struct ai_npu_map *ai_npu_mmu_map(struct ai_npu *npu, struct ai_npu_as *as,
				  struct ai_region *region, u64 va, u32 perm);
void ai_npu_mmu_unmap(struct ai_npu *npu, struct ai_npu_map *map);
int ai_npu_as_create(struct ai_device *adev, struct ai_as *as);
void ai_npu_as_destroy(struct ai_device *adev, struct ai_as *as);
int ai_npu_as_map(struct ai_device *adev, struct ai_region_map *map);
void ai_npu_as_unmap(struct ai_device *adev, struct ai_region_map *map);
u64 ai_npu_mmu_entry(struct ai_npu_as *as, u64 va, u64 *entry, u32 *level);

/* ---- ai_npu_model.c ---- */

int ai_npu_model_load(struct ai_device *adev, struct ai_model *model);
void ai_npu_model_unload(struct ai_device *adev, struct ai_model *model);
int ai_npu_models_restore(struct ai_npu *npu);
void ai_npu_models_stopped(struct ai_npu *npu);
void ai_npu_models_lost(struct ai_npu *npu);
void ai_npu_models_check(struct ai_npu *npu);

/* ---- ai_npu_job.c ---- */

int ai_npu_jobs_init(struct ai_npu *npu);
void ai_npu_jobs_fini(struct ai_npu *npu);
int ai_npu_job_submit(struct ai_device *adev, struct ai_job *job);
void ai_npu_job_abort(struct ai_device *adev, struct ai_job *job);
bool ai_npu_jobs_aborting(struct ai_npu *npu, bool overdue);
void ai_npu_jobs_excuse(struct ai_npu *npu, bool begin);
u32 ai_npu_jobs_blame(struct ai_npu *npu, bool sure);
void ai_npu_jobs_end_guilty(struct ai_npu *npu, enum ai_npu_rung rung, s64 ms,
			    const char *reason);

/* ---- ai_npu_recovery.c ---- */

int ai_npu_recovery_init(struct ai_npu *npu);
void ai_npu_recovery_start(struct ai_npu *npu);
void ai_npu_recovery_stop(struct ai_npu *npu);
void ai_npu_recovery_fini(struct ai_npu *npu);
__printf(4, 5)
void ai_npu_recovery_request(struct ai_npu *npu, enum ai_npu_rung rung, bool blame,
			     const char *fmt, ...);
void ai_npu_recovery_forgive(struct ai_npu *npu, u32 count);
void ai_npu_recovery_wait_stop(struct ai_npu *npu, int stops, const char *why);
int ai_npu_recovery_manual(struct ai_npu *npu);
bool ai_npu_recovery_alive(struct ai_npu *npu);
void ai_npu_recovery_gone(struct ai_npu *npu);
void ai_npu_recovery_pause(struct ai_npu *npu);
void ai_npu_recovery_resume(struct ai_npu *npu);
void ai_npu_recovery_event(struct ai_npu *npu);
void ai_npu_recovery_expect_abort(struct ai_npu *npu);
const char *ai_npu_rung_name(enum ai_npu_rung rung);
unsigned int ai_npu_ladder_ms(void);

/* ---- ai_npu_hwmon.c ---- */

void ai_npu_hwmon_init(struct ai_npu *npu);
void ai_npu_hwmon_fini(struct ai_npu *npu);
void ai_npu_hwmon_update(struct ai_npu *npu);

/* ---- ai_npu_log.c ---- */

char *ai_npu_log_copy(struct ai_npu *npu, size_t *bytes);
int ai_npu_log_show(struct ai_npu *npu, struct seq_file *m);
void ai_npu_log_last(struct ai_npu *npu);

/* ---- ai_npu_dump.c ---- */

void ai_npu_dump_registers(struct ai_device *adev, struct ai_dumper *dumper);
void ai_npu_dump_driver(struct ai_device *adev, struct ai_dumper *dumper);
void ai_npu_dump_log(struct ai_device *adev, struct ai_dumper *dumper);
void ai_npu_dump_ptes(struct ai_device *adev, struct ai_as *as, u64 va, u64 bytes,
		      struct ai_dumper *dumper);

/* ---- ai_npu_sysfs.c ---- */

extern const struct attribute_group *ai_npu_groups[];
void ai_npu_debugfs_root(bool create);
void ai_npu_debugfs_init(struct ai_npu *npu);
void ai_npu_debugfs_fini(struct ai_npu *npu);

#endif /* AI_NPU_H */
