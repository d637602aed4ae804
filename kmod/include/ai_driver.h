/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a device driver sees of ai.ko.
 *
 * Life of a device: ai_device_alloc(), fill in the fields marked "driver",
 * ai_device_register(); later ai_device_unplug(), bring the hardware to a halt,
 * ai_device_put(). ai_device_unplug() may be called at any time, with the
 * device working or dead: it takes no new work, aborts every job in flight with
 * ENODEV and waits for their end (so the driver's recovery must still be able
 * to run), then unloads models and unmaps address spaces. When it returns no
 * operation runs and none will start.
 */
#ifndef AI_DRIVER_H
#define AI_DRIVER_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-direction.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../../uapi/ai.h"
#include "../compat.h"

struct ai_admission;
struct ai_as;
struct ai_contract;
struct ai_decisions;
struct ai_device;
struct ai_dumper;
struct ai_file;
struct ai_job;
struct ai_model;
struct ai_region;
struct ai_region_map;
struct dma_buf_attachment;

/* What a driver reports of the state of its device; see struct ai_device_info. */
struct ai_sensors {
	s32 temp_mc;
	u32 power_mw;
	u32 clock_mhz;
	bool throttled;
};

/**
 * struct ai_watch - what happens to a device and concerns the contracts on it
 * @work: tells them
 * @lost: the device failed for good or goes
 * @throttled: it slows itself down
 * @throttles: how many times it has begun to
 * @temp_mc: temperature when it began last
 * @throttled_at: when that was
 * @throttled_ns: how long the last time that has ended was
 * @told_lost: the worker's: what it has told
 * @told_throttled: likewise
 * @told_throttles: likewise
 * @round: likewise: counts what was told
 *
 * Under ai_device.lock up to @throttled_ns, and @round.
 */
struct ai_watch {
	struct delayed_work work;
	bool lost, throttled;
	u32 throttles;
	s32 temp_mc;
	s64 throttled_at;
	u64 throttled_ns;
	bool told_lost, told_throttled;
	u32 told_throttles;
	u32 round;
};

/**
 * struct ai_device_ops - operations of a device driver
 *
 * Called between ai_device_register() and the end of ai_device_unplug(). Except
 * for @submit they run in process context and may sleep; each must return in
 * bounded time even if the device is dead. @as_create, @as_map and @model_load
 * may answer -EAGAIN while the device recovers: they are called again when its
 * health is OK.
 */
struct ai_device_ops {
	/**
	 * @as_create: make an address space (optional, with @as_map). Sets
	 * &ai_as.driver_data.
	 */
	int (*as_create)(struct ai_device *adev, struct ai_as *as);
	/** @as_destroy: undo @as_create; all maps are gone */
	void (*as_destroy)(struct ai_device *adev, struct ai_as *as);
	/**
	 * @as_map: make @map->region reachable at @map->va in @map->as, with the
	 * region's permissions. May set &ai_region_map.driver_data. Calls for
	 * one address space do not overlap.
	 */
	int (*as_map)(struct ai_device *adev, struct ai_region_map *map);
	/**
	 * @as_unmap: undo @as_map. When it returns the device can no longer
	 * reach the pages, whatever it takes.
	 */
	void (*as_unmap)(struct ai_device *adev, struct ai_region_map *map);
	/**
	 * @model_load: start to make @model ready. 0: ai_model_loaded() will be
	 * called, once, in bounded time or else after @model_unload. The
	 * artefact is in &ai_model.artefact and does not change.
	 */
	int (*model_load)(struct ai_device *adev, struct ai_model *model);
	/**
	 * @model_unload: drop @model, also while it is being loaded. No job
	 * uses it any more. When it returns the device does not read the
	 * artefact any more and ai_model_loaded() will not be called.
	 */
	void (*model_unload)(struct ai_device *adev, struct ai_model *model);
	/**
	 * @submit: start @job. Must not sleep; called in process context or
	 * from wherever ai_job_done() was called. 0: ai_job_done() or
	 * ai_job_requeue() will be called, once; it may already have been.
	 * Another value: the job was not taken and ends with that error.
	 * At most &ai_device.queue_depth jobs are in flight.
	 * @abort may come before: under the lock that it takes, look whether
	 * &ai_job.abort_error is set, and end the job with it if it is.
	 */
	int (*submit)(struct ai_device *adev, struct ai_job *job);
	/**
	 * @abort: end @job, which was submitted, early: ai_job_done() will be
	 * called in bounded time with &ai_job.abort_error, by resetting as much
	 * of the device as it takes. Must not wait for it. The job may have
	 * ended meanwhile, and may be aborted twice.
	 */
	void (*abort)(struct ai_device *adev, struct ai_job *job);
	/** @sensors: read the sensors (optional) */
	void (*sensors)(struct ai_device *adev, struct ai_sensors *sensors);
	/*
	 * What follows is for dumps, optional, and also called while the driver is in
	 * ai_device_dump(), whatever the health. It must not wait for the device, nor
	 * take a lock that is held while somebody waits for it or its recovery.
	 */
	/** @dump_registers: give each register to ai_dump_register() */
	void (*dump_registers)(struct ai_device *adev, struct ai_dumper *dumper);
	/** @dump_driver: give what the driver knows to ai_dump_number() */
	void (*dump_driver)(struct ai_device *adev, struct ai_dumper *dumper);
	/** @dump_log: give the firmware's log to ai_dump_text() */
	void (*dump_log)(struct ai_device *adev, struct ai_dumper *dumper);
	/**
	 * @dump_ptes: give each entry of the page table that covers a part of the
	 * range to ai_dump_pte(), holes too, until that returns false. A job holds
	 * the address space and the pages.
	 */
	void (*dump_ptes)(struct ai_device *adev, struct ai_as *as, u64 va, u64 bytes,
			  struct ai_dumper *dumper);
};

