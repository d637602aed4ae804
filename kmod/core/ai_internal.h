/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared inside ai.ko.
 *
 * Locks, outermost first:
 *
 *	mmap_lock		(taken by the kernel before ai_mmap.c)
 *	ai_file.models_lock	versions of models of one file
 *	ai_contract.lock	state and reservations of one contract
 *	ai_reserve.lock		what is used of one reservation
 *	ai_device.claims_lock	admission
 *	ai_device.objects_lock	as_list, models
 *	ai_model.op_lock
 *	ai_region.map_lock	maps of one region
 *	ai_as.lock		maps of one address space; the driver's as_* run in it
 *	reservation objects	of dma-bufs, those of others too; inside ai_region.map_lock
 *	gpt lock (ai_gpt.c)	writers and walks of the page table
 *	ai_device.mem_lock	buddy
 *	ai_file.handles_lock	handles of one file, and counting them
 *	ai_file.jobs_lock	spinlock
 *	ai_contracts		xa_lock of the registry of contracts
 *	ai_device.lock		spinlock, irqs off
 *	ai_contract.sla.lock	spinlock, irqs off
 *	ai_model.lock		spinlock, irqs off
 *	ai_decisions.lock	spinlock, irqs off
 *
 * No user memory is touched and mmap_lock is not taken under any of them.
 * ai_device.unplug_srcu is held around every operation of a driver, so that
 * unplugging can wait for those that run; it is never held while waiting for a job.
 */
#ifndef AI_INTERNAL_H
#define AI_INTERNAL_H

#include <linux/fs.h>
#include <linux/maple_tree.h>
#include <linux/srcu.h>
#include <linux/xarray.h>

#include "../../uapi/ai_dump.h"
#include "../include/ai_driver.h"

/* ---- ai_call.c: one call from userspace ---- */

/**
 * struct ai_call - an ioctl under way
 * @file: the open file
 * @filp: the same for mmap()
 * @error: user buffer for the error sentence
 * @error_len: its length
 * @message: the sentence so far
 * @new_file: a descriptor for the caller, installed when the result has been
 *	delivered, else dropped
 * @new_fd: its number
 */
struct ai_call {
	struct ai_file *file; /* NULL: the call was made on a contract */
	struct file *filp;
	u64 error;
	u32 error_len;
	char *message;
	struct file *new_file;
	int new_fd;
};

__printf(3, 4) int ai_fail(struct ai_call *call, int error, const char *fmt, ...);
int ai_check_name(struct ai_call *call, const char *name, size_t size);
long ai_call_dispatch(struct file *filp, unsigned int cmd, unsigned long arg);
long ai_call_contract(struct file *filp, unsigned int cmd, unsigned long arg);

/* ---- ai_main.c ---- */

/**
 * struct ai_file - an open /dev/ai0
 * @id: number, for traces and the page table's listing
 * @regions: address of the first page to region: the handles
 * @more_handles: how many more there are of the same region; with changes of @regions
 *	under @handles_lock
 * @models: handle to model
 * @next_model: the next handle to give out, unless it is taken; under @models_lock
 * @as: device number to address space
 * @models_lock: versions in @models
 * @handles_lock: @more_handles, changes of @regions
 * @jobs: jobs somebody waits for
 * @jobs_lock: @jobs
 */
struct ai_file {
	u64 id;
	struct xarray regions;
	struct xarray more_handles;
	struct xarray models;
	u32 next_model;
	struct xarray as;
	struct mutex models_lock; /* versions in @models; outside all but mmap_lock */
	struct mutex handles_lock; /* more_handles, changes of regions */
	struct list_head jobs;
	spinlock_t jobs_lock; /* @jobs */
};

extern struct workqueue_struct *ai_wq; /* releases, which may wait for devices */
extern struct workqueue_struct *ai_kick_wq; /* dispatch, which must not */
extern struct inode *ai_inode;
extern const struct class ai_class;

/* ---- ai_device.c ---- */

#define AI_DEFAULT_JOB_TIMEOUT_MS 10000

bool ai_device_enter(struct ai_device *adev, int *idx);
void ai_device_exit(struct ai_device *adev, int idx);
struct ai_device *ai_device_lookup(u32 id);
struct ai_device *ai_device_next(u32 id);
struct ai_device *ai_device_choose(u32 properties);
int ai_device_wait_ready(struct ai_device *adev, ktime_t until);
u32 ai_device_generation(struct ai_device *adev);
bool ai_device_undisturbed(struct ai_device *adev, u32 generation);
int ai_device_fail(struct ai_call *call, const struct ai_device *adev, int error,
		   const char *what);
