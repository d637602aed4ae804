/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared inside ai_sim.ko, the software devices: for tests, for counting
 * instructions, for machines without an accelerator.
 *
 * Locks: ai_sim.lock (spinlock, irqs off) covers the slots, the engine's time
 * and the thermal model. No ai.ko function is called under it.
 */
#ifndef AI_SIM_H
#define AI_SIM_H

#include <linux/hrtimer.h>

#include "../include/ai_driver.h"

/* Temperature of a body that is heated by power and cooled by the surroundings. */
struct ai_sim_thermal {
	ktime_t updated;
	s32 temp_mc;
	u64 busy_ns; /* since the last update */
	bool throttled;
};

struct ai_sim;

/* A job in flight. */
struct ai_sim_slot {
	struct ai_sim *sim;
	struct ai_job *job; /* NULL: the slot is free or the job is being ended */
	struct hrtimer timer;
	struct work_struct work; /* for what may sleep */
	struct ai_job *copying; /* of the work */
	bool busy;
};

/**
 * struct ai_sim - a software device
 * @adev: as ai.ko knows it
 * @latency_ns: time one job takes when the device is cool
 * @mem: device memory, ordinary pages
 * @mem_order: of @mem
 * @lock: what follows
 * @free_at: when the engine has done all it was given
 * @thermal: temperature
 * @slots: jobs in flight, &ai_device.queue_depth of them
 */
struct ai_sim {
	struct ai_device *adev;
	u64 latency_ns;
	struct page *mem;
	unsigned int mem_order;
	spinlock_t lock; /* all below */
	ktime_t free_at;
	struct ai_sim_thermal thermal;
	struct ai_sim_slot slots[];
};

extern const struct ai_device_ops ai_sim_ops;

/* Module parameters that the engine looks at. */
bool ai_sim_take_hang(void);
bool ai_sim_take_fail(void);

void ai_sim_engine_init(struct ai_sim *sim);
void ai_sim_engine_exit(struct ai_sim *sim);

s32 ai_sim_throttle_mc(void);
u32 ai_sim_power_limit_mw(void);
void ai_sim_thermal_init(struct ai_sim *sim);
void ai_sim_thermal_run(struct ai_sim *sim, u64 busy_ns);
void ai_sim_dump_driver(struct ai_device *adev, struct ai_dumper *dumper);
void ai_sim_sensors(struct ai_device *adev, struct ai_sensors *sensors);

#endif /* AI_SIM_H */