/**
 * struct ai_device - a place that runs models or holds memory
 *
 * Fields up to @driver_data are set by the driver before ai_device_register()
 * and constant afterwards, except @firmware and @engine, which it may change
 * with ai_device_set_versions(). The rest belongs to ai.ko.
 */
struct ai_device {
	const struct ai_device_ops *ops; /* driver */
	struct module *owner; /* driver */
	enum ai_class class; /* driver */
	u32 properties; /* driver: AI_DEVICE_F_* */
	u32 queue_depth; /* driver: jobs in flight, at least 1 */
	u32 job_timeout_ms; /* driver: longest run of one job, 0 for 10 s */
	u32 max_as; /* driver: address spaces besides its own, 0: no limit */
	s32 temp_throttle_mc; /* driver */
	u32 power_limit_mw; /* driver */
	u32 clock_max_mhz; /* driver */
	u64 bandwidth; /* driver: bytes of tensor data it can move a second, 0: unknown */
	u64 mem_bytes; /* driver: device memory, 0 for none; whole pages */
	phys_addr_t mem_phys; /* driver: where the CPU reaches it */
	char product[64]; /* driver */
	char bus[32]; /* driver */
	char firmware[32]; /* driver */
	char engine[48]; /* driver */
	void *driver_data; /* driver */

	struct device dev; /* name: npu0, gpu1, ... */
	u32 id; /* AI_DEVICE(class, number) */
	spinlock_t lock; /* queue, inflight, health, versions, counters */
	enum ai_health health;
	u32 generation;
	bool unplugged;
	bool quiesced; /* and nobody who saw it before is still at work */
	struct srcu_struct unplug_srcu; /* around every operation, waited for by unplugging */
	bool dispatching, dispatch_again;
	struct work_struct kick_work;
	struct rb_root_cached queue; /* jobs that wait, first to go leftmost */
	struct list_head inflight;
	u32 nr_queued, nr_inflight;
	u64 jobs_done, jobs_failed, busy_ns;
	ktime_t busy_since;
	u64 seq;
	wait_queue_head_t ready; /* health or unplugged changed, a job or address space left */
	struct mutex objects_lock; /* as_list, models */
	struct list_head as_list;
	struct list_head models;
	u32 nr_as;
	u32 nr_as_unsettled; /* those being made, or of closed files */
	struct mutex mem_lock; /* buddy, mem_promised */
	struct gpu_buddy buddy;
	bool buddy_ready;
	u64 mem_promised; /* to contracts, and not used yet */
	struct mutex claims_lock; /* admission, ghosts, bandwidth_promised */
	u64 bandwidth_promised; /* to contracts */
	struct ai_admission *admission; /* NULL: runs no models */
	u32 nr_claims; /* those admitted, under lock, with what follows */
	u32 nr_claimed_jobs; /* jobs with a claim that have not ended */
	u64 claimed_idle; /* times that there were none of them any more */
	struct list_head contracts; /* that name the device, under lock */
	struct rb_root_cached shares; /* contracts with a share and jobs that wait, under lock */
	struct ai_watch watch;
	struct ai_decisions *decisions; /* the last ones */
	struct list_head ghosts; /* claims of those that went, under claims_lock */
	ktime_t last_end; /* of the last job that ended */
	u32 sampled_mw; /* power when it was last read */
	ktime_t sampled_at;
};