unsigned int ai_device_count(void);
void ai_device_read_sensors(struct ai_device *adev, struct ai_sensors *sensors);
u64 ai_device_mem_free(struct ai_device *adev);
u64 ai_device_busy_ns(struct ai_device *adev);
int ai_ioctl_device_info(struct ai_call *call, struct ai_device_info *arg);
extern const struct attribute_group *ai_device_groups[];
const char *ai_health_name(enum ai_health health);
const char *ai_class_name(enum ai_class class);

/* ---- ai_gpt.c: the global page table ---- */

/* Pages of one home device; what fits in a 48-bit device address. */
#define AI_GPT_PAGE_BITS 28
#define AI_GPT_MAX_PAGES BIT_ULL(AI_GPT_PAGE_BITS)

/**
 * struct ai_gpt_window - addresses that a reservation has to itself
 * @la: first page
 * @pages: all
 * @small: of these the first ones, for regions that need no alignment
 * @used: what is taken, by page inside the window
 */
struct ai_gpt_window {
	u64 la;
	u64 pages;
	u64 small;
	struct maple_tree used;
};

int ai_gpt_window_create(struct ai_gpt_window *window, u32 device, u64 pages);
void ai_gpt_window_destroy(struct ai_gpt_window *window);
int ai_gpt_window_insert(struct ai_region *region);
int ai_gpt_insert(struct ai_region *region, u32 device);
void ai_gpt_remove(struct ai_region *region);
struct ai_region *ai_gpt_lookup(u64 la);
struct ai_region *ai_gpt_next(u64 *la);
void ai_gpt_init(void);
void ai_gpt_exit(void);

/* ---- ai_region.c ---- */

/* Physically contiguous pages. */
struct ai_chunk {
	unsigned long pfn;
	u32 start; /* page inside the region */
	u32 nr;
};

/**
 * struct ai_region - the pages behind a range of logical addresses
 * @ref: handle, user mappings, jobs, lookups under way
 * @la: address of the first page
 * @nr_pages: pages
 * @home: device that holds them, NULL: system memory
 * @reserve: reservation they were taken from, or NULL
 * @source: where they come from, if not from an allocation, see ai_memory.h
 * @resv: who else uses them, once they are exported; not of a view
 * @perm: AI_PERM_*
 * @cache: &enum ai_cache, never the default one
 * @owner: &ai_file.id of the owner, 0 for the kernel itself
 * @mappings: user mappings
 * @map_lock: @maps
 * @maps: maps in address spaces, linked by region_node
 * @chunks: the pages, in order
 * @nr_chunks: elements of @chunks
 * @one: @chunks of a region in one piece, to save an allocation
 * @blocks: of the buddy, for device memory and for reserved memory
 * @dummy: stands in for device memory that has gone
 */
struct ai_region {
	struct kref ref;
	u64 la;
	u64 nr_pages;
	struct ai_device *home;
	struct ai_reserve *reserve;
	struct ai_source *source;
	struct dma_resv *resv;
	u32 perm;
	u32 cache;
	u64 owner;
	atomic_t mappings;
	struct mutex map_lock; /* @maps */
	struct list_head maps;
	struct ai_chunk *chunks;
	u32 nr_chunks;
	struct ai_chunk one;
	struct list_head blocks;
	struct page *dummy;
	struct work_struct release_work;
	struct rcu_head rcu;
};

struct ai_region *ai_region_new(struct ai_device *home, u64 bytes, u32 perm, u32 cache, u64 owner);
struct ai_region *ai_region_publish(struct ai_call *call, struct ai_region *region, int error);
struct ai_region *ai_region_create(struct ai_call *call, struct ai_device *home, u64 bytes,
				   u32 perm, u32 cache, u64 owner);
struct ai_region *ai_region_create_reserved(struct ai_call *call, struct ai_reserve *reserve,
					    u64 bytes, u32 perm, u32 cache);
int ai_region_alloc_pages(struct ai_region *region);
void ai_region_free_pages(struct ai_region *region);
int ai_region_add_chunk(struct ai_region *region, u32 *capacity, unsigned long pfn, u32 start,
			u32 nr);
int ai_region_copy_from_user(struct ai_region *region, u64 user, u64 bytes);
void ai_region_put(struct ai_region *region);
const struct ai_chunk *ai_region_chunk(const struct ai_region *region, u64 page);
struct ai_region *ai_region_lookup(struct ai_call *call, u64 la, const char *what, u32 index);
int ai_ioctl_alloc(struct ai_call *call, struct ai_alloc *arg);
void ai_undo_alloc(struct ai_call *call, struct ai_alloc *arg);
int ai_ioctl_free(struct ai_call *call, struct ai_free *arg);
int ai_ioctl_region_info(struct ai_call *call, struct ai_region_info *arg);
int ai_file_add_handle(struct ai_file *file, struct ai_region *region);
bool ai_file_close_handle(struct ai_file *file, u64 la);
void ai_file_release_regions(struct ai_file *file);

/* ---- ai_dmabuf.c, ai_import.c, ai_sync.c, ai_dma.c; see ai_memory.h ---- */

int ai_ioctl_export(struct ai_call *call, struct ai_export *arg);
int ai_ioctl_import(struct ai_call *call, struct ai_import *arg);
void ai_undo_import(struct ai_call *call, struct ai_import *arg);
int ai_ioctl_sync(struct ai_call *call, struct ai_sync *arg);
void ai_source_release(struct ai_region *region);
int ai_region_wait(struct ai_call *call, struct ai_region *region, bool write, ktime_t until);
int ai_region_fill_sgt(const struct ai_region *region, u64 first, u64 pages, struct device *dev,
		       struct sg_table *sgt);
int ai_region_prepare_vmap(struct ai_region *region);

/* ---- ai_reserve.c ---- */

/**
 * struct ai_reserve - memory of one device, or of the system, that is promised
 * @ref: the contract, the regions taken from it
 * @home: the device, NULL: system memory
 * @bytes: what is promised
 * @window: its logical addresses
 * @lock: what follows
 * @used: bytes taken by regions
 * @touched: when that changed last
 * @released: the contract let go of it: what is given back is for everybody
 * @backing: the pages, of system memory; never given an address itself
 * @buddy: what of @backing is free
 */
struct ai_reserve {
	struct kref ref;
	struct ai_device *home;
	u64 bytes;
	struct ai_gpt_window window;
	struct mutex lock; /* all below */
	u64 used;
	s64 touched;
	bool released;
	struct ai_region *backing;
	struct gpu_buddy buddy;
};

struct ai_reserve *ai_reserve_create(struct ai_device *home, u64 bytes, u64 *available,
				     u32 *term);
void ai_reserve_release(struct ai_reserve *reserve);
void ai_reserve_put(struct ai_reserve *reserve);
u64 ai_reserve_used(struct ai_reserve *reserve);
s64 ai_reserve_used_at(struct ai_reserve *reserve);
int ai_reserve_take(struct ai_region *region);
void ai_reserve_give_back(struct ai_region *region);

/* ---- ai_contract.c ---- */

struct ai_contract;

struct ai_contract *ai_contract_get_fd(struct ai_call *call, int fd);
void ai_contract_put(struct ai_contract *contract);
struct ai_region *ai_contract_alloc(struct ai_call *call, struct ai_contract *contract,
				    struct ai_device *home, u64 bytes, u32 perm, u32 cache);
int ai_contract_begin(struct ai_call *call, struct ai_job *job, struct ai_contract *contract);
void ai_contract_abandon(struct ai_job *job);
void ai_contract_job_done(struct ai_job *job);
void ai_device_free_ghosts(struct ai_device *adev);
void ai_contract_budget_freed(void);
int ai_ioctl_contract_create(struct ai_call *call, struct ai_contract_create *arg);
int ai_ioctl_contract_query(struct ai_call *call, struct ai_contract_info *arg);
int ai_ioctl_contract_renew(struct ai_call *call, struct ai_contract_renew *arg);
int ai_ioctl_fuse_reset(struct ai_call *call, struct ai_fuse_reset *arg);
int ai_ioctl_contract_events(struct ai_call *call, struct ai_contract_events *arg);
void ai_contracts_exit(void);

/* ---- ai_fallback.c ---- */

struct ai_model *ai_fallback_route(struct ai_call *call, struct ai_contract *contract,
				   struct ai_model *model, u32 *moved);
struct ai_model *ai_fallback_again(struct ai_contract *contract, struct ai_job *job, int error,
				   u32 *moved);

/* ---- ai_dump.c, ai_decision.c ---- */

struct ai_decisions *ai_decisions_alloc(void);
void ai_decisions_free(struct ai_decisions *decisions);
void ai_decision_device(struct ai_device *adev, enum ai_decision_kind kind, u64 found, u64 limit);
void ai_decision_contract(const struct ai_contract *contract,
			  const struct ai_dump_decision *decision);