struct ai_device *ai_device_alloc(struct device *parent);
int ai_device_register(struct ai_device *adev);
void ai_device_unplug(struct ai_device *adev);
struct ai_device *ai_device_get(struct ai_device *adev);
void ai_device_put(struct ai_device *adev);

/*
 * While the health is RECOVERING or FAILED no job is submitted and no other
 * operation than model_unload(), as_unmap(), as_destroy() is started; with
 * FAILED waiting jobs and new ones end with ENODEV. Jobs in flight stay with
 * the driver: it ends each with ai_job_done() or ai_job_requeue(). Any context.
 */
void ai_device_set_health(struct ai_device *adev, enum ai_health health);
/*
 * What the driver read of its own accord; what ai.ko asks for with sensors() it
 * knows. Any context.
 */
void ai_device_report(struct ai_device *adev, const struct ai_sensors *sensors);
/* A reset lost what the device held: count up the generation. Any context. */
void ai_device_new_generation(struct ai_device *adev);
void ai_device_set_versions(struct ai_device *adev, const char *firmware, const char *engine);

/*
 * The device has failed: leave a dump of it to devcoredump, if the last one of its
 * parent has been read. Process context, before a reset takes away what there is to
 * see. Takes bounded time, and no lock under which an operation is called.
 */
void ai_device_dump(struct ai_device *adev, const char *reason);

/* For the operations that dump. Names and texts are copied. */
void ai_dump_register(struct ai_dumper *dumper, const char *name, u64 offset, u64 value);
void ai_dump_number(struct ai_dumper *dumper, const char *name, u64 value);
void ai_dump_text(struct ai_dumper *dumper, const char *text, size_t bytes);
/* @flags: AI_DUMP_PTE_*; @bytes: how much the entry covers. False: no more, please. */
bool ai_dump_pte(struct ai_dumper *dumper, u64 va, u32 level, u64 bytes, u64 entry, u32 flags);
/* The device does not answer: what is read is not from it. */
void ai_dump_unreadable(struct ai_dumper *dumper);

/**
 * struct ai_as - the view one open file has of the memory of one device
 * @adev: the device
 * @file_id: number of the open file, for traces
 * @driver_data: for the driver, set in as_create()
 *
 * The rest belongs to ai.ko.
 */
struct ai_as {
	struct ai_device *adev;
	u64 file_id;
	void *driver_data;

	struct kref ref;
	struct work_struct release_work;
	struct list_head node; /* ai_device.as_list */
	struct mutex lock; /* maps, detached */
	struct list_head maps;
	bool detached; /* the device is gone: no operation any more */
};

/**
 * struct ai_region_map - a region mapped in an address space
 * @region: what is mapped
 * @as: where
 * @va: device address: ai_region_va(region)
 * @driver_data: for the driver
 */
struct ai_region_map {
	struct ai_region *region;
	struct ai_as *as;
	u64 va;
	void *driver_data;

	struct list_head as_node;
	struct list_head region_node;
};

/* Device address of a region's first page: its logical address made narrow. */
u64 ai_region_va(const struct ai_region *region);
/* The logical address behind a device address, for fault reports. */
u64 ai_va_to_la(u64 va);
u64 ai_region_bytes(const struct ai_region *region);
u32 ai_region_perm(const struct ai_region *region);
/* The device whose memory holds the region, NULL for system memory. */
struct ai_device *ai_region_home(const struct ai_region *region);