void ai_decision_event(const struct ai_contract *contract, const struct ai_event *event);
void ai_decision_job(const struct ai_job *job, int error);
int ai_ioctl_dump(struct ai_call *call, struct ai_dump *arg);

/* ---- ai_share.c ---- */

void ai_share_wait(struct ai_job *job);
void ai_share_leave(struct ai_job *job);
void ai_share_promote(struct ai_device *adev, ktime_t now);

/* ---- ai_watch.c ---- */

void ai_watch_init(struct ai_device *adev);
void ai_watch_lost(struct ai_device *adev);
void ai_watch_stop(struct ai_device *adev);
void ai_watch_end(struct ai_device *adev);

/* ---- ai_mmap.c ---- */

int ai_mmap(struct file *filp, struct vm_area_struct *vma);
int ai_mmap_region(struct ai_region *region, struct vm_area_struct *vma);
bool ai_mmap_covers(const struct ai_region *region, unsigned long address);
void ai_mmap_revoke_device(struct ai_device *adev);

/* ---- ai_as.c ---- */

struct ai_as *ai_file_as(struct ai_call *call, struct ai_device *adev, ktime_t until);
int ai_as_map(struct ai_call *call, struct ai_as *as, struct ai_region *region, ktime_t until);
void ai_as_put(struct ai_as *as);
void ai_region_unmap_all(struct ai_region *region);
void ai_device_detach_as(struct ai_device *adev);
void ai_file_release_as(struct ai_file *file);

/* ---- ai_model.c ---- */

struct ai_model *ai_model_lookup(struct ai_call *call, u32 handle);
int ai_model_ready(struct ai_call *call, struct ai_model *model, u32 handle);
void ai_model_put(struct ai_model *model);
int ai_ioctl_model_load(struct ai_call *call, struct ai_model_load *arg);
void ai_undo_model_load(struct ai_call *call, struct ai_model_load *arg);
int ai_ioctl_model_info(struct ai_call *call, struct ai_model_info *arg);
int ai_ioctl_model_unload(struct ai_call *call, struct ai_model_unload *arg);
void ai_device_detach_models(struct ai_device *adev);
void ai_file_release_models(struct ai_file *file);

bool ai_dtype_known(u32 dtype);
const char *ai_dtype_name(u32 dtype);

/* ---- ai_job.c ---- */

int ai_ioctl_infer(struct ai_call *call, struct ai_infer *arg);
int ai_ioctl_cancel(struct ai_call *call, struct ai_cancel *arg);
void ai_job_put(struct ai_job *job);

/* ---- ai_sched.c ---- */

enum ai_job_state {
	AI_JOB_NEW = 0,
	AI_JOB_QUEUED,
	AI_JOB_INFLIGHT,
	AI_JOB_DONE,
};

bool ai_job_overlaps(const struct ai_job *job);
void ai_job_count(struct ai_job *job);
void ai_job_uncount(struct ai_job *job);
void ai_queue_claim(struct ai_device *adev, struct ai_job *job, s64 due_ns);
void ai_sched_submit(struct ai_job *job);
bool ai_sched_abort(struct ai_job *job, int error);
void ai_sched_kick(struct ai_device *adev);
void ai_sched_kick_work(struct work_struct *work);
void ai_sched_fail_queue(struct ai_device *adev, int error, const char *message);
void ai_sched_abort_inflight(struct ai_device *adev);

/* ---- ai_debugfs.c ---- */

void ai_debugfs_init(void);
void ai_debugfs_exit(void);

/* The narrow form of a logical address: device address and mmap() offset. */
static inline u64 ai_la_to_va(u64 la)
{
	return ((u64)AI_LA_DEVICE(la) << (AI_GPT_PAGE_BITS + 12)) |
	       ((AI_LA_PAGE(la) & (AI_GPT_MAX_PAGES - 1)) << 12);
}

/*
 * How long to wait at most, in jiffies, for a call that ends then; 0: no end.
 * Jiffies may lag behind the clock, and a wait then ends too early: ask
 * ai_time_left() whether to wait on.
 */
static inline long ai_jiffies_until(ktime_t until)
{
	s64 left = ktime_to_ns(ktime_sub(until, ktime_get()));

	if (!until)
		return MAX_SCHEDULE_TIMEOUT;
	return left > 0 ? nsecs_to_jiffies(left) + 1 : 0;
}

static inline bool ai_time_left(ktime_t until)
{
	return !until || ktime_before(ktime_get(), until);
}

static inline bool ai_region_is_system(const struct ai_region *region)
{
	return !region->home;
}

#endif /* AI_INTERNAL_H */