/**
 * struct ai_region_dma - a region in system memory, mapped for DMA
 * @sgt: for a look at the pieces; by their DMA addresses alone, and it may be more than
 *	the region: ai_region_dma_visit() gives what is. NULL: not mapped
 *
 * The rest belongs to ai.ko.
 */
struct ai_region_dma {
	struct sg_table *sgt;

	struct ai_region *region;
	struct device *dev;
	enum dma_data_direction direction;
	unsigned long attrs;
	struct sg_table own;
	struct dma_buf_attachment *attach;
};

/**
 * ai_region_dma_map() - map a region for DMA
 * @region: the region, held until it is unmapped
 * @dev: the device
 * @direction: what it will do
 * @attrs: DMA_ATTR_*; not of importance where the exporter of a dma-buf maps
 * @dma: filled in
 *
 * Return: 0, -EINVAL for a region in device memory, or another negative error number.
 */
int ai_region_dma_map(struct ai_region *region, struct device *dev,
		      enum dma_data_direction direction, unsigned long attrs,
		      struct ai_region_dma *dma);
/* What is not mapped is left as it is. */
void ai_region_dma_unmap(struct ai_region_dma *dma);

/* See ai_region_dma_visit(). */
typedef int (*ai_dma_fn)(u64 address, u64 bytes, void *arg);

/**
 * ai_region_dma_visit() - visit the contiguous pieces of a region
 * @dma: what ai_region_dma_map() filled in
 * @fn: called with DMA address and size of each, in the order of the logical addresses,
 *	pieces as long as they can be; a value other than 0 ends it
 * @arg: passed on
 *
 * Return: 0, what @fn returned, or -EINVAL for an exporter that maps less than there is.
 */
int ai_region_dma_visit(const struct ai_region_dma *dma, ai_dma_fn fn, void *arg);

/* See ai_region_visit_blocks(). */
typedef int (*ai_block_fn)(u64 offset, u64 bytes, void *arg);

/**
 * ai_region_visit_blocks() - visit the blocks of a region in device memory
 * @region: the region
 * @fn: called with the offset of the block inside the device memory and its
 *	size, in the order of the logical addresses; a value other than 0 ends it
 * @arg: passed on
 *
 * Return: 0 or what @fn returned.
 */
int ai_region_visit_blocks(struct ai_region *region, ai_block_fn fn, void *arg);

/* Bytes of a region in system memory, mapped for the CPU: a driver with no DMA (ai_sim). */
void *ai_region_vmap(struct ai_region *region);
void ai_region_vunmap(struct ai_region *region, void *address);

/**
 * struct ai_model - a model on a device
 * @adev: the device
 * @id: unique on this system, never used again
 * @name: name, for messages
 * @version: version, for messages
 * @precision: &enum ai_precision, as the application says
 * @artefact: copy of what the application gave, in system memory
 * @bytes: size of the artefact
 * @driver_data: for the driver
 *
 * The rest belongs to ai.ko.
 */
struct ai_model {
	struct ai_device *adev;
	u64 id;
	char name[AI_NAME_LEN];
	u32 version;
	u32 precision;
	struct ai_region *artefact;
	u64 bytes;
	void *driver_data;

	struct kref ref;
	struct work_struct release_work;
	struct list_head node; /* ai_device.models */
	struct mutex op_lock; /* sent, and the driver's operations on the model */
	u32 handle;
	spinlock_t lock; /* state and what follows */
	enum ai_model_state state;
	int error;
	char reason[AI_ERROR_LEN];
	struct completion loaded;
	bool sent; /* model_load() was called and took it */
	u32 nr_inputs, nr_outputs;
	struct ai_tensor_info *io; /* inputs first */
	bool cached;
	u64 compile_ns;
	atomic64_t jobs;
	u64 longest_ns; /* longest time a job of it kept the device busy, under ai_device.lock */
};

/**
 * ai_model_loaded() - a model is ready, or failed
 * @model: the model
 * @error: 0 or a negative error number
 * @reason: sentence for the application if it failed
 * @io: descriptions of inputs and then outputs, from kmalloc() or kvmalloc();
 *	ai.ko takes it over. Checked here: the driver passes what the device said
 * @nr_inputs: number of inputs
 * @nr_outputs: number of outputs
 * @compile_ns: time it took
 * @cached: the device had the compiled form already
 *
 * Process context. A second call for the same model, after a reset, only
 * reports that it is ready again or failed.
 */
void ai_model_loaded(struct ai_model *model, int error, const char *reason,
		     struct ai_tensor_info *io, u32 nr_inputs, u32 nr_outputs,
		     u64 compile_ns, bool cached);

/**
 * struct ai_job_tensor - a tensor of a job
 * @region: the range it lies in; the job holds a reference
 * @va: device address of its first byte, 0 if it has no bytes
 * @offset: the same as offset in the region
 * @bytes: exact size of an input, room of an output
 * @needed: driver, before ai_job_done(): size of an output
 * @dtype: &enum ai_dtype; driver, of an output
 * @rank: dimensions; driver, of an output
 * @dims: sizes; driver, of an output. Checked by ai.ko
 */
struct ai_job_tensor {
	struct ai_region *region;
	u64 va;
	u64 offset;
	u64 bytes;
	u64 needed;
	u32 dtype;
	u32 rank;
	u64 dims[AI_MAX_DIMS];
};

/* What a driver reports when a job ends. */
struct ai_job_result {
	int error; /* 0 or negative */
	const char *message; /* sentence if it failed; copied; may be NULL */
	u64 run_ns; /* 0: ai.ko measures from submit to done */
	u64 bytes_cpu, bytes_dma, bytes_in_place;
	u64 fault_va; /* device address that could not be reached, 0 if none */
	bool throttled;
};

/**
 * struct ai_job - one inference
 * @adev: the device
 * @as: address space, NULL if the device has none
 * @model: the model
 * @id: number, see &ai_record.job
 * @nr_inputs: number of inputs
 * @nr_outputs: number of outputs
 * @driver_node: for the driver while the job is in flight
 * @driver_data: for the driver while the job is in flight
 * @abort_error: why it is aborted: -ETIME, -ECANCELED or -EINTR; 0 if it is not
 *
 * The rest belongs to ai.ko.
 */
struct ai_job {
	struct ai_device *adev;
	struct ai_as *as;
	struct ai_model *model;
	u64 id;
	u32 nr_inputs;
	u32 nr_outputs;
	struct list_head driver_node;
	void *driver_data;
	int abort_error;

	struct kref ref;
	struct work_struct release_work;
	struct list_head file_node, inflight_node;
	struct rb_node queue_node;
	u64 file_id, cookie, seq;
	u32 priority;
	int state; /* enum ai_job_state, under ai_device.lock */
	bool rerun, late;
	s64 deadline_ns;
	ktime_t submitted, started, ended;
	struct ai_contract *contract;
	u32 moved; /* enum ai_term: why it is on the fallback */
	bool waited_for; /* whoever called has seen its end */
	bool trial; /* of the contract's device, while others go to the fallback */
	bool shared; /* waits for the share of its contract, in &ai_contract.pending */
	struct list_head share_node;
	bool claimed; /* has a place in the order by @due_ns, before all without */
	bool counted; /* in &ai_device.nr_claimed_jobs */
	bool excess; /* came too soon for the terms to hold */
	bool probe; /* of the contract's fuse */
	bool judged; /* the contract knows how it ended */
	s64 due_ns;
	u64 service_ns; /* time it kept the device busy */
	u32 power_mw; /* of the device meanwhile */
	u32 service; /* enum ai_service */
	u32 broken;
	u64 energy_uj;
	u32 generation;
	struct completion done;
	struct ai_job_result result;
	char message[AI_ERROR_LEN];
	struct ai_job_tensor tensor[]; /* inputs first */
};

static inline struct ai_job_tensor *ai_job_output(struct ai_job *job, u32 i)
{
	return &job->tensor[job->nr_inputs + i];
}

/* Bytes of one element of an &enum ai_dtype, 0 for strings and unknown types. */
u32 ai_dtype_bytes(u32 dtype);

/* The job in flight has ended. Any context; may submit the next one. */
void ai_job_done(struct ai_job *job, const struct ai_job_result *result);
/*
 * The job in flight was lost by a reset it did not cause: run it again, before
 * those that wait. If its outputs overlap its inputs, or it was to be aborted,
 * it ends with an error instead. Any context.
 */
void ai_job_requeue(struct ai_job *job);

#endif /* AI_DRIVER_H */
